"""Criteria of label sets whose labels are part of others: a near miss counts for what it shares.

Kiritchenko, Matwin and Famili (2006): both sets are closed upwards, and then pairs of instance and label are
counted, over all instances together. A model that was fitted with a hierarchy predicts closed sets, so that
its `f1_micro` is this F1; for the sets of others it is computed here.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import check_sample_weight
from simlabel.labels import LabelSpace, as_hierarchy, moved
from simlabel.metrics._truth import Weights


def hierarchical_precision(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Weights = None) -> float:
    """Of the labels that are predicted, with those above them, the share that is true.

    Parameters
    ----------
    y_true, y_pred : lists of label sets, 0/1 frames, arrays or sparse matrices, both of one form
    hierarchy : Hierarchy, dict or str
        As in `SMLClassifier`; for arrays, of the numbers of columns.
    sample_weight : array, (n_rows,), optional
        How many times each row counts.

    Examples
    --------
    >>> hierarchical_precision([{"mail::imap"}], [{"mail::smtp", "mail::imap"}], "::")
    0.6666666666666666
    """
    hits, _, predicted = _counts(y_true, y_pred, hierarchy, sample_weight)
    return hits / predicted if predicted else np.nan


def hierarchical_recall(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Weights = None) -> float:
    """Of the labels that are true, with those above them, the share that is predicted.

    Examples
    --------
    >>> hierarchical_recall([{"mail::imap"}], [{"mail::smtp"}], "::")
    0.5
    """
    hits, true, _ = _counts(y_true, y_pred, hierarchy, sample_weight)
    return hits / true if true else np.nan


def hierarchical_f1(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Weights = None) -> float:
    """Harmonic mean of hierarchical precision and recall.

    Examples
    --------
    >>> hierarchical_f1([{"mail::imap"}], [{"mail::smtp"}], "::")
    0.5
    """
    hits, true, predicted = _counts(y_true, y_pred, hierarchy, sample_weight)
    return 2 * hits / (true + predicted) if true + predicted else np.nan


def _counts(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: Weights) -> tuple[float, float, float]:
    """Pairs that are both, true, and predicted, all closed upwards."""
    space, T = LabelSpace.learn(y_true, as_hierarchy(hierarchy))
    other, P, _ = space.read(y_pred)
    if T.shape[0] != P.shape[0]:
        raise ValueError(f"y_true has {T.shape[0]} rows, but y_pred has {P.shape[0]}.")
    both = space.united(other)
    T, P = (moved(Y, both.places(one), len(both.classes)) for one, Y in ((space, T), (other, P)))
    weights = check_sample_weight(sample_weight, T.shape[0])
    weights = np.ones(T.shape[0]) if weights is None else weights
    hits, true, predicted = (float((weights @ sp.csr_array(Y)).sum()) for Y in (T.multiply(P), T, P))
    return hits, true, predicted

"""Criteria of predicted label sets: subset accuracy, F1 scores, and precision, recall and F1 in a hierarchy.

Hierarchical criteria follow Kiritchenko, Matwin and Famili (2006): the ancestors of all labels are added to
both sets, and then pairs of instance and label are counted over all instances. The sets that a model with a
hierarchy predicts have all ancestors already, so that its `f1_micro` is its hierarchical F1.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray
from simlabel.labels import LabelSpace, as_hierarchy, moved
from simlabel.metrics._criteria import Criterion, mean_of_defined
from simlabel.metrics._truth import LabelMatrix, SampleWeights, Truth, check_sets, nothing_known, row_weights


def _row_counts(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> FloatArray:
    """Count the labels of each row: both true and predicted, true, predicted, (3, n_rows).

    NaN for rows without known labels.
    """
    truth, predicted = check_sets(Y_true, Y_pred)
    hits = np.asarray(truth.Y.multiply(predicted).sum(axis=1, dtype=np.int64)).ravel()
    counts = np.array([hits, np.diff(truth.Y.indptr), np.diff(predicted.indptr)], dtype=np.float64)
    counts[:, nothing_known(truth)] = np.nan
    return counts


def _label_counts(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: SampleWeights) -> FloatArray:
    """Count the rows of each label: both true and predicted, true, predicted, (3, n_labels)."""
    truth, predicted = check_sets(Y_true, Y_pred)
    weights = row_weights(sample_weight, truth.shape[0])
    both = sp.csr_array(truth.Y.multiply(predicted))
    return np.array([weights @ matrix for matrix in (both, truth.Y, predicted)])


def _ratio(part: FloatArray, whole: FloatArray, empty: float = np.nan) -> FloatArray:
    """Divide; `empty` where `whole` is 0."""
    return np.divide(part, whole, out=np.full(np.shape(whole), empty), where=whole != 0)


def subset_accuracy(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: SampleWeights = None) -> float:
    """Return the share of instances whose label set is predicted exactly.

    Examples
    --------
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 0], [1, 0]])
    0.5
    """
    return mean_of_defined(exact_rows(Y_true, Y_pred), sample_weight)


def exact_rows(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> FloatArray:
    """Return 1 for rows whose label set is predicted exactly, else 0, (n_rows,); NaN if no label is known."""
    hits, true, predicted = _row_counts(Y_true, Y_pred)
    return np.where(np.isnan(hits), np.nan, (hits == true) & (hits == predicted))


def f1_micro(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: SampleWeights = None) -> float:
    """Return F1 over all instance-label pairs; NaN if no label is true and none is predicted.

    Examples
    --------
    >>> round(f1_micro([[1, 0], [1, 1]], [[1, 0], [1, 0]]), 4)
    0.8
    """
    hits, true, predicted = _label_counts(Y_true, Y_pred, sample_weight).sum(axis=1)
    return float(_ratio(2 * hits, true + predicted))


def f1_macro(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: SampleWeights = None) -> float:
    """Return the mean F1 of the labels; labels that are never true and never predicted are ignored.

    Examples
    --------
    >>> f1_macro([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]])
    0.5
    """
    hits, true, predicted = _label_counts(Y_true, Y_pred, sample_weight)
    return mean_of_defined(_ratio(2 * hits, true + predicted))


def f1_instance(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: SampleWeights = None) -> float:
    """Return the mean F1 of the instances; an empty set that is predicted empty counts 1.

    Examples
    --------
    >>> round(f1_instance([[1, 0], [1, 1]], [[1, 0], [1, 0]]), 4)
    0.8333
    """
    return mean_of_defined(_f1_rows(Y_true, Y_pred), sample_weight)


def _f1_rows(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> FloatArray:
    hits, true, predicted = _row_counts(Y_true, Y_pred)
    return _ratio(2 * hits, true + predicted, empty=1.0)


_SETS: Any = {"needs_scores": False, "undefined": nothing_known}

SET_CRITERIA = (
    Criterion("subset_accuracy", "Subset accuracy", subset_accuracy, exact_rows, **_SETS),
    Criterion("f1_micro", "F1 (micro)", f1_micro, aggregation="whole", **_SETS),
    Criterion("f1_macro", "F1 (macro)", f1_macro, aggregation="whole", **_SETS),
    Criterion("f1_instance", "F1 (by instance)", f1_instance, _f1_rows, **_SETS),
)


def hierarchical_precision(
    y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: SampleWeights = None
) -> float:
    """Return the share of the predicted labels and their ancestors that are true.

    Parameters
    ----------
    y_true, y_pred : lists of label sets, 0/1 frames, arrays or sparse matrices, both in the same form
    hierarchy : Hierarchy, dict or str
        As in `SMLClassifier`; for arrays, of column numbers.
    sample_weight : array, (n_rows,), optional
        How many times each row counts.

    Examples
    --------
    >>> hierarchical_precision([{"mail::imap"}], [{"mail::smtp", "mail::imap"}], "::")
    0.6666666666666666
    """
    hits, _, predicted = _hierarchical_counts(y_true, y_pred, hierarchy, sample_weight)
    return float(_ratio(hits, predicted))


def hierarchical_recall(
    y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: SampleWeights = None
) -> float:
    """Return the share of the true labels and their ancestors that are predicted.

    Examples
    --------
    >>> hierarchical_recall([{"mail::imap"}], [{"mail::smtp"}], "::")
    0.5
    """
    hits, true, _ = _hierarchical_counts(y_true, y_pred, hierarchy, sample_weight)
    return float(_ratio(hits, true))


def hierarchical_f1(y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: SampleWeights = None) -> float:
    """Return the harmonic mean of hierarchical precision and recall.

    Examples
    --------
    >>> hierarchical_f1([{"mail::imap"}], [{"mail::smtp"}], "::")
    0.5
    """
    hits, true, predicted = _hierarchical_counts(y_true, y_pred, hierarchy, sample_weight)
    return float(_ratio(2 * hits, true + predicted))


def _hierarchical_counts(
    y_true: Any, y_pred: Any, hierarchy: Any, sample_weight: SampleWeights
) -> FloatArray:
    """Count pairs of instance and label, with ancestors: both true and predicted, true, predicted."""
    space, T = LabelSpace.learn(y_true, as_hierarchy(hierarchy))
    other, P, _ = space.read(y_pred)
    if T.shape[0] != P.shape[0]:
        raise ValueError(f"y_true has {T.shape[0]} rows, but y_pred has {P.shape[0]}.")
    both = space.union(other)
    T, P = (moved(Y, both.places(one), len(both.classes)) for one, Y in ((space, T), (other, P)))
    return _label_counts(Truth(T), Truth(P), sample_weight).sum(axis=1)

"""Criteria of predicted label sets, by scikit-learn: subset accuracy and the three F1 scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, f1_score

from simlabel._utils.validation import FloatArray, IntArray, check_sample_weight
from simlabel.metrics._record import Criterion
from simlabel.metrics._truth import LabelMatrix, Weights, check_sets, nothing_known


def _pair(
    Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: Weights = None
) -> tuple[sp.csr_array, sp.csr_array, Weights]:
    """What is true and what is predicted, and weights, of the rows that count and have known labels."""
    truth, predicted = check_sets(Y_true, Y_pred)
    weights = check_sample_weight(sample_weight, truth.shape[0])
    counted = ~nothing_known(truth) if weights is None else ~nothing_known(truth) & (weights > 0)
    if not counted.all():
        rows = np.flatnonzero(counted)
        truth, predicted = truth[rows], predicted[rows]
        weights = None if weights is None else weights[rows]
    if truth.shape[1] > 1:
        return truth.Y, predicted, weights
    # scikit-learn reads one column as classes; a second, empty one changes none of these criteria
    empty = sp.csr_array(truth.shape, dtype=truth.Y.dtype)
    return (
        sp.hstack([truth.Y, empty], format="csr"),
        sp.hstack([predicted, empty], format="csr"),
        weights,
    )


def subset_accuracy(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: Weights = None) -> float:
    """Share of instances whose label set is predicted exactly.

    Examples
    --------
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 0], [1, 0]])
    0.5
    """
    truth, predicted, weights = _pair(Y_true, Y_pred, sample_weight)
    return float(accuracy_score(truth, predicted, sample_weight=weights)) if truth.shape[0] else np.nan


def _f1(
    Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: Weights, average: str, empty: float
) -> float:
    """F1 by scikit-learn; `empty` is what nothing true and nothing predicted counts."""
    truth, predicted, weights = _pair(Y_true, Y_pred, sample_weight)
    if not truth.shape[0]:
        return np.nan
    return float(f1_score(truth, predicted, average=average, sample_weight=weights, zero_division=empty))


def f1_micro(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: Weights = None) -> float:
    """F1 over all instance-label pairs together; NaN where no label is true and none is predicted.

    Examples
    --------
    >>> round(f1_micro([[1, 0], [1, 1]], [[1, 0], [1, 0]]), 4)
    0.8
    """
    return _f1(Y_true, Y_pred, sample_weight, "micro", np.nan)


def f1_macro(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: Weights = None) -> float:
    """Mean over the labels of their F1; labels that are nowhere true and nowhere predicted are left out.

    Examples
    --------
    >>> f1_macro([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]])
    0.5
    """
    return _f1(Y_true, Y_pred, sample_weight, "macro", np.nan)


def f1_instance(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: Weights = None) -> float:
    """Mean over the instances of their F1; an empty set that is predicted empty counts 1.

    Examples
    --------
    >>> round(f1_instance([[1, 0], [1, 1]], [[1, 0], [1, 0]]), 4)
    0.8333
    """
    return _f1(Y_true, Y_pred, sample_weight, "samples", 1.0)


def exact_rows(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> FloatArray:
    """1 for each row whose label set is predicted exactly, else 0, (n_rows,); NaN where nothing is known."""
    truth, sets = check_sets(Y_true, Y_pred)
    hits, true, predicted = _row_counts(truth.Y, sets)
    exact = ((hits == true) & (hits == predicted)).astype(np.float64)
    return np.where(nothing_known(truth), np.nan, exact)


def _f1_rows(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> FloatArray:
    truth, sets = check_sets(Y_true, Y_pred)
    hits, true, predicted = _row_counts(truth.Y, sets)
    f1 = np.where(true + predicted > 0, 2.0 * hits / np.maximum(true + predicted, 1), 1.0)
    return np.where(nothing_known(truth), np.nan, f1)


def _row_counts(truth: sp.csr_array, predicted: sp.csr_array) -> tuple[IntArray, IntArray, IntArray]:
    """For each row the number of labels that are true and predicted, true, predicted."""
    hits = np.asarray(truth.multiply(predicted).sum(axis=1, dtype=np.int64)).ravel()
    return hits, np.diff(truth.indptr), np.diff(predicted.indptr)


_SETS: Any = {"needs_scores": False, "undefined": nothing_known}

OF_SETS = (
    Criterion("subset_accuracy", "Subset accuracy", subset_accuracy, exact_rows, **_SETS),
    Criterion("f1_micro", "F1 (micro)", f1_micro, aggregation="whole", **_SETS),
    Criterion("f1_macro", "F1 (macro)", f1_macro, aggregation="whole", **_SETS),
    Criterion("f1_instance", "F1 (by instance)", f1_instance, _f1_rows, **_SETS),
)

"""Hamming loss, one-error, coverage, ranking loss, average precision."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics import hamming_loss as _hamming_loss

from simlabel._utils.kernels import ranking_criteria
from simlabel._utils.validation import FloatArray, check_sample_weight
from simlabel.metrics._record import Criterion, mean_of_defined
from simlabel.metrics._truth import (
    LabelMatrix,
    Truth,
    Weights,
    check_scores,
    check_sets,
    no_pair,
    no_true_label,
    nothing_known,
)


def row_criteria(Y_true: LabelMatrix, scores: npt.ArrayLike) -> FloatArray:
    """One-error, coverage, ranking loss and average precision of each row, (n_rows, 4); NaN where undefined.

    Examples
    --------
    >>> row_criteria([[1, 0, 0]], [[0.2, 0.5, 0.1]])
    array([[1. , 1. , 0.5, 0.5]])
    """
    truth = Truth.of(Y_true)
    out: FloatArray = np.empty((truth.shape[0], 4))
    shown = np.ascontiguousarray(truth.hidden(check_scores(scores, truth)))
    ranking_criteria(shown, truth.Y.indptr, truth.Y.indices, truth.n_known, out)
    return out


def _ranking_rows(column: int, Y_true: LabelMatrix, scores: npt.ArrayLike) -> FloatArray:
    rows: FloatArray = row_criteria(Y_true, scores)[:, column]
    return rows


_one_error_rows, _coverage_rows, _ranking_loss_rows, _average_precision_rows = (
    partial(_ranking_rows, column) for column in range(4)
)


def hamming_loss(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: Weights = None) -> float:
    """Share of instance-label pairs that are predicted wrongly.

    Where some are unknown, the mean over the instances of the share of what is known of each.

    Examples
    --------
    >>> hamming_loss([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    truth, predicted = check_sets(Y_true, Y_pred)
    if truth.shape[1] == 0:
        return 0.0  # no label is wrong
    if truth.shape[1] == 1 or truth.unknown is not None:
        # scikit-learn reads one column as classes, not as a label
        return mean_of_defined(_hamming_rows(truth, predicted), sample_weight)
    weights = check_sample_weight(sample_weight, truth.shape[0])
    return float(_hamming_loss(truth.Y, predicted, sample_weight=weights))


def _hamming_rows(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> FloatArray:
    truth, predicted = check_sets(Y_true, Y_pred)
    wrong = abs(predicted.astype(np.int8) - truth.Y.astype(np.int8)).sum(axis=1, dtype=np.int64)
    rows = np.asarray(wrong).ravel() / np.maximum(1, truth.n_known)
    return np.where(nothing_known(truth), np.nan, rows)


def one_error(Y_true: LabelMatrix, scores: npt.ArrayLike, sample_weight: Weights = None) -> float:
    """Share of instances whose top label is wrong, also where a wrong one ties for the top.

    Examples
    --------
    >>> one_error([[1, 0], [1, 0]], [[0.9, 0.1], [0.5, 0.5]])
    0.5
    """
    return mean_of_defined(_one_error_rows(Y_true, scores), sample_weight)


def coverage(Y_true: LabelMatrix, scores: npt.ArrayLike, sample_weight: Weights = None) -> float:
    """How far down the ranking all true labels are found, counted from 0.

    This is the papers' coverage: scikit-learn's `coverage_error` minus 1 where every row has a true label.
    Rows without one are left out here; `coverage_error` counts them as 0.

    Examples
    --------
    >>> coverage([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    2.0
    """
    return mean_of_defined(_coverage_rows(Y_true, scores), sample_weight)


def ranking_loss(Y_true: LabelMatrix, scores: npt.ArrayLike, sample_weight: Weights = None) -> float:
    """Share of pairs of a true and a false label in which the false one is not ranked below.

    Examples
    --------
    >>> ranking_loss([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    0.5
    """
    return mean_of_defined(_ranking_loss_rows(Y_true, scores), sample_weight)


def average_precision(Y_true: LabelMatrix, scores: npt.ArrayLike, sample_weight: Weights = None) -> float:
    """Label ranking average precision: the share of true labels among those ranked as high as each true one.

    The mean over the true labels of a row, then over the rows that have a true label. scikit-learn calls this
    `label_ranking_average_precision_score`, which counts rows without a true label as 1. The scorer
    ``"average_precision"`` of scikit-learn is another metric: it ranks the rows for each label, and averages
    over the labels.

    Examples
    --------
    >>> round(average_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]]), 4)
    0.8333
    """
    return mean_of_defined(_average_precision_rows(Y_true, scores), sample_weight)


_LOSS: Any = {"higher_is_better": False}
_SETS: Any = {"needs_scores": False, **_LOSS}
_RANKED: Any = {"undefined": no_true_label}

#: the paper's five, in the order of its tables
CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "hamming_loss", "Hamming loss", hamming_loss, _hamming_rows, undefined=nothing_known, **_SETS
        ),
        Criterion("one_error", "One-error", one_error, _one_error_rows, **_RANKED, **_LOSS),
        Criterion("coverage", "Coverage", coverage, _coverage_rows, **_RANKED, **_LOSS),
        Criterion(
            "ranking_loss", "Ranking loss", ranking_loss, _ranking_loss_rows, undefined=no_pair, **_LOSS
        ),
        Criterion(
            "average_precision", "Average precision", average_precision, _average_precision_rows, **_RANKED
        ),
    )
}

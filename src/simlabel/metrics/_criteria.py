"""Hamming loss, one-error, coverage, ranking loss, average precision."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics import coverage_error, label_ranking_average_precision_score, label_ranking_loss
from sklearn.metrics import hamming_loss as _hamming_loss

from simlabel._kernels import ranking_criteria
from simlabel.metrics._record import Criterion
from simlabel.metrics._truth import as_truth, check_scores, check_sets, no_pair, no_true_label
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray


def row_criteria(Y_true: Any, scores: Any) -> FloatArray:
    """One-error, coverage, ranking loss and average precision of each row, (n_rows, 4).

    scikit-learn gives means only; a standard error needs the rows. NaN where undefined.

    Examples
    --------
    >>> row_criteria([[1, 0, 0]], [[0.2, 0.5, 0.1]])
    array([[1. , 1. , 0.5, 0.5]])
    """
    truth = as_truth(Y_true)
    out: Any = np.empty((truth.shape[0], 4))
    ranking_criteria(np.ascontiguousarray(check_scores(scores, truth)), truth.indptr, truth.indices, out)
    return out


def _ranking_rows(column: int, Y_true: Any, scores: Any) -> FloatArray:
    rows: FloatArray = row_criteria(Y_true, scores)[:, column]
    return rows


_one_error_rows, _coverage_rows, _ranking_loss_rows, _average_precision_rows = (
    partial(_ranking_rows, column) for column in range(4)
)


def _mean_over_defined(
    measure: Any, Y_true: Any, scores: Any, undefined: Callable[[Any], Any] = no_true_label
) -> float:
    """Mean of scikit-learn's `measure` over the rows where it is defined, in blocks; NaN without any."""
    truth = as_truth(Y_true)
    scores = check_scores(scores, truth)
    rows = np.flatnonzero(~undefined(truth))
    if rows.size == 0:
        return float("nan")
    step = max(1, limits().block_entries // truth.shape[1])
    total = 0.0
    for start in range(0, rows.size, step):
        part = rows[start : start + step]
        total += measure(*_two_columns(truth[part].toarray(), scores[part])) * part.size
    return float(total / rows.size)


def _two_columns(truth: Any, scores: Any) -> tuple[Any, Any]:
    """scikit-learn reads one column as classes; a false label below all others makes it a ranking."""
    if truth.shape[1] > 1:
        return truth, scores
    return np.hstack([truth, np.zeros_like(truth)]), np.hstack(
        [scores, np.full_like(scores, scores.min() - 1)]
    )


def hamming_loss(Y_true: Any, Y_pred: Any, sample_weight: Any = None) -> float:
    """Share of instance-label pairs that are predicted wrongly.

    Examples
    --------
    >>> hamming_loss([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    truth, predicted = check_sets(Y_true, Y_pred)
    if truth.shape[1] == 1:  # scikit-learn reads one column as classes, not as a label
        return float(np.average(_hamming_rows(truth, predicted), weights=sample_weight))
    return float(_hamming_loss(truth, predicted, sample_weight=sample_weight))


def _hamming_rows(Y_true: Any, Y_pred: Any) -> FloatArray:
    truth, predicted = check_sets(Y_true, Y_pred)
    wrong = abs(predicted.astype(np.int8) - truth.astype(np.int8)).sum(axis=1, dtype=np.int64)
    return np.asarray(wrong).ravel() / max(1, truth.shape[1])


def one_error(Y_true: Any, scores: Any) -> float:
    """Share of instances whose top label is wrong, also where a wrong one ties for the top.

    Examples
    --------
    >>> one_error([[1, 0], [1, 0]], [[0.9, 0.1], [0.5, 0.5]])
    0.5
    """
    errors = _one_error_rows(Y_true, scores)
    errors = errors[~np.isnan(errors)]
    return float(errors.mean()) if errors.size else float("nan")


def coverage(Y_true: Any, scores: Any) -> float:
    """How far down the ranking all true labels are found, counted from 0.

    This is the papers' coverage: scikit-learn's `coverage_error` minus 1.

    Examples
    --------
    >>> coverage([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    2.0
    """
    return _mean_over_defined(coverage_error, Y_true, scores) - 1.0


def ranking_loss(Y_true: Any, scores: Any) -> float:
    """Share of pairs of a true and a false label in which the false one is not ranked below.

    Examples
    --------
    >>> ranking_loss([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    0.5
    """
    return _mean_over_defined(label_ranking_loss, Y_true, scores, no_pair)


def average_precision(Y_true: Any, scores: Any) -> float:
    """For each true label, the share of true labels among those ranked as high; averaged.

    Examples
    --------
    >>> round(average_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]]), 4)
    0.8333
    """
    return _mean_over_defined(label_ranking_average_precision_score, Y_true, scores)


_LOSS: Any = {"higher_is_better": False}
_RANKED: Any = {"undefined": no_true_label}

#: the paper's five, in the order of its tables
CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion("hamming_loss", "Hamming loss", hamming_loss, _hamming_rows, needs_scores=False, **_LOSS),
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

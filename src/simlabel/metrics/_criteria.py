"""Hamming loss, one-error, coverage, ranking loss, average precision."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import coverage_error, label_ranking_average_precision_score, label_ranking_loss
from sklearn.metrics import hamming_loss as _hamming_loss

from simlabel._kernels import ranking_criteria
from simlabel._validation import FloatArray

_BLOCK = 1 << 22  # entries made dense at a time


@dataclass(frozen=True)
class Criterion:
    """A criterion's name, direction, and column in `row_criteria` (None where it needs no scores)."""

    name: str
    title: str
    higher_is_better: bool
    column: int | None


CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion("hamming_loss", "Hamming loss", False, None),
        Criterion("one_error", "One-error", False, 0),
        Criterion("coverage", "Coverage", False, 1),
        Criterion("ranking_loss", "Ranking loss", False, 2),
        Criterion("average_precision", "Average precision", True, 3),
    )
}


def as_truth(Y: Any, name: str = "Y_true") -> sp.csr_array:
    """A 0/1 indicator in any form as CSR with sorted indices and no stored zeros."""
    array = Y if sp.issparse(Y) else _as_numbers(Y, name)
    if array.ndim != 2:
        raise ValueError(f"{name} must be a 0/1 matrix, (n_rows, n_labels); got shape {array.shape}.")
    result = sp.csr_array(array, copy=True)
    result.sum_duplicates()
    result.eliminate_zeros()
    if result.nnz and not (result.data == 1).all():
        raise ValueError(f"{name} must hold only 0 and 1, got {result.data[result.data != 1][0]!r}.")
    return result


def _as_numbers(values: Any, name: str) -> Any:
    """A dense array of real numbers."""
    try:
        array = np.asarray(values)
        array = array.astype(np.float64) if array.dtype == object else array
    except (TypeError, ValueError):  # rows that differ in length, or something else than numbers
        array = np.array("")
    if array.dtype.kind not in "biuf":
        raise ValueError(f"{name} must be a matrix of real numbers, (n_rows, n_labels).")
    return array


def check_scores(scores: Any, truth: sp.csr_array) -> FloatArray:
    """Scores of the same shape as the truth, finite."""
    array = _as_numbers(scores, "scores")
    array = array if array.dtype == np.float32 else array.astype(np.float64, copy=False)
    if array.shape != truth.shape:
        raise ValueError(f"scores have shape {array.shape}, but Y_true has {truth.shape}.")
    if not np.isfinite(array).all():
        raise ValueError("scores contain NaN or infinity.")
    return array


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


def _defined(truth: sp.csr_array, *, needs_false: bool = False) -> Any:
    counts = np.diff(truth.indptr)
    return (counts > 0) & (counts < truth.shape[1]) if needs_false else counts > 0


def _mean_over_defined(measure: Any, Y_true: Any, scores: Any, *, needs_false: bool = False) -> float:
    """Mean of scikit-learn's `measure` over the rows where it is defined, in blocks; NaN without any."""
    truth = as_truth(Y_true)
    scores = check_scores(scores, truth)
    rows = np.flatnonzero(_defined(truth, needs_false=needs_false))
    if rows.size == 0:
        return float("nan")
    step = max(1, _BLOCK // truth.shape[1])
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


def hamming_loss(Y_true: Any, Y_pred: Any) -> float:
    """Share of instance-label pairs that are predicted wrongly.

    Examples
    --------
    >>> hamming_loss([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    truth, predicted = as_truth(Y_true), as_truth(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"Y_pred has shape {predicted.shape}, but Y_true has {truth.shape}.")
    if truth.shape[1] == 1:  # scikit-learn reads one column as classes, not as a label
        return float(np.mean(truth.toarray() != predicted.toarray()))
    return float(_hamming_loss(truth, predicted))


def one_error(Y_true: Any, scores: Any) -> float:
    """Share of instances whose top label is wrong, also where a wrong one ties for the top.

    Examples
    --------
    >>> one_error([[1, 0], [1, 0]], [[0.9, 0.1], [0.5, 0.5]])
    0.5
    """
    errors = row_criteria(Y_true, scores)[:, CRITERIA["one_error"].column]
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
    return _mean_over_defined(label_ranking_loss, Y_true, scores, needs_false=True)


def average_precision(Y_true: Any, scores: Any) -> float:
    """For each true label, the share of true labels among those ranked as high; averaged.

    Examples
    --------
    >>> round(average_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]]), 4)
    0.8333
    """
    return _mean_over_defined(label_ranking_average_precision_score, Y_true, scores)

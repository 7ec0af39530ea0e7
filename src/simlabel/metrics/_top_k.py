"""Criteria of the first k labels: precision@k, nDCG@k and propensity-scored precision@k."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray, IntArray, check_number, check_sample_weight
from simlabel.metrics._record import Criterion, Family, mean_of_defined
from simlabel.metrics._truth import LabelMatrix, Mask, Truth, Weights, check_scores, no_true_label

_A, _B = 0.55, 1.5  # the propensity model's constants for sets other than Wikipedia and Amazon


def propensities(
    Y_train: LabelMatrix, *, a: float = _A, b: float = _B, sample_weight: Weights = None
) -> FloatArray:
    """How likely a true label is to be recorded, by its frequency in the training rows, (n_labels,).

    The model of Jain, Prabhu and Varma (2016), with the constants that the extreme classification
    repository uses for sets without their own.

    Examples
    --------
    >>> propensities([[1, 0], [1, 1], [1, 0], [1, 0]]).round(3)
    array([0.8  , 0.721])
    """
    truth = Truth.of(Y_train, "Y_train")
    weights = check_sample_weight(sample_weight, truth.shape[0])
    weights = np.ones(truth.shape[0]) if weights is None else weights
    counts = weights @ truth.Y
    constant = (np.log(max(weights.sum(), 2)) - 1.0) * (b + 1.0) ** a
    # a set of one or two rows makes the constant negative; a propensity is at most 1
    return (
        np.minimum(1.0, 1.0 / (1.0 + constant * (counts + b) ** -a)) if constant > 0 else np.ones(len(counts))
    )


def _check_k(k: int, n_labels: int) -> None:
    check_number("precision@k and nDCG@k", "k", k, at_least=1, integer=True)
    if k > n_labels:
        raise ValueError(f"k is {k}, but there are only {n_labels} labels; choose k up to {n_labels}.")


def _top_blocks(
    Y_true: LabelMatrix, scores: npt.ArrayLike, k: int
) -> Iterator[tuple[IntArray, IntArray, IntArray]]:
    """Of blocks of rows the truth (dense), the first k labels, and the truth of these.

    Among equal scores the false labels come first, so that ties count against the scorer; labels that are
    unknown come last.
    """
    truth = Truth.of(Y_true)
    scores = truth.hidden(check_scores(scores, truth))
    _check_k(k, truth.shape[1])
    step = max(1, limits().block_entries // truth.shape[1])
    for start in range(0, truth.shape[0], step):
        part = slice(start, min(truth.shape[0], start + step))
        dense = truth.Y[part].toarray()
        order = np.lexsort((dense, -scores[part]), axis=1)[:, :k]
        yield dense, order, np.take_along_axis(dense, order, axis=1)


def precision_at_rows(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int) -> FloatArray:
    """Share of true labels among the first k, for each row, (n_rows,); NaN where fewer are known.

    Examples
    --------
    >>> precision_at_rows([[1, 0, 1], [0, 0, 1]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], 2)
    array([0.5, 0. ])
    """
    truth = Truth.of(Y_true)
    parts = [hits.sum(axis=1) / k for _, _, hits in _top_blocks(truth, scores, k)]
    return np.where(fewer_known(truth, k), np.nan, np.concatenate(parts)) if parts else np.empty(0)


def fewer_known(truth: Truth, k: int) -> Mask:
    """Rows of which fewer than k labels are known, (n_rows,) of bool."""
    return truth.n_known < k


def ndcg_at_rows(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int) -> FloatArray:
    """Normalized discounted cumulative gain of the first k labels, for each row; NaN without true labels.

    Equal scores share the mean gain of their places, as in scikit-learn.

    Examples
    --------
    >>> ndcg_at_rows([[1, 0, 1]], [[0.9, 0.5, 0.1]], 3).round(4)
    array([0.9197])
    """
    truth = Truth.of(Y_true)
    scores = truth.hidden(check_scores(scores, truth))
    _check_k(k, truth.shape[1])
    discount = np.where(np.arange(truth.shape[1]) < k, 1.0 / np.log2(np.arange(truth.shape[1]) + 2.0), 0.0)
    before = np.concatenate([[0.0], np.cumsum(discount)])
    out = np.full(truth.shape[0], np.nan)
    for i in range(truth.shape[0]):
        labels = truth.Y.indices[truth.Y.indptr[i] : truth.Y.indptr[i + 1]]
        if labels.size == 0:
            continue
        ranked = np.sort(-scores[i])
        first = np.searchsorted(ranked, -scores[i, labels], side="left")
        last = np.searchsorted(ranked, -scores[i, labels], side="right")
        out[i] = ((before[last] - before[first]) / (last - first)).sum() / before[labels.size]
    return out


def precision_at(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int, sample_weight: Weights = None) -> float:
    """Share of true labels among the k that are scored highest, averaged over the rows.

    Examples
    --------
    >>> precision_at([[1, 0, 1], [0, 0, 1]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], 2)
    0.25
    """
    return mean_of_defined(precision_at_rows(Y_true, scores, k), sample_weight)


def ndcg_at(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int, sample_weight: Weights = None) -> float:
    """Normalized discounted cumulative gain of the first k labels, over the rows that have a label.

    Examples
    --------
    >>> round(ndcg_at([[1, 0, 1]], [[0.9, 0.5, 0.1]], 3), 4)
    0.9197
    """
    return mean_of_defined(ndcg_at_rows(Y_true, scores, k), sample_weight)


def propensity_scored_precision_at(
    Y_true: LabelMatrix,
    scores: npt.ArrayLike,
    k: int,
    propensity: npt.ArrayLike,
    sample_weight: Weights = None,
) -> float:
    """Precision@k in which a rare label counts for more, as a share of the best that is possible.

    Parameters
    ----------
    Y_true : array or sparse of 0/1, (n_rows, n_labels)
    scores : array, (n_rows, n_labels)
    k : int
    propensity : array, (n_labels,)
        From `propensities` of the training rows.
    sample_weight : array, (n_rows,), optional
        How many times each row counts.

    Examples
    --------
    >>> propensity = propensities([[1, 0], [1, 1], [1, 0], [1, 0]])
    >>> round(propensity_scored_precision_at([[1, 1]], [[0.9, 0.1]], 1, propensity), 3)
    0.902
    """
    gain = 1.0 / np.asarray(propensity, dtype=np.float64)
    parts = []
    for dense, order, hits in _top_blocks(Y_true, scores, k):
        if gain.shape != (dense.shape[1],):
            raise ValueError(f"propensity has shape {gain.shape}, but there are {dense.shape[1]} labels.")
        best = -np.sort(-(dense * gain), axis=1)[:, :k].sum(axis=1)
        parts.append(np.column_stack([(hits * gain[order]).sum(axis=1), best]))
    sums = np.concatenate(parts) if parts else np.empty((0, 2))
    weights = check_sample_weight(sample_weight, len(sums))
    reached, best = sums.sum(axis=0) if weights is None else weights @ sums
    return float(reached / best) if best else float("nan")


def psp_rows(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int, propensity: npt.ArrayLike) -> FloatArray:
    """Propensity-scored gain of the first k labels, for each row, not yet divided by the best."""
    gain = 1.0 / np.asarray(propensity, dtype=np.float64)
    parts = [(hits * gain[order]).sum(axis=1) / k for _, order, hits in _top_blocks(Y_true, scores, k)]
    return np.concatenate(parts) if parts else np.empty(0)


def _no_true_label(truth: Truth, k: int) -> Mask:
    return no_true_label(truth)


FAMILIES = (
    Family(Criterion("precision", "Precision", precision_at, precision_at_rows, undefined=fewer_known)),
    Family(Criterion("ndcg", "nDCG", ndcg_at, ndcg_at_rows, undefined=_no_true_label)),
    Family(
        Criterion(
            "psp",
            "PS precision",
            propensity_scored_precision_at,
            psp_rows,
            aggregation="whole",
            needs_propensities=True,
        )
    ),
)

"""Criteria of the top k labels: precision@k, nDCG@k and propensity-scored precision@k."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.validation import BoolArray, FloatArray, check_number
from simlabel.metrics._criteria import Criterion, mean_of_defined
from simlabel.metrics._truth import (
    LabelMatrix,
    SampleWeights,
    Truth,
    check_scores,
    no_true_label,
    row_weights,
)

_A, _B = 0.55, 1.5  # the propensity model's constants for sets other than Wikipedia and Amazon


def propensities(
    Y_train: LabelMatrix, *, a: float = _A, b: float = _B, sample_weight: SampleWeights = None
) -> FloatArray:
    """Estimate the probability that a true label is recorded, by its frequency in the training rows.

    Returns an array, (n_labels,). The model is that of Jain, Prabhu and Varma (2016), with the default
    constants of the extreme classification repository.

    Examples
    --------
    >>> propensities([[1, 0], [1, 1], [1, 0], [1, 0]]).round(3)
    array([0.8  , 0.721])
    """
    truth = Truth.of(Y_train, "Y_train")
    weights = row_weights(sample_weight, truth.shape[0])
    counts = weights @ truth.Y
    constant = (np.log(max(weights.sum(), 2)) - 1.0) * (b + 1.0) ** a
    # with one or two rows the constant is negative; a propensity is at most 1
    return 1.0 / (1.0 + max(constant, 0.0) * (counts + b) ** -a)


def _check_k(k: int, n_labels: int) -> None:
    check_number("precision@k and nDCG@k", "k", k, at_least=1, integer=True)
    if k > n_labels:
        raise ValueError(f"k is {k}, but there are only {n_labels} labels; choose k up to {n_labels}.")


def _top_gains(truth: Truth, scores: npt.ArrayLike | None, k: int, gain: FloatArray) -> FloatArray:
    """Add up the gains of the true labels among the top k, (n_rows,); by default, of the best ranking.

    False labels come first among equal scores, so that ties count against the scorer; unknown labels come
    last.
    """
    shown = None if scores is None else truth.mask_unknown(check_scores(scores, truth))
    _check_k(k, truth.shape[1])
    sums = np.empty(truth.shape[0])
    step = max(1, limits().block_entries // truth.shape[1])
    for start in range(0, truth.shape[0], step):
        part = slice(start, start + step)
        true = truth.Y[part].toarray()
        if shown is None:
            sums[part] = np.sort(true * gain, axis=1)[:, -k:].sum(axis=1)
        else:
            order = np.lexsort((true, -shown[part]), axis=1)[:, :k]
            sums[part] = (np.take_along_axis(true, order, axis=1) * gain[order]).sum(axis=1)
    return sums


def _precision_rows(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int) -> FloatArray:
    truth = Truth.of(Y_true)
    hits = _top_gains(truth, scores, k, np.ones(truth.shape[1]))
    return np.where(fewer_known(truth, k), np.nan, hits / k)


def fewer_known(truth: Truth, k: int) -> BoolArray:
    """Return which rows have fewer than k known labels, (n_rows,) of bool."""
    return truth.n_known < k


def _ndcg_rows(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int) -> FloatArray:
    """Return nDCG@k of each row, NaN without true labels; equal scores share the mean gain of their ranks."""
    truth = Truth.of(Y_true)
    scores = truth.mask_unknown(check_scores(scores, truth))
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


def precision_at(
    Y_true: LabelMatrix, scores: npt.ArrayLike, k: int, sample_weight: SampleWeights = None
) -> float:
    """Return the share of true labels among the top k, averaged over the rows.

    Examples
    --------
    >>> precision_at([[1, 0, 1], [0, 0, 1]], [[0.9, 0.5, 0.1], [0.9, 0.5, 0.1]], 2)
    0.25
    """
    return mean_of_defined(_precision_rows(Y_true, scores, k), sample_weight)


def ndcg_at(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int, sample_weight: SampleWeights = None) -> float:
    """Return the normalized discounted cumulative gain of the top k labels, over the rows that have a label.

    Examples
    --------
    >>> round(ndcg_at([[1, 0, 1]], [[0.9, 0.5, 0.1]], 3), 4)
    0.9197
    """
    return mean_of_defined(_ndcg_rows(Y_true, scores, k), sample_weight)


def propensity_scored_precision_at(
    Y_true: LabelMatrix,
    scores: npt.ArrayLike,
    k: int,
    propensity: npt.ArrayLike,
    sample_weight: SampleWeights = None,
) -> float:
    """Return precision@k in which a rare label counts for more, as a share of the best possible value.

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
    truth = Truth.of(Y_true)
    gain = _gain(propensity, truth.shape[1])
    weights = row_weights(sample_weight, truth.shape[0])
    best = weights @ _top_gains(truth, None, k, gain)
    reached = weights @ _top_gains(truth, scores, k, gain)
    return float(reached / best) if best else float("nan")


def _gain(propensity: npt.ArrayLike, n_labels: int) -> FloatArray:
    gain: FloatArray = 1.0 / np.asarray(propensity, dtype=np.float64)
    if gain.shape != (n_labels,):
        raise ValueError(f"propensity has shape {gain.shape}, but there are {n_labels} labels.")
    return gain


def _psp_rows(Y_true: LabelMatrix, scores: npt.ArrayLike, k: int, propensity: npt.ArrayLike) -> FloatArray:
    """Return the propensity-scored gain of each row, not divided by the best possible value."""
    truth = Truth.of(Y_true)
    return _top_gains(truth, scores, k, _gain(propensity, truth.shape[1])) / k


def _no_true_label(truth: Truth, k: int) -> BoolArray:
    return no_true_label(truth)


#: criteria of the top k labels, for `Criterion.at`
TOP_K_CRITERIA = (
    Criterion("precision", "Precision", precision_at, _precision_rows, undefined=fewer_known),
    Criterion("ndcg", "nDCG", ndcg_at, _ndcg_rows, undefined=_no_true_label),
    Criterion(
        "psp",
        "PS precision",
        propensity_scored_precision_at,
        _psp_rows,
        aggregation="whole",
        needs_propensities=True,
    ),
)

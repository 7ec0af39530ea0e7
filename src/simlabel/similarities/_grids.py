"""Candidates for the bandwidth of exp(-gamma * distance): a log grid around 1 / (mean distance)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import (
    blocks,
    content_order,
    dense_rows,
    fold,
    is_lazy,
    lazy_moments,
    n_copies,
    sample_copies,
    squared_lengths,
)
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities._base import Grid

_FACTORS = 2.0 ** np.arange(-3, 10)


def bandwidth_grid(mean_distance: float) -> Grid:
    """Return factors 1/8 to 512 of 1 / (mean distance): with many rows narrow bandwidths are best.

    Examples
    --------
    >>> bandwidth_grid(2.0).values[:3]
    (0.0625, 0.125, 0.25)
    """
    if not mean_distance > 0:
        return Grid((1.0,), note="the training rows do not differ: gamma = 1")
    return Grid(tuple((_FACTORS / mean_distance).tolist()), refine=True, at_mean=3)


def mean_square(X: Rows, sample_weight: FloatArray | None) -> float:
    """Return E|x|^2 over the rows."""
    weights = _weights(X, sample_weight)
    return float(fold(X, _summed_squares, float.__add__, weights) / weights.sum())


def _weights(X: Rows, sample_weight: FloatArray | None) -> FloatArray:
    return np.ones(X.shape[0]) if sample_weight is None else sample_weight


def _summed_squares(X: Rows, weights: FloatArray) -> float:
    return float(weights @ squared_lengths(X))


def mean_squared_distance(X: Rows, sample_weight: FloatArray | None) -> float:
    """Return E|x - z|^2 over pairs of rows, in closed form: 2 (E|x|^2 - |E x|^2)."""
    if is_lazy(X):
        moments = lazy_moments(X, sample_weight)
        return float(2.0 * moments.squares.sum() / moments.weight)
    weights = _weights(X, sample_weight)
    weights = weights / weights.sum()
    mean = weights @ X
    if sp.issparse(X):
        return max(0.0, 2.0 * float(weights @ squared_lengths(X) - mean @ mean))
    total = 0.0
    for part in blocks(X.shape[0], max(1, limits().block_entries // max(1, X.shape[1]))):
        total += float(weights[part] @ squared_lengths(X[part] - mean))  # offsets would cancel digits
    return 2.0 * total


def mean_l1_distance(X: Rows, sample_weight: FloatArray | None) -> float:
    """Return E|x - z|_1 over pairs of rows, in closed form: per column, 2 * integral of F (1 - F).

    Columns are sorted; of rows that are not in memory, those of a sample.
    """
    if is_lazy(X):
        X, sample_weight = sampled_rows(X, sample_weight, 0, limits().sorted_rows)
        X = X[:]
    weights = _weights(X, sample_weight)
    weights = weights / weights.sum()
    columns = X.tocsc() if sp.issparse(X) else X
    total = 0.0
    for part in blocks(X.shape[1], max(1, limits().block_entries // max(1, X.shape[0]))):
        block = np.asarray(dense_rows(columns[:, part]), dtype=np.float64)
        order = np.argsort(block, axis=0)
        F = np.cumsum(weights[order], axis=0)[:-1]
        gaps = np.diff(np.take_along_axis(block, order, axis=0), axis=0)
        total += float(np.sum(2.0 * F * (1.0 - F) * gaps))
    return total


def sampled_rows(
    X: Rows, sample_weight: FloatArray | None, seed: int, n: int = 1000
) -> tuple[Rows, FloatArray]:
    """Return all rows if there are at most `n`, counting weights as copies, else a seeded sample.

    Rows are rounded first: the last digits of normalized rows may depend on the order of all rows.
    """
    weights = _weights(X, sample_weight)
    if n_copies(weights) <= n:
        return X, weights
    order = content_order(X, weights=weights, rounded=True)
    rows, copies = np.unique(sample_copies(order, weights, n, seed), return_counts=True)
    return X[rows], copies.astype(np.float64)

"""Arithmetic on blocks that several rooms share."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simlabel.support.validation import FloatArray, IntArray, Rows


def squared_lengths(rows: Rows) -> FloatArray:
    """Of each row, in float64."""
    if sp.issparse(rows):
        rows = rows.astype(np.float64, copy=False)
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def n_copies(weights: FloatArray) -> int:
    """How many rows there were if each were repeated as its weight says; no fewer than there are."""
    return max(len(weights), round(float(weights.sum())))


def drawn_copies(weights: FloatArray, size: int, seed: int) -> IntArray:
    """Draw copies of rows, and return the row of each, in rising order.

    Rows that are repeated, and rows with whole weights in their place, give the same draw.

    Examples
    --------
    >>> once, twice = drawn_copies(np.ones(6), 3, 0), drawn_copies(np.full(3, 2.0), 3, 0)
    >>> (once // 2).tolist() == twice.tolist()
    True
    """
    total, rng = n_copies(weights), np.random.default_rng(seed)
    ends = np.cumsum(weights) * (total / float(weights.sum()))
    copies = np.sort(rng.choice(total, size, replace=False)) + rng.random(size)
    return np.minimum(np.searchsorted(ends, copies, side="right"), len(weights) - 1)


def whole_power(S: FloatArray, exponent: int) -> FloatArray:
    """S ** exponent for a whole exponent >= 1, by repeated squaring; may overwrite `S`."""
    result: FloatArray | None = None
    while exponent > 1:
        if exponent % 2:
            result = S.copy() if result is None else np.multiply(result, S, out=result)
        np.multiply(S, S, out=S)
        exponent //= 2
    return S if result is None else np.multiply(result, S, out=result)

"""Arithmetic on blocks of rows that several packages use."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, Rows


def squared_lengths(rows: Rows) -> FloatArray:
    """Return the squared Euclidean norm of each row, in float64."""
    if sp.issparse(rows):
        rows = rows.astype(np.float64, copy=False)
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def n_copies(weights: FloatArray) -> int:
    """Return the number of rows if each is repeated by its weight; at least the number of weights."""
    return max(len(weights), round(float(weights.sum())))


def whole_power(S: FloatArray, exponent: int) -> FloatArray:
    """Return ``S ** exponent`` for an integer exponent >= 1, by repeated squaring; may overwrite `S`."""
    result: FloatArray | None = None
    while exponent > 1:
        if exponent % 2:
            result = S.copy() if result is None else np.multiply(result, S, out=result)
        np.multiply(S, S, out=S)
        exponent //= 2
    return S if result is None else np.multiply(result, S, out=result)

"""Arithmetic on blocks that several rooms share."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, Rows


def squared_lengths(rows: Rows) -> FloatArray:
    """Of each row, in float64."""
    if sp.issparse(rows):
        rows = rows.astype(np.float64, copy=False)
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def n_copies(weights: FloatArray) -> int:
    """How many rows there were if each were repeated as its weight says; no fewer than there are."""
    return max(len(weights), round(float(weights.sum())))


def whole_power(S: FloatArray, exponent: int) -> FloatArray:
    """S ** exponent for a whole exponent >= 1, by repeated squaring; may overwrite `S`."""
    result: FloatArray | None = None
    while exponent > 1:
        if exponent % 2:
            result = S.copy() if result is None else np.multiply(result, S, out=result)
        np.multiply(S, S, out=S)
        exponent //= 2
    return S if result is None else np.multiply(result, S, out=result)

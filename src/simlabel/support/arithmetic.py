"""Arithmetic on blocks that several rooms share."""

from __future__ import annotations

import numpy as np

from simlabel.support.validation import FloatArray


def whole_power(S: FloatArray, exponent: int) -> FloatArray:
    """S ** exponent for a whole exponent >= 1, by repeated squaring; may overwrite `S`."""
    result: FloatArray | None = None
    while exponent > 1:
        if exponent % 2:
            result = S.copy() if result is None else np.multiply(result, S, out=result)
        np.multiply(S, S, out=S)
        exponent //= 2
    return S if result is None else np.multiply(result, S, out=result)

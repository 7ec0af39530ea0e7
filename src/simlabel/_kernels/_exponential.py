"""exp(x) for x <= 0 as a polynomial that the compiler can vectorise.

The C library's exp is a call per element; this one is straight-line code. With n the nearest
whole number to x / ln 2, exp(x) = 2^n exp(r) and \\|r\\| <= ln(2) / 2. Adding 1.5 * 2^(mantissa bits)
rounds to n and leaves n in the low bits, from where it is added to the exponent of exp(r).
The argument is cut in two at ln 2 (Cody and Waite 1980), so r loses no digits. In float32 the
polynomial is the one of degree 5 with the smallest largest relative error, 9.2e-8, that is 1 at 0;
in float64 it is Taylor's.
Results below the smallest normal number are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from simlabel._kernels._compile import inlined

_F32 = np.float32
_LOG2E_32, _SHIFT_32 = _F32(1.4426950408889634), _F32(12582912.0)
_HI_32, _LO_32 = _F32(0.693359375), _F32(-2.12194440054690581e-4)
_LOWEST_32 = _F32(-87.0)
_MANTISSA_32 = np.int32(23)

_LOG2E_64, _SHIFT_64 = 1.4426950408889634, 6755399441055744.0
_HI_64, _LO_64 = 0.693147180369123816490, 1.90821492927058770002e-10
_LOWEST_64 = -708.0
_ONE_BITS_64, _MANTISSA_64 = np.int64(0x3FF0000000000000), np.int64(52)


@inlined
def _exp32(x: Any) -> Any:
    shifted = x * _LOG2E_32 + _SHIFT_32
    n = shifted - _SHIFT_32
    r = (x - n * _HI_32) - n * _LO_32
    p = _F32(0.008290314722406928)
    p = p * r + _F32(0.041897929731012244)
    p = p * r + _F32(0.1666763619752699)
    p = p * r + _F32(0.49999149527453673)
    p = p * r + _F32(0.9999997071879577)
    p = p * r + _F32(1.0)
    # n is added to the exponent of p; shifts and sums widen to int64, and are cut back
    bits = np.int32((_F32(shifted).view(np.int32) << _MANTISSA_32) + _F32(p).view(np.int32))
    return _F32(0.0) if x < _LOWEST_32 else bits.view(np.float32)


@inlined
def _exp64(x: Any) -> Any:
    shifted = x * _LOG2E_64 + _SHIFT_64
    n = shifted - _SHIFT_64
    r = (x - n * _HI_64) - n * _LO_64
    p = 1.0 / 6227020800.0
    p = p * r + 1.0 / 479001600.0
    p = p * r + 1.0 / 39916800.0
    p = p * r + 1.0 / 3628800.0
    p = p * r + 1.0 / 362880.0
    p = p * r + 1.0 / 40320.0
    p = p * r + 1.0 / 5040.0
    p = p * r + 1.0 / 720.0
    p = p * r + 1.0 / 120.0
    p = p * r + 1.0 / 24.0
    p = p * r + 1.0 / 6.0
    p = p * r + 0.5
    y = p * (r * r) + r + 1.0
    bits = np.int64((np.float64(shifted).view(np.int64) << _MANTISSA_64) + _ONE_BITS_64)
    return 0.0 if x < _LOWEST_64 else y * bits.view(np.float64)


def exp_of_negative(x: Any) -> Any:
    """exp(x) for x <= 0; compiled code picks the version for float32 or float64."""
    return np.exp(x)


@overload(exp_of_negative, inline="always")
def _choose(x):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    chosen = _exp32 if x == types.float32 else _exp64
    return lambda x: chosen(x)

"""2^x for x <= 0 as a polynomial that the compiler can vectorise.

The C library's exp is a call per element; this one is straight-line code. With n the nearest whole
number to x, 2^x = 2^n 2^r and \\|r\\| <= 1/2. Adding 1.5 * 2^(mantissa bits) rounds to n and leaves n in
the low bits, from where it is added to the exponent of 2^r; r = x - n is exact. Whoever wants
exp(x) multiplies by log2(e) what it multiplies anyway. In float32 the polynomial is the one of degree
5 with the smallest largest relative error, 9.2e-8, that is 1 at 0; in float64 it is Taylor's.
Results below the smallest normal number are 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import types
from numba.extending import overload

from simlabel._kernels._compile import inlined

LOG2E = 1.4426950408889634

_F32 = np.float32
_SHIFT_32, _MANTISSA_32, _LOWEST_32 = _F32(12582912.0), np.int32(23), _F32(-126.0)
_SHIFT_64, _MANTISSA_64, _LOWEST_64 = 6755399441055744.0, np.int64(52), -1022.0
_LN2_64, _ONE_BITS_64 = 0.6931471805599453, np.int64(0x3FF0000000000000)


@inlined
def _two32(x: Any) -> Any:
    shifted = x + _SHIFT_32
    r = x - (shifted - _SHIFT_32)
    p = _F32(0.0013264727208408544)
    p = p * r + _F32(0.009671512739885313)
    p = p * r + _F32(0.055507337441595084)
    p = p * r + _F32(0.24022242083811932)
    p = p * r + _F32(0.6931469775981037)
    p = p * r + _F32(1.0)
    # n is added to the exponent of p; shifts and sums widen to int64, and are cut back
    bits = np.int32((_F32(shifted).view(np.int32) << _MANTISSA_32) + _F32(p).view(np.int32))
    return _F32(0.0) if x < _LOWEST_32 else bits.view(np.float32)


@inlined
def _two64(x: Any) -> Any:
    shifted = x + _SHIFT_64
    r = (x - (shifted - _SHIFT_64)) * _LN2_64
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


def power_of_two(x: Any) -> Any:
    """2^x for x <= 0; compiled code picks the version for float32 or float64."""
    return np.exp2(x)


@overload(power_of_two, inline="always")
def _choose(x):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    chosen = _two32 if x == types.float32 else _two64
    return lambda x: chosen(x)

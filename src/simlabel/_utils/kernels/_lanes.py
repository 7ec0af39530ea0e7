"""Vector registers as compiled code sees them, which the innermost loops of this package are written with.

The compiler vectorizes loops over adjacent numbers, but not always, and it does not find the
arrangements that compare rows at full speed. So the few innermost loops emit LLVM's vector instructions
themselves. A *panel* is a matrix whose rows are two registers wide.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.extending import overload
from numba.np.arrayobj import make_array

from simlabel._utils.kernels._compile import Floats

#: there are 32 registers of 64 bytes, or 16 of 32 bytes: the sums of this many rows fit in them
_BYTES, ROWS = (64, 12) if llvmlite.binding.get_host_cpu_features().get("avx512f") else (32, 6)
PER_ROW = 2  # registers

INT = ir.IntType(64)
WHOLE, YES_OR_NO, NOTHING = types.intp, types.boolean, types.void


def panel_width(dtype: npt.DTypeLike) -> int:
    """Return the number of entries in a row of a panel."""
    return PER_ROW * _BYTES // np.dtype(dtype).itemsize


def width_of(panel: Floats) -> int:
    """Return `panel_width` for an array of a panel's dtype; a constant in compiled code."""
    return panel_width(panel.dtype)


@overload(width_of, inline="always")
def _width_of(panel):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    width = PER_ROW * _BYTES * 8 // panel.dtype.bitwidth
    return lambda panel: width


class Lanes:
    """Instructions on all numbers of a register at once.

    Parameters
    ----------
    dtype : numba type
        float32 or float64.
    """

    def __init__(self, context: BaseContext, builder: ir.IRBuilder, dtype: types.Float) -> None:
        self.builder, self.bits = builder, dtype.bitwidth
        self.count = 8 * _BYTES // self.bits
        self.number = context.get_value_type(dtype)
        self.type = ir.VectorType(self.number, self.count)
        self.integers = ir.VectorType(ir.IntType(self.bits), self.count)

    def constant(self, value: float) -> ir.Value:
        """Return a register filled with a constant."""
        return ir.Constant(self.type, [ir.Constant(self.number, value)] * self.count)

    def integer(self, value: int) -> ir.Value:
        """Return a register filled with an integer constant."""
        return ir.Constant(self.integers, [ir.Constant(self.integers.element, value)] * self.count)

    def repeated(self, value: ir.Value, kind: ir.Type | None = None) -> ir.Value:
        """Return a register of type `kind` filled with a runtime value."""
        undefined = ir.Constant(kind or self.type, ir.Undefined)
        one = self.builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), self.count), [0] * self.count)
        return self.builder.shuffle_vector(one, undefined, places)

    def call(self, name: str, *values: ir.Value) -> ir.Value:
        """Call one of LLVM's vector intrinsics."""
        kind = ir.FunctionType(self.type, [self.type] * len(values))
        full = f"llvm.{name}.v{self.count}f{self.bits}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, full), values)

    def times_plus(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """Return a * b + c, rounded once where the machine can."""
        return self.call("fmuladd", a, b, c)

    def smaller(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """Return the smaller value; b if one of them is NaN."""
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def _address(self, at: ir.Value, n: int) -> ir.Value:
        at = self.builder.gep(at, [ir.Constant(INT, n * self.count)])
        return self.builder.bitcast(at, self.type.as_pointer())

    def load(self, at: ir.Value, n: int) -> ir.Value:
        """Load the n-th register from an address."""
        return self.builder.load(self._address(at, n), align=self.bits // 8)

    def store(self, value: ir.Value, at: ir.Value, n: int) -> None:
        """Store to the n-th register after an address."""
        self.builder.store(value, self._address(at, n), align=self.bits // 8)


class Matrix:
    """The addresses of an array's entries; entries of a row are adjacent."""

    def __init__(self, context: BaseContext, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> None:
        array = make_array(kind)(context, builder, value)
        self.builder, self.data = builder, array.data
        strides = cgutils.unpack_tuple(builder, array.strides, kind.ndim)
        self.step = builder.sdiv(strides[0], ir.Constant(INT, kind.dtype.bitwidth // 8))

    def at(self, row: ir.Value, column: ir.Value | None = None) -> ir.Value:
        """Return the address of an entry, or of the beginning of a row."""
        place = self.builder.mul(row, self.step)
        return self.builder.gep(self.data, [place if column is None else self.builder.add(place, column)])


def nothing(context: BaseContext) -> ir.Value:
    """Return what a compiled function without a result returns."""
    return context.get_dummy_value()


LOG2E = 1.4426950408889634

# highest power first; float32: degree 5 with the smallest maximum relative error (9.2e-8) that is 1 at 0;
# float64: degree 11 through the Chebyshev points, whose error of 4.4e-18 is below rounding
_POLYNOMIALS = {
    32: (
        0.0013264727208408544,
        0.009671512739885313,
        0.055507337441595084,
        0.24022242083811932,
        0.6931469775981037,
        1.0,
    ),
    64: (
        4.4561282667017547e-10,
        7.074191486699191e-09,
        1.0178054977346953e-07,
        1.321543254923449e-06,
        1.525273384671294e-05,
        0.00015403530463707106,
        0.0013333558146401143,
        0.009618129107587256,
        0.055504108664821646,
        0.2402265069591016,
        0.6931471805599453,
        1.0,
    ),
}
_MANTISSA_BITS = {32: 23, 64: 52}
_LOWEST = {32: -126.0, 64: -1022.0}


def power_of_two(lanes: Lanes, x: ir.Value) -> ir.Value:
    """Return 2^x for x <= 0, without a call per element; 0 below the smallest normal number.

    With n the integer nearest to x, 2^x = 2^n 2^r and \\|r\\| <= 1/2. Adding 1.5 * 2^(mantissa bits)
    rounds to n and leaves n in the low bits, from where it is added to the exponent of 2^r; r = x - n is
    exact. For exp(x), callers include log2(e) in a factor that they multiply by anyway.
    """
    builder, mantissa = lanes.builder, _MANTISSA_BITS[lanes.bits]
    shift = lanes.constant(1.5 * 2.0**mantissa)
    shifted = builder.fadd(x, shift)
    r = builder.fsub(x, builder.fsub(shifted, shift))
    p = lanes.constant(_POLYNOMIALS[lanes.bits][0])
    for factor in _POLYNOMIALS[lanes.bits][1:]:
        p = lanes.times_plus(p, r, lanes.constant(factor))
    n = builder.shl(builder.bitcast(shifted, lanes.integers), lanes.integer(mantissa))
    scaled = builder.bitcast(builder.add(builder.bitcast(p, lanes.integers), n), lanes.type)
    normal = builder.fcmp_unordered(">=", x, lanes.constant(_LOWEST[lanes.bits]))
    return builder.select(normal, scaled, lanes.constant(0.0))

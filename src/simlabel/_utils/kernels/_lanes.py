"""Whole registers of numbers as compiled code sees them: what the loops of this package are made of.

The compiler puts loops over neighbouring numbers into registers by itself, but not always, and it does
not find the arrangements that compare rows at full speed. So the few innermost loops are written in
the compiler's own terms. A *panel* is a matrix whose rows are two registers wide.
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

from simlabel._utils.kernels._types import Floats

#: registers of 64 bytes come in 32, those of 32 bytes in 16: so many rows have their sums in them at once
_BYTES, ROWS = (64, 12) if llvmlite.binding.get_host_cpu_features().get("avx512f") else (32, 6)
PER_ROW = 2  # registers

INT = ir.IntType(64)


def panel_width(dtype: npt.DTypeLike) -> int:
    """Numbers in a row of a panel."""
    return PER_ROW * _BYTES // np.dtype(dtype).itemsize


def width_of(panel: Floats) -> int:
    """The same for an array of the type that a panel has; a constant in compiled code."""
    return panel_width(panel.dtype)


@overload(width_of, inline="always")
def _width_of(panel):  # type: ignore[no-untyped-def]  # numba compares the bare signatures
    width = PER_ROW * _BYTES * 8 // panel.dtype.bitwidth
    return lambda panel: width


class Lanes:
    """What is done to the numbers in a register, all at once.

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
        """A number, in all places."""
        return ir.Constant(self.type, [ir.Constant(self.number, value)] * self.count)

    def integer(self, value: int) -> ir.Value:
        """A whole number, in all places."""
        return ir.Constant(self.integers, [ir.Constant(self.integers.element, value)] * self.count)

    def repeated(self, value: ir.Value, kind: ir.Type | None = None) -> ir.Value:
        """A number that is known only when the code runs, in all places; of `kind`, or of this one."""
        nothing = ir.Constant(kind or self.type, ir.Undefined)
        one = self.builder.insert_element(nothing, value, ir.Constant(ir.IntType(32), 0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), self.count), [0] * self.count)
        return self.builder.shuffle_vector(one, nothing, places)

    def call(self, name: str, *values: ir.Value) -> ir.Value:
        """One of LLVM's functions of registers."""
        kind = ir.FunctionType(self.type, [self.type] * len(values))
        full = f"llvm.{name}.v{self.count}f{self.bits}"
        return self.builder.call(cgutils.get_or_insert_function(self.builder.module, kind, full), values)

    def times_plus(self, a: ir.Value, b: ir.Value, c: ir.Value) -> ir.Value:
        """a * b + c, rounded once where the machine can do it."""
        return self.call("fmuladd", a, b, c)

    def smaller(self, a: ir.Value, b: ir.Value) -> ir.Value:
        """The smaller one; b where they cannot be compared."""
        return self.builder.select(self.builder.fcmp_ordered("<", a, b), a, b)

    def _where(self, at: ir.Value, n: int) -> ir.Value:
        at = self.builder.gep(at, [ir.Constant(INT, n * self.count)])
        return self.builder.bitcast(at, self.type.as_pointer())

    def load(self, at: ir.Value, n: int) -> ir.Value:
        """The n-th register full of numbers from an address."""
        return self.builder.load(self._where(at, n), align=self.bits // 8)

    def store(self, value: ir.Value, at: ir.Value, n: int) -> None:
        """To the n-th place from an address."""
        self.builder.store(value, self._where(at, n), align=self.bits // 8)


class Matrix:
    """An array by the addresses of its entries; those of a row are neighbours."""

    def __init__(self, context: BaseContext, builder: ir.IRBuilder, kind: Any, value: ir.Value) -> None:
        array = make_array(kind)(context, builder, value)
        self.builder, self.data = builder, array.data
        strides = cgutils.unpack_tuple(builder, array.strides, kind.ndim)
        self.step = builder.sdiv(strides[0], ir.Constant(INT, kind.dtype.bitwidth // 8))

    def at(self, row: ir.Value, column: ir.Value | None = None) -> ir.Value:
        """The address of an entry, or of the beginning of a row."""
        place = self.builder.mul(row, self.step)
        return self.builder.gep(self.data, [place if column is None else self.builder.add(place, column)])


def nothing(context: BaseContext) -> ir.Value:
    """What a function returns that returns nothing."""
    return context.get_dummy_value()


WHOLE, YES_OR_NO, NOTHING = types.intp, types.boolean, types.void

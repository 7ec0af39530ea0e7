"""Sums over a common index, held in registers: T[i, l] = sum over k of term(A[i, k], B[k, l]).

This is the innermost loop of everything that compares rows. A handful of rows of A meets one panel B:
every number that is loaded is used as often as there are rows or registers, and the sums leave the
registers only at the end. The term is what differs. The order of a sum depends on nothing but k, so
equal rows have equal sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature

from simlabel._utils.kernels._compile import inlined, intrinsic, ordered_kernel
from simlabel._utils.kernels._lanes import (
    INT,
    NOTHING,
    PER_ROW,
    ROWS,
    WHOLE,
    YES_OR_NO,
    Lanes,
    Matrix,
    nothing,
)
from simlabel._utils.kernels._types import Floats, Kernel, Values

_DEPTH = 2048  # rows of a panel that stay in the second cache
_FEWER_ROWS = ROWS * 2 // 3  # where a term itself needs registers

#: of two numbers, below which their sum counts as this: then no product of two sums becomes 0
LEAST_SUM = {32: 1e-18, 64: 1e-150}

_Pairs = list[tuple[ir.Value, ir.Value]]  # what stands in two rows in the same place, for one k or a few
_Term = Callable[[Lanes, ir.Value, _Pairs], ir.Value]


def _product(lanes: Lanes, total: ir.Value, pairs: _Pairs) -> ir.Value:
    for a, b in pairs:
        total = lanes.times_plus(a, b, total)
    return total


def _absolute_difference(lanes: Lanes, total: ir.Value, pairs: _Pairs) -> ir.Value:
    for a, b in pairs:
        total = lanes.builder.fadd(total, lanes.call("fabs", lanes.builder.fsub(a, b)))
    return total


def _minimum(lanes: Lanes, total: ir.Value, pairs: _Pairs) -> ir.Value:
    for a, b in pairs:
        total = lanes.builder.fadd(total, lanes.smaller(a, b))
    return total


def _chi_square(lanes: Lanes, total: ir.Value, pairs: _Pairs) -> ir.Value:
    """One division for two terms: n / d + m / e = (n e + m d) / (d e)."""
    builder = lanes.builder
    least = lanes.constant(LEAST_SUM[lanes.bits])
    fractions = []
    for a, b in pairs:
        difference, both = builder.fsub(a, b), builder.fadd(a, b)
        bounded = builder.select(builder.fcmp_ordered("<", both, least), least, both)
        fractions.append((builder.fmul(difference, difference), bounded))
    (above, below), *others = fractions
    for n, d in others:
        above = lanes.times_plus(above, d, builder.fmul(n, below))
        below = builder.fmul(below, d)
    return builder.fadd(total, builder.fdiv(above, below))


def _rows_at_once(n_rows: int, term: _Term, at_once: int = 1) -> Any:
    """f(A, i, B, T, j, start, stop, add): T[i:, j:] for so many rows, over k from start to stop.

    The term is asked for `at_once` values of k together, and for the rest one by one.
    """

    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        i, j, start, stop, add = values[1], values[4], values[5], values[6], values[7]
        A, B, T = (Matrix(context, builder, signature.args[n], values[n]) for n in (0, 2, 3))
        lanes = Lanes(context, builder, signature.args[0].dtype)
        rows = [builder.add(i, ir.Constant(INT, r)) for r in range(n_rows)]
        totals = [[cgutils.alloca_once(builder, lanes.type) for _ in range(PER_ROW)] for _ in rows]
        places = [(totals[r][n], T.at(rows[r], j), n) for r in range(n_rows) for n in range(PER_ROW)]

        def add_terms(first: ir.Value, count: int) -> None:
            ks = [builder.add(first, ir.Constant(INT, m)) for m in range(count)]
            b = [[lanes.load(B.at(k), n) for n in range(PER_ROW)] for k in ks]
            for r, row in enumerate(rows):
                a = [lanes.repeated(builder.load(A.at(row, k))) for k in ks]
                for n, total in enumerate(totals[r]):
                    pairs = [(a[m], b[m][n]) for m in range(count)]
                    builder.store(term(lanes, builder.load(total), pairs), total)

        with builder.if_else(add) as (more, anew):
            with more:
                for total, at, n in places:
                    builder.store(lanes.load(at, n), total)
            with anew:
                for total, _, _ in places:
                    builder.store(lanes.constant(0.0), total)
        rest = builder.srem(builder.sub(stop, start), ir.Constant(INT, at_once))
        middle = builder.sub(stop, rest)
        with cgutils.for_range_slice(builder, start, middle, ir.Constant(INT, at_once)) as (k, _):
            add_terms(k, at_once)
        if at_once > 1:
            with cgutils.for_range_slice(builder, middle, stop, ir.Constant(INT, 1)) as (k, _):
                add_terms(k, 1)
        for total, at, n in places:
            lanes.store(builder.load(total), at, n)
        return nothing(context)

    def typed(context, A, i, B, T, j, start, stop, add):  # type: ignore[no-untyped-def]
        return NOTHING(A, WHOLE, B, T, WHOLE, WHOLE, WHOLE, YES_OR_NO), emit

    return intrinsic(typed)


_MANY_PRODUCTS, _TWO_PRODUCTS, _ONE_PRODUCT = (_rows_at_once(n, _product) for n in (ROWS, 2, 1))
_MANY_DIFFERENCES, _TWO_DIFFERENCES, _ONE_DIFFERENCE = (
    _rows_at_once(n, _absolute_difference) for n in (_FEWER_ROWS, 2, 1)
)
_MANY_MINIMA, _TWO_MINIMA, _ONE_MINIMUM = (_rows_at_once(n, _minimum) for n in (_FEWER_ROWS, 2, 1))
_MANY_CHI_SQUARES, _TWO_CHI_SQUARES, _ONE_CHI_SQUARE = (
    _rows_at_once(n, _chi_square, at_once=2) for n in (_FEWER_ROWS, 2, 1)
)


@inlined
def _fill(
    A: Floats, B: Floats, T: Floats, j: int, add: bool, n_many: int, many: Kernel, two: Kernel, one: Kernel
) -> None:
    """T[:, j:] = the sums of all rows of A with a panel B, or with `add` += them."""
    n = A.shape[0]
    for start in range(0, A.shape[1], _DEPTH):
        stop = min(A.shape[1], start + _DEPTH)
        more = add or start > 0
        i = 0
        while i + n_many <= n:
            many(A, i, B, T, j, start, stop, more)
            i += n_many
        while i + 2 <= n:
            two(A, i, B, T, j, start, stop, more)
            i += 2
        if i < n:
            one(A, i, B, T, j, start, stop, more)


@ordered_kernel
def add_products(A: Floats, B: Floats, T: Floats, j: int, add: bool) -> None:
    """T[:, j:] = A @ B for a panel B, or with `add` += it."""
    _fill(A, B, T, j, add, ROWS, _MANY_PRODUCTS, _TWO_PRODUCTS, _ONE_PRODUCT)


@ordered_kernel
def add_absolute_differences(A: Floats, B: Floats, T: Floats, j: int, add: bool) -> None:
    """The same with \\|a - b\\| in place of a * b."""
    _fill(A, B, T, j, add, _FEWER_ROWS, _MANY_DIFFERENCES, _TWO_DIFFERENCES, _ONE_DIFFERENCE)


@ordered_kernel
def add_minima(A: Floats, B: Floats, T: Floats, j: int, add: bool) -> None:
    """The same with the smaller one of a and b."""
    _fill(A, B, T, j, add, _FEWER_ROWS, _MANY_MINIMA, _TWO_MINIMA, _ONE_MINIMUM)


@ordered_kernel
def add_chi_squares(A: Floats, B: Floats, T: Floats, j: int, add: bool) -> None:
    """The same with (a - b)^2 / (a + b)."""
    _fill(A, B, T, j, add, _FEWER_ROWS, _MANY_CHI_SQUARES, _TWO_CHI_SQUARES, _ONE_CHI_SQUARE)

"""Statistics of rows in registers, T[i, l] = sum over k of term(A[i, k], B[k, l]), and similarities of them.

This is the innermost loop of everything that compares rows. A few rows of A meet one panel B: every
number that is loaded is used as often as there are rows or registers, and the sums leave the registers
only at the end. Only the term differs. The order of a sum depends on k alone, so equal rows have equal
sums.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature

from simlabel._utils.kernels._compile import Floats, Kernel, Values, inlined, intrinsic, ordered_kernel
from simlabel._utils.kernels._lanes import (
    INT,
    LOG2E,
    NOTHING,
    PER_ROW,
    ROWS,
    WHOLE,
    YES_OR_NO,
    Lanes,
    Matrix,
    nothing,
    power_of_two,
    width_of,
)

_DEPTH = 2048  # rows of a panel that stay in the second cache
_FEWER_ROWS = ROWS * 2 // 3  # where a term itself needs registers

#: sums of two numbers below this count as this: then no product of two sums becomes 0
MIN_SUM = {32: 1e-18, 64: 1e-150}

_Pairs = list[tuple[ir.Value, ir.Value]]  # entries of two rows, for one k or a few
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
    """Take one division for two terms: n / d + m / e = (n e + m d) / (d e)."""
    builder = lanes.builder
    least = lanes.constant(MIN_SUM[lanes.bits])
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
    """Return f(A, i, B, T, j, start, stop, add), which computes T[i : i + n_rows, j : j + panel width].

    Each entry is the sum of `term` over k from start to stop; with `add`, the sum is added to T.
    Each step computes the terms of `at_once` values of k; the remaining ones are computed one by one.
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

        with builder.if_else(add) as (more, fresh):
            with more:
                for total, at, n in places:
                    builder.store(lanes.load(at, n), total)
            with fresh:
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
    """Fill T[:, j:] with the sums of all rows of A and a panel B, or with `add`, add them."""
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
    """Compute T[:, j:] = A @ B for a panel B, or with `add`, T[:, j:] += A @ B."""
    _fill(A, B, T, j, add, ROWS, _MANY_PRODUCTS, _TWO_PRODUCTS, _ONE_PRODUCT)


@ordered_kernel
def add_absolute_differences(A: Floats, B: Floats, T: Floats, j: int, add: bool) -> None:
    """Sum \\|a - b\\| in place of a * b."""
    _fill(A, B, T, j, add, _FEWER_ROWS, _MANY_DIFFERENCES, _TWO_DIFFERENCES, _ONE_DIFFERENCE)


@ordered_kernel
def add_minima(A: Floats, B: Floats, T: Floats, j: int, add: bool) -> None:
    """Sum min(a, b) in place of a * b."""
    _fill(A, B, T, j, add, _FEWER_ROWS, _MANY_MINIMA, _TWO_MINIMA, _ONE_MINIMUM)


@ordered_kernel
def add_chi_squares(A: Floats, B: Floats, T: Floats, j: int, add: bool) -> None:
    """Sum (a - b)^2 / (a + b) in place of a * b."""
    _fill(A, B, T, j, add, _FEWER_ROWS, _MANY_CHI_SQUARES, _TWO_CHI_SQUARES, _ONE_CHI_SQUARE)


@intrinsic
def _rbf_row(context, T, i, j, x, q_side, factor, S):  # type: ignore[no-untyped-def]
    """S[i, j:] = 2^(factor * (T[i, j:] - x / 2 - q_side[j:] / 2)), one row of a panel."""

    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        i, j = values[1], values[2]
        T, S = (Matrix(context, builder, signature.args[n], values[n]) for n in (0, 6))
        q_side = Matrix(context, builder, signature.args[4], values[4]).at(j)
        lanes = Lanes(context, builder, signature.args[0].dtype)
        factor = lanes.repeated(values[5])
        half_x = builder.fmul(lanes.repeated(values[3]), lanes.constant(0.5))
        for n in range(PER_ROW):
            # gamma comes last: before, whole numbers cancel without rounding, and ties are ties
            beyond = builder.fsub(lanes.load(T.at(i, j), n), half_x)
            minus_half = lanes.times_plus(lanes.load(q_side, n), lanes.constant(-0.5), beyond)
            # rounding may put equal rows at a distance below zero
            exponent = builder.fmul(lanes.smaller(lanes.constant(0.0), minus_half), factor)
            lanes.store(power_of_two(lanes, exponent), S.at(i, j), n)
        return nothing(context)

    number = T.dtype
    return NOTHING(T, WHOLE, WHOLE, number, q_side, number, S), emit


@intrinsic
def _exponential_row(context, T, i, j, x, q_side, factor, S):  # type: ignore[no-untyped-def]
    """S[i, j:] = 2^(factor * T[i, j:]), one row of a panel; the sides are not read."""

    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        i, j = values[1], values[2]
        T, S = (Matrix(context, builder, signature.args[n], values[n]) for n in (0, 6))
        lanes = Lanes(context, builder, signature.args[0].dtype)
        factor = lanes.repeated(values[5])
        for n in range(PER_ROW):
            x = builder.fmul(factor, lanes.load(T.at(i, j), n))
            lanes.store(power_of_two(lanes, x), S.at(i, j), n)
        return nothing(context)

    return NOTHING(T, WHOLE, WHOLE, T.dtype, q_side, T.dtype, S), emit


# The similarities S of a tile: T holds the statistics of n references, from `start` on, and a panel of
# queries; x_side and q_side are squared lengths or sizes of the references and the queries.


@ordered_kernel
def rbf(T: Floats, n: int, x_side: Floats, start: int, q_side: Floats, parameters: Floats, S: Floats) -> None:
    """Compute exp(-gamma * squared distance) from inner products and squared lengths."""
    factor = T.dtype.type(2.0 * LOG2E * parameters[0])
    for i in range(n):
        _rbf_row(T, i, 0, x_side[start + i], q_side, factor, S)


@ordered_kernel
def exponential(
    T: Floats, n: int, x_side: Floats, start: int, q_side: Floats, parameters: Floats, S: Floats
) -> None:
    """Compute exp(-gamma * T)."""
    factor = T.dtype.type(-parameters[0] * LOG2E)
    for i in range(n):
        _exponential_row(T, i, 0, x_side[start + i], q_side, factor, S)


@ordered_kernel
def power(
    T: Floats, n: int, x_side: Floats, start: int, q_side: Floats, parameters: Floats, S: Floats
) -> None:
    """Compute (T + c)^d, with parameters d and c."""
    c = T.dtype.type(parameters[1])
    for i in range(n):
        for j in range(width_of(T)):
            S[i, j] = T[i, j] + c
    for _ in range(1, int(parameters[0])):
        for i in range(n):
            for j in range(width_of(T)):
                S[i, j] *= T[i, j] + c


@ordered_kernel
def share(
    T: Floats, n: int, x_side: Floats, start: int, q_side: Floats, parameters: Floats, S: Floats
) -> None:
    """Compute T / (x_side + q_side - T), the share of an intersection in a union; 0 / 0 is 0."""
    zero = T.dtype.type(0)
    for i in range(n):
        for j in range(width_of(T)):
            union = x_side[start + i] + q_side[j] - T[i, j]
            S[i, j] = T[i, j] / union if union > zero else zero


@inlined
def _in_place(T: Floats, q_side: Floats, x_side: Floats, factor: float, convert: Kernel) -> None:
    """Convert statistics of a block of any size to similarities, a panel's row at a time."""
    width = width_of(T)
    whole = T.shape[1] - T.shape[1] % width
    rest = np.empty((2, width), T.dtype)
    # entry by entry: for `rest[0, :n] = ...` numba generates code for any shapes, which compiles for seconds
    for j in range(width):
        rest[0, j] = 0
        rest[1, j] = x_side[whole + j] if whole + j < T.shape[1] else 0
    for i in range(T.shape[0]):
        for j in range(0, whole, width):
            convert(T, i, j, q_side[i], x_side, factor, T)
        for j in range(whole, T.shape[1]):
            rest[0, j - whole] = T[i, j]
        convert(rest, 0, 0, q_side[i], rest[1], factor, rest)
        for j in range(whole, T.shape[1]):
            T[i, j] = rest[0, j - whole]


@ordered_kernel
def rbf_from_products(T: Floats, q_squares: Floats, x_squares: Floats, gamma: float) -> None:
    """Compute T[i, j] = exp(-gamma * (q_squares[i] + x_squares[j] - 2 T[i, j])); gamma has T's dtype."""
    _in_place(T, q_squares, x_squares, T.dtype.type(2.0 * LOG2E * gamma), _rbf_row)


@ordered_kernel
def negative_exponential(T: Floats, gamma: float) -> None:
    """Compute T = exp(-gamma * T) for T >= 0; gamma has T's dtype."""
    unused = np.zeros(max(T.shape), T.dtype)
    _in_place(T, unused, unused, T.dtype.type(-gamma * LOG2E), _exponential_row)

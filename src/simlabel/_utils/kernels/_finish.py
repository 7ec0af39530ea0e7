"""From statistics to similarities: of a tile, S = f(T), and of a block of any size, in place."""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature

from simlabel._utils.kernels._compile import intrinsic, ordered_kernel
from simlabel._utils.kernels._exponential import LOG2E, power_of_two
from simlabel._utils.kernels._lanes import NOTHING, PER_ROW, WHOLE, Lanes, Matrix, nothing, width_of
from simlabel._utils.kernels._types import Floats, Values


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
def _exponential_row(context, T, i, j, factor, S):  # type: ignore[no-untyped-def]
    """S[i, j:] = 2^(factor * T[i, j:]), one row of a panel."""

    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        i, j = values[1], values[2]
        T, S = (Matrix(context, builder, signature.args[n], values[n]) for n in (0, 4))
        lanes = Lanes(context, builder, signature.args[0].dtype)
        for n in range(PER_ROW):
            x = builder.fmul(lanes.repeated(values[3]), lanes.load(T.at(i, j), n))
            lanes.store(power_of_two(lanes, x), S.at(i, j), n)
        return nothing(context)

    return NOTHING(T, WHOLE, WHOLE, T.dtype, S), emit


@ordered_kernel
def rbf(T: Floats, n: int, x_side: Floats, start: int, q_side: Floats, parameters: Floats, S: Floats) -> None:
    """Of a tile: exp(-gamma * squared distance) from inner products and squared lengths."""
    factor = T.dtype.type(2.0 * LOG2E * parameters[0])
    for i in range(n):
        _rbf_row(T, i, 0, x_side[start + i], q_side, factor, S)


@ordered_kernel
def exponential(
    T: Floats, n: int, x_side: Floats, start: int, q_side: Floats, parameters: Floats, S: Floats
) -> None:
    """Of a tile: exp(-gamma * T)."""
    factor = T.dtype.type(-parameters[0] * LOG2E)
    for i in range(n):
        _exponential_row(T, i, 0, factor, S)


@ordered_kernel
def power(
    T: Floats, n: int, x_side: Floats, start: int, q_side: Floats, parameters: Floats, S: Floats
) -> None:
    """Of a tile: (T + c)^d, with parameters d and c."""
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
    """Of a tile: T / (x_side + q_side - T), the share of an intersection in a union; 0 / 0 is 0."""
    zero = T.dtype.type(0)
    for i in range(n):
        for j in range(width_of(T)):
            union = x_side[start + i] + q_side[j] - T[i, j]
            S[i, j] = T[i, j] / union if union > zero else zero


@ordered_kernel
def rbf_from_products(T: Floats, q_squares: Floats, x_squares: Floats, gamma: float) -> None:
    """T[i, j] = exp(-gamma * (q_squares[i] + x_squares[j] - 2 T[i, j])); gamma has T's dtype."""
    factor, width = T.dtype.type(2.0 * LOG2E * gamma), width_of(T)
    whole = T.shape[1] - T.shape[1] % width
    rest = np.empty((2, width), T.dtype)
    # entry by entry: of `rest[0, :n] = ...` numba makes code for any shapes, which takes seconds to compile
    for j in range(width):
        rest[0, j] = 0
        rest[1, j] = x_squares[whole + j] if whole + j < T.shape[1] else 0
    for i in range(T.shape[0]):
        for j in range(0, whole, width):
            _rbf_row(T, i, j, q_squares[i], x_squares, factor, T)
        for j in range(whole, T.shape[1]):
            rest[0, j - whole] = T[i, j]
        _rbf_row(rest, 0, 0, q_squares[i], rest[1], factor, rest)
        for j in range(whole, T.shape[1]):
            T[i, j] = rest[0, j - whole]


@ordered_kernel
def negative_exponential(T: Floats, gamma: float) -> None:
    """T = exp(-gamma * T) for T >= 0; gamma has T's dtype."""
    factor = T.dtype.type(-gamma * LOG2E)
    width = width_of(T)
    whole = T.shape[1] - T.shape[1] % width
    rest = np.empty((1, width), T.dtype)
    for j in range(width):
        rest[0, j] = 0
    for i in range(T.shape[0]):
        for j in range(0, whole, width):
            _exponential_row(T, i, j, factor, T)
        for j in range(whole, T.shape[1]):
            rest[0, j - whole] = T[i, j]
        _exponential_row(rest, 0, 0, factor, rest)
        for j in range(whole, T.shape[1]):
            T[i, j] = rest[0, j - whole]

"""Sums of similarities per label.

Sums from tiles are in double precision, at a cost that follows the labels present. Blocks of similarities
have references as rows: adjacent entries belong to adjacent queries, so one label of one reference is a loop
over queries that the compiler vectorizes.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from llvmlite import ir
from numba.core import cgutils
from numba.core.base import BaseContext
from numba.core.typing.templates import Signature

from simlabel._utils.kernels._compile import (
    Floats,
    Ints,
    LabelEntries,
    Values,
    intrinsic,
    kernel,
    ordered_kernel,
)
from simlabel._utils.kernels._lanes import INT, NOTHING, PER_ROW, WHOLE, Lanes, Matrix, nothing

WORD = 32  # labels whose presence is stored in one number
_SUMMED = 1024  # numbers that are added up in single precision


@kernel
def add_by_reference(S: Floats, indptr: Ints, indices: Ints, data: Floats, out: Floats) -> None:
    """Compute out[k, i] += S[j, i] * V[j, k] over the entries of V by row; S is (references, queries)."""
    n_queries = S.shape[1]
    for j in range(S.shape[0]):
        for entry in range(indptr[j], indptr[j + 1]):
            k, v = indices[entry], S.dtype.type(data[entry])
            for i in range(n_queries):
                out[k, i] += v * S[j, i]


@kernel
def add_by_label(S: Floats, indptr: Ints, indices: Ints, data: Floats, out: Floats) -> None:
    """Compute out[k, i] += S[i, j] * V[j, k] over the entries of V by column; S is (queries, references)."""
    for i in range(S.shape[0]):
        for k in range(out.shape[0]):
            total = 0.0
            for entry in range(indptr[k], indptr[k + 1]):
                total += data[entry] * S[i, indices[entry]]
            out[k, i] += total


@kernel
def transpose(S: Floats, out: Floats) -> None:
    """Write S transposed to out, eight rows at a time: they become eight adjacent entries."""
    whole = S.shape[0] - S.shape[0] % 8
    for i in range(0, whole, 8):
        for j in range(S.shape[1]):
            for n in range(8):
                out[j, i + n] = S[i + n, j]
    for i in range(whole, S.shape[0]):
        for j in range(S.shape[1]):
            out[j, i] = S[i, j]


@intrinsic
def add_row(context, S, i, out, k):  # type: ignore[no-untyped-def]
    """Compute out[k] += S[i] in double precision, for a row of a panel."""

    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        S, out = (Matrix(context, builder, signature.args[n], values[n]) for n in (0, 2))
        single, double = (Lanes(context, builder, signature.args[n].dtype) for n in (0, 2))
        source = S.at(values[1])
        _add_widened(single, double, [single.load(source, n) for n in range(PER_ROW)], out.at(values[3]))
        return nothing(context)

    return NOTHING(S, WHOLE, out, WHOLE), emit


@intrinsic
def add_gathered(context, S, rows, factors, first, last, out, k):  # type: ignore[no-untyped-def]
    """Compute out[k] += the sum of factors[e] * S[rows[e]] for e from first to last, for rows of a panel.

    Two sums at a time: a single one would wait for each addition to end.
    """

    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        arrays = (Matrix(context, builder, signature.args[n], values[n]) for n in (0, 1, 2, 5))
        S, rows, factors, out = arrays
        single, double = (Lanes(context, builder, signature.args[n].dtype) for n in (0, 5))
        totals = [[cgutils.alloca_once(builder, single.type) for _ in range(PER_ROW)] for _ in range(2)]
        for total in totals[0] + totals[1]:
            builder.store(single.constant(0.0), total)

        def add(entry: ir.Value, sums: Values) -> None:
            factor = single.repeated(builder.load(factors.at(entry)))
            source = S.at(builder.load(rows.at(entry)))
            for n, total in enumerate(sums):
                builder.store(single.times_plus(factor, single.load(source, n), builder.load(total)), total)

        _in_two_sums(builder, values[3], values[4], add, totals)
        sums = [builder.fadd(*map(builder.load, pair)) for pair in zip(*totals, strict=True)]
        _add_widened(single, double, sums, out.at(values[6]))
        return nothing(context)

    return NOTHING(S, rows, factors, WHOLE, WHOLE, out, WHOLE), emit


def _in_two_sums(
    builder: ir.IRBuilder,
    first: ir.Value,
    last: ir.Value,
    add: Callable[[ir.Value, Values], None],
    totals: list[Values],
) -> None:
    """Emit a loop from first to last that adds to two sums in turn."""
    one, two = ir.Constant(INT, 1), ir.Constant(INT, 2)
    middle = builder.add(first, builder.and_(builder.sub(last, first), ir.Constant(INT, -2)))
    with cgutils.for_range_slice(builder, first, middle, two) as (entry, _):
        add(entry, totals[0])
        add(builder.add(entry, one), totals[1])
    with builder.if_then(builder.icmp_signed("<", middle, last)):
        add(middle, totals[0])


def _add_widened(single: Lanes, double: Lanes, sums: Values, target: ir.Value) -> None:
    """Emit the addition of a row of a panel in double precision, which may take more registers."""
    builder, places = single.builder, ir.VectorType(ir.IntType(32), double.count)
    at = 0
    for value in sums:
        for start in range(0, single.count, double.count):
            chosen = ir.Constant(places, list(range(start, start + double.count)))
            part = builder.shuffle_vector(value, ir.Constant(single.type, ir.Undefined), chosen)
            wide = part if single.bits == 64 else builder.fpext(part, double.type)
            double.store(builder.fadd(double.load(target, at), wide), target, at)
            at += 1


@ordered_kernel
def sort_by_label(
    indptr: Ints, indices: Ints, data: Floats, step: int, place: Ints, found: LabelEntries
) -> None:
    """Sort the entries of V by tile and label.

    `place` is -1 for each label on entry and on return. `found` is (firsts, labels, begins, rows, factors):
    tile t has the labels m from firsts[t] to firsts[t + 1], label m the entries from begins[m] to
    begins[m + 1], each entry the row within its tile and the value.
    """
    firsts, labels, begins, rows, factors = found
    n_found = written = 0
    firsts[0] = begins[0] = 0
    for t in range(len(firsts) - 1):
        start, stop = t * step, min((t + 1) * step, len(indptr) - 1)
        for entry in range(indptr[start], indptr[stop]):
            k = indices[entry]
            if place[k] < 0:
                place[k] = n_found
                labels[n_found], begins[n_found + 1] = k, 0
                n_found += 1
            begins[place[k] + 1] += 1
        size = begins[firsts[t] + 1] if n_found > firsts[t] else 0
        for m in range(firsts[t], n_found):  # from sizes to beginnings, one place ahead, which advance below
            following = begins[m + 2] if m + 1 < n_found else 0
            begins[m + 1] = written
            written += size
            size = following
        for i in range(start, stop):
            for entry in range(indptr[i], indptr[i + 1]):
                m = place[indices[entry]] + 1
                rows[begins[m]], factors[begins[m]] = i - start, data[entry]
                begins[m] += 1
        firsts[t + 1] = n_found
        for m in range(firsts[t], n_found):
            place[labels[m]] = -1


@intrinsic
def _add_present(context, S, first, last, V, word, out):  # type: ignore[no-untyped-def]
    """Add to the sums of a word's 32 labels: S[j] where bit k of V[j, word] is set, j from first to last."""

    def emit(context: BaseContext, builder: ir.IRBuilder, signature: Signature, values: Values) -> ir.Value:
        S, V, out = (Matrix(context, builder, signature.args[n], values[n]) for n in (0, 3, 5))
        single, double = (Lanes(context, builder, signature.args[n].dtype) for n in (0, 5))
        word, numbers = values[4], single.integers.element
        n_registers = WORD // single.count
        # shifts that make a label's bit the sign bit, which `select` tests
        shifts = [
            [single.bits - 1 - (n * single.count + k) for k in range(single.count)]
            for n in range(n_registers)
        ]
        to_sign = [ir.Constant(single.integers, [ir.Constant(numbers, by) for by in each]) for each in shifts]
        totals = [[cgutils.alloca_once(builder, single.type) for _ in shifts] for _ in range(2)]
        for total in totals[0] + totals[1]:
            builder.store(single.constant(0.0), total)

        def add(j: ir.Value, sums: Values) -> None:
            value, bits = single.repeated(builder.load(S.at(j))), builder.load(V.at(j, word))
            bits = bits if single.bits == WORD else builder.zext(bits, numbers)
            everywhere = single.repeated(bits, single.integers)
            for shift, total in zip(to_sign, sums, strict=True):
                present = builder.icmp_signed("<", builder.shl(everywhere, shift), single.integer(0))
                more = builder.fadd(builder.load(total), value)
                builder.store(builder.select(present, more, builder.load(total)), total)

        _in_two_sums(builder, values[1], values[2], add, totals)
        sums = [builder.fadd(*map(builder.load, pair)) for pair in zip(*totals, strict=True)]
        _add_widened(single, double, sums, out.at(builder.mul(word, ir.Constant(INT, WORD))))
        return nothing(context)

    return NOTHING(S, WHOLE, WHOLE, V, WHOLE, out), emit


@ordered_kernel
def add_present(S: Floats, V: npt.NDArray[np.uint32], out: Floats) -> None:
    """Compute out[k] += the sum of S[j] over references j with label k, for one query; V is a bit mask."""
    for start in range(0, len(S), _SUMMED):
        for word in range(V.shape[1]):
            _add_present(S, start, min(start + _SUMMED, len(S)), V, word, out)

"""Sums into labels, at a cost that follows the labels present.

Blocks of similarities come with references as rows: neighbouring entries belong to neighbouring
queries, so that one label of one reference is a loop over queries that the compiler vectorises.
"""

from __future__ import annotations

from simlabel._utils.kernels._compile import kernel
from simlabel._utils.kernels._types import Floats, Ints


@kernel
def add_by_reference(S: Floats, indptr: Ints, indices: Ints, data: Floats, out: Floats) -> None:
    """out[k, i] += S[j, i] * V[j, k] over the entries of V, row by row; S is (references, queries)."""
    n_queries = S.shape[1]
    for j in range(S.shape[0]):
        for entry in range(indptr[j], indptr[j + 1]):
            k, v = indices[entry], S.dtype.type(data[entry])
            for i in range(n_queries):
                out[k, i] += v * S[j, i]


@kernel
def add_by_label(S: Floats, indptr: Ints, indices: Ints, data: Floats, out: Floats) -> None:
    """out[k, i] += S[i, j] * V[j, k] over the entries of V, column by column; S is (queries, references)."""
    for i in range(S.shape[0]):
        for k in range(out.shape[0]):
            total = 0.0
            for entry in range(indptr[k], indptr[k + 1]):
                total += data[entry] * S[i, indices[entry]]
            out[k, i] += total


@kernel
def turn_over(S: Floats, out: Floats) -> None:
    """out = S transposed, eight rows at a time: they become eight neighbours, which are written at once."""
    whole = S.shape[0] - S.shape[0] % 8
    for i in range(0, whole, 8):
        for j in range(S.shape[1]):
            out[j, i], out[j, i + 1] = S[i, j], S[i + 1, j]
            out[j, i + 2], out[j, i + 3] = S[i + 2, j], S[i + 3, j]
            out[j, i + 4], out[j, i + 5] = S[i + 4, j], S[i + 5, j]
            out[j, i + 6], out[j, i + 7] = S[i + 6, j], S[i + 7, j]
    for i in range(whole, S.shape[0]):
        for j in range(S.shape[1]):
            out[j, i] = S[i, j]


@kernel
def keep_largest(S: Floats, positions: Ints, values: Floats, indices: Ints) -> None:
    """Merge the entries of S, (queries, references), into the largest values kept so far, largest first.

    `positions` names the entries of S, one row for all queries or one for each. An entry takes a
    place only from smaller ones, so of equals the one that came first stays.
    """
    last = values.shape[1] - 1
    for i in range(S.shape[0]):
        named = i if positions.shape[0] > 1 else 0
        for j in range(S.shape[1]):
            s = S[i, j]
            if s > values[i, last]:
                place = last
                while place > 0 and values[i, place - 1] < s:
                    values[i, place] = values[i, place - 1]
                    indices[i, place] = indices[i, place - 1]
                    place -= 1
                values[i, place] = s
                indices[i, place] = positions[named, j]

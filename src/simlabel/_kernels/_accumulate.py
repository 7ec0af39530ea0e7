"""Sums into labels, at a cost that follows the labels present."""

from __future__ import annotations

from typing import Any

from simlabel._kernels._compile import kernel


@kernel
def add_sparse_rows(S: Any, indptr: Any, indices: Any, data: Any, out: Any) -> None:
    """out[i] += sum over j of S[i, j] * (row j of a CSR matrix)."""
    for i in range(S.shape[0]):
        for j in range(S.shape[1]):
            s = S[i, j]
            for entry in range(indptr[j], indptr[j + 1]):
                out[i, indices[entry]] += s * data[entry]


@kernel
def keep_largest(S: Any, positions: Any, values: Any, indices: Any) -> None:
    """Merge the entries of S into the largest values kept so far, largest first.

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

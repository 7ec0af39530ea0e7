"""What one sparse row has in common with many, through the rows' inverted index."""

from __future__ import annotations

import numpy as np

from simlabel._utils.kernels._compile import inlined, kernel
from simlabel._utils.kernels._types import Bools, Floats, Ints

PRODUCT, SMALLER, HARMONIC = 0, 1, 2  # what a column that two rows have in common adds


@inlined
def _term(kind: int, a: float, b: float) -> float:
    """a b; or of numbers of one sign the smaller size; or a b / (a + b), of numbers not below 0."""
    if kind == PRODUCT:
        return a * b
    if kind == SMALLER:
        if (a > 0.0) == (b > 0.0):
            return min(abs(a), abs(b))
        return 0.0
    return a * b / (a + b) if a + b > 0.0 else 0.0


@kernel
def common_terms(
    kind: int,
    q_indices: Ints,
    q_data: Floats,
    indptr: Ints,
    indices: Ints,
    data: Floats,
    dense: Floats,
    met: Bools,
    found: Ints,
    products: Floats,
) -> int:
    """Fill `found` with the rows that share a column with q, `products` with the sums of their terms.

    Parameters
    ----------
    kind : int
        Which term: PRODUCT gives inner products.
    q_indices, q_data : array, (n_entries,)
        The row q.
    indptr, indices, data : array
        All rows, column by column (CSC).
    dense : array, (n_rows,)
        NaN on entry and on return: a place to add up, where NaN means not met yet.
    met : array of bool, (n_rows,)
        False on entry and on return: looked at only where `dense` is NaN.

    Returns
    -------
    int
        How many rows were found.
    """
    count = 0
    for q_entry in range(len(q_indices)):
        column, value = q_indices[q_entry], q_data[q_entry]
        for entry in range(indptr[column], indptr[column + 1]):
            j = indices[entry]
            if dense[j] != dense[j]:
                if met[j]:  # a sum that overflows both ways is NaN too: the row must not be counted again
                    dense[j] = np.inf
                else:
                    met[j] = True
                    dense[j] = 0.0
                    found[count] = j
                    count += 1
            dense[j] += _term(kind, value, data[entry])
    for c in range(count):
        products[c] = dense[found[c]]
        dense[found[c]] = float("nan")
        met[found[c]] = False
    return count


@kernel
def add_rows(S: Floats, found: Ints, indptr: Ints, indices: Ints, data: Floats, out: Floats) -> None:
    """out += sum over c of S[c] * (row found[c] of a CSR matrix)."""
    for c in range(len(S)):
        for entry in range(indptr[found[c]], indptr[found[c] + 1]):
            out[indices[entry]] += S[c] * data[entry]

"""Inner products of one sparse row with many, through the rows' inverted index."""

from __future__ import annotations

import numpy as np

from simlabel._kernels._compile import kernel
from simlabel._kernels._types import Floats, Ints


@kernel
def nonzero_products(
    q_indices: Ints,
    q_data: Floats,
    indptr: Ints,
    indices: Ints,
    data: Floats,
    dense: Floats,
    found: Ints,
    products: Floats,
) -> int:
    """Fill `found` with the rows that share a column with q, `products` with their inner products.

    Parameters
    ----------
    q_indices, q_data : array, (n_entries,)
        The row q.
    indptr, indices, data : array
        All rows, column by column (CSC).
    dense : array, (n_rows,)
        NaN on entry and on return: a place to add up, where NaN means not met yet.

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
                dense[j] = 0.0
                found[count] = j
                count += 1
            total = dense[j] + value * data[entry]
            # sums that overflow both ways are NaN, which would count the row again, past the end of `found`
            dense[j] = total if total == total else np.inf
    for c in range(count):
        products[c] = dense[found[c]]
        dense[found[c]] = float("nan")
    return count


@kernel
def add_rows(S: Floats, found: Ints, indptr: Ints, indices: Ints, data: Floats, out: Floats) -> None:
    """out += sum over c of S[c] * (row found[c] of a CSR matrix)."""
    for c in range(len(S)):
        for entry in range(indptr[found[c]], indptr[found[c] + 1]):
            out[indices[entry]] += S[c] * data[entry]

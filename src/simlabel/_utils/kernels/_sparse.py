"""Loops over sparse rows: columns in common through an inverted index, and products with dense matrices."""

from __future__ import annotations

import numpy as np

from simlabel._utils.kernels._compile import Floats, Ints, inlined, kernel
from simlabel._utils.validation import BoolArray

PRODUCT, SMALLER, HARMONIC = 0, 1, 2  # the term of a column that two rows have in common


@inlined
def _term(kind: int, a: float, b: float) -> float:
    """Return a b; the smaller absolute value of numbers of one sign; or a b / (a + b) for a, b >= 0."""
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
    visited: BoolArray,
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
        All rows, by column (CSC).
    dense : array, (n_rows,)
        NaN on entry and on return: the sums, where NaN means that the row has not been visited yet.
    visited : array of bool, (n_rows,)
        False on entry and on return: read only where `dense` is NaN.

    Returns
    -------
    int
        Number of rows found.
    """
    count = 0
    for q_entry in range(len(q_indices)):
        column, value = q_indices[q_entry], q_data[q_entry]
        for entry in range(indptr[column], indptr[column + 1]):
            j = indices[entry]
            if dense[j] != dense[j]:
                if visited[j]:  # a sum that overflows both ways is NaN too: the row must not be counted again
                    dense[j] = np.inf
                else:
                    visited[j] = True
                    dense[j] = 0.0
                    found[count] = j
                    count += 1
            dense[j] += _term(kind, value, data[entry])
    for c in range(count):
        products[c] = dense[found[c]]
        dense[found[c]] = float("nan")
        visited[found[c]] = False
    return count


@kernel
def add_rows(S: Floats, found: Ints, indptr: Ints, indices: Ints, data: Floats, out: Floats) -> None:
    """Compute out += sum over c of S[c] * (row found[c] of a CSR matrix)."""
    for c in range(len(S)):
        for entry in range(indptr[found[c]], indptr[found[c] + 1]):
            out[indices[entry]] += S[c] * data[entry]


@kernel
def sparse_times_dense(indptr: Ints, indices: Ints, data: Floats, M: Floats, out: Floats) -> None:
    """Compute out = A @ M for a CSR matrix A, in the dtype of M.

    Four entries at a time: their rows of M are read side by side, and `out` is passed over once for all
    of them.
    """
    number = M.dtype.type
    for i in range(len(out)):
        total = out[i]
        total[:] = 0.0
        entry, end = indptr[i], indptr[i + 1]
        while entry + 4 <= end:
            a, b = number(data[entry]), number(data[entry + 1])
            c, d = number(data[entry + 2]), number(data[entry + 3])
            A, B = M[indices[entry]], M[indices[entry + 1]]
            C, D = M[indices[entry + 2]], M[indices[entry + 3]]
            for k in range(len(total)):
                total[k] += a * A[k] + b * B[k] + c * C[k] + d * D[k]
            entry += 4
        while entry < end:
            a, A = number(data[entry]), M[indices[entry]]
            for k in range(len(total)):
                total[k] += a * A[k]
            entry += 1

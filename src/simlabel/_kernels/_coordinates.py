"""Sums over coordinates of a function of two numbers: out[i, j] = sum over c of term(A[i, c], BT[c, j]).

One side comes transposed, so that the inner loop runs over its neighbouring rows.
Each sum is a kernel of its own, since only a kernel with no function among its arguments is kept
compiled on disk.
"""

from __future__ import annotations

from typing import Any

from simlabel._kernels._compile import inlined, kernel


@inlined
def sum_terms(A: Any, BT: Any, term: Any, out: Any) -> None:
    """Fill `out`, two rows and four coordinates at a time, so that less is loaded and stored."""
    n_rows, n_columns, n_others = A.shape[0], A.shape[1], out.shape[1]
    whole = n_columns - n_columns % 4
    for i in range(0, n_rows, 2):
        k = min(i + 1, n_rows - 1)  # a last odd row is its own companion
        for j in range(n_others):
            out[i, j] = 0
            out[k, j] = 0
        for c in range(0, whole, 4):
            a0, a1, a2, a3 = A[i, c], A[i, c + 1], A[i, c + 2], A[i, c + 3]
            b0, b1, b2, b3 = A[k, c], A[k, c + 1], A[k, c + 2], A[k, c + 3]
            for j in range(n_others):
                x0, x1, x2, x3 = BT[c, j], BT[c + 1, j], BT[c + 2, j], BT[c + 3, j]
                one = out[i, j] + ((term(a0, x0) + term(a1, x1)) + (term(a2, x2) + term(a3, x3)))
                two = out[k, j] + ((term(b0, x0) + term(b1, x1)) + (term(b2, x2) + term(b3, x3)))
                out[i, j] = one
                out[k, j] = two
        for c in range(whole, n_columns):
            a0, b0 = A[i, c], A[k, c]
            for j in range(n_others):
                one, two = out[i, j] + term(a0, BT[c, j]), out[k, j] + term(b0, BT[c, j])
                out[i, j] = one
                out[k, j] = two


@inlined
def _absolute_difference(q: Any, x: Any) -> Any:
    return abs(q - x)


@inlined
def _chi_square(q: Any, x: Any) -> Any:
    total = q + x
    difference = q - x
    return difference * difference / total if total > 0 else total


@inlined
def _minimum(q: Any, x: Any) -> Any:
    return min(q, x)


@kernel
def l1_distances(A: Any, BT: Any, out: Any) -> None:
    """Sum of absolute differences."""
    sum_terms(A, BT, _absolute_difference, out)


@kernel
def chi_square_distances(A: Any, BT: Any, out: Any) -> None:
    """Sum of (q - x)^2 / (q + x) for non-negative numbers, 0 / 0 counting as 0."""
    sum_terms(A, BT, _chi_square, out)


@kernel
def minimum_sums(A: Any, BT: Any, out: Any) -> None:
    """Sum of the smaller of two numbers: the size of a weighted intersection."""
    sum_terms(A, BT, _minimum, out)

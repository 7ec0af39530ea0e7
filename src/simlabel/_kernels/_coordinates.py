"""Sums over coordinates of a function of two numbers: out[i, j] = sum over c of term(Q[i, c], XT[c, j]).

References come transposed, so that the inner loop runs over neighbouring references.
Each sum is a kernel of its own, since only a kernel with no function among its arguments is kept
compiled on disk.
"""

from __future__ import annotations

from typing import Any

from simlabel._kernels._compile import inlined, kernel


@inlined
def sum_terms(Q: Any, XT: Any, term: Any, out: Any) -> None:
    """Fill `out`, four coordinates at a time, so that partial sums are loaded and stored less often."""
    n_columns = Q.shape[1]
    whole = n_columns - n_columns % 4
    for i in range(Q.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = 0
        for c in range(0, whole, 4):
            q0, q1, q2, q3 = Q[i, c], Q[i, c + 1], Q[i, c + 2], Q[i, c + 3]
            for j in range(out.shape[1]):
                near = term(q0, XT[c, j]) + term(q1, XT[c + 1, j])
                out[i, j] += near + term(q2, XT[c + 2, j]) + term(q3, XT[c + 3, j])
        for c in range(whole, n_columns):
            q0 = Q[i, c]
            for j in range(out.shape[1]):
                out[i, j] += term(q0, XT[c, j])


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
def l1_distances(Q: Any, XT: Any, out: Any) -> None:
    """Sum of absolute differences."""
    sum_terms(Q, XT, _absolute_difference, out)


@kernel
def chi_square_distances(Q: Any, XT: Any, out: Any) -> None:
    """Sum of (q - x)^2 / (q + x) for non-negative numbers, 0 / 0 counting as 0."""
    sum_terms(Q, XT, _chi_square, out)


@kernel
def minimum_sums(Q: Any, XT: Any, out: Any) -> None:
    """Sum of the smaller of two numbers: the size of a weighted intersection."""
    sum_terms(Q, XT, _minimum, out)

"""Kernel ridge regression in closed form, for one or several penalties and for changed rows.

With S the similarities of the references, W their weights and lambda the penalty, the influence (the dual
coefficients) is A (Y - mean), A = (S + lambda W^-1)^-1.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import nullcontext
from typing import Any

import numpy as np
import scipy.linalg

from simlabel._utils.kernels import cholesky_in_place, invert_lower_in_place
from simlabel._utils.limits import limits
from simlabel._utils.threads import limit_blas_threads
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.ridge._leave_one_out import (
    RidgeSolution,
    Within,
    blocks_of,
    closed_form_loo_scores,
    scores_without_groups,
)

#: penalty -> leave-one-out scores, (n, width)
LooScores = Callable[[float], FloatArray]
_DIGITS = 0.2  # share of the smallest penalty that the rounding of eigenvalues may reach


def ridge_solution(
    S: FloatArray, targets: FloatArray, weights: FloatArray, penalty: float, groups: IntArray | None = None
) -> RidgeSolution:
    """Solve for one penalty.

    Parameters
    ----------
    S : array, (n, n)
        Similarities of the references to each other.
    targets : array, (n, width)
        Labels and one-hot set sizes.
    weights : array, (n,)
        Weight of each reference.
    penalty : float
        lambda, above 0.
    groups : array of int, (n,), optional
        Group of each reference; groups are left out whole.

    Examples
    --------
    >>> solution = ridge_solution(np.eye(2), np.array([[1.0], [0.0]]), np.ones(2), 1.0)
    >>> solution.V.ravel(), solution.mean
    (array([ 0.25, -0.25]), array([0.5]))
    """
    A = positive_definite_inverse(S, penalty / weights)
    return solution_from_inverse(A, A @ with_ones(targets), targets, weights, penalty, groups)


def with_ones(targets: FloatArray) -> FloatArray:
    """Append a column of ones to the targets: the solution is linear in the mean."""
    return np.column_stack([targets, np.ones(len(targets))])


def solution_from_inverse(
    A: FloatArray,
    AY1: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    penalty: float,
    groups: IntArray | None = None,
) -> RidgeSolution:
    """Return the solution, given A = (S + lambda W^-1)^-1 and its product with the targets and ones."""
    mean = weights @ targets / weights.sum()
    V = AY1[:, :-1] - np.outer(AY1[:, -1], mean)
    if groups is None:
        loo_scores = closed_form_loo_scores(AY1, np.diag(A), targets, weights, penalty)
    else:
        loo_scores = scores_without_groups(blocks_of(A), AY1, targets, weights, groups)
    return RidgeSolution(V, mean, loo_scores, A)


def loo_scores_without_each(
    A: FloatArray, targets: FloatArray, weights: FloatArray, penalty: float
) -> Iterator[FloatArray]:
    """Yield, for each row, the leave-one-out scores of the others if it did not exist, (n - 1, width).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> S, T, w = np.eye(4) + 0.2, rng.random((4, 1)), np.ones(4)
    >>> first = next(loo_scores_without_each(positive_definite_inverse(S, 1.0 / w), T, w, 1.0))
    >>> np.allclose(first, ridge_solution(S[1:, 1:], T[1:], w[1:], 1.0).loo_scores)
    True
    """
    AY1, diagonal = A @ with_ones(targets), np.diag(A)
    for j in range(len(A)):
        others = np.arange(len(A)) != j
        across = A[others, j]
        fewer = AY1[others] - np.outer(across, AY1[j] / A[j, j])
        fewer_diagonal = diagonal[others] - across**2 / A[j, j]
        yield closed_form_loo_scores(fewer, fewer_diagonal, targets[others], weights[others], penalty)


def positive_definite_inverse(S: FloatArray, ridge: FloatArray) -> FloatArray:
    """Return (S + diag(ridge))^-1, symmetric; raise ValueError if it is not positive definite."""
    with limit_blas_threads(1) if len(S) <= limits().lone_factor_rows else nullcontext():
        inverse, _ = scipy.linalg.lapack.dpotri(cholesky_factor(S, ridge), lower=1, overwrite_c=1)
    lower = np.tril(inverse)
    return lower + np.tril(inverse, -1).T


def cholesky_factor(S: FloatArray, ridge: FloatArray, dtype: Any = np.float64) -> FloatArray:
    """Return the lower Cholesky factor of S + diag(ridge), in Fortran order."""
    A: Any = np.triu(S).astype(dtype, copy=False).T  # S is symmetric, so this is its lower half
    A[np.diag_indices_from(A)] += ridge.astype(dtype)
    if cholesky_in_place(A):
        raise ValueError(
            f"The similarities are not positive definite at penalty {float(ridge.max()):.3g}: "
            f"raise the penalty, e.g. Ridge(penalty=1.0), or use influence='uniform'."
        )
    return np.asarray(A)


def loo_scores_by_penalty(
    S: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    groups: IntArray | None = None,
    coarse_from: float | None = None,
) -> LooScores:
    """Return a function from the penalty to leave-one-out scores.

    Parameters
    ----------
    S, targets, weights, groups
        As in `ridge_solution`.
    coarse_from : float, optional
        The smallest penalty, if single precision is enough: for comparing penalties.

    Examples
    --------
    >>> S, T, w = np.eye(3) + 0.5, np.array([[1.0], [0.0], [1.0]]), np.ones(3)
    >>> exact = loo_scores_by_penalty(S, T, w)
    >>> coarse = loo_scores_by_penalty(S, T, w, coarse_from=0.1)
    >>> np.allclose(exact(0.3), coarse(0.3), atol=1e-5)
    True
    """
    trace = float(np.diag(S) @ weights)  # no eigenvalue is larger
    exact = coarse_from is None or np.finfo(np.float32).eps * trace > _DIGITS * coarse_from
    dtype: Any = np.float64 if exact else np.float32

    def loo_scores(penalty: float) -> FloatArray:
        inverse = cholesky_factor(S, penalty / weights, dtype)
        invert_lower_in_place(inverse)
        AY1 = (inverse.T @ (inverse @ with_ones(targets).astype(dtype))).astype(np.float64)
        if groups is None:
            diagonal = np.einsum("ij,ij->j", inverse, inverse).astype(np.float64)
            scores = closed_form_loo_scores(AY1, diagonal, targets, weights, penalty)
        else:
            scores = scores_without_groups(_gram_blocks(inverse.T), AY1, targets, weights, groups)
        return scores.astype(dtype, copy=False)

    return loo_scores


def _gram_blocks(rows: FloatArray) -> Within:
    """Return a function that computes the inner products of rows within groups."""

    def within(groups: IntArray) -> FloatArray:
        some = rows[groups]
        with limit_blas_threads(1):  # many small products, which would wait for each other
            return np.asarray(some @ some.transpose(0, 2, 1), dtype=np.float64)

    return within

"""Kernel ridge regression and its leave-one-out scores in closed form.

With S the similarities of the references, W their weights and lambda the penalty, the influence is
A (Y - mean), A = (S + lambda W^-1)^-1. Leaving out one copy of row i (all of it where its weight is
below 1) changes its score by the residual over 1 - leverage, and the mean that is taken off is the
one without it (Allen 1974; for the mean, the residual is linear in it). Of rows in groups, see `_groups`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg

from simlabel._utils.kernels import cholesky_in_place
from simlabel._utils.limits import limits
from simlabel._utils.rows import Codes
from simlabel._utils.threads import held_blas
from simlabel._utils.validation import FloatArray
from simlabel.ridge._groups import parts_of, scores_without_groups


@dataclass(frozen=True)
class RidgeSolution:
    """Influence V (n, width), the mean that was taken off (width,), and leave-one-out scores (n, width).

    `inverse` is (S + lambda W^-1)^-1, (n, n), where it was computed; `residual` what an iteration has left
    over, as a share of what is to be scored.
    """

    V: FloatArray
    mean: FloatArray
    left_out: FloatArray
    inverse: FloatArray | None = None
    residual: float | None = None


def ridge_solution(
    S: FloatArray, targets: FloatArray, weights: FloatArray, penalty: float, groups: Codes | None = None
) -> RidgeSolution:
    """Solve for one penalty.

    Parameters
    ----------
    S : array, (n, n)
        Similarities of the references to each other.
    targets : array, (n, width)
        What each should score: labels and one-hot set sizes.
    weights : array, (n,)
        How many times each counts.
    penalty : float
        lambda, above 0.
    groups : array of int, (n,), optional
        Number of the group of each, which is then left out whole.

    Examples
    --------
    >>> solution = ridge_solution(np.eye(2), np.array([[1.0], [0.0]]), np.ones(2), 1.0)
    >>> solution.V.ravel(), solution.mean
    (array([ 0.25, -0.25]), array([0.5]))
    """
    A = positive_definite_inverse(S, penalty / weights)
    return solution_from_inverse(A, A @ with_ones(targets), targets, weights, penalty, groups)


def with_ones(targets: FloatArray) -> FloatArray:
    """The targets and a column of ones: the solution is linear in the mean that is taken off."""
    return np.column_stack([targets, np.ones(len(targets))])


def solution_from_inverse(
    A: FloatArray,
    AY1: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    penalty: float,
    groups: Codes | None = None,
) -> RidgeSolution:
    """The solution from A = (S + lambda W^-1)^-1 and its product with the targets and ones."""
    mean = weights @ targets / weights.sum()
    V = AY1[:, :-1] - np.outer(AY1[:, -1], mean)
    if groups is None:
        left_out = left_out_scores(AY1, np.diag(A), targets, weights, penalty)
    else:
        left_out = scores_without_groups(parts_of(A), AY1, targets, weights, groups)
    return RidgeSolution(V, mean, left_out, A)


def left_out_scores(
    AY1: FloatArray, diagonal: FloatArray, targets: FloatArray, weights: FloatArray, penalty: float
) -> FloatArray:
    """Scores of each row with one copy of it left out, (n, width), from A's diagonal and products."""
    AY, A1 = AY1[:, :-1], AY1[:, -1]
    left = np.minimum(weights, 1.0)
    mean_without = means_without(targets, weights, left)
    residuals = (penalty / weights)[:, None] * (AY - A1[:, None] * mean_without)
    leverage = (1.0 - penalty * diagonal / weights) / weights
    return targets - residuals / (1.0 - left * leverage)[:, None]


def scores_without_each(
    A: FloatArray, targets: FloatArray, weights: FloatArray, penalty: float
) -> Iterator[FloatArray]:
    """For each row in turn: the left-out scores of the others, (n - 1, width), if it were not there.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> S, T, w = np.eye(4) + 0.2, rng.random((4, 1)), np.ones(4)
    >>> first = next(scores_without_each(positive_definite_inverse(S, 1.0 / w), T, w, 1.0))
    >>> np.allclose(first, ridge_solution(S[1:, 1:], T[1:], w[1:], 1.0).left_out)
    True
    """
    AY1, diagonal = A @ with_ones(targets), np.diag(A)
    for j in range(len(A)):
        others = np.arange(len(A)) != j
        across = A[others, j]
        fewer = AY1[others] - np.outer(across, AY1[j] / A[j, j])
        on_it = diagonal[others] - across**2 / A[j, j]
        yield left_out_scores(fewer, on_it, targets[others], weights[others], penalty)


def means_without(targets: FloatArray, weights: FloatArray, left: FloatArray) -> FloatArray:
    """Weighted mean of the targets without `left` of each row's weight, (n, width)."""
    rest = weights.sum() - left[:, None]
    total = weights @ targets - left[:, None] * targets
    return np.divide(total, rest, out=np.zeros_like(total), where=rest > 1e-12)


def positive_definite_inverse(S: FloatArray, ridge: FloatArray) -> FloatArray:
    """(S + diag(ridge))^-1, symmetric; an error where that is not positive definite."""
    with held_blas(1) if len(S) <= limits().lone_factor_rows else nullcontext():
        inverse, _ = scipy.linalg.lapack.dpotri(cholesky_factor(S, ridge), lower=1, overwrite_c=1)
    lower = np.tril(inverse)
    return lower + np.tril(inverse, -1).T


def cholesky_factor(S: FloatArray, ridge: FloatArray, dtype: Any = np.float64) -> FloatArray:
    """The lower factor of S + diag(ridge), by column in memory; an error where there is none."""
    A: Any = np.triu(S).astype(dtype, copy=False).T  # S is symmetric, so this is its lower half
    A[np.diag_indices_from(A)] += ridge.astype(dtype)
    if cholesky_in_place(A):
        raise ValueError(
            f"The similarities are not positive definite at penalty {float(ridge.max()):.3g}: "
            f"raise the penalty, e.g. Ridge(penalty=1.0), or use influence='uniform'."
        )
    return np.asarray(A)

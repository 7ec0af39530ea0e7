"""Ridge on inducing references (Nystroem approximation), for any number of rows.

The function is a sum over m of the n references, fitted to all of them. With T the Cholesky factor of their
similarities, rows become features phi = S_nm T^-1. Everything follows from the m x m Gram matrix of the
features, which is summed in one pass over blocks: the solution, the leverage of each row, and so the
leave-one-out scores. There is no iteration and no tolerance.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, by_parts, fold, n_rows, take_rows
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge._leave_one_out import MeansWithoutGroups, RidgeSolution, residuals_without_groups
from simlabel.similarities import Similarity
from simlabel.sums import Engine, Job, MatrixReducer, Prepared, ReduceCall

_JITTER = 1e-8  # of the largest similarity, so that equal inducing rows do no harm


class FeatureMap(Protocol):
    """A map from rows to features whose inner products are the similarities."""

    @property
    def width(self) -> int: ...

    def __call__(self, X: Rows, /) -> FloatArray: ...


class NystroemFeatures:
    """Features of rows by their similarities to the inducing references."""

    def __init__(
        self, prepared: Prepared, similarity: Similarity, engine: Engine, n_jobs: int | None
    ) -> None:
        if similarity.form == "precomputed":
            raise ValueError(
                f"Ridge: {prepared.n_rows:,} inducing references are not possible with a precomputed matrix, "
                f"whose columns are all rows. Use Ridge(inducing=None), which sums over all, or pass "
                f"features to fit, and a similarity that compares them."
            )
        self.prepared, self.engine, self.n_jobs = prepared, engine, n_jobs
        self.job = Job(similarity, None, MatrixReducer(prepared.n_rows))
        S = self._similarities(prepared.X)
        S = (S + S.T) / 2
        S[np.diag_indices_from(S)] += _JITTER * float(np.diag(S).max())
        try:
            self.factor: FloatArray = scipy.linalg.cholesky(S, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            fewer = max(1, prepared.n_rows // 2)
            raise ValueError(
                f"The similarities of the inducing references are not positive definite with {similarity!r}: "
                f"use fewer of them, e.g. Ridge(inducing={fewer}), or influence='uniform'."
            ) from None

    @property
    def width(self) -> int:
        """Number of features: that of inducing references."""
        return self.prepared.n_rows

    def _similarities(self, X: Rows) -> FloatArray:
        call = ReduceCall(X, self.prepared, [self.job], n_jobs=self.n_jobs)
        return self.engine.reduce(call)[0].astype(np.float64, copy=False)

    def __call__(self, X: Rows) -> FloatArray:
        """Return phi(X), (n_rows, m)."""
        S = self._similarities(X).T
        solved = scipy.linalg.solve_triangular(
            self.factor, S, lower=True, check_finite=False, overwrite_b=True
        )
        return np.asarray(solved.T)

    def to_influence(self, coefficients: FloatArray) -> FloatArray:
        """Return the influence of the inducing references, given the coefficients of the features."""
        T = self.factor
        return np.asarray(
            scipy.linalg.solve_triangular(T, coefficients, lower=True, trans="T", check_finite=False)
        )


@dataclass(frozen=True)
class GramSums:
    """Weighted sums over rows of the products of features with themselves, the targets, and one."""

    G: FloatArray
    b: FloatArray
    ones: FloatArray

    def __add__(self, other: GramSums) -> GramSums:
        return GramSums(self.G + other.G, self.b + other.b, self.ones + other.ones)


@dataclass(frozen=True)
class SumGram:
    """Task: compute the sums over some rows, block by block."""

    features: FeatureMap

    def __call__(self, X: Rows, targets: Rows, weights: FloatArray) -> GramSums:
        m = self.features.width
        sums = GramSums(np.zeros((m, m)), np.zeros((m, targets.shape[1])), np.zeros(m))
        for part in blocks(n_rows(X), limits().block_rows):
            phi = self.features(X[part])
            weighted = phi * weights[part, None]
            sums.G[:] += weighted.T @ phi
            sums.b[:] += weighted.T @ targets[part].toarray()
            sums.ones[:] += weighted.sum(axis=0)
        return sums


@dataclass(frozen=True)
class LeaveOut:
    """Task: compute leave-one-out scores of some rows, given the solution for all."""

    features: FeatureMap
    factor: FloatArray
    for_targets: FloatArray
    for_one: FloatArray
    mean: FloatArray
    total: float

    def __call__(self, X: Rows, targets: Rows, weights: FloatArray) -> FloatArray:
        loo_scores = np.empty((n_rows(X), targets.shape[1]))
        for part in blocks(n_rows(X), limits().block_rows):
            Y, left = targets[part].toarray(), np.minimum(weights[part], 1.0)[:, None]
            means = (self.total * self.mean - left * Y) / np.maximum(self.total - left, 1e-12)
            half, over = self._fitted(X[part], Y, means)
            leverage = np.einsum("ij,ij->j", half, half)[:, None]
            loo_scores[part] = Y - over / (1.0 - left * leverage)
        return loo_scores

    def _fitted(self, X: Rows, Y: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return features at penalty 1, (m, n_rows), and the residuals of the fit with these means."""
        phi = self.features(X)
        half = scipy.linalg.solve_triangular(self.factor, phi.T, lower=True, check_finite=False)
        # the fit to targets less a mean is linear in the mean
        return half, Y - (phi @ self.for_targets + mean * (1.0 - phi @ self.for_one)[:, None])

    def of_groups(self, X: Rows, targets: Rows, weights: FloatArray, groups: IntArray) -> FloatArray:
        """Return the scores of each row without its group."""
        means = MeansWithoutGroups(targets, weights, groups)

        def fitted(rows: IntArray) -> tuple[FloatArray, FloatArray]:
            half, over = self._fitted(take_rows(X, rows), targets[rows].toarray(), means(rows))
            return half.T, over

        loo_scores = np.empty(targets.shape)
        for rows, over in residuals_without_groups(fitted, weights, groups):
            loo_scores[rows] = targets[rows].toarray() - over
        return loo_scores


@dataclass(frozen=True)
class FeatureFactor:
    """Cholesky factor of the weighted Gram matrix of the features plus the penalty, and solutions.

    Attributes
    ----------
    factor : array, (n_features, n_features)
        Lower.
    for_targets : array, (n_features, width)
        Coefficients for the targets.
    for_one : array, (n_features,)
        Coefficients for ones.
    """

    factor: FloatArray
    for_targets: FloatArray
    for_one: FloatArray

    def solve(self, B: FloatArray) -> FloatArray:
        """Solve for columns B, (n_features, k)."""
        return np.asarray(scipy.linalg.cho_solve((self.factor, True), B, check_finite=False))


def feature_factor(
    features: FeatureMap, X: Rows, targets: Rows, weights: FloatArray, penalty: float
) -> FeatureFactor:
    """Factorize and solve in one pass over the rows, where they are."""
    sums = fold(X, SumGram(features), operator.add, targets, weights)
    sums.G[np.diag_indices_from(sums.G)] += penalty
    factor, _ = scipy.linalg.cho_factor(sums.G, lower=True, overwrite_a=True, check_finite=False)
    found = scipy.linalg.cho_solve((factor, True), np.column_stack([sums.b, sums.ones]), check_finite=False)
    return FeatureFactor(factor, found[:, :-1], found[:, -1])


def feature_solution(
    features: FeatureMap,
    X: Rows,
    targets: Rows,
    weights: FloatArray,
    penalty: float,
    groups: IntArray | None = None,
) -> RidgeSolution:
    """Solve for the coefficients of the features, V of the result, (n_features, width).

    Both passes run where the rows are.

    Parameters
    ----------
    X : rows, (n, n_features)
        All references.
    targets : sparse, (n, width)
        Labels and one-hot set sizes.
    groups : array of int, (n,), optional
        Group of each reference; groups are left out whole.
    """
    mean = np.asarray(weights @ targets).ravel() / weights.sum()
    found = feature_factor(features, X, targets, weights, penalty)
    total, for_targets, for_one = float(weights.sum()), found.for_targets, found.for_one
    leave_out = LeaveOut(features, found.factor, for_targets, for_one, mean, total)
    if groups is None:
        loo_scores = np.concatenate(by_parts(X, leave_out, targets, weights))
    else:
        loo_scores = leave_out.of_groups(X, targets, weights, groups)
    return RidgeSolution(for_targets - np.outer(for_one, mean), mean, loo_scores)

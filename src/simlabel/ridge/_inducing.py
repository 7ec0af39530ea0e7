"""Ridge on inducing references (Nystroem): as many rows as you like, summed over a few.

The function is a sum over m of the n references, fitted to all of them. With T the Cholesky factor
of their similarities, rows become features phi = S_nm T^-1, and everything follows from the m x m
matrix of their products, added up block by block in one pass: the solution, the leverage of each
row, and so the leave-one-out scores. No iteration, no tolerance.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.linalg

from simlabel._utils.limits import limits
from simlabel._utils.rows import Codes, blocks, by_parts, fold, n_rows, take_rows
from simlabel._utils.validation import FloatArray, Rows
from simlabel.ridge._closed_form import RidgeSolution
from simlabel.ridge._groups import MeansWithoutGroups, Positions, residuals_without_groups
from simlabel.similarities import Similarity
from simlabel.sums import Engine, Job, Keep, Prepared, ReduceCall

_JITTER = 1e-8  # of the largest similarity, so that equal inducing rows do no harm


class Features(Protocol):
    """Rows as columns of which a similarity, or what stands for it, is the inner product."""

    @property
    def width(self) -> int: ...

    def __call__(self, X: Rows, /) -> FloatArray: ...


class InducingFeatures:
    """Rows as features of the inducing references."""

    def __init__(
        self, prepared: Prepared, similarity: Similarity, engine: Engine, n_jobs: int | None
    ) -> None:
        if similarity.form == "precomputed":
            raise ValueError(
                f"Ridge: {prepared.n_rows:,} inducing references are not possible with a precomputed matrix, "
                f"whose columns are all rows. Use Ridge(inducing=None), which sums over all, or give fit the "
                f"features, and a similarity that compares them."
            )
        self.prepared, self.engine, self.n_jobs = prepared, engine, n_jobs
        self.job = Job(similarity, None, Keep(prepared.n_rows))
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
        """As many as there are inducing references."""
        return self.prepared.n_rows

    def _similarities(self, X: Rows) -> FloatArray:
        call = ReduceCall(X, self.prepared, [self.job], n_jobs=self.n_jobs)
        S = self.engine.reduce(call)[0]
        return S.astype(np.float64, copy=False)

    def __call__(self, X: Rows) -> FloatArray:
        """phi(X), (n_rows, m)."""
        S = self._similarities(X)
        solved = scipy.linalg.solve_triangular(
            self.factor, S.T, lower=True, check_finite=False, overwrite_b=True
        )
        return np.asarray(solved.T)

    def to_influence(self, coefficients: FloatArray) -> FloatArray:
        """From coefficients of the features to the influence of the inducing references."""
        solved = scipy.linalg.solve_triangular(
            self.factor, coefficients, lower=True, trans="T", check_finite=False
        )
        return np.asarray(solved)


@dataclass(frozen=True)
class Products:
    """Sums over rows: of the products of their features, with the targets, and with one."""

    G: FloatArray
    b: FloatArray
    ones: FloatArray

    def __add__(self, other: Products) -> Products:
        return Products(self.G + other.G, self.b + other.b, self.ones + other.ones)


@dataclass(frozen=True)
class Multiply:
    """Adds up the products of some rows, block by block."""

    features: Features

    def __call__(self, X: Rows, targets: Rows, weights: FloatArray) -> Products:
        m = self.features.width
        products = Products(np.zeros((m, m)), np.zeros((m, targets.shape[1])), np.zeros(m))
        for part in blocks(n_rows(X), limits().block_rows):
            phi = self.features(X[part])
            weighted = phi * weights[part, None]
            products.G[:] += weighted.T @ phi
            products.b[:] += weighted.T @ targets[part].toarray()
            products.ones[:] += weighted.sum(axis=0)
        return products


@dataclass(frozen=True)
class LeaveOut:
    """Leave-one-out scores of some rows, from the solution of all."""

    features: Features
    factor: FloatArray
    for_targets: FloatArray
    for_one: FloatArray
    mean: FloatArray
    total: float

    def __call__(self, X: Rows, targets: Rows, weights: FloatArray) -> FloatArray:
        left_out = np.empty((n_rows(X), targets.shape[1]))
        for part in blocks(n_rows(X), limits().block_rows):
            Y, left = targets[part].toarray(), np.minimum(weights[part], 1.0)
            rest = np.maximum(self.total - left, 1e-12)[:, None]
            without = (self.total * self.mean - left[:, None] * Y) / rest
            half, over = self._fitted(X[part], Y, without)
            leverage = np.einsum("ij,ij->j", half, half)
            left_out[part] = Y - over / (1.0 - left * leverage)[:, None]
        return left_out

    def _fitted(self, X: Rows, Y: FloatArray, mean: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Features in which the penalty is 1, (m, n_rows), and what the fit less these means leaves over."""
        phi = self.features(X)
        half = scipy.linalg.solve_triangular(self.factor, phi.T, lower=True, check_finite=False)
        # the fit to targets less a mean is linear in the mean
        return half, Y - (phi @ self.for_targets + mean * (1.0 - phi @ self.for_one)[:, None])

    def of_groups(self, X: Rows, targets: Rows, weights: FloatArray, groups: Codes) -> FloatArray:
        """The same with the group of each row left out."""
        means = MeansWithoutGroups(targets, weights, groups)

        def fitted(rows: Positions) -> tuple[FloatArray, FloatArray]:
            half, over = self._fitted(take_rows(X, rows), targets[rows].toarray(), means(rows))
            return half.T, over

        left_out = np.empty(targets.shape)
        for rows, over in residuals_without_groups(fitted, weights, groups):
            left_out[rows] = targets[rows].toarray() - over
        return left_out


@dataclass(frozen=True)
class FeatureSolution:
    """Coefficients of the features (width, n_columns), the mean (n_columns,), leave-one-out scores."""

    coefficients: FloatArray
    mean: FloatArray
    left_out: FloatArray


def inducing_solution(
    features: InducingFeatures,
    X: Rows,
    targets: Rows,
    weights: FloatArray,
    penalty: float,
    groups: Codes | None = None,
) -> RidgeSolution:
    """Solve for the influence of the inducing references; parameters as for `feature_solution`."""
    found = feature_solution(features, X, targets, weights, penalty, groups)
    return RidgeSolution(features.to_influence(found.coefficients), found.mean, found.left_out)


def feature_solution(
    features: Features,
    X: Rows,
    targets: Rows,
    weights: FloatArray,
    penalty: float,
    groups: Codes | None = None,
) -> FeatureSolution:
    """Solve for one penalty, with leave-one-out scores of all rows.

    Both passes go to where the rows are, and what they give is added up or put together.

    Parameters
    ----------
    X : rows, (n, n_features)
        All references.
    targets : sparse, (n, width)
        What each should score.
    groups : array of int, (n,), optional
        Number of the group of each, which is then left out whole.
    """
    mean = np.asarray(weights @ targets).ravel() / weights.sum()
    products = fold(X, Multiply(features), operator.add, targets, weights)
    G = products.G
    G[np.diag_indices_from(G)] += penalty
    factor = scipy.linalg.cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
    for_targets = scipy.linalg.cho_solve(factor, products.b, check_finite=False)
    for_one = scipy.linalg.cho_solve(factor, products.ones, check_finite=False)
    leave_out = LeaveOut(features, factor[0], for_targets, for_one, mean, float(weights.sum()))
    if groups is None:
        left_out = np.concatenate(by_parts(X, leave_out, targets, weights))
    else:
        left_out = leave_out.of_groups(X, targets, weights, groups)
    return FeatureSolution(for_targets - np.outer(for_one, mean), mean, left_out)

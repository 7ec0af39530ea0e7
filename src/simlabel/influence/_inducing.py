"""Ridge on inducing references (Nystroem): as many rows as you like, summed over a few.

The function is a sum over m of the n references, fitted to all of them. With T the Cholesky factor
of their similarities, rows become features phi = S_nm T^-1, and everything follows from the m x m
matrix of their products, added up block by block in one pass: the solution, the leverage of each
row, and so the leave-one-out scores. No iteration, no tolerance.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg

from simlabel._validation import FloatArray, Rows
from simlabel.engines import Engine, Job, Keep, Prepared, blocks, n_rows
from simlabel.influence._closed_form import RidgeSolution
from simlabel.similarities import Similarity

_BLOCK_ROWS = 2048
_JITTER = 1e-8  # of the largest similarity, so that equal inducing rows do no harm


class InducingFeatures:
    """Rows as features of the inducing references."""

    def __init__(
        self, prepared: Prepared, similarity: Similarity, engine: Engine, n_jobs: int | None
    ) -> None:
        self.prepared, self.engine, self.n_jobs = prepared, engine, n_jobs
        self.job = Job(similarity, None, Keep(prepared.n_rows))
        S = self._similarities(prepared.X)
        S = (S + S.T) / 2
        S[np.diag_indices_from(S)] += _JITTER * float(np.diag(S).max())
        try:
            self.factor: Any = scipy.linalg.cholesky(S, lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            fewer = max(1, prepared.n_rows // 2)
            raise ValueError(
                f"The similarities of the inducing references are not positive definite with {similarity!r}: "
                f"use fewer of them, e.g. Ridge(inducing={fewer}), or influence='uniform'."
            ) from None

    def _similarities(self, X: Rows) -> FloatArray:
        S = self.engine.reduce(X, self.prepared, [self.job], n_jobs=self.n_jobs)[0]
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


def inducing_solution(
    features: InducingFeatures, X: Rows, targets: Any, weights: FloatArray, penalty: float
) -> RidgeSolution:
    """Solve for one penalty, with leave-one-out scores of all rows.

    Parameters
    ----------
    X : rows, (n, n_features)
        All references.
    targets : sparse, (n, width)
        What each should score.
    """
    n, m = n_rows(X), features.prepared.n_rows
    mean = np.asarray(weights @ targets).ravel() / weights.sum()
    G = np.zeros((m, m))
    b = np.zeros((m, targets.shape[1]))
    ones = np.zeros(m)
    for part in blocks(n, _BLOCK_ROWS):
        phi = features(X[part])
        weighted = phi * weights[part, None]
        G += weighted.T @ phi
        b += weighted.T @ targets[part].toarray()
        ones += weighted.sum(axis=0)
    G[np.diag_indices_from(G)] += penalty
    factor = scipy.linalg.cho_factor(G, lower=True, overwrite_a=True, check_finite=False)
    for_targets = scipy.linalg.cho_solve(factor, b, check_finite=False)
    for_one = scipy.linalg.cho_solve(factor, ones, check_finite=False)
    left_out = np.empty((n, targets.shape[1]))
    for part in blocks(n, _BLOCK_ROWS):
        phi, Y, w = features(X[part]), targets[part].toarray(), weights[part]
        left = np.minimum(w, 1.0)
        without = (weights.sum() * mean - left[:, None] * Y) / np.maximum(weights.sum() - left, 1e-12)[
            :, None
        ]
        half = scipy.linalg.solve_triangular(factor[0], phi.T, lower=True, check_finite=False)
        leverage = np.einsum("ij,ij->j", half, half)
        # the fit to targets less a mean is linear in the mean
        fitted = phi @ for_targets + without * (1.0 - phi @ for_one)[:, None]
        left_out[part] = Y - (Y - fitted) / (1.0 - left * leverage)[:, None]
    V = features.to_influence(for_targets - np.outer(for_one, mean))
    return RidgeSolution(V, mean, left_out)

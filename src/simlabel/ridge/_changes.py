"""Learned influence after a change of some rows, without a new solution.

The influence V solves (S + lambda W^-1) V = Y - mean. The system of the rows before some change stays as it
is, and each further change borders it by one column per changed row: the similarities of a row that was
added, or, for a row that was removed, a unit vector, which forces its influence to be 0. So a change needs
one solution of the former system per changed row, whatever the number of labels. The solution for a vector of
ones is kept too, so that the mean may move.

With inducing references the same holds for the coefficients of their features, whose matrix is
H = phi' W phi + lambda: a row is bordered by its features, with -1 / w in the corner where it was added and
1 / w where it was removed; an inducing reference that was removed gets influence 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.linalg

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, dense_rows
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge._closed_form import cholesky_factor
from simlabel.ridge._conjugate_gradients import SketchedSystem
from simlabel.ridge._linear import LinearRidge
from simlabel.ridge._nystroem import NystroemFeatures

Solve = Callable[[FloatArray], FloatArray]

_CHANGE_TOLERANCE = 1e-9  # relative residual of the solution for a changed row


def kernel_solver(S: FloatArray, ridge: FloatArray) -> Solve:
    """Return how to solve with S + diag(ridge), by its Cholesky factor."""
    factor = cholesky_factor(S, ridge)
    return lambda B: np.asarray(scipy.linalg.cho_solve((factor, True), B, check_finite=False))


def feature_solver(Z: Rows, weights: FloatArray, penalty: float) -> Solve:
    """Return how to solve with Z Z' + penalty / weights, by the factor of the matrix of the columns of Z."""
    H = np.zeros((Z.shape[1], Z.shape[1]))
    for part in blocks(Z.shape[0], limits().block_rows):
        phi = dense_rows(Z[part])
        H += (phi.T * weights[part]) @ phi
    H[np.diag_indices_from(H)] += penalty
    factor, w = scipy.linalg.cho_factor(H, lower=True, overwrite_a=True, check_finite=False), weights[:, None]

    def solve(B: FloatArray) -> FloatArray:
        c = scipy.linalg.cho_solve(factor, Z.T @ (w * B), check_finite=False)
        return np.asarray((w / penalty) * (B - Z @ c))

    return solve


def iterative_solver(problem: LinearRidge) -> Solve:
    """Return how to solve by preconditioned conjugate gradients."""
    (products, unit), (weights, penalty) = problem.operator, problem.in_units()
    system = SketchedSystem(
        products, products.sketched(np.random.default_rng(problem.seed)), weights, penalty
    )

    def solve(B: FloatArray) -> FloatArray:
        x, _ = system.solve(system.scale * B, _CHANGE_TOLERANCE)
        return np.asarray(system.scale * x / unit**2)

    return solve


@dataclass(frozen=True)
class BorderedSystem:
    """A symmetric matrix M, bordered by columns: [[M, U], [U', C]].

    Attributes
    ----------
    solve_base : callable
        Returns M^-1 B for columns B, (n, k).
    U : array, (n, n_borders)
        What was added to the right of M.
    Z : array, (n, n_borders)
        M^-1 U.
    D : array, (n_borders, n_borders)
        C - U' Z.

    Examples
    --------
    >>> system = BorderedSystem.of(lambda B: B / 2.0, 2)
    >>> G, corner = np.array([[1.0], [0.0]]), np.array([[3.0]])
    >>> more, P, step = system.extended(G, corner)
    >>> K = np.array([[2.0, 0.0, 1.0], [0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
    >>> np.allclose(more.solve(np.eye(3)), np.linalg.inv(K))
    True
    """

    solve_base: Solve
    U: FloatArray
    Z: FloatArray
    D: FloatArray

    @classmethod
    def of(cls, solve_base: Solve, n: int) -> Self:
        """Return a system without borders."""
        return cls(solve_base, np.empty((n, 0)), np.empty((n, 0)), np.empty((0, 0)))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of variables of M, and of borders."""
        return self.U.shape[0], self.U.shape[1]

    def solve(self, G: FloatArray) -> FloatArray:
        """Solve for columns G, (n + n_borders, k)."""
        return self._completed(self.solve_base(G[: len(self.U)]), G)

    def _completed(self, H: FloatArray, G: FloatArray) -> FloatArray:
        y = np.linalg.solve(self.D, G[len(self.U) :] - self.U.T @ H)
        return np.vstack([H - self.Z @ y, y])

    def extended(self, G: FloatArray, corner: FloatArray) -> tuple[Self, FloatArray, FloatArray]:
        """Return the system with further borders, the solution P for them, and corner - G' P."""
        n = len(self.U)
        H = self.solve_base(G[:n])
        P, across = self._completed(H, G), G[n:] - self.U.T @ H
        D = np.block([[self.D, across], [across.T, corner - G[:n].T @ H]])
        more = replace(self, U=np.hstack([self.U, G[:n]]), Z=np.hstack([self.Z, H]), D=D)
        return more, P, corner - G.T @ P


@dataclass(frozen=True)
class SystemOfRows:
    """The system of all references.

    Attributes
    ----------
    bordered : BorderedSystem
    at : array of int, (n_references,)
        The variable of each reference.
    ones : array, (n_references,)
        The solution for ones.
    """

    bordered: BorderedSystem
    at: IntArray
    ones: FloatArray

    @classmethod
    def of(cls, solve: Solve, n: int) -> Self:
        """Return the system of n references, given how to solve it."""
        return cls(BorderedSystem.of(solve, n), np.arange(n), solve(np.ones((n, 1)))[:, 0])

    def changed(
        self,
        V: FloatArray,
        kept: IntArray,
        S: FloatArray,
        ridge: FloatArray,
        rest: FloatArray,
        shift: FloatArray,
    ) -> tuple[Self, FloatArray]:
        """Return the system and the influence, (n, width), after a change.

        Parameters
        ----------
        V : array, (n_former, width)
            The influence before.
        kept : array of int
            Positions of the references that remain.
        S : array, (n_new, n)
            Similarities of new references to all.
        ridge : array, (n_new,)
            Penalty over weight of the new references.
        rest : array, (n_new, width)
            Their targets, less the mean before.
        shift : array, (width,)
            Change of the mean.
        """
        removed, n_new = np.setdiff1d(np.arange(len(V)), kept), len(S)
        r = len(removed)
        G, corner = np.zeros((sum(self.bordered.shape), r + n_new)), np.zeros((r + n_new, r + n_new))
        G[self.at[removed], np.arange(r)] = 1.0
        G[self.at[kept], r:] = S[:, : len(kept)].T
        corner[r:, r:] = S[:, len(kept) :] + np.diag(ridge)
        bordered, P, step = self.bordered.extended(G, corner)
        values = np.column_stack([V, self.ones])
        wanted = np.vstack([np.zeros((r, values.shape[1])), np.column_stack([rest, np.ones(n_new)])])
        Y = np.linalg.solve(step, wanted - G[self.at].T @ values)
        values = np.vstack([values[kept] - P[self.at[kept]] @ Y, Y[r:]])
        at = np.append(self.at[kept], sum(self.bordered.shape) + r + np.arange(n_new))
        V, ones = values[:, :-1] - np.outer(values[:, -1], shift), values[:, -1]
        return replace(self, bordered=bordered, at=at, ones=ones), V


@dataclass(frozen=True)
class SystemOfCenters:
    """The system of the features of inducing references.

    Attributes
    ----------
    bordered : BorderedSystem
    features : NystroemFeatures
        Of all inducing references of the system, also of those that were removed.
    at : array of int, (n_used,)
        Positions of the remaining inducing references among all of them.
    ones : array, (n_features,)
        The coefficients for ones.
    """

    bordered: BorderedSystem
    features: NystroemFeatures
    at: IntArray
    ones: FloatArray

    @classmethod
    def of(cls, solve: Solve, features: NystroemFeatures, ones: FloatArray) -> Self:
        """Return the system of all features, given how to solve it and the solution for ones."""
        return cls(BorderedSystem.of(solve, len(ones)), features, np.arange(len(ones)), ones)

    def changed(
        self,
        V: FloatArray,
        gone: IntArray,
        phi: FloatArray,
        corner: FloatArray,
        rest: FloatArray,
        shift: FloatArray,
    ) -> tuple[Self, FloatArray]:
        """Return the system and the influence of the remaining inducing references after a change.

        Parameters
        ----------
        V : array, (n_used, width)
            The influence before.
        gone : array of int
            Positions of inducing references that were removed, among the used ones.
        phi : array, (n_features, n_changed)
            Features of the rows that were removed or added.
        corner : array, (n_changed,)
            1 / weight of removed rows, and -1 / weight of added ones.
        rest : array, (n_changed, width)
            Targets of these rows, less the mean before.
        shift : array, (width,)
            Change of the mean.
        """
        T = self.features.factor
        full = np.zeros((len(T), V.shape[1]))
        full[self.at] = V
        values = np.column_stack([T.T @ full, self.ones])
        units = np.zeros((len(T), len(gone)))
        units[self.at[gone], np.arange(len(gone))] = 1.0
        units = scipy.linalg.solve_triangular(T, units, lower=True, check_finite=False)
        G = np.zeros((sum(self.bordered.shape), len(gone) + len(corner)))
        G[: len(T)] = np.hstack([units, phi])
        corners = np.diag(np.append(np.zeros(len(gone)), corner))
        bordered, P, step = self.bordered.extended(G, corners)
        wanted = np.vstack(
            [np.zeros((len(gone), values.shape[1])), np.column_stack([rest, np.ones(len(corner))])]
        )
        values -= P[: len(T)] @ np.linalg.solve(step, wanted - G[: len(T)].T @ values)
        at, ones = np.delete(self.at, gone), values[:, -1]
        V = self.features.to_influence(values[:, :-1] - np.outer(ones, shift))[at]
        return replace(self, bordered=bordered, at=at, ones=ones), V

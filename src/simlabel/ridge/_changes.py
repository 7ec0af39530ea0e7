"""Learned influence after a change of some rows, without a new solution.

The influence V solves (S + lambda W^-1) V = Y - mean. The system of the rows before some change stays as it
is, and each further change borders it by one column per changed row: the similarities of a row that was
added, or, for a row that was removed, a unit vector, which forces its influence to be 0. So a change needs
one solution of the former system per changed row, whatever the number of labels. The solution for a vector of
ones is kept too, so that the mean may move.

Where scores are a linear function of features (columns of an inner product, or similarities to inducing
references), the same holds for its coefficients, whose matrix is H = phi' W phi + lambda: a row is bordered
by its features, with -1 / w in the corner where it was added and 1 / w where it was removed; an inducing
reference that was removed gets influence 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import scipy.linalg

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.ridge._closed_form import cholesky_factor
from simlabel.ridge._conjugate_gradients import SketchedSystem
from simlabel.ridge._linear import LinearRidge
from simlabel.ridge._nystroem import FeatureFactor, FeatureMap, NystroemFeatures

Solve = Callable[[FloatArray], FloatArray]

_CHANGE_TOLERANCE = 1e-8  # relative residual of the solution for a changed row
_MAX_RESIDUAL = 1e-6  # of the targets of added rows; beyond, a new solution is due


def kernel_solver(S: FloatArray, ridge: FloatArray) -> Solve:
    """Return how to solve with S + diag(ridge), by its Cholesky factor."""
    factor = cholesky_factor(S, ridge)
    return lambda B: np.asarray(scipy.linalg.cho_solve((factor, True), B, check_finite=False))


class IterativeSolver:
    """Solve by preconditioned conjugate gradients."""

    def __init__(self, problem: LinearRidge) -> None:
        (products, self.unit), (weights, penalty) = problem.operator, problem.in_units()
        sketch = products.sketched(np.random.default_rng(problem.seed))
        self.system = SketchedSystem(products, sketch, weights, penalty)

    def __call__(self, B: FloatArray) -> FloatArray:
        """Solve for columns B, (n, k); raise LinAlgError if that does not converge."""
        x, residual = self.system.solve(self.system.scale * B, _CHANGE_TOLERANCE)
        if residual > _MAX_RESIDUAL:
            raise np.linalg.LinAlgError(f"The relative residual is {residual:.1e}.")
        return np.asarray(self.system.scale * x / self.unit**2)

    def corrected(self, V: FloatArray, targets: FloatArray) -> FloatArray:
        """Return the solution for targets, (n, width), given one that is close."""
        scale = self.system.scale
        rest = np.empty_like(V)
        for part in blocks(V.shape[1], max(1, limits().block_entries // len(V))):
            x = V[:, part] * (self.unit**2 / scale)
            rest[:, part] = targets[:, part] - self.system.times(x, np.arange(x.shape[1])) / scale
        far = np.abs(rest).max(axis=0) > _CHANGE_TOLERANCE * np.maximum(np.abs(targets).max(axis=0), 1e-300)
        V = V.copy()
        V[:, far] += self(rest[:, far])
        return V


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
    >>> np.allclose(more.extended(np.eye(3), np.zeros((3, 3)))[1], np.linalg.inv(K))
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
    def n_borders(self) -> int:
        """Number of borders."""
        return int(self.U.shape[1])

    @property
    def n_variables(self) -> int:
        """Number of variables of M and of the borders."""
        return int(sum(self.U.shape))

    def extended(self, G: FloatArray, corner: FloatArray) -> tuple[Self, FloatArray, FloatArray]:
        """Return the system with further borders, the solution P for them, and corner - G' P."""
        n = len(self.U)
        H = self.solve_base(G[:n])
        across, own = G[n:] - self.U.T @ H, corner - G[:n].T @ H
        y = np.linalg.solve(self.D, across)
        D = np.block([[self.D, across], [across.T, own]])
        more = replace(self, U=np.hstack([self.U, G[:n]]), Z=np.hstack([self.Z, H]), D=D)
        return more, np.vstack([H - self.Z @ y, y]), own - across.T @ y


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
        added_diagonal: FloatArray,
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
        added_diagonal : array, (n_new,)
            Penalty over weight of the new references.
        rest : array, (n_new, width)
            Their targets, less the mean before.
        shift : array, (width,)
            Change of the mean.
        """
        removed, n_new = np.setdiff1d(np.arange(len(V)), kept), len(S)
        r = len(removed)
        G, corner = np.zeros((self.bordered.n_variables, r + n_new)), np.zeros((r + n_new, r + n_new))
        G[self.at[removed], np.arange(r)] = 1.0
        G[self.at[kept], r:] = S[:, : len(kept)].T
        corner[r:, r:] = S[:, len(kept) :] + np.diag(added_diagonal)
        bordered, P, step = self.bordered.extended(G, corner)
        values = np.column_stack([V, self.ones])
        wanted = np.vstack([np.zeros((r, values.shape[1])), np.column_stack([rest, np.ones(n_new)])])
        multipliers = np.linalg.solve(step, wanted - G[self.at].T @ values)
        values = np.vstack([values[kept] - P[self.at[kept]] @ multipliers, multipliers[r:]])
        at = np.append(self.at[kept], self.bordered.n_variables + r + np.arange(n_new))
        V, ones = values[:, :-1] - np.outer(values[:, -1], shift), values[:, -1]
        far = np.abs(S @ V + added_diagonal[:, None] * V[len(kept) :] - (rest - shift))
        if not (far <= _MAX_RESIDUAL * (1.0 + np.abs(rest))).all():
            raise np.linalg.LinAlgError("The system is too close to singular.")
        return replace(self, bordered=bordered, at=at, ones=ones), V


@dataclass(frozen=True)
class SystemOfFeatures:
    """The system of the coefficients of features.

    Attributes
    ----------
    bordered : BorderedSystem
    features : callable
        Returns the features of rows, (n_rows, n_features).
    coefficients : array, (n_features, width)
    ones : array, (n_features,)
        The coefficients for ones.
    at : array of int, (n_used,)
        Positions of the inducing references that remain among all of the system.
    """

    bordered: BorderedSystem
    features: FeatureMap
    coefficients: FloatArray
    ones: FloatArray
    at: IntArray

    @classmethod
    def of(cls, features: FeatureMap, found: FeatureFactor, mean: FloatArray) -> Self:
        """Return the system of all features, given its factor and solutions."""
        coefficients, n = found.for_targets - np.outer(found.for_one, mean), len(found.for_one)
        return cls(BorderedSystem.of(found.solve, n), features, coefficients, found.for_one, np.arange(n))

    @property
    def influence(self) -> FloatArray:
        """The influence of the inducing references that remain, (n_used, width)."""
        assert isinstance(self.features, NystroemFeatures)
        return self.features.to_influence(self.coefficients)[self.at]

    def changed(
        self,
        coefficients: FloatArray,
        gone: IntArray,
        phi: FloatArray,
        corner: FloatArray,
        rest: FloatArray,
        shift: FloatArray,
    ) -> Self:
        """Return the system after a change.

        Parameters
        ----------
        coefficients : array, (n_features, width)
            Those before, with the columns of the labels now.
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
        m, units = len(self.ones), np.zeros((len(self.ones), len(gone)))
        if len(gone):
            assert isinstance(self.features, NystroemFeatures)
            units[self.at[gone], np.arange(len(gone))] = 1.0
            units = scipy.linalg.solve_triangular(self.features.factor, units, lower=True, check_finite=False)
        values = np.column_stack([coefficients, self.ones])
        G = np.zeros((self.bordered.n_variables, len(gone) + len(corner)))
        G[:m] = np.hstack([units, phi])
        corners = np.diag(np.append(np.zeros(len(gone)), corner))
        bordered, P, step = self.bordered.extended(G, corners)
        wanted = np.zeros((len(corners), values.shape[1]))
        wanted[len(gone) :] = np.column_stack([rest, np.ones(len(rest))])
        values -= P[:m] @ np.linalg.solve(step, wanted - G[:m].T @ values)
        coefficients, ones = values[:, :-1] - np.outer(values[:, -1], shift), values[:, -1]
        return replace(
            self, bordered=bordered, coefficients=coefficients, ones=ones, at=np.delete(self.at, gone)
        )

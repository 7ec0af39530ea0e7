"""Labels that tell of each other: every score becomes a mixture of all scores.

A label that is hard to see in the features may go with one that is easy. B is learnt so that the
leave-one-out scores F, less the mean, come out nearer to the targets as F + F B: a ridge regression
from scores to what they leave over, so that a large penalty means no mixing at all. The mixture goes
into the influence, V + V B, and a score stays a plain sum over references. (Breiman and Friedman 1997
mix the responses of linear regressions for the same reason.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.linalg

from simlabel.influence._closed_form import RidgeSolution
from simlabel.influence._groups import Positions, residuals_without_groups
from simlabel.rows import Codes, blocks
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, Rows

Index = slice | Positions

_PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


def mixed(
    solution: RidgeSolution, targets: Rows, weights: FloatArray, groups: Codes | None = None
) -> RidgeSolution:
    """The solution with its scores mixed, by that penalty whose leave-one-out error is smallest.

    Parameters
    ----------
    solution : RidgeSolution
        With its leave-one-out scores, which the mixture is learnt from.
    targets : array or sparse, (n, width)
        What each row should score.
    weights : array, (n,)
        How many times each counts.
    groups : array of int, (n,), optional
        Number of the group of each, which is left out whole.

    Notes
    -----
    In the leave-one-out scores of the result a row is left out of the influence and of the mixture;
    the scores of the other rows, which the mixture is learnt from, still know of it.
    """
    n, width = solution.left_out.shape
    if width > limits().mixed_columns or n < 2:
        return solution
    search = _Search(solution, targets, weights, groups)
    errors = search.errors()
    best = int(np.argmin(errors))
    if best == len(_PENALTIES):
        return solution
    B = search.mixture(_PENALTIES[best])
    return replace(solution, V=solution.V + solution.V @ B, left_out=search.left_out(_PENALTIES[best]))


class _Search:
    """F'WF, taken apart once for all penalties."""

    def __init__(
        self, solution: RidgeSolution, targets: Rows, weights: FloatArray, groups: Codes | None
    ) -> None:
        self.solution, self.targets, self.weights, self.groups = solution, targets, weights, groups
        self.left = np.minimum(weights, 1.0)
        width = solution.left_out.shape[1]
        products, rest = np.zeros((width, width)), np.zeros((width, width))
        for part in self.parts():
            F, residuals = self.block(part)
            weighted = F * weights[part, None]
            products += weighted.T @ F
            rest += weighted.T @ residuals
        values, self.vectors = scipy.linalg.eigh(products)
        self.values = np.maximum(values, 0.0)
        self.rest = self.vectors.T @ rest

    def parts(self) -> Iterator[slice]:
        return blocks(len(self.weights), limits().block_rows)

    def block(self, part: Index) -> tuple[FloatArray, FloatArray]:
        """Leave-one-out scores of some rows less the mean, and what they leave over."""
        scores, T = self.solution.left_out[part], self.targets[part]
        T = T if isinstance(T, np.ndarray) else T.toarray()
        return scores - self.solution.mean, T - scores

    def mixture(self, penalty: float) -> FloatArray:
        """B, (width, width)."""
        return np.asarray(self.vectors @ (self.rest / (self.values + penalty)[:, None]))

    def _residuals(self, penalty: float) -> Iterator[tuple[Index, FloatArray]]:
        """Rows, and what is left over of each where the mixture is learnt without it, in blocks."""
        shrunk = 1.0 / (self.values + penalty)

        def fitted(part: Index) -> tuple[FloatArray, FloatArray]:
            F, residuals = self.block(part)
            Z = F @ self.vectors
            return Z, residuals - Z @ (self.rest * shrunk[:, None])

        def scaled(rows: Positions) -> tuple[FloatArray, FloatArray]:
            Z, after = fitted(rows)
            return Z * np.sqrt(shrunk), after

        if self.groups is not None:
            yield from residuals_without_groups(scaled, self.weights, self.groups)
            return
        for part in self.parts():
            Z, after = fitted(part)
            yield part, after / (1.0 - self.left[part] * ((Z**2) @ shrunk))[:, None]

    def errors(self) -> FloatArray:
        """Squared leave-one-out error for each penalty, and without mixing."""
        unmixed = ((part, self.block(part)[1]) for part in self.parts())
        errors = np.zeros(len(_PENALTIES) + 1)
        for i, one in enumerate((*map(self._residuals, _PENALTIES), unmixed)):
            for rows, left in one:
                errors[i] += float(self.weights[rows] @ (left**2).sum(axis=1))
        return errors

    def left_out(self, penalty: float) -> FloatArray:
        """Leave-one-out scores after mixing, (n, width)."""
        out = np.empty_like(self.solution.left_out)
        for rows, left in self._residuals(penalty):
            out[rows] = self.solution.left_out[rows] + self.block(rows)[1] - left
        return out

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
from simlabel.rows import blocks
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, Rows

_PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


def mixed(solution: RidgeSolution, targets: Rows, weights: FloatArray) -> RidgeSolution:
    """The solution with its scores mixed, by that penalty whose leave-one-out error is smallest.

    Parameters
    ----------
    solution : RidgeSolution
        With its leave-one-out scores, which the mixture is learnt from.
    targets : array or sparse, (n, width)
        What each row should score.
    weights : array, (n,)
        How many times each counts.

    Notes
    -----
    In the leave-one-out scores of the result a row is left out of the influence and of the mixture;
    the scores of the other rows, which the mixture is learnt from, still know of it.
    """
    n, width = solution.left_out.shape
    if width > limits().mixed_columns or n < 2:
        return solution
    search = _Search(solution, targets, weights)
    errors = search.errors()
    best = int(np.argmin(errors))
    if best == len(_PENALTIES):
        return solution
    B = search.mixture(_PENALTIES[best])
    return replace(solution, V=solution.V + solution.V @ B, left_out=search.left_out(_PENALTIES[best]))


class _Search:
    """F'WF, taken apart once for all penalties."""

    def __init__(self, solution: RidgeSolution, targets: Rows, weights: FloatArray) -> None:
        self.solution, self.targets, self.weights = solution, targets, weights
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

    def block(self, part: slice) -> tuple[FloatArray, FloatArray]:
        """Leave-one-out scores of some rows less the mean, and what they leave over."""
        scores, T = self.solution.left_out[part], self.targets[part]
        T = T if isinstance(T, np.ndarray) else T.toarray()
        return scores - self.solution.mean, T - scores

    def mixture(self, penalty: float) -> FloatArray:
        """B, (width, width)."""
        return np.asarray(self.vectors @ (self.rest / (self.values + penalty)[:, None]))

    def _residuals(self, part: slice, penalty: float) -> FloatArray:
        """What is left over of each row where the mixture is learnt without it."""
        F, residuals = self.block(part)
        Z = F @ self.vectors
        shrunk = 1.0 / (self.values + penalty)
        leverage = (Z**2) @ shrunk
        after = residuals - Z @ (self.rest * shrunk[:, None])
        return np.asarray(after / (1.0 - self.left[part] * leverage)[:, None])

    def errors(self) -> FloatArray:
        """Squared leave-one-out error for each penalty, and without mixing."""
        errors = np.zeros(len(_PENALTIES) + 1)
        for part in self.parts():
            w = self.weights[part]
            each = [self._residuals(part, penalty) for penalty in _PENALTIES]
            errors += [float(w @ (r**2).sum(axis=1)) for r in (*each, self.block(part)[1])]
        return errors

    def left_out(self, penalty: float) -> FloatArray:
        """Leave-one-out scores after mixing, (n, width)."""
        out = np.empty_like(self.solution.left_out)
        for part in self.parts():
            scores, residuals = self.solution.left_out[part], self.block(part)[1]
            out[part] = scores + residuals - self._residuals(part, penalty)
        return out

"""Ridge on inner products of many rows with many columns, by preconditioned conjugate gradients.

The matrix s Z Z' s + penalty, s the roots of the weights, is never made: what is asked of it are its
products with some columns at a time. Similarities of text have a few large directions and a long flat
tail; a random sketch finds the former once, and with them out of the way few steps are needed (Frangella,
Tropp and Udell 2023). Each step looks for the solutions of many columns in the directions of all of them
(O'Leary 1980): half as many steps are enough. They are taken in float32, and what is left over is computed
in float64, so that the result is as exact as that says (iterative refinement).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import scipy.linalg

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.ridge._closed_form import positive_definite_inverse
from simlabel.ridge._products import Block, SimilarityProducts

_STEPS = 1000  # of one round, which is as good as endless: a round that does not help ends the search
_ROUNDS = 10
_PER_ROUND = {np.float32: 1e-4, np.float64: 1e-10}  # what a round may gain before rounding eats it
_SAFE = 1e-5  # of the largest direction: below it float32 cannot tell what a preconditioner leaves from 0
_ALIKE = {"f": 1e-6, "d": 1e-13}  # squared, of length 1: directions that rounding has made of others


class RidgeSystem:
    """s Z Z' s + penalty, where s is the root of each row's weight, above 0, and nearly its inverse."""

    def __init__(
        self, products: SimilarityProducts, sketch: Block, weights: FloatArray, penalty: float
    ) -> None:
        self.products, self.penalty = products, penalty
        self.scale = np.sqrt(weights)[:, None]
        self.features: Block = sketch * self.scale.astype(np.float32)
        G = (self.features.T @ self.features).astype(np.float64)
        values = np.linalg.eigvalsh(G)
        # beyond the sketch, directions are about as large as its smallest
        shift = max(penalty + values[0], _SAFE * values[-1])
        self.inverse = positive_definite_inverse(G, np.full(len(G), shift)).astype(np.float32)

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Nearly the solution for R, but for a factor; `at` says which of the columns these are."""
        inner = self.inverse @ (self.features.T @ R.astype(np.float32, copy=False))
        return R - self.features @ inner

    def times(self, x: Block, at: IntArray) -> Block:
        """The product with x; `at` says which of the columns these are."""
        scale = self.scale_of(at).astype(x.dtype, copy=False)
        return scale * self.products(scale * x) + x.dtype.type(self.penalty) * x

    def scale_of(self, at: IntArray) -> FloatArray:
        """s, for some columns."""
        return self.scale

    def search(self) -> _Search:
        """How steps are taken: all columns have one matrix, and so each other's directions."""
        return _Together(self)

    #: whether to begin near the solution saves more than it takes
    begins_near = True

    def near(self, x: FloatArray, product: FloatArray, inner: FloatArray) -> FloatArray:
        """Of the combinations of columns x, which are known to be near, the nearest to the solutions.

        Parameters
        ----------
        product : array, (n_rows, n_columns)
            `times` of x.
        inner : array, (n_columns, n_columns)
            x' B, of what is solved for.
        """
        values, vectors = np.linalg.eigh((x.T @ product + product.T @ x) / 2)
        there = values > _ALIKE["d"] * max(1, len(values)) * values[-1]
        vectors = vectors[:, there]
        return np.asarray(x @ (vectors @ ((vectors.T @ inner) / values[there][:, None])))

    def in_few(self, R: FloatArray, goal: FloatArray) -> tuple[FloatArray, FloatArray | None, FloatArray]:
        """Columns of length 1 as combinations of fewer, of what to solve for them, and with which goals.

        Where a few rows have changed, what is left over of all labels lies in as many directions. What the
        combinations lack is a tenth of the goal.
        """
        least = float(goal.min())
        values, vectors = np.linalg.eigh(R.T @ R)
        lacking = np.cumsum(np.maximum(values, 0.0)) > (0.1 * least) ** 2
        n = int(lacking.sum())
        if not 0 < 2 * n <= R.shape[1]:
            return R, None, goal
        vectors, roots = vectors[:, lacking], np.sqrt(values[lacking])
        return R @ (vectors / roots), roots[:, None] * vectors.T, 0.9 * least / (np.sqrt(n) * roots)

    def solve(
        self,
        B: FloatArray,
        tolerance: float,
        start: FloatArray | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[FloatArray, float]:
        """x for columns B, and what is left over of B: the largest share of a column's length."""
        lengths = _lengths(B)
        lengths[lengths == 0] = 1.0
        x = np.zeros_like(B) if start is None else start
        rest: FloatArray = B.copy() if start is None else B - self.times(x, np.arange(B.shape[1]))
        kind: Any
        for kind in (np.float32, np.float64):
            search = self.search()
            for _ in range(_ROUNDS):
                left = _lengths(rest)
                open_ = np.flatnonzero(left > tolerance * lengths)
                if stopped() or not len(open_):
                    break
                unit, goal = rest[:, open_] / left[open_], 0.5 * tolerance * lengths[open_] / left[open_]
                goal = np.maximum(goal, _PER_ROUND[kind])
                few, back, aims = (unit, None, goal) if start is None else self.in_few(unit, goal)
                found = np.asarray(search.steps(few.astype(kind), aims, open_, stopped), dtype=np.float64)
                tried = x[:, open_] + left[open_] * (found if back is None else found @ back)
                after = B[:, open_] - self.times(tried, open_)
                better = _lengths(after) < 0.5 * left[open_]  # False for what is not finite, too
                x[:, open_[better]], rest[:, open_[better]] = tried[:, better], after[:, better]
                if not better.all():
                    break
        return x, float((_lengths(rest) / lengths).max(initial=0.0))


class MaskedSystem(RidgeSystem):
    """The same where each column has weights of its own, (n_rows, n_columns): 0 where it is not known."""

    def __init__(
        self, products: SimilarityProducts, sketch: Block, weights: FloatArray, penalty: float
    ) -> None:
        self.products, self.penalty, self.scale = products, penalty, np.sqrt(weights)
        self.sketch = sketch[:, : limits().masked_columns]
        made = []
        for s in self.scale.T.astype(np.float32):
            features = self.sketch * s[:, None]
            G = (features.T @ features).astype(np.float64)
            values = np.linalg.eigvalsh(G)
            shift = max(penalty + max(values[0], 0.0), _SAFE * values[-1])
            made.append(positive_definite_inverse(G, np.full(len(G), shift)).astype(np.float32))
        self.inverses: Block = np.stack(made)

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Nearly the solution for R, but for a factor."""
        scale = self.scale[:, at].astype(np.float32)
        inner = self.sketch.T @ (scale * R.astype(np.float32, copy=False))
        inner = np.einsum("kij,jk->ik", self.inverses[at], inner, optimize=True)
        return R - scale * (self.sketch @ inner)

    def scale_of(self, at: IntArray) -> FloatArray:
        """s, for some columns."""
        return self.scale[:, at]

    def in_few(self, R: FloatArray, goal: FloatArray) -> tuple[FloatArray, FloatArray | None, FloatArray]:
        """The columns as they are: each has a matrix of its own."""
        return R, None, goal

    def search(self) -> _Search:
        """How steps are taken: each column by itself."""
        return Apart(self)


class _Search(Protocol):
    """Takes steps; what it has learnt may outlive a round."""

    def steps(self, R: Block, goal: FloatArray, columns: IntArray, stopped: Callable[[], bool]) -> Block:
        """Nearly the solutions for columns R of length 1, each until less than its goal is left over."""


class Apart:
    """Conjugate gradients for each column."""

    def __init__(self, system: RidgeSystem) -> None:
        self.system = system

    def steps(self, R: Block, goal: FloatArray, columns: IntArray, stopped: Callable[[], bool]) -> Block:
        """Conjugate gradients for columns R of length 1, each until what is left over is below its goal."""
        out = np.zeros_like(R)
        at, x = np.arange(R.shape[1]), np.zeros_like(R)
        near = self.system.precondition(R, columns)
        direction, gain = near, _inner(R, near)
        for _ in range(_STEPS):
            if stopped():
                break
            product = self.system.times(direction, columns[at])
            step = _ratio(gain, _inner(direction, product))
            x += step * direction
            R -= step * product
            open_ = _lengths(R) > goal
            if open_.sum() <= 0.75 * len(at):  # columns that are done are dropped, not too often
                out[:, at] = x
                if not open_.any():
                    return out
                at, goal, gain = at[open_], goal[open_], gain[open_]
                x, R, direction = x[:, open_], R[:, open_], direction[:, open_]
            near = self.system.precondition(R, columns[at])
            before, gain = gain, _inner(R, near)
            direction = near + _ratio(gain, before) * direction
        out[:, at] = x
        return out


class _Together:
    """Conjugate gradients with the directions of all columns at once.

    The last directions outlive a round: to begin anew would be to find again what they are conjugate to.
    """

    def __init__(self, system: RidgeSystem) -> None:
        self.system = system
        self.last: tuple[Block, Block, Any] | None = None  # directions, their products, and a factor

    def steps(self, R: Block, goal: FloatArray, columns: IntArray, stopped: Callable[[], bool]) -> Block:
        """Nearly the solutions for columns R of length 1, each until less than its goal is left over."""
        out = np.zeros_like(R)
        at, x = np.arange(R.shape[1]), np.zeros_like(R)
        for _ in range(_STEPS):
            if stopped() or not self._turn(R, columns[at]):
                break
            assert self.last is not None
            directions, product, factor = self.last
            step = _solved(factor, directions.T @ R)
            x += directions @ step
            R = R - product @ step
            open_ = _lengths(R) > goal
            if open_.sum() <= 0.9 * len(at):  # columns that are done are dropped, not too often
                out[:, at] = x
                if not open_.any():
                    return out
                at, goal, x, R = at[open_], goal[open_], x[:, open_], R[:, open_]
        out[:, at] = x
        return out

    def _turn(self, R: Block, columns: IntArray) -> bool:
        """Find the next directions from what is left over; whether there are any."""
        towards = self.system.precondition(R, columns)
        if self.last is not None:
            directions, product, factor = self.last
            towards -= directions @ _solved(factor, product.T @ towards)
        towards = _orthonormal(towards)
        product = self.system.times(towards, columns)
        inner = (towards.T @ product).astype(np.float64)
        try:
            factor = scipy.linalg.cho_factor((inner + inner.T) / 2)
        except (ValueError, np.linalg.LinAlgError):  # not finite, or rounding is all that is left
            return False
        self.last = towards, product, factor
        return towards.shape[1] > 0


def _orthonormal(A: Block) -> Block:
    """Directions that columns have among them; of those that are nearly alike one is left."""
    lengths = _lengths(A)
    A = A[:, np.isfinite(lengths) & (lengths > 0)]
    A = A / _lengths(A).astype(A.dtype)
    values, vectors = np.linalg.eigh((A.T @ A).astype(np.float64))
    there = values > _ALIKE[A.dtype.char] * max(1, A.shape[1])
    return np.asarray(A @ (vectors[:, there] / np.sqrt(values[there])).astype(A.dtype))


def _solved(factor: Any, towards: Block) -> Block:
    found = scipy.linalg.cho_solve(factor, towards.astype(np.float64), check_finite=False)
    return np.asarray(found, dtype=towards.dtype)


def _inner(A: Block, B: Block) -> Block:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _lengths(A: Block) -> FloatArray:
    return np.sqrt(_inner(A, A)).astype(np.float64)


def _ratio(a: Block, b: Block) -> Block:
    """a / b, and 0 where a column is done."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)

"""Weights of the columns of a table, and the penalty, by leave-one-out on a sample of the rows.

The similarity of two rows is the weighted sum of their similarities in each block of columns, so the
similarities in each block are computed once; a candidate is a weighted sum of them and one solution of
ridge in closed form. One block, that of the numbers, may be compared by an RBF of its distances, which
follow from its inner products, plus a tenth of the latter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.threads import limit_blas_threads
from simlabel._utils.validation import FloatArray, Rows
from simlabel.metrics import Truth
from simlabel.ridge import PENALTIES
from simlabel.sums import References
from simlabel.tuning._measure import CriterionSpec, Measurement, criterion_of, varying
from simlabel.tuning._result import TuningResult
from simlabel.tuning._ridge import CoordinateSearch

_PENALTY, _GAMMA = "penalty", "gamma"
#: share of the inner products of numbers that are compared by an RBF
STRAIGHT_SHARE = 0.1
#: number of candidates at most
MAX_CANDIDATES = 80
_FIRST_PENALTY = 0.3
_FACTORS = (4.0, 2.0)  # by which a weight is changed, in the first and in the second round
_GAIN = 2e-4  # of the criterion: smaller gains of a weight are noise
_FEWEST_FOR_RBF = 100  # rows: with fewer, the gain of an RBF is mostly chance
_RBF_GAIN = 2e-3  # an RBF costs more: sums are no longer collapsed, and numbers not explained one by one

Weights = dict[str, float]


@dataclass(frozen=True)
class ColumnWeights:
    """A weight for each block, the penalty, and the curve of the search.

    `gamma` is that of the RBF of the numbers, before weighting; None without RBF.
    """

    weights: Weights
    penalty: float
    curve: TuningResult
    gamma: float | None = None


class ColumnSearch(CoordinateSearch):
    """Changes weights and penalty, starting with equal weights, as long as leave-one-out improves.

    Parameters
    ----------
    blocks : iterable of (name, rows)
        The blocks of the encoded rows, (n_rows, n_features) each.
    references : References
        Label sets and weights of the rows; their features are ignored.
    criterion : str or callable
        Metric to optimize.
    rbf_block : str, optional
        The block that may be compared by an RBF.
    on_step : callable, optional
        Called after each candidate with the number of candidates so far and the most that there will be.
    n_jobs : int or None
        Number of threads, each of which measures a candidate.
    """

    def __init__(
        self,
        blocks: Iterable[tuple[str, Rows]],
        references: References,
        criterion: CriterionSpec,
        rbf_block: str | None = None,
        on_step: Callable[[int, int], None] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        references = varying(references)
        truth = Truth(Truth.of(references.imputed_Y).Y, references.unknown)
        super().__init__(references, truth, criterion_of(criterion), n_jobs)
        products = {name: _products(rows) for name, rows in blocks}
        self.products = dict(sorted(products.items()))  # the search does not depend on the order of columns
        self.rbf_block = rbf_block if rbf_block in self.products else None
        self._on_step = on_step

    def run(self) -> ColumnWeights:
        """Return the best weights and penalty."""
        with limit_blas_threads(1):  # threads measure two candidates rather than one
            best = _scaled(self._with_rbf(self._weighted()))
        values, errors, _ = zip(*self.measured, strict=True)
        tried, criterion = tuple(map(_scaled, self.tried)), self.criterion.name
        curve = TuningResult(tuple(best), tried, criterion, values, errors, best, len(self.targets))
        weights = {name: best[_weight_of(name)] for name in self.products}
        gamma = best.get(_GAMMA) if self.rbf_block is not None and weights[self.rbf_block] > 0 else None
        return ColumnWeights(weights, best[_PENALTY], curve, gamma or None)

    def _weighted(self) -> Weights:
        """Return the best weights of inner products."""
        best = dict.fromkeys(map(_weight_of, self.products), 1.0) | {_PENALTY: _FIRST_PENALTY}
        best |= {_GAMMA: 0.0} if self.rbf_block is not None else {}
        best = self._search_penalties(best)
        for factor in _FACTORS:
            for name in self.products if len(self.products) > 1 else ():
                best = self._search_along(best, _weight_of(name), factor)
            best = self._search_penalties(best)
        return best

    def _with_rbf(self, best: Weights) -> Weights:
        """Compare numbers by an RBF if that improves enough."""
        if self.rbf_block is None or len(self.targets) < _FEWEST_FOR_RBF:
            return best
        distance = float(_squared_distances(self.products[self.rbf_block]).mean())
        if not distance > 0:
            return best
        weight = _weight_of(self.rbf_block)
        rbf_block = best | {weight: best[weight] or 1.0, _GAMMA: 1.0 / distance}
        rbf_block = self._search_penalties(rbf_block)
        rbf_block = self._search_penalties(self._search_along(rbf_block, _GAMMA, 2.0))
        if len(self.products) > 1:
            rbf_block = self._search_along(rbf_block, weight, _FACTORS[-1])
        return rbf_block if self.look(rbf_block) - self.look(best) >= _RBF_GAIN else best

    def _search_penalties(self, best: Weights) -> Weights:
        grid = [*PENALTIES]
        at = int(np.argmin(np.abs(np.log(grid) - math.log(best[_PENALTY]))))
        near = [grid[at + step] for step in (1, -1) if 0 <= at + step < len(grid)]
        self.look_ahead([best, *(best | {_PENALTY: penalty} for penalty in near)])
        for step in (1, -1):
            while 0 <= at + step < len(grid):
                there = best | {_PENALTY: grid[at + step]}
                if self.look(there) <= self.look(best):
                    break
                best, at = there, at + step
        return best

    def _search_along(self, best: Weights, name: str, factor: float) -> Weights:
        """Multiply or divide one value by `factor` while the metric improves.

        Unless a larger value was better, also try 0, which drops the block.
        """
        steps = factor, 1.0 / factor
        self.look_ahead([best | {name: best[name] * step} for step in steps])
        for step in steps:
            moved = best
            while True:
                there = moved | {name: moved[name] * step}
                if not self.look(there) - self.look(moved) >= _GAIN:  # -inf - -inf is nan: stop, too
                    break
                moved = there
            if moved is not best:
                return self._without(moved, name) if step < 1 else moved
        return self._without(best, name)

    def _without(self, best: Weights, name: str) -> Weights:
        others = any(value for other, value in best.items() if other not in (name, _PENALTY, _GAMMA))
        there = best | {name: 0.0}
        possible = name != _GAMMA and best[name] and others
        return there if possible and self.look(there) > self.look(best) else best

    def look(self, candidate: Weights) -> float:
        """Return the criterion, the higher the better; minus infinity if undefined or enough was tried."""
        if len(self.tried) >= MAX_CANDIDATES and tuple(candidate.values()) not in self.seen:
            return -math.inf
        before = len(self.tried)
        value = super().look(candidate)
        if len(self.tried) > before and self._on_step is not None:
            self._on_step(len(self.tried), MAX_CANDIDATES)
        return value

    def look_ahead(self, candidates: list[Weights]) -> None:  # type: ignore[override]
        """Measure on threads what will most likely be needed, unless enough was tried."""
        if len(self.tried) < MAX_CANDIDATES:
            super().look_ahead(candidates)

    def measure(self, candidate: Weights) -> Measurement:
        """Measure a candidate by leave-one-out."""
        S = np.zeros((len(self.targets),) * 2, dtype=np.float32)  # as exact as the products are
        for name, products in self.products.items():
            if weight := np.float32(candidate[_weight_of(name)]):
                gamma = candidate[_GAMMA] if name == self.rbf_block else 0.0
                S += weight * (_rbf(products, gamma) if gamma else products)
        penalty = candidate[_PENALTY]
        coarse_from = penalty if len(S) >= limits().coarse_rows else None
        return self.evaluated(self.loo_scores_by_penalty(S, coarse_from)(penalty))


def _weight_of(block: str) -> str:
    """Return the name of a block's weight among the values of a candidate: a column may be a "penalty"."""
    return f"weight of {block}"


def _scaled(candidate: Weights) -> Weights:
    """Return the same similarities up to a factor, with 1 as the largest weight, which is easier to read."""
    largest = max((value for name, value in candidate.items() if name not in (_PENALTY, _GAMMA)), default=1.0)
    return {name: value if name == _GAMMA else value / (largest or 1.0) for name, value in candidate.items()}


def _rbf(products: FloatArray, gamma: float) -> FloatArray:
    return np.exp(-gamma * _squared_distances(products)) + STRAIGHT_SHARE * products


def _squared_distances(products: FloatArray) -> FloatArray:
    """Return squared distances from inner products, (n_rows, n_rows)."""
    lengths = np.diag(products)
    return np.maximum(lengths[:, None] + lengths - 2.0 * products, 0.0)


def _products(rows: Rows) -> FloatArray:
    """Return inner products of all rows, (n_rows, n_rows), float32, since there are some for each block."""
    return np.asarray((rows @ rows.T).toarray(), dtype=np.float32)

"""How much each column of a table counts, and the penalty with it, by leave-one-out on a sample of the rows.

The similarity of two rows is the weighted sum of their similarities in each block of columns, so each
block's matrix of similarities is computed once; a candidate is a weighted sum of them and one solution of
ridge in closed form. One block, that of the numbers, may be bent: compared by an RBF of its distances, which
follow from its inner products, with a tenth of the latter beside it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.threads import effective_jobs, held_blas
from simlabel._utils.validation import FloatArray, Rows
from simlabel.metrics import Truth
from simlabel.ridge import (
    PENALTIES,
    knowledge,
    left_out_by_penalty,
    partly_known_solution,
    patterns,
    ridge_targets,
)
from simlabel.sums import References, run_tasks
from simlabel.tuning._criterion import Judge, Judgement, criterion_of, learned_scores
from simlabel.tuning._problem import varying
from simlabel.tuning._result import TuningResult

PENALTY, GAMMA = "penalty", "gamma"
#: how much the inner products of a bent block count beside its RBF
STRAIGHT_SHARE = 0.1
_FIRST_PENALTY = 0.3
_FACTORS = (4.0, 2.0)  # by which a weight is changed, in the first and in the second round
_WORTH = 2e-4  # of the criterion: what a change of a weight must bring, so that noise does not decide
_ENOUGH_TO_BEND = 100  # rows: of fewer, what an RBF gains is mostly chance
_WORTH_BENDING = 2e-3  # with an RBF sums are no longer collapsed, and numbers no longer speak one by one
#: how many candidates are looked at, at the most
MOST_CANDIDATES = 80


@dataclass(frozen=True)
class ColumnWeights:
    """What was found: a weight for each block, the penalty, and the curve.

    `gamma` is that of the RBF of the block that may be bent, before it is weighed; None where it is not.
    """

    weights: dict[str, float]
    penalty: float
    curve: TuningResult
    gamma: float | None = None


class ColumnSearch:
    """Walks through weights and penalties, from equal weights on, as long as leave-one-out gains by it.

    Parameters
    ----------
    blocks : iterable of (name, rows)
        The blocks of the encoded rows, (n_rows, n_features) each.
    references : References
        Label sets and weights of the rows; their features are not looked at.
    criterion : str or callable
        What decides.
    bent : str, optional
        The block that may be compared by an RBF.
    on_step : callable, optional
        Called after each candidate with the number of candidates so far and the most that there will be.
    n_jobs : int or None
        Threads, each of which looks at a candidate.
    """

    def __init__(
        self,
        blocks: Iterable[tuple[str, Rows]],
        references: References,
        criterion: Judgement,
        bent: str | None = None,
        on_step: Callable[[int, int], None] | None = None,
        n_jobs: int | None = None,
    ) -> None:
        # in the order of their names: what is tried first does not depend on the table's
        products = {name: _products(rows) for name, rows in blocks}
        self.products = {name: products[name] for name in sorted(products)}
        self.bent = bent if bent in self.products else None
        references = varying(references)
        self.references, self.criterion = references, criterion_of(criterion)
        self.truth = Truth(Truth.of(references.settled_Y).Y, references.unknown)
        self.targets = ridge_targets(references).toarray()
        known = knowledge(references)
        self.patterns = None if known is None else patterns(known)
        self.seen: dict[tuple[float, ...], float] = {}
        self.curve: list[tuple[dict[str, float], float, float]] = []
        self._ahead: dict[tuple[float, ...], tuple[float, float]] = {}
        self._on_step, self._threads = on_step, effective_jobs(n_jobs)

    def run(self) -> ColumnWeights:
        """The best weights and penalty that were met."""
        with held_blas(1):  # threads look at two candidates rather than at one
            return self._walked()

    def _walked(self) -> ColumnWeights:
        best = dict.fromkeys(map(weight_of, self.products), 1.0) | {PENALTY: _FIRST_PENALTY}
        best |= {GAMMA: 0.0} if self.bent is not None else {}
        best = self._along_penalties(best)
        for factor in _FACTORS:
            for name in self.products if len(self.products) > 1 else ():
                best = self._along(best, weight_of(name), factor)
            best = self._along_penalties(best)
        best = _in_units(self._bend(best))
        candidates, values, errors = zip(*self.curve, strict=True)
        tried = tuple(map(_in_units, candidates))
        curve = TuningResult(tuple(best), tried, self.criterion.name, values, errors, best, len(self.targets))
        weights = {name: best[weight_of(name)] for name in self.products}
        used = self.bent is not None and weights[self.bent] > 0
        return ColumnWeights(weights, best[PENALTY], curve, best[GAMMA] or None if used else None)

    def _bend(self, best: dict[str, float]) -> dict[str, float]:
        """Compare numbers by an RBF where that is worth it."""
        if self.bent is None or len(self.targets) < _ENOUGH_TO_BEND:
            return best
        distance = float(_squared_distances(self.products[self.bent]).mean())
        if not distance > 0:
            return best
        weight = weight_of(self.bent)
        bent = best | {weight: best[weight] or 1.0, GAMMA: 1.0 / distance}
        bent = self._along_penalties(bent)
        bent = self._along_penalties(self._along(bent, GAMMA, 2.0))
        if len(self.products) > 1:
            bent = self._along(bent, weight, _FACTORS[-1])
        return bent if self._look(bent) - self._look(best) >= _WORTH_BENDING else best

    def _along_penalties(self, best: dict[str, float]) -> dict[str, float]:
        grid = [*PENALTIES]
        at = int(np.argmin(np.abs(np.log(grid) - math.log(best[PENALTY]))))
        beside = [grid[at + step] for step in (1, -1) if 0 <= at + step < len(grid)]
        self._look_ahead([best, *(best | {PENALTY: penalty} for penalty in beside)])
        for step in (1, -1):
            while 0 <= at + step < len(grid):
                there = best | {PENALTY: grid[at + step]}
                if self._look(there) <= self._look(best):
                    break
                best, at = there, at + step
        return best

    def _along(self, best: dict[str, float], what: str, factor: float) -> dict[str, float]:
        """Change one value in either direction as long as that is worth it; or leave the block out."""
        self._look_ahead([best | {what: best[what] * step} for step in (factor, 1.0 / factor)])
        for step in (factor, 1.0 / factor):
            moved = best
            while True:
                there = moved | {what: moved[what] * step}
                if not self._look(there) - self._look(moved) >= _WORTH:  # nor where both are undefined
                    break
                moved = there
            if moved is not best:
                return self._without(moved, what) if step < 1 else moved
        return self._without(best, what)

    def _without(self, best: dict[str, float], what: str) -> dict[str, float]:
        others = any(value for other, value in best.items() if other not in (what, PENALTY, GAMMA))
        there = best | {what: 0.0}
        worth = what != GAMMA and best[what] and others
        return there if worth and self._look(there) > self._look(best) else best

    def _look_ahead(self, candidates: list[dict[str, float]]) -> None:
        """Measure on threads what will most likely be asked for; what is not counts as not looked at."""
        known = self.seen.keys() | self._ahead.keys()
        new = [one for one in candidates if tuple(one.values()) not in known]
        if self._threads > 1 and len(new) > 1 and len(self.seen) < MOST_CANDIDATES:
            measured = run_tasks(lambda one, stopped: self._measure(one), new, self._threads)
            self._ahead |= {tuple(one.values()): each for one, each in zip(new, measured, strict=True)}

    def _look(self, candidate: dict[str, float]) -> float:
        """The criterion, the higher the better; minus infinity where it is undefined or enough was tried."""
        key = tuple(candidate.values())
        if key not in self.seen:
            if len(self.seen) >= MOST_CANDIDATES:
                return -math.inf
            value, error = self._ahead.pop(key) if key in self._ahead else self._measure(candidate)
            self.curve.append((candidate, value, error))
            signed = value if self.criterion.higher_is_better else -value
            self.seen[key] = -math.inf if math.isnan(signed) else signed
            if self._on_step is not None:
                self._on_step(len(self.seen), MOST_CANDIDATES)
        return self.seen[key]

    def _measure(self, candidate: dict[str, float]) -> tuple[float, float]:
        S = np.zeros((len(self.targets),) * 2, dtype=np.float32)  # as exact as the products are
        for name, products in self.products.items():
            if weight := np.float32(candidate[weight_of(name)]):
                gamma = candidate[GAMMA] if name == self.bent else 0.0
                S += weight * (_bent(products, gamma) if gamma else products)
        left_out = self._left_out(S, candidate[PENALTY])
        weights, n = self.references.weights, self.references.n_labels
        judge = Judge(self.criterion, self.references.sizes)
        judge.add(self.truth, learned_scores(left_out, n))
        return judge.result(self.truth, weights)

    def _left_out(self, S: FloatArray, penalty: float) -> FloatArray:
        weights, groups = self.references.weights, self.references.groups
        if self.patterns is not None:
            return partly_known_solution(S, self.targets, weights, penalty, groups, self.patterns).left_out
        rough = penalty if len(S) >= limits().rough_rows else None
        return left_out_by_penalty(S, self.targets, weights, groups, rough)(penalty)


def weight_of(block: str) -> str:
    """What the weight of a block is called among the values that are chosen: a column may be a "penalty"."""
    return f"weight of {block}"


def _in_units(candidate: dict[str, float]) -> dict[str, float]:
    """The same similarities, but for a factor, with 1 as the largest weight: it is read more easily."""
    largest = max((value for name, value in candidate.items() if name not in (PENALTY, GAMMA)), default=1.0)
    return {name: value if name == GAMMA else value / (largest or 1.0) for name, value in candidate.items()}


def _bent(products: FloatArray, gamma: float) -> FloatArray:
    return np.exp(-gamma * _squared_distances(products)) + STRAIGHT_SHARE * products


def _squared_distances(products: FloatArray) -> FloatArray:
    """From inner products, (n_rows, n_rows)."""
    lengths = np.diag(products)
    return np.maximum(lengths[:, None] + lengths - 2.0 * products, 0.0)


def _products(rows: Rows) -> FloatArray:
    """Inner products of all rows with each other, (n_rows, n_rows), float32: there is one for each block."""
    return np.asarray((rows @ rows.T).toarray(), dtype=np.float32)

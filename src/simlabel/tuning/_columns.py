"""How much each column of a table counts, and the penalty with it, by leave-one-out on a sample of the rows.

The similarity of two rows is the weighted sum of their similarities in each block of columns, so each
block's matrix of similarities is computed once; a candidate is a weighted sum of them and one solution of
ridge in closed form.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from simlabel.influence._closed_form import ridge_solution
from simlabel.influence._partly import knowledge, partly_known_solution, patterns
from simlabel.influence._ridge import PENALTIES, ridge_targets
from simlabel.metrics import Truth
from simlabel.rows import References
from simlabel.support.validation import FloatArray, Rows
from simlabel.tuning._criterion import Judge, Judgement, criterion_of, learned_scores
from simlabel.tuning._result import TuningResult

PENALTY = "penalty"
_FIRST_PENALTY = 0.3
_FACTORS = (4.0, 2.0)  # by which a weight is changed, in the first and in the second round
_WORTH = 2e-4  # of the criterion: what a change of a weight must bring, so that noise does not decide
#: how many candidates are looked at, at the most
MOST_CANDIDATES = 80


@dataclass(frozen=True)
class ColumnWeights:
    """What was found: a weight for each block, the penalty, and the curve."""

    weights: dict[str, float]
    penalty: float
    curve: TuningResult


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
    on_step : callable, optional
        Called after each candidate with the number of candidates so far and the most that there will be.
    """

    def __init__(
        self,
        blocks: Iterable[tuple[str, Rows]],
        references: References,
        criterion: Judgement,
        on_step: Callable[[int, int], None] | None = None,
    ) -> None:
        self.products = {name: _products(rows) for name, rows in blocks}
        self.references, self.criterion = references, criterion_of(criterion)
        self.truth = Truth(Truth.of(references.Y).Y, references.unknown)
        self.targets = ridge_targets(references).toarray()
        known = knowledge(references)
        self.patterns = None if known is None else patterns(known)
        self.seen: dict[tuple[float, ...], float] = {}
        self.curve: list[tuple[dict[str, float], float, float]] = []
        self._on_step = on_step

    def run(self) -> ColumnWeights:
        """The best weights and penalty that were met."""
        best = dict.fromkeys(self.products, 1.0) | {PENALTY: _FIRST_PENALTY}
        best = self._along_penalties(best)
        for factor in _FACTORS:
            for name in self.products if len(self.products) > 1 else ():
                best = self._along(best, name, factor)
            best = self._along_penalties(best)
        best = _in_units(best)
        candidates, values, errors = zip(*self.curve, strict=True)
        tried = tuple(map(_in_units, candidates))
        curve = TuningResult(tuple(best), tried, self.criterion.name, values, errors, best, len(self.targets))
        weights = {name: best[name] for name in self.products}
        return ColumnWeights(weights, best[PENALTY], curve)

    def _along_penalties(self, best: dict[str, float]) -> dict[str, float]:
        grid = [*PENALTIES]
        at = int(np.argmin(np.abs(np.log(grid) - math.log(best[PENALTY]))))
        for step in (1, -1):
            while 0 <= at + step < len(grid):
                there = best | {PENALTY: grid[at + step]}
                if self._look(there) <= self._look(best):
                    break
                best, at = there, at + step
        return best

    def _along(self, best: dict[str, float], name: str, factor: float) -> dict[str, float]:
        """Change one weight in either direction as long as that is worth it; or leave the block out."""
        for step in (factor, 1.0 / factor):
            moved = best
            while True:
                there = moved | {name: moved[name] * step}
                if not self._look(there) - self._look(moved) >= _WORTH:  # nor where both are undefined
                    break
                moved = there
            if moved is not best:
                return self._without(moved, name) if step < 1 else moved
        return self._without(best, name)

    def _without(self, best: dict[str, float], name: str) -> dict[str, float]:
        others = any(weight for block, weight in best.items() if block not in (name, PENALTY))
        there = best | {name: 0.0}
        return there if best[name] and others and self._look(there) > self._look(best) else best

    def _look(self, candidate: dict[str, float]) -> float:
        """The criterion, the higher the better; minus infinity where it is undefined or enough was tried."""
        key = tuple(candidate.values())
        if key not in self.seen:
            if len(self.seen) >= MOST_CANDIDATES:
                return -math.inf
            value, error = self._measure(candidate)
            self.curve.append((candidate, value, error))
            signed = value if self.criterion.higher_is_better else -value
            self.seen[key] = -math.inf if math.isnan(signed) else signed
            if self._on_step is not None:
                self._on_step(len(self.seen), MOST_CANDIDATES)
        return self.seen[key]

    def _measure(self, candidate: dict[str, float]) -> tuple[float, float]:
        S = np.zeros((len(self.targets),) * 2)
        for name, products in self.products.items():
            if candidate[name]:
                S += candidate[name] * products
        weights, n = self.references.weights, self.references.n_labels
        groups = self.references.groups
        if self.patterns is None:
            left_out = ridge_solution(S, self.targets, weights, candidate[PENALTY], groups).left_out
        else:
            penalty = candidate[PENALTY]
            found = partly_known_solution(S, self.targets, weights, penalty, groups, self.patterns)
            left_out = found.left_out
        judge = Judge(self.criterion, self.references.sizes)
        judge.add(self.truth, learned_scores(left_out, n))
        return judge.result(self.truth, weights)


def _in_units(candidate: dict[str, float]) -> dict[str, float]:
    """The same similarities, but for a factor, with 1 as the largest weight: it is read more easily."""
    largest = max((weight for name, weight in candidate.items() if name != PENALTY), default=1.0) or 1.0
    return {name: value / largest for name, value in candidate.items()}


def _products(rows: Rows) -> FloatArray:
    """Inner products of all rows with each other, (n_rows, n_rows), float32: there is one for each block."""
    return np.asarray((rows @ rows.T).toarray(), dtype=np.float32)

"""Bandwidth and penalty of learned influence, by leave-one-out in closed form.

A walk over the grid from a sensible start: the best neighbour of the best point so far, until no
neighbour is better, then half steps. Moves of the penalty reuse the similarities.
"""

from __future__ import annotations

import math

import numpy as np

from simlabel.influence import Problem, Ridge
from simlabel.influence._closed_form import ridge_solution
from simlabel.influence._partly import knowledge, partly_known_solution, patterns
from simlabel.influence._ridge import ridge_targets, similarity_matrix
from simlabel.metrics import Criterion
from simlabel.similarities import Grid
from simlabel.support.validation import FloatArray
from simlabel.tuning._criterion import Judge, learned_scores
from simlabel.tuning._problem import Candidate, resolved

PENALTY = "influence__penalty"
_MOST = 60  # points that are looked at, at the most
_START_FACTOR = 2.0  # times 1 / (mean distance): learned influence likes wider bandwidths than sums do

Measured = tuple[list[Candidate], list[tuple[float, float]]]


class RidgeSearch:
    """The walk."""

    def __init__(self, problem: Problem, criterion: Criterion) -> None:
        assert isinstance(problem.stages.influence, Ridge)
        self.problem, self.criterion = problem, criterion
        self.targets = ridge_targets(problem.references).toarray()
        known = knowledge(problem.references)
        self.patterns = None if known is None else patterns(known)
        self.seen: dict[tuple[float, ...], float] = {}
        self.tried: list[Candidate] = []
        self.measured: list[tuple[float, float]] = []
        self._similarities: tuple[tuple[float, ...], FloatArray] | None = None

    def run(self, grids: dict[str, Grid], start: Candidate | None = None) -> Measured:
        """Candidates that were looked at, and what they gave."""
        best = {name: _start(name, grid) for name, grid in grids.items()}
        if start is not None:
            best = {name: _nearest(start[name], grid) for name, grid in grids.items()}
        self._look(best)
        for step in (1, 0.5):
            while len(self.tried) < _MOST:
                better = self._best_neighbour(best, grids, step)
                if better is None:
                    break
                best = better
                if step < 1:
                    break
        return self.tried, self.measured

    def _best_neighbour(self, best: Candidate, grids: dict[str, Grid], step: float) -> Candidate | None:
        value = self._look(best)
        chosen = None
        for name, grid in grids.items():
            for neighbour in _neighbours(name, best[name], grid, step):
                there = best | {name: neighbour}
                if self._look(there) > value + 1e-9:
                    value, chosen = self._look(there), there
        return chosen

    def _look(self, candidate: Candidate) -> float:
        """The criterion, the higher the better; minus infinity where it is undefined."""
        key = tuple(candidate.values())
        if key not in self.seen:
            value, error = self._measure(candidate)
            self.tried.append(candidate)
            self.measured.append((value, error))
            signed = value if self.criterion.higher_is_better else -value
            self.seen[key] = -math.inf if math.isnan(signed) else signed
        return self.seen[key]

    def _measure(self, candidate: Candidate) -> tuple[float, float]:
        one = resolved(self.problem, candidate)
        references, n = one.references, one.references.n_labels
        key = tuple(value for name, value in candidate.items() if name != PENALTY)
        if self._similarities is None or self._similarities[0] != key:
            self._similarities = key, similarity_matrix(one)
        penalty = float(one.stages.influence.get_params()["penalty"])
        S, weights = self._similarities[1], references.weights
        if self.patterns is None:
            solution = ridge_solution(S, self.targets, weights, penalty, references.groups)
        else:
            known = references.groups, self.patterns
            solution = partly_known_solution(S, self.targets, weights, penalty, *known)
        judge = Judge(self.criterion, references.sizes)
        truth = self.problem.truth
        judge.add(truth, learned_scores(solution.left_out, n))
        return judge.result(truth, references.weights)


def _start(name: str, grid: Grid) -> float:
    if name == PENALTY:
        return 0.3 if 0.3 in grid.values else grid.values[len(grid.values) // 2]
    if grid.refine:
        return grid.values[min(grid.at_mean + round(math.log2(_START_FACTOR)), len(grid.values) - 1)]
    return grid.values[len(grid.values) // 2]


def _nearest(value: float, grid: Grid) -> float:
    """The point of the grid next to a value, on a log scale where it has one."""
    points = np.maximum(np.array(grid.values, dtype=float), 1e-12)
    return grid.values[int(np.argmin(np.abs(np.log(points) - np.log(max(value, 1e-12)))))]


def _neighbours(name: str, value: float, grid: Grid, step: float) -> list[float]:
    if step == 1:
        at = grid.values.index(_nearest(value, grid))
        return [grid.values[i] for i in (at - 1, at + 1) if 0 <= i < len(grid.values)]
    if name == PENALTY:
        return [value / math.sqrt(3.0), value * math.sqrt(3.0)]
    return [value / math.sqrt(2.0), value * math.sqrt(2.0)] if grid.refine else []

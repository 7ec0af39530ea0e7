"""Bandwidth and penalty of learned influence, by leave-one-out in closed form.

A walk over the grid from a sensible start: one parameter after another is moved while that helps, until
no move does, then by half steps. All points read the same statistics of the pairs of rows, and moves
of the penalty the same similarities.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.threads import effective_jobs, held_blas
from simlabel._utils.validation import FloatArray
from simlabel.metrics import Criterion
from simlabel.ridge import (
    LeftOut,
    Problem,
    Ridge,
    knowledge,
    left_out_by_penalty,
    partly_known_solution,
    patterns,
    ridge_targets,
    similarity_matrix,
)
from simlabel.similarities import Grid
from simlabel.sums import AllPairs, run_tasks
from simlabel.tuning._criterion import Judge, learned_scores
from simlabel.tuning._problem import Candidate, resolved

PENALTY = "influence__penalty"
_MOST = 60  # points that are looked at, at the most
_NOISE = 3e-5  # of the criterion: less decides nothing, and single precision is no better
_START_FACTOR = 2.0  # times 1 / (mean distance): learned influence likes wider bandwidths than sums do
_FACTOR = {True: 3.0, False: 2.0}  # of a step, of the penalty and of others

Measured = tuple[list[Candidate], list[tuple[float, float]]]


@dataclass(frozen=True)
class Walk:
    """From where, how far and how closely learned influence is looked for.

    Attributes
    ----------
    start : dict, optional
        A candidate known to be good.
    steps : tuple of float
        Lengths of steps, one after another, in steps of the grid.
    rough : bool
        Whether single precision is enough, and gains that are noise are not followed.
    exact_best : bool
        Whether the best is measured exactly in the end.
    """

    start: Candidate | None = None
    steps: tuple[float, ...] = (1.0, 0.5)
    rough: bool = False
    exact_best: bool = True


class RidgeSearch:
    """The walk.

    Parameters
    ----------
    problem : Problem
    criterion : Criterion
    pairs : AllPairs, optional
        Of the references, where others have looked at them too.
    """

    def __init__(self, problem: Problem, criterion: Criterion, pairs: AllPairs | None = None) -> None:
        assert isinstance(problem.stages.influence, Ridge)
        self.problem, self.criterion = problem, criterion
        self.pairs = AllPairs.of(problem.references.X, problem.stages.n_jobs) if pairs is None else pairs
        self.targets = ridge_targets(problem.references).toarray()
        known = knowledge(problem.references)
        self.patterns = None if known is None else patterns(known)
        self.seen: dict[tuple[float, ...], float] = {}
        self.tried: list[Candidate] = []
        self.measured: list[tuple[float, float]] = []
        self._ahead: dict[tuple[float, ...], tuple[float, float]] = {}
        self._left_out: dict[tuple[float, ...], LeftOut] = {}
        self._threads = effective_jobs(problem.stages.n_jobs)
        self._rough_from: float | None = None
        self._overflown = False  # whether a candidate's similarities were beyond what can be computed with

    def run(self, grids: dict[str, Grid], walk: Walk) -> Measured:
        """Candidates that were looked at, and what they gave."""
        with held_blas(1):  # threads look at two candidates rather than at one
            tried, measured = self._walked(grids, walk)
        if self._overflown and all(math.isnan(value) for value, _ in measured):
            raise ValueError(
                f"{self.problem.stages.similarity!r} is so large between these rows that no influence can be "
                f"learnt from it: bring rows to one length (normalizer='l2'), or take a smaller degree."
            )
        return tried, measured

    def _walked(self, grids: dict[str, Grid], walk: Walk) -> Measured:
        if walk.rough and PENALTY in grids and self.problem.references.n_rows >= limits().rough_rows:
            self._rough_from = min(grids[PENALTY].values)
        best = {name: _start(name, grid) for name, grid in grids.items()}
        if walk.start is not None:
            best |= {
                name: _placed(name, walk.start[name], grids[name]) for name in grids if name in walk.start
            }
        self._look(best)
        for step in walk.steps:
            moved = True
            while moved and len(self.tried) < _MOST:
                before = best
                for name, grid in reversed(grids.items()):  # the penalty first, whose moves cost least
                    best = self._along(name, grid, best, step)
                moved = best != before
        if self._rough_from is not None and walk.exact_best:
            self._measure_exactly(max(self.seen, key=lambda key: self.seen[key]))
        return self.tried, self.measured

    def _along(self, name: str, grid: Grid, best: Candidate, step: float) -> Candidate:
        """The best point that is reached by steps of one parameter, upwards or else downwards."""
        self._look_ahead(name, grid, best, step)
        for up in (True, False):
            moved = False
            while (neighbour := _neighbour(name, best[name], grid, step, up)) is not None:
                there, value = best | {name: neighbour}, self._look(best)
                worth = 1e-9 if self._rough_from is None else _NOISE * abs(value)
                if not self._look(there) > value + worth:
                    break
                best, moved = there, True
            if moved:
                break
        return best

    def _look_ahead(self, name: str, grid: Grid, best: Candidate, step: float) -> None:
        """Measure on threads what will most likely be asked for: the neighbours on both sides.

        What is not asked for in the end counts as not looked at, so that threads change nothing.
        """
        values = [_neighbour(name, best[name], grid, step, up) for up in (True, False)]
        both = [best | {name: value} for value in values if value is not None]
        new = [each for each in both if not {tuple(each.values())} & (self.seen.keys() | self._ahead.keys())]
        if self._threads < 2 or len(new) < 2:
            return
        if name == PENALTY:
            self._by_penalty(best)  # both read it
        measured = run_tasks(lambda one, stopped: self._measure(one), new, self._threads)
        self._ahead |= {tuple(one.values()): each for one, each in zip(new, measured, strict=True)}

    def _measure_exactly(self, key: tuple[float, ...]) -> None:
        at = list(self.seen).index(key)
        self._rough_from, self._left_out = None, {}
        self.measured[at] = self._measure(self.tried[at])

    def _look(self, candidate: Candidate) -> float:
        """The criterion, the higher the better; minus infinity where it is undefined."""
        key = tuple(candidate.values())
        if key not in self.seen:
            value, error = self._ahead.pop(key) if key in self._ahead else self._measure(candidate)
            self.tried.append(candidate)
            self.measured.append((value, error))
            signed = value if self.criterion.higher_is_better else -value
            self.seen[key] = -math.inf if math.isnan(signed) else signed
        return self.seen[key]

    def _measure(self, candidate: Candidate) -> tuple[float, float]:
        references, n = self.problem.references, self.problem.references.n_labels
        penalty = candidate.get(PENALTY, self.problem.stages.influence.get_params()["penalty"])
        with np.errstate(all="ignore"):  # what comes of it is looked at
            left_out = self._by_penalty(candidate)(float(penalty))
        judge = Judge(self.criterion, references.sizes)
        truth = self.problem.truth
        if not np.isfinite(left_out).all():
            self._overflown = True
            return math.nan, math.nan
        judge.add(truth, learned_scores(left_out, n))
        return judge.result(truth, references.weights)

    def _by_penalty(self, candidate: Candidate) -> LeftOut:
        key = tuple(value for name, value in candidate.items() if name != PENALTY)
        left_out = self._left_out.get(key)
        if left_out is None:
            if self.problem.references.n_rows > limits().cached_similarity_rows:
                self._left_out.clear()  # their memory grows with the square of the rows
            references, S = self.problem.references, self._similarities(candidate)
            given = S, self.targets, references.weights
            if self.patterns is None:
                left_out = left_out_by_penalty(*given, references.groups, self._rough_from)
            else:
                known = references.groups, self.patterns

                def left_out(penalty: float) -> FloatArray:
                    return partly_known_solution(*given, penalty, *known).left_out

            self._left_out[key] = left_out
        return left_out

    def _similarities(self, candidate: Candidate) -> FloatArray:
        one = resolved(self.problem, candidate)
        if not AllPairs.reads(one.stages.similarity):
            return similarity_matrix(one)
        return self.pairs.similarities(one.stages.similarity)


def _start(name: str, grid: Grid) -> float:
    if name == PENALTY:
        return 0.3 if 0.3 in grid.values else grid.values[len(grid.values) // 2]
    if grid.refine:
        return grid.values[min(grid.at_mean + round(math.log2(_START_FACTOR)), len(grid.values) - 1)]
    return grid.values[len(grid.values) // 2]


def _placed(name: str, value: float, grid: Grid) -> float:
    """A start that was found on other rows, whose grid differed; where no scale is refined, the nearest."""
    if grid.refine or name == PENALTY:
        return value
    return min(grid.values, key=lambda other: abs(other - value))


def _neighbour(name: str, value: float, grid: Grid, step: float, up: bool) -> float | None:
    """The next value above or below; None at the end of the grid."""
    values, scale = grid.values, grid.refine or name == PENALTY
    if not scale or (step == 1 and value in values):
        at = values.index(value) + (1 if up else -1)
        return values[at] if 0 <= at < len(values) else None
    factor = _FACTOR[name == PENALTY]
    beyond = math.sqrt(factor) * (1 + 1e-9)
    there = value * factor ** (step if up else -step)
    return there if values[0] / beyond <= there <= values[-1] * beyond else None

"""Bandwidth and penalty of learned influence, by leave-one-out in closed form.

A coordinate search over the grid from a sensible start: one parameter after another is moved while that
helps, until no move does, then by half steps. All points read the same statistics of the pairs of rows, and
moves of the penalty the same similarities.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.threads import effective_jobs, limit_blas_threads
from simlabel._utils.validation import FloatArray
from simlabel.metrics import Criterion, Truth
from simlabel.ridge import (
    LooScores,
    Problem,
    Ridge,
    knowledge,
    loo_scores_by_penalty,
    partly_known_solution,
    patterns,
    ridge_targets,
    similarity_matrix,
)
from simlabel.similarities import Grid
from simlabel.sums import AllPairs, References, run_tasks
from simlabel.tuning._measure import Candidate, Measurement, measure_learned, resolved

_PENALTY = "influence__penalty"
_MAX = 60  # candidates at most
_NOISE = 3e-5  # of the criterion: smaller gains are noise, also of single precision
_START_FACTOR = 2.0  # times 1 / (mean distance): learned influence needs wider bandwidths than plain sums
_FACTOR = {True: 3.0, False: 2.0}  # of a step, of the penalty and of others


class CoordinateSearch(ABC):
    """Compares candidates of learned influence by leave-one-out, and measures each of them once.

    Parameters
    ----------
    references : References
    truth : Truth
        Of all references.
    criterion : Criterion
    n_jobs : int or None
        Number of threads, each of which measures a candidate.
    """

    def __init__(
        self, references: References, truth: Truth, criterion: Criterion, n_jobs: int | None
    ) -> None:
        self.references, self.truth, self.criterion = references, truth, criterion
        self.targets = ridge_targets(references).toarray()
        known = knowledge(references)
        self.patterns = None if known is None else patterns(known)
        self.seen: dict[tuple[float, ...], float] = {}
        self.tried: list[Candidate] = []
        self.measured: list[Measurement] = []
        self._ahead: dict[tuple[float, ...], Measurement] = {}
        self._threads = effective_jobs(n_jobs)

    @abstractmethod
    def measure(self, candidate: Candidate) -> Measurement:
        """Measure a candidate by leave-one-out."""

    def look(self, candidate: Candidate) -> float:
        """Return the criterion, the higher the better; minus infinity if it is undefined."""
        key = tuple(candidate.values())
        if key not in self.seen:
            found = self._ahead.pop(key) if key in self._ahead else self.measure(candidate)
            self.tried.append(candidate)
            self.measured.append(found)
            value = found.value if self.criterion.higher_is_better else -found.value
            self.seen[key] = -math.inf if math.isnan(value) else value
        return self.seen[key]

    def look_ahead(self, candidates: Sequence[Candidate]) -> None:
        """Measure on threads the candidates that will most likely be needed.

        Those that are not needed in the end do not count, so that threads change nothing.
        """
        new = self._new(candidates)
        if self._threads < 2 or len(new) < 2:
            return
        measured = run_tasks(lambda one, stopped: self.measure(one), new, self._threads)
        self._ahead |= {tuple(one.values()): each for one, each in zip(new, measured, strict=True)}

    def _new(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        known = self.seen.keys() | self._ahead.keys()
        return [one for one in candidates if tuple(one.values()) not in known]

    def loo_scores_by_penalty(self, S: FloatArray, coarse_from: float | None) -> LooScores:
        """Return leave-one-out scores as a function of the penalty, from similarities of all pairs."""
        weights, groups = self.references.weights, self.references.groups
        known = self.patterns
        if known is None:
            return loo_scores_by_penalty(S, self.targets, weights, groups, coarse_from)

        def loo_scores(penalty: float) -> FloatArray:
            return partly_known_solution(S, self.targets, weights, penalty, groups, known).loo_scores

        return loo_scores

    def evaluated(self, loo_scores: FloatArray) -> Measurement:
        """Return the criterion of leave-one-out scores."""
        return measure_learned(
            self.criterion, self.references, self.truth, loo_scores, self.references.weights
        )


@dataclass(frozen=True)
class SearchSchedule:
    """Start, steps and precision of the search for learned influence.

    Attributes
    ----------
    start : dict, optional
        A candidate that is known to be good.
    steps : tuple of float
        Lengths of steps, one after another, in steps of the grid.
    coarse : bool
        Whether single precision is enough, and gains that are noise are ignored.
    exact_best : bool
        Whether the best is measured exactly in the end.
    """

    start: Candidate | None = None
    steps: tuple[float, ...] = (1.0, 0.5)
    coarse: bool = False
    exact_best: bool = True


class RidgeSearch(CoordinateSearch):
    """Search of bandwidth and penalty.

    Parameters
    ----------
    problem : Problem
    criterion : Criterion
    pairs : AllPairs, optional
        Statistics of the references that other searches share.
    """

    def __init__(self, problem: Problem, criterion: Criterion, pairs: AllPairs | None = None) -> None:
        assert isinstance(problem.stages.influence, Ridge)
        n_jobs = problem.stages.n_jobs
        super().__init__(problem.references, problem.truth, criterion, n_jobs)
        self.problem = problem
        self.pairs = AllPairs.of(problem.references.X, n_jobs) if pairs is None else pairs
        self._loo_scores: dict[tuple[float, ...], LooScores] = {}
        self._coarse_from: float | None = None
        self._overflow = False  # whether similarities of a candidate were too large to compute with

    def run(
        self, grids: dict[str, Grid], schedule: SearchSchedule
    ) -> tuple[list[Candidate], list[Measurement]]:
        """Return the candidates that were tried, and their criterion."""
        with limit_blas_threads(1):  # threads measure two candidates rather than one
            self._search(grids, schedule)
        if self._overflow and all(math.isnan(each.value) for each in self.measured):
            raise ValueError(
                f"{self.problem.stages.similarity!r} is so large between these rows that no influence can be "
                f"learned from it: scale rows to unit length (normalizer='l2'), or choose a smaller degree."
            )
        return self.tried, self.measured

    def _search(self, grids: dict[str, Grid], schedule: SearchSchedule) -> None:
        if schedule.coarse and _PENALTY in grids and self.references.n_rows >= limits().coarse_rows:
            self._coarse_from = min(grids[_PENALTY].values)
        best = {name: _start(name, grid) for name, grid in grids.items()}
        for name, value in (schedule.start or {}).items():
            if name in grids:
                best[name] = _placed(name, value, grids[name])
        self.look(best)
        for step in schedule.steps:
            moved = True
            while moved and len(self.tried) < _MAX:
                before = best
                for name, grid in reversed(grids.items()):  # the penalty first, whose moves cost least
                    best = self._search_along(name, grid, best, step)
                moved = best != before
        if self._coarse_from is not None and schedule.exact_best:
            at = list(self.seen).index(max(self.seen, key=lambda key: self.seen[key]))
            self._coarse_from, self._loo_scores = None, {}
            self.measured[at] = self.measure(self.tried[at])

    def _search_along(self, name: str, grid: Grid, best: Candidate, step: float) -> Candidate:
        """Return the best candidate that steps of one parameter reach, upwards or else downwards."""
        values = [_neighbor(name, best[name], grid, step, up) for up in (True, False)]
        near = [best | {name: value} for value in values if value is not None]
        if name == _PENALTY and self._threads > 1 and len(self._new(near)) > 1:
            self._by_penalty(best)  # similarities that both read
        self.look_ahead(near)
        for up in (True, False):
            moved = False
            while (neighbor := _neighbor(name, best[name], grid, step, up)) is not None:
                there, value = best | {name: neighbor}, self.look(best)
                gain = 1e-9 if self._coarse_from is None else _NOISE * abs(value)
                if not self.look(there) > value + gain:
                    break
                best, moved = there, True
            if moved:
                break
        return best

    def measure(self, candidate: Candidate) -> Measurement:
        """Measure a candidate by leave-one-out."""
        penalty = candidate.get(_PENALTY, self.problem.stages.influence.get_params()["penalty"])
        with np.errstate(all="ignore"):  # the result is checked
            loo_scores = self._by_penalty(candidate)(float(penalty))
        if not np.isfinite(loo_scores).all():
            self._overflow = True
            return Measurement(math.nan, math.nan)
        return self.evaluated(loo_scores)

    def _by_penalty(self, candidate: Candidate) -> LooScores:
        key = tuple(value for name, value in candidate.items() if name != _PENALTY)
        loo_scores = self._loo_scores.get(key)
        if loo_scores is None:
            if self.references.n_rows > limits().cached_similarity_rows:
                self._loo_scores.clear()  # each penalty needs a new factor: little is saved
            one = resolved(self.problem, candidate)
            similarity = one.stages.similarity
            readable = AllPairs.supports(similarity)
            S = self.pairs.similarities(similarity) if readable else similarity_matrix(one)
            loo_scores = self._loo_scores[key] = self.loo_scores_by_penalty(S, self._coarse_from)
        return loo_scores


def _start(name: str, grid: Grid) -> float:
    if name == _PENALTY:
        return 0.3 if 0.3 in grid.values else grid.values[len(grid.values) // 2]
    if grid.refine:
        return grid.values[min(grid.at_mean + round(math.log2(_START_FACTOR)), len(grid.values) - 1)]
    return grid.values[len(grid.values) // 2]


def _placed(name: str, value: float, grid: Grid) -> float:
    """Return a start that was found on other rows: if the grid is no scale, the nearest of its values."""
    if grid.refine or name == _PENALTY:
        return value
    return min(grid.values, key=lambda other: abs(other - value))


def _neighbor(name: str, value: float, grid: Grid, step: float, up: bool) -> float | None:
    """Return the next larger (`up`) or smaller value; None beyond the ends of the grid."""
    values, scale = grid.values, grid.refine or name == _PENALTY
    if not scale or (step == 1 and value in values):
        at = values.index(value) + (1 if up else -1)
        return values[at] if 0 <= at < len(values) else None
    factor = _FACTOR[name == _PENALTY]
    beyond = math.sqrt(factor) * (1 + 1e-9)
    there = value * factor ** (step if up else -step)
    return there if values[0] / beyond <= there <= values[-1] * beyond else None

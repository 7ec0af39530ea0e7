"""The search of AutoSMLClassifier: configurations, compared on more and more rows (successive halving)."""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.progress import Advance
from simlabel._utils.rows import assign_folds, sample_rows, transformed
from simlabel._utils.threads import effective_jobs, limit_blas_threads
from simlabel._utils.validation import AnyArray, FloatArray, IntArray
from simlabel.estimators._problem import make_problem, shown_normalizer
from simlabel.metrics import Criterion, Truth
from simlabel.model import Batch
from simlabel.ridge import (
    INFLUENCES,
    Problem,
    Stages,
    positive_definite_inverse,
    ridge_targets,
    similarity_matrix,
)
from simlabel.similarities import Similarity, Sum
from simlabel.sums import AllPairs, Exact, References, prepare, run_tasks
from simlabel.tuning import LeaveOneOut, SearchSchedule, TuningResult, measure_learned, two_sided

_SCREEN_ROWS = 400  # of the first round, with all configurations
_MIDDLE_ROWS, _MIDDLE = 800, 6  # rows and configurations of the second round, if there are 1,200 rows
_FINALISTS = 3  # configurations of the last rounds, on all rows
_OF_A_KIND = 2  # finalists at most: on few rows kinds of similarities differ by more than noise
_CLOSE = 0.5  # standard errors: finalists that are as near to the best are tuned once more

# Units of progress are trials on few rows, roughly:
_MIDDLE_WORK = 4  # a trial on more rows
FITTED_ROWS = 50  # rows of the final model for one unit

_RELEVANCE_ROWS = 800  # on which "relevance" is compared: weights of more rows are better still
_FEWEST_RELEVANCE = 100  # rows: with fewer, column weights are mostly chance
_FOLDS = 5
_SURE = 2.0  # standard errors of the gain: five folds say little

Record = dict[str, Any]  # a row of the leaderboard, in plain values


@dataclass(frozen=True)
class Configuration:
    """A choice of stages."""

    normalizer: Any
    similarity: Similarity
    influence: str

    def __str__(self) -> str:
        return f"{shown_normalizer(self.normalizer)} / {self.similarity!r} / {self.influence}"


@dataclass(frozen=True)
class Trial:
    """A configuration, tuned by leave-one-out on some rows."""

    configuration: Configuration
    best: Problem
    curve: TuningResult
    n_rows: int

    @property
    def similarity(self) -> Similarity:
        """The similarity with its best parameters."""
        own = {name: v for name, v in self.curve.best.items() if not name.startswith("influence__")}
        return self.configuration.similarity.replaced(own)

    def record(self, value: float, error: float, evaluation: str) -> Record:
        """Return a row of the leaderboard."""
        normalizer = shown_normalizer(self.configuration.normalizer)
        return {
            "normalizer": None if normalizer is None else str(normalizer),
            "similarity": _readable(self.similarity),
            "influence": _readable(self.best.stages.influence),
            self.curve.criterion: value,
            "standard_error": error,
            "rows": self.n_rows,
            "judged": evaluation,
        }


def _readable(stage: Any) -> str:
    """Return a stage in one line and with four digits.

    Examples
    --------
    >>> from simlabel.similarities import RBF
    >>> _readable(RBF(gamma=0.06625241094150869))
    'RBF(gamma=0.06625)'
    """
    line = " ".join(repr(stage).split())
    return re.sub(r"\d+\.\d{4,}(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", line)


class _Shared:
    """What trials with the same normalizer on the same rows share: statistics of all pairs, and results."""

    def __init__(self) -> None:
        self.best: dict[tuple[str, str], dict[str, Any]] = {}  # by similarity and influence
        self._pairs: AllPairs | None = None
        self._lock = threading.Lock()

    def pairs(self, problem: Problem) -> AllPairs:
        """Return statistics of all pairs, computed once."""
        with self._lock:
            if self._pairs is None:
                self._pairs = AllPairs.of(problem.references.X, problem.stages.n_jobs)
        return self._pairs

    def start(self, configuration: Configuration) -> dict[str, Any] | None:
        """Return for a sum of similarities the best parameters of each summand; None otherwise."""
        similarity = configuration.similarity
        start: dict[str, Any] = {}
        if not isinstance(similarity, Sum):
            return None
        for side, part in (("left__", similarity.left), ("right__", similarity.right)):
            best = self.best.get((repr(part), str(configuration.influence)))
            if best is None:
                return None
            start |= {name if name.startswith("influence__") else side + name: v for name, v in best.items()}
        return start


@dataclass(frozen=True)
class Trials:
    """Tunes configurations on some rows.

    Attributes
    ----------
    batch : Batch
        Checked training rows.
    names : array of str or None
        Names of their features.
    search : LeaveOneOut
    n_jobs : int or None
    seed : int
    shared : dict
        What was computed on these rows, by normalizer.
    """

    batch: Batch
    names: AnyArray | None
    search: LeaveOneOut
    n_jobs: int | None
    seed: int
    shared: dict[str, _Shared] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.batch.weights)

    def sampled(self, most: int) -> Trials:
        """Return trials on a sample of at most `most` rows."""
        batch = self.batch
        if self.n_rows > most:
            batch = batch.part(sample_rows(batch.order, most, self.seed))
        return replace(self, batch=batch, shared={})

    def run(self, configuration: Configuration, schedule: SearchSchedule) -> Trial:
        """Tune one configuration on these rows."""
        stages = Stages(
            similarity=configuration.similarity,
            influence=INFLUENCES.resolve(configuration.influence),
            engine=Exact(),
            n_jobs=self.n_jobs,
            seed=self.seed,
        )
        _, problem = make_problem(self.batch, configuration.normalizer, stages, self.names)
        shared = self.shared.setdefault(str(configuration.normalizer), _Shared())
        if schedule.start is None:
            schedule = replace(schedule, start=shared.start(configuration))
        tuned = self.search.run(problem, schedule, shared.pairs(problem), always=True)
        key = repr(configuration.similarity), str(configuration.influence)
        shared.best.setdefault(key, tuned.curve.best)
        return Trial(configuration, tuned.problem, tuned.curve, self.n_rows)


def _coarse(*steps: float) -> SearchSchedule:
    """Return a schedule for which only the order of the results matters."""
    return SearchSchedule(steps=steps, coarse=True, exact_best=False)


_Task = tuple[Configuration, SearchSchedule]


@dataclass(frozen=True)
class Rounds:
    """Compares configurations on few rows, the best of them on more, and the last ones on many.

    Attributes
    ----------
    trials : Trials
        On all rows.
    criterion : Criterion
    budget : float or None
        Seconds after which no further trial is begun.
    """

    trials: Trials
    criterion: Criterion
    budget: float | None
    started: float = field(default_factory=time.monotonic)

    @property
    def n_rows(self) -> int:
        """Number of rows of the last rounds."""
        return min(self.trials.n_rows, limits().tuned_rows)

    @property
    def has_middle(self) -> bool:
        """Whether there is a round between the first and the last ones."""
        return self.n_rows > 1.5 * _MIDDLE_ROWS

    @property
    def work(self) -> int:
        """Units of progress for a trial on all rows; tuning it once more takes eight times as many."""
        return max(1, round((self.n_rows / _SCREEN_ROWS) ** 2 / 4))

    def n_steps(self, configurations: Sequence[Configuration]) -> int:
        """Return the largest number of units of progress."""
        n = len(configurations)
        middle = min(n, _MIDDLE) * _MIDDLE_WORK * self.has_middle
        return n + middle + min(n, _FINALISTS) * 9 * self.work

    def run(self, configurations: Sequence[Configuration], advance: Advance) -> list[Trial]:
        """Return the trials, the best first: of a configuration the last one on the same rows."""
        groups: dict[str, list[_Task]] = {}  # of one normalizer, which share statistics
        for one in configurations:
            groups.setdefault(str(one.normalizer), []).append((one, _coarse(1.0)))
        screen = self.trials.sampled(_SCREEN_ROWS)
        found = best = self._tried(screen, list(groups.values()), advance, configurations[0])
        final = self.trials.sampled(self.n_rows)
        last = SearchSchedule(steps=(0.5,) if self.has_middle else (1.0, 0.5), coarse=True)
        rounds: list[tuple[Trials, Callable[[list[Trial]], list[Trial]], SearchSchedule, int]] = [
            (final, partial(_first, _FINALISTS), _coarse(), self.work),
            (final, _close, last, 8 * self.work),
        ]
        if self.has_middle:
            middle = self.trials.sampled(_MIDDLE_ROWS)
            rounds.insert(0, (middle, partial(_first, _MIDDLE), _coarse(1.0, 0.5), _MIDDLE_WORK))
        for trials, choose, schedule, work in rounds:
            chosen = choose(self._ranked(best))
            tasks = [[(trial.configuration, replace(schedule, start=trial.curve.best))] for trial in chosen]
            best = self._tried(trials, tasks, partial(advance, work))
            found = found + best
            if len(best) < len(chosen):  # out of time
                break
        advance(work * max(0, min(len(configurations), _FINALISTS) - len(best)))
        latest = {(id(trial.configuration), trial.n_rows): trial for trial in found}
        return self._ranked(list(latest.values()))

    def _tried(
        self,
        trials: Trials,
        groups: Sequence[Sequence[_Task]],
        advance: Callable[[], None],
        first: Configuration | None = None,
    ) -> list[Trial]:
        """Run groups of tasks on threads until time is up; `first` is always run."""

        def tried(trials: Trials, group: Iterable[_Task], stopped: Callable[[], bool]) -> list[Trial]:
            found = []
            for configuration, schedule in group:
                late = self.budget is not None and time.monotonic() - self.started > self.budget
                if stopped() or (late and configuration is not first):
                    break
                found.append(trials.run(configuration, schedule))
                advance()
            return found

        if len(groups) == 1:
            return tried(trials, groups[0], lambda: False)  # the trial uses the threads itself
        alone = replace(trials, n_jobs=1)
        with limit_blas_threads(1):
            found = run_tasks(partial(tried, alone), groups, effective_jobs(trials.n_jobs))
        return [trial for group in found for trial in group]

    def _ranked(self, trials: Sequence[Trial]) -> list[Trial]:
        """Sort trials: most rows first, then the best; the first of equals, and undefined ones last."""

        def key(trial: Trial) -> tuple[float, ...]:
            value = trial.curve.best_value * (1.0 if self.criterion.higher_is_better else -1.0)
            return (-trial.n_rows, float(np.isnan(value)), -round(float(np.nan_to_num(value)), 9))

        return sorted(trials, key=key)


def _first(n: int, ranking: list[Trial]) -> list[Trial]:
    """Return the first trials, but few of one kind of similarity."""
    kinds: dict[tuple[str, str], int] = {}
    chosen = []
    for trial in ranking:
        kind = repr(trial.configuration.similarity), str(trial.configuration.influence)
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= _OF_A_KIND:
            chosen.append(trial)
    return chosen[:n]


def _close(ranking: list[Trial]) -> list[Trial]:
    """Return the best, and those that further tuning might bring past it."""
    best = ranking[0].curve
    margin = _CLOSE * best.best_error if best.best_error > 0 else math.inf
    return [
        trial
        for trial in ranking
        if trial is ranking[0] or not abs(trial.curve.best_value - best.best_value) > margin
    ]


def best_with_relevance(ranking: Sequence[Trial], rounds: Rounds) -> tuple[Trial, Record] | None:
    """Return the best configuration with columns weighted by relevance, if folds say that this helps.

    The weights are learned from the labels, so leave-one-out is optimistically biased. If even that does not
    improve, nothing is gained; otherwise five folds decide, in each of which the weights are learned again.

    Parameters
    ----------
    ranking : sequence of Trial
        The best first.
    """
    best, trials, criterion = ranking[0], rounds.trials, rounds.criterion
    X = trials.batch.X
    possible = isinstance(X, np.ndarray) and X.shape[1] > 1 and trials.batch.is_complete
    if not (possible and best.best.stages.influence.learned and trials.n_rows >= _FEWEST_RELEVANCE):
        return None
    some, start = trials.sampled(_RELEVANCE_ROWS), best.curve.best
    weighted = replace(best.configuration, normalizer=_with_relevance(best.configuration.normalizer))
    plain = some.run(best.configuration, replace(_coarse(), start=start))
    found = some.run(weighted, replace(_coarse(1.0), start=start))
    sign = 1.0 if criterion.higher_is_better else -1.0
    if not sign * (found.curve.best_value - plain.curve.best_value) > 0:
        return None
    values = np.array([_fold_values(trial, some, criterion) for trial in (plain, found)])
    gains, n = sign * (values[1] - values[0]), values.shape[1]
    if n < 3 or not gains.mean() > _SURE * gains.std(ddof=1) / np.sqrt(n):
        return None
    schedule = SearchSchedule(start=found.curve.best, coarse=True)
    last = trials.sampled(rounds.n_rows).run(weighted, schedule)
    error = float(values[1].std(ddof=1) / np.sqrt(n))
    return last, last.record(float(values[1].mean()), error, f"{n} folds")


def _with_relevance(normalizer: Any) -> list[Any]:
    """Add the weighting of columns to a normalizer, before rows are scaled to unit length.

    Examples
    --------
    >>> _with_relevance("zscore"), _with_relevance(["zscore", "l2"])
    (['zscore', 'relevance'], ['zscore', 'relevance', 'l2'])
    """
    steps = list(normalizer) if isinstance(normalizer, list | tuple) else [normalizer]
    steps = [step for step in steps if step is not None]
    at = len(steps) - (steps[-1:] == ["l2"])
    return [*steps[:at], "relevance", *steps[at:]]


def _fold_values(trial: Trial, trials: Trials, criterion: Criterion) -> list[float]:
    """Return the criterion on each of five folds, with the tuned values, and all else fitted on the rest."""
    references, batch = two_sided(trial.best).references, trials.batch
    stages = replace(trial.best.stages, similarity=trial.similarity)
    values = []
    parts = assign_folds(references.units, _FOLDS, trials.seed)  # a group is never split
    for part in range(int(parts.max()) + 1):
        rest, held = np.flatnonzero(parts != part), np.flatnonzero(parts == part)
        if not len(rest):
            continue
        normalizer, problem = make_problem(
            batch.part(rest), trial.configuration.normalizer, stages, trials.names
        )
        rows = batch.X[held] if normalizer is None else transformed(normalizer, batch.X[held])
        prepared = prepare(problem.references.X, [problem.stages.similarity])
        scores = _ridge_predictions(problem, problem.stages.similarities(rows, prepared), references, rest)
        truth, weights = Truth.of(references.imputed_Y[held]), references.weights[held]
        values.append(measure_learned(criterion, references, truth, scores, weights).value)
    return values


def _ridge_predictions(
    problem: Problem, similarities: FloatArray, references: References, rest: IntArray
) -> FloatArray:
    """Return scores of rows, from their similarities to the references of a problem, the `rest`."""
    weights, targets = references.weights[rest], ridge_targets(references).toarray()[rest]
    mean = weights @ targets / weights.sum()
    penalty = float(problem.stages.influence.get_params()["penalty"])
    inverse = positive_definite_inverse(similarity_matrix(problem), penalty / weights)
    return np.asarray(similarities @ (inverse @ (targets - mean)) + mean)

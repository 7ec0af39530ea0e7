"""What comes out for configurations on some rows."""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.rows import drawn_rows
from simlabel.estimators._configurations import Configuration
from simlabel.estimators._problem import make_problem
from simlabel.model import Batch
from simlabel.ridge import INFLUENCES, Problem, Stages
from simlabel.similarities import Similarity, Sum
from simlabel.sums import AllPairs, Exact
from simlabel.tuning import LeaveOneOut, RidgeSearch, TuningResult, Walk, criterion_of, two_sided

Record = dict[str, Any]  # a row of the leaderboard, in plain values


@dataclass(frozen=True)
class Trial:
    """What came out for a configuration."""

    configuration: Configuration
    best: Problem
    curve: TuningResult
    n_rows: int

    @property
    def value(self) -> float:
        """The criterion of the best candidate."""
        return self._at_best(self.curve.values)

    @property
    def error(self) -> float:
        """Its standard error."""
        return self._at_best(self.curve.errors)

    @property
    def similarity(self) -> Similarity:
        """The configuration's, with the best values in it."""
        own = {name: v for name, v in self.curve.best.items() if not name.startswith("influence__")}
        return self.configuration.similarity.replaced(own)

    def _at_best(self, figures: Sequence[float]) -> float:
        pairs = zip(figures, self.curve.candidates, strict=True)
        return next((figure for figure, candidate in pairs if candidate == self.curve.best), float("nan"))


@dataclass(frozen=True)
class Trials:
    """Tries configurations on some rows.

    Attributes
    ----------
    batch : Batch
        Checked training rows.
    names : array of str or None
        Of their features.
    search : LeaveOneOut
    n_jobs : int or None
    seed : int
    """

    batch: Batch
    names: npt.NDArray[Any] | None
    search: LeaveOneOut
    n_jobs: int | None
    seed: int

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.batch.weights)

    def sampled(self, most: int) -> Trials:
        """The same on at most so many rows."""
        if self.n_rows <= most:
            return self
        rows = drawn_rows(self.batch.order, most, self.seed)
        return replace(self, batch=self.batch.part(rows))

    def alone(self) -> Trials:
        """The same on one thread, where several are tried at once."""
        return replace(self, n_jobs=1)

    def run(self, configuration: Configuration, walk: Walk, shared: Shared) -> Trial:
        """Tune one configuration on these rows."""
        stages = Stages(
            similarity=configuration.similarity,
            influence=INFLUENCES.resolve(configuration.influence),
            engine=Exact(),
            n_jobs=self.n_jobs,
            seed=self.seed,
        )
        _, problem = make_problem(self.batch, configuration.normalizer, stages, self.names)
        best, curve = self.search.run(problem, walk, shared.pairs(problem))
        if not curve.values:  # nothing was left open: it is measured all the same
            curve = replace(curve, candidates=({},), **self._measured(problem))
        trial = Trial(configuration, best, curve, self.n_rows)
        shared.trials.append(trial)
        return trial

    def _measured(self, problem: Problem) -> dict[str, Any]:
        n, problem = problem.references.n_rows, two_sided(problem)
        if problem.stages.influence.learned:
            value, error = RidgeSearch(problem, criterion_of(self.search.criterion)).run({}, Walk())[1][0]
        else:
            value, error = self.search.measure(problem, [{}], np.arange(n))[0]
        return {"values": (value,), "errors": (error,), "n_queries": n}


class Shared:
    """What configurations with the same normalizer on the same rows have in common."""

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self._pairs: AllPairs | None = None
        self._lock = threading.Lock()  # several threads may ask at once

    def pairs(self, problem: Problem) -> AllPairs:
        """Of the rows; made once."""
        with self._lock:
            if self._pairs is None:
                self._pairs = AllPairs.of(problem.references.X, problem.stages.n_jobs)
        return self._pairs

    def start(self, configuration: Configuration) -> dict[str, Any] | None:
        """Of a sum, what was best for each of its parts by itself."""
        similarity = configuration.similarity
        if not isinstance(similarity, Sum):
            return None
        start: dict[str, Any] = {}
        for side, part in (("left__", similarity.left), ("right__", similarity.right)):
            one = self._tried(part, configuration.influence)
            if one is None:
                return None
            best = one.curve.best.items()
            start |= {name if name.startswith("influence__") else side + name: v for name, v in best}
        return start

    def _tried(self, similarity: Similarity, influence: Any) -> Trial | None:
        same = (
            trial
            for trial in self.trials
            if repr(trial.configuration.similarity) == repr(similarity)
            and trial.configuration.influence == influence
        )
        return next(same, None)


def ranked(trials: Sequence[Trial], higher: bool) -> list[Trial]:
    """Most rows first, then the best; the first of equals, and undefined ones last."""

    def key(trial: Trial) -> tuple[float, ...]:
        value = trial.value if higher else -trial.value
        return (-trial.n_rows, float(np.isnan(value)), -round(float(np.nan_to_num(value)), 9))

    return sorted(trials, key=key)


def readable(stage: Any) -> str:
    """A stage in one line and in four digits; the exact values are those of the fitted attributes.

    Examples
    --------
    >>> from simlabel.similarities import RBF
    >>> readable(RBF(gamma=0.06625241094150869))
    'RBF(gamma=0.06625)'
    """
    line = " ".join(repr(stage).split())
    return re.sub(r"\d+\.\d{4,}(e-?\d+)?", lambda found: f"{float(found[0]):.4g}", line)


def record(normalizer: Any, similarity: Similarity, influence: Any, figures: Record) -> Record:
    """A row of the leaderboard."""
    names = {"normalizer": None if normalizer is None else str(normalizer)}
    return names | {"similarity": readable(similarity), "influence": readable(influence)} | figures


def record_of_trial(trial: Trial, value: float, error: float, judged: str) -> Record:
    """The same of a trial."""
    figures: Record = {trial.curve.criterion: value, "standard_error": error}
    figures |= {"rows": trial.n_rows, "judged": judged}
    return record(trial.configuration.steps, trial.similarity, trial.best.stages.influence, figures)


def records(trials: Sequence[Trial]) -> tuple[Record, ...]:
    """What was tried, a row of the leaderboard each."""
    return tuple(record_of_trial(trial, trial.value, trial.error, "leave-one-out") for trial in trials)

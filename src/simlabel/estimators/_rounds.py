"""Successive halving: all configurations on few rows, the best of them on more, the last ones on many."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from simlabel._utils.limits import limits
from simlabel._utils.progress import Advance
from simlabel._utils.threads import effective_jobs, held_blas
from simlabel.estimators._configurations import Configuration
from simlabel.estimators._trials import Shared, Trial, Trials, ranked
from simlabel.sums import run_tasks
from simlabel.tuning import Walk

_SCREEN_ROWS = 400  # all configurations are tried on so many rows,
_MIDDLE_ROWS, _MIDDLE = 800, 6  # so many on more, where there are half as many again,
_FINALISTS = 3  # and so many on all of them
_OF_A_KIND = 2  # at the most: on few rows kinds of similarities differ by more than noise
_CLOSE = 0.5  # standard errors: finalists that are as near to the best are tuned once more

# Progress counts in trials on few rows, roughly:
_MIDDLE_WORK = 4  # a trial on more takes so many of them,
FITTED_ROWS = 50  # and so many rows of the model that is fitted in the end one


@dataclass(frozen=True)
class Rounds:
    """Chooses among configurations.

    Attributes
    ----------
    trials : Trials
        With all rows.
    higher : bool
        Whether the criterion is to be made large.
    budget : float or None
        Seconds after which nothing further is begun.
    """

    trials: Trials
    higher: bool
    budget: float | None
    started: float = field(default_factory=time.monotonic)

    @property
    def n_rows(self) -> int:
        """Of the last rounds."""
        return min(self.trials.n_rows, limits().tuned_rows)

    @property
    def has_middle(self) -> bool:
        """Whether there are so many rows that finalists are found on some of them."""
        return self.n_rows > 1.5 * _MIDDLE_ROWS

    def n_steps(self, configurations: Sequence[Configuration]) -> int:
        """How much work there will be, at the most."""
        n = len(configurations)
        middle = min(n, _MIDDLE) * _MIDDLE_WORK * self.has_middle
        return n + middle + min(n, _FINALISTS) * (self.work + self.last_work)

    @property
    def work(self) -> int:
        """How much a look at a candidate on all rows is."""
        return max(1, round((self.n_rows / _SCREEN_ROWS) ** 2 / 4))

    @property
    def last_work(self) -> int:
        """How much a search from such a candidate is."""
        return 8 * self.work

    def run(self, configurations: Sequence[Configuration], advance: Advance) -> list[Trial]:
        """What was tried, the best first; the last trial of a configuration on the same rows counts."""
        found = best = self._screened(configurations, advance)
        many = _Round(self.trials.sampled(self.n_rows))
        last = Walk(steps=(0.5,) if self.has_middle else (1.0, 0.5), rough=True)
        rounds: list[tuple[_Round, Callable[[list[Trial]], list[Trial]], Walk, int]] = [
            (many, partial(_first, _FINALISTS), _rough(()), self.work),
            (many, _close, last, self.last_work),
        ]
        if self.has_middle:
            some = _Round(self.trials.sampled(_MIDDLE_ROWS))
            rounds.insert(0, (some, partial(_first, _MIDDLE), _rough((1.0, 0.5)), _MIDDLE_WORK))
        for round_, choice, walk, work in rounds:
            chosen = choice(ranked(best, self.higher))
            best = self._again(round_, chosen, walk, partial(advance, work))
            found = found + best
            if len(best) < len(chosen):
                break
        advance(work * max(0, min(len(configurations), _FINALISTS) - len(best)))  # what need not be searched
        return ranked(_latest(found), self.higher)

    def _again(
        self, round_: _Round, chosen: list[Trial], walk: Walk, advance: Callable[[], None]
    ) -> list[Trial]:
        """Each of them once more, on threads; not all where time is up."""

        def tried(trial: Trial, stopped: Callable[[], bool]) -> list[Trial]:
            if stopped() or self._out_of_time():
                return []
            again = round_.run(trial, walk)
            advance()
            return [again]

        if len(chosen) == 1:
            return tried(chosen[0], lambda: False)  # which uses the threads itself
        round_ = round_.alone()
        with held_blas(1):
            found = run_tasks(tried, chosen, effective_jobs(self.trials.n_jobs))
        return [trial for trials in found for trial in trials]

    def _screened(self, configurations: Sequence[Configuration], advance: Callable[[], None]) -> list[Trial]:
        """All configurations on few rows, those of one normalizer together, on threads."""
        some = self.trials.sampled(_SCREEN_ROWS).alone()
        groups: dict[str, list[Configuration]] = {}
        for one in configurations:
            groups.setdefault(str(one.steps), []).append(one)

        def tried(group: Iterable[Configuration], stopped: Callable[[], bool]) -> list[Trial]:
            shared, out = Shared(), []
            for one in group:
                if stopped() or (self._out_of_time() and one is not configurations[0]):
                    break
                walk = replace(_rough((1.0,)), start=shared.start(one))
                out.append(some.run(one, walk, shared))
                advance()
            return out

        threads = effective_jobs(self.trials.n_jobs)
        with held_blas(1):
            found = run_tasks(tried, list(groups.values()), threads)
        return [trial for trials in found for trial in trials]

    def _out_of_time(self) -> bool:
        return self.budget is not None and time.monotonic() - self.started > self.budget


class _Round:
    """Trials on the same rows, which share what they can."""

    def __init__(self, trials: Trials, shared: dict[str, Shared] | None = None) -> None:
        self.trials = trials
        self.shared = {} if shared is None else shared

    def alone(self) -> _Round:
        """The same with a thread for each trial."""
        return _Round(self.trials.alone(), self.shared)

    def run(self, trial: Trial, walk: Walk) -> Trial:
        """A configuration again, from where it was best."""
        one = trial.configuration
        shared = self.shared.setdefault(str(one.steps), Shared())
        return self.trials.run(one, replace(walk, start=trial.curve.best), shared)


def _rough(steps: tuple[float, ...]) -> Walk:
    """Of which only the order of what was found matters."""
    return Walk(steps=steps, rough=True, exact_best=False)


def _first(n: int, ranking: list[Trial]) -> list[Trial]:
    """So many, but not all of one kind."""
    kinds: dict[tuple[str, str], int] = {}
    chosen = []
    for trial in ranking:
        kind = repr(trial.configuration.similarity), str(trial.configuration.influence)
        kinds[kind] = kinds.get(kind, 0) + 1
        if kinds[kind] <= _OF_A_KIND:
            chosen.append(trial)
    return chosen[:n]


def _close(ranking: list[Trial]) -> list[Trial]:
    """The best, and those that more tuning might bring past it."""
    best = ranking[0]
    margin = _CLOSE * best.error if best.error > 0 else math.inf
    return [trial for trial in ranking if trial is best or not abs(trial.value - best.value) > margin]


def _latest(trials: list[Trial]) -> list[Trial]:
    """Of each configuration on the same rows the last trial."""
    return list({(id(trial.configuration), trial.n_rows): trial for trial in trials}.values())

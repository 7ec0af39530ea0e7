"""Play the league: set by set, what fits in the time, on from where a former run was stopped."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import joblib

from simlabel.experiments._comparison import Failure
from simlabel.experiments._fold import criteria_for
from simlabel.experiments._protocols import FirstSplits, Protocol, Split
from simlabel.experiments._run import Progress, compare
from simlabel.experiments._store import FoldStore, data_key
from simlabel.experiments.league._plan import Fixture, chosen
from simlabel.experiments.league._rival import Rival
from simlabel.experiments.league._rivals import RIVALS
from simlabel.experiments.league._sets import LeagueSet, n_columns
from simlabel.experiments.league._table import League, Score, SetFacts

LIMIT = 120.0  # processor seconds that a fold may take
_VERSIONS = (
    *("simlabel", "numpy", "scipy", "scikit-learn", "numba"),
    *("lightgbm", "catboost", "xgboost", "xgboost-cpu", "mlrl-boomer", "omikuji"),
)
_ROUNDS = (1, 3)  # folds that every set has before any has more
_NO_TIME = "left out: it did not fit in the budget of time"


def play(
    sets: Sequence[LeagueSet],
    rivals: Mapping[str, Rival] = RIVALS,
    *,
    folder: str | os.PathLike[str],
    jobs: int = 1,
    seed: int = 0,
    budget: float | None = None,
    limit: float = LIMIT,
    left_out: Sequence[str] = (),
    on_progress: Progress | None = None,
) -> League:
    """Run every rival on every set that it is meant for, on the same folds.

    Parameters
    ----------
    sets : sequence of LeagueSet
    rivals : dict of str to Rival
    folder : path
        Finished folds are kept here; the same call goes on from them, to the same figures.
    jobs : int
        Folds at a time, each in a process with its share of the cores.
    seed : int
    budget : float, optional
        Seconds on the clock. First every set has one fold, then three, then all: rivals that are not
        expected to fit beside those of the other sets are left out, the most expensive first, and a set
        that is not expected to fit stays at the folds that it has. What was measured counts, before what
        is expected.
    limit : float
        Processor seconds of a fold; who takes longer has lost that set.
    left_out : sequence of str
        What the table should say of sets that are not played on.
    on_progress : callable, optional
    """
    season = _Season(sets, rivals, Path(folder), jobs, seed, budget, limit, on_progress)
    for folds in (*_ROUNDS, None) if budget is not None else (None,):
        season.round(folds)
    return replace(season.league(), left_out=tuple(left_out))


def finished_folds(
    sets: Sequence[LeagueSet],
    rivals: Mapping[str, Rival] = RIVALS,
    *,
    folder: str | os.PathLike[str],
    seed: int = 0,
) -> list[Path]:
    """The files in a folder that `play` would go on from, those of folds that were late included."""
    return _Season(sets, rivals, Path(folder), 1, seed, None, LIMIT, None).finished()


class _Season:
    """A run of the league, round by round."""

    def __init__(
        self,
        sets: Sequence[LeagueSet],
        rivals: Mapping[str, Rival],
        folder: Path,
        jobs: int,
        seed: int,
        budget: float | None,
        limit: float,
        on_progress: Progress | None,
    ) -> None:
        self.sets, self.rivals, self.folder = list(sets), rivals, folder
        self.jobs, self.seed, self.limit = jobs, seed, limit
        self.on_progress = on_progress
        self.ends = None if budget is None else time.monotonic() + budget
        self.present = {name: rival for name, rival in rivals.items() if rival.absent is None}
        self.out = _sitting_out(sets, self.present)
        self.keys = {one.name: data_key(one.data) for one in self.sets}
        self.found: dict[str, tuple[str, dict[tuple[str, str], Score], tuple[Failure, ...]]] = {}

    @property
    def left(self) -> float | None:
        """Seconds on the clock that are left."""
        return None if self.ends is None else max(0.0, self.ends - time.monotonic())

    def round(self, folds: int | None) -> None:
        """Bring every set to so many folds, or to all, as far as the time allows for all of them."""
        protocols = {
            one.name: one.protocol if folds is None else FirstSplits(one.protocol, folds) for one in self.sets
        }
        open_ = [one for one in self.sets if self.found.get(one.name, ("",))[0] != str(protocols[one.name])]
        cells = {one.name: self._cells(one, folds) for one in open_}
        for place, one in enumerate(open_):
            # what this set may have depends on what those that follow need, and on the time that is left now
            follow = [cell for later in open_[place:] for cell in cells[later.name]]
            fit = set(chosen(follow, self.left, self.jobs)[0])
            rest = [cell for cell in cells[one.name] if cell not in fit]
            if one.name in self.found and rest:
                continue  # it stays at the folds that all have
            self.out |= {(cell.data, cell.rival): _NO_TIME for cell in rest}
            playing = [self.present[cell.rival] for cell in cells[one.name] if cell in fit]
            if playing:
                self._play(one, protocols[one.name], playing)

    def _cells(self, one: LeagueSet, folds: int | None) -> list[Fixture]:
        """What there is to run on a set, with what it is expected to take, and how much of it is done."""
        store, cells = FoldStore(self.folder), []
        splits = one.protocol.splits(one.data)[:folds]
        sizes = (len(splits[0].train), n_columns(one.data), one.data.n_labels)
        criteria = criteria_for(one.data.n_labels)
        for name, rival in self.present.items():
            if (one.name, name) in self.out:
                continue
            paths = self._paths(one, rival, splits)
            kept = [fold for fold in (store.read(path, criteria) for path in paths) if fold is not None]
            over = any(store.was_late(path, self.limit) for path in paths)
            measured = [fold.cpu_seconds for fold in kept]
            seconds = sum(measured) / len(measured) if measured else rival.seconds(*sizes)
            seconds = min(seconds, self.limit)  # then it is stopped, and has lost
            cells.append(Fixture(one.name, name, seconds, len(splits), len(splits) if over else len(kept)))
        return cells

    def _paths(self, one: LeagueSet, rival: Rival, splits: Sequence[Split]) -> list[Path]:
        """Where the folds of a rival on a set are, or will be."""
        store, algorithm = FoldStore(self.folder), rival.algorithm(one.data, self.seed)
        return [store.path(self.keys[one.name], one.data, algorithm, one.protocol, split) for split in splits]

    def finished(self) -> list[Path]:
        """The files of all folds that are there, those that were late included."""
        found: list[Path] = []
        for one in self.sets:
            splits = one.protocol.splits(one.data)
            for rival in self.present.values():
                for path in self._paths(one, rival, splits):
                    found += path.parent.glob(f"{path.stem}.*")
        return found

    def _play(self, one: LeagueSet, protocol: Protocol, rivals: Sequence[Rival]) -> None:
        result = compare(
            one.data,
            [rival.algorithm(one.data, self.seed) for rival in rivals],
            protocol,
            folder=self.folder,
            jobs=self.jobs,
            seed=self.seed,
            time_limit=self.limit,
            on_progress=self.on_progress,
        )
        scores = {key: Score.of(folds) for key, folds in result.results.items()}
        self.found[one.name] = (str(protocol), scores, result.failures)

    def league(self) -> League:
        """What has come out."""
        said = {name: protocol for name, (protocol, _, _) in self.found.items()}
        sets = {one.name: SetFacts.of(one, said.get(one.name)) for one in self.sets}
        return League(
            sets,
            {name: rival.title for name, rival in self.rivals.items()},
            {name: rival.what for name, rival in self.rivals.items()},
            {key: score for _, scores, _ in self.found.values() for key, score in scores.items()},
            {
                (name, failure.algorithm): failure.message
                for name, (_, _, failures) in self.found.items()
                for failure in failures
            },
            self.out,
            {rival.title: str(rival.absent) for rival in self.rivals.values() if rival.absent is not None},
            machine(),
            self.limit,
        )


def _sitting_out(sets: Sequence[LeagueSet], rivals: Mapping[str, Rival]) -> dict[tuple[str, str], str]:
    reasons = {(one.name, name): rival.sits_out(one.data) for one in sets for name, rival in rivals.items()}
    return {key: reason for key, reason in reasons.items() if reason is not None}


def machine() -> str:
    """Processor, cores, system and versions, in words."""
    versions = []
    for name in _VERSIONS:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    what = f"{platform.machine()} with {joblib.cpu_count()} cores, {platform.system()}"
    return f"{what}, Python {platform.python_version()}, {', '.join(versions)}"

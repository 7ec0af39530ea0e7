"""Run the benchmark: one JSON line for each fold, from which a stopped run continues."""

from __future__ import annotations

import importlib.metadata
import json
import math
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import joblib

from league.data import BenchmarkSet
from league.methods import METHODS, Method
from league.results import Key, Results, Score
from league.workers import TIMED_OUT, run_limited
from simlabel._utils.text import one_line
from simlabel.datasets import Dataset
from simlabel.experiments import Algorithm, Split, criteria_for, data_key, run_fold

TIME_LIMIT = 120.0  # processor seconds of a fold
_CORE = ("simlabel", "numpy", "scipy", "scikit-learn", "numba")
_WARM_UP = 60  # rows that are fitted first, so that compiled code is loaded before time is measured
_PACKAGES = {"xgboost": "xgboost-cpu", "mlrl": "mlrl-boomer"}  # distributions with another name
Record = dict[str, Any]
Progress = Callable[[int, int, str], None]


@dataclass(frozen=True)
class Task:
    """A fold of a method on a data set; `settings` say what its result depends on."""

    one: BenchmarkSet
    algorithm: Algorithm
    split: Split
    settings: Mapping[str, Any]

    @property
    def cell(self) -> Key:
        """The data set and the method."""
        return self.one.name, self.algorithm.name

    @property
    def record(self) -> Record:
        """The part of the record that identifies the fold."""
        return {"data": self.one.name, "method": self.algorithm.name, "fold": self.split.name} | self.settings

    @property
    def key(self) -> str:
        """The key of the stored record."""
        return json.dumps(self.record, sort_keys=True)


def run(
    sets: Sequence[BenchmarkSet],
    methods: Mapping[str, Method] = METHODS,
    *,
    file: Path,
    jobs: int = 1,
    seed: int = 0,
    time_limit: float = TIME_LIMIT,
    seconds: float = math.inf,
    on_progress: Progress = lambda done, total, what: None,
) -> Results:
    """Evaluate every method on every data set, on the same folds.

    The first folds of all data sets are run first, then the second ones, and so on. A data set shows the
    folds that all of its methods have finished.

    Parameters
    ----------
    sets : sequence of BenchmarkSet
    methods : dict of str to Method
        Methods whose package is missing are left out.
    file : Path
        Finished folds, a JSON line each. Folds with the same data, parameters, seed and package versions are
        not run again: remove the file after a change of the code.
    jobs : int
        Folds at a time, each in a process with one thread.
    seed : int
        Of the methods; each fold adds its number.
    time_limit : float
        Processor seconds of a fold. A method that exceeds it on one fold gets the last rank on the data set.
    seconds : float
        After this time on the clock no other fold is started.
    on_progress : callable
        Called with (folds done, folds in all, the last fold).
    """
    tasks = _tasks(sets, methods, seed)
    found = _read(file)
    records = {number: found[task.key] for number, task in enumerate(tasks) if task.key in found}
    records = {number: one for number, one in records.items() if _is_final(one, time_limit)}
    on_progress(len(records), len(tasks), "found finished folds")
    for number, record in _run_missing(tasks, records, jobs, time_limit, time.monotonic() + seconds):
        records[number] = record
        with file.open("a") as out:
            out.write(json.dumps(tasks[number].record | record, allow_nan=False) + "\n")
        on_progress(len(records), len(tasks), " ".join([*tasks[number].cell, tasks[number].split.name]))
    return _results(sets, methods, tasks, records)


def _tasks(sets: Sequence[BenchmarkSet], methods: Mapping[str, Method], seed: int) -> list[Task]:
    tasks: list[tuple[int, Task]] = []
    for one in sets:
        rows = data_key(one.data)[:12]
        splits = one.protocol.splits(one.data)
        for method in methods.values():
            if method.missing is not None or method.why_skipped(one.data) is not None:
                continue
            algorithm = method.algorithm(one.data, seed)
            settings = {
                "rows": rows,
                "protocol": repr(one.protocol),
                "seed": seed,
                "parameters": algorithm.estimator.__repr__(N_CHAR_MAX=100_000),
                "versions": versions([*_CORE, *([method.package] if method.package else [])]),
            }
            tasks += [(number, Task(one, algorithm, split, settings)) for number, split in enumerate(splits)]
    return [task for _, task in sorted(tasks, key=lambda pair: pair[0])]


def _read(file: Path) -> dict[str, Record]:
    """Return the stored records by key; the last line may be incomplete after a kill."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = file.read_text() if file.exists() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole)
    found: dict[str, Record] = {}
    outcome = ("values", "cpu_seconds", "peak_mib", "timed_out", "error")
    for line in whole.splitlines():
        record = json.loads(line)
        identity = {name: value for name, value in record.items() if name not in outcome}
        found[json.dumps(identity, sort_keys=True)] = record
    return found


def _is_final(record: Record, time_limit: float) -> bool:
    """Whether a fold need not be run again: it finished, or did not finish within as much time."""
    return "values" in record or record.get("timed_out", 0.0) >= time_limit


def _run_missing(
    tasks: Sequence[Task], records: Mapping[int, Record], jobs: int, time_limit: float, ends: float
) -> Iterator[tuple[int, Record]]:
    lost = {tasks[number].cell for number, record in records.items() if "values" not in record}
    missing = [n for n, task in enumerate(tasks) if n not in records and task.cell not in lost]
    if not missing or time.monotonic() >= ends:
        return
    calls = [(n, partial(_evaluate, tasks[n].one.data, tasks[n].algorithm, tasks[n].split)) for n in missing]

    def skip(number: int) -> bool:
        return tasks[number].cell in lost or time.monotonic() >= ends

    for number, record, why in run_limited(calls, jobs, time_limit, skip):
        if why is not None:
            record = {"timed_out": time_limit} if why == TIMED_OUT else {"error": why}
        if "values" not in record:
            lost.add(tasks[number].cell)
        yield number, record


_warmed: set[str] = set()  # in this process


def _evaluate(data: Dataset, algorithm: Algorithm, split: Split) -> Record:
    """Run a fold in a worker; an exception is recorded, so that the other methods continue."""
    criteria = criteria_for(data.n_labels)
    try:
        if algorithm.name not in _warmed:
            _warmed.add(algorithm.name)
            run_fold(data, algorithm, Split(split.name, split.train[:_WARM_UP], split.train[:2]), criteria)
        result = run_fold(data, algorithm, split, criteria)
    except Exception as error:
        return {"error": one_line(f"{type(error).__name__}: {error}")}
    values = {name: None if math.isnan(v) else v for name, v in result.evaluation.values.items()}
    return {"values": values, "cpu_seconds": round(result.cpu_seconds, 3), "peak_mib": result.peak_mib}


def _results(
    sets: Sequence[BenchmarkSet],
    methods: Mapping[str, Method],
    tasks: Sequence[Task],
    records: Mapping[int, Record],
) -> Results:
    """Gather records; of a data set the first folds count that all its methods have finished."""
    failed: dict[Key, str] = {}
    folds: dict[Key, list[Record]] = {}
    open_ = set()  # cells of which the next fold is missing
    for number, task in enumerate(tasks):  # fold by fold
        record = records.get(number, {})
        if "values" in record and task.cell not in open_:
            folds.setdefault(task.cell, []).append(record)
        elif record and "values" not in record:
            late = "timed_out" in record
            why = f"took more than {record['timed_out']:g} processor seconds" if late else record["error"]
            failed.setdefault(task.cell, why)
        else:
            open_.add(task.cell)
    cells = {task.cell for task in tasks} - set(failed)
    done = {
        one.name: min((len(folds.get(c, ())) for c in cells if c[0] == one.name), default=0) for one in sets
    }
    scores = {c: Score.of(folds[c][: done[c[0]]]) for c in folds if c in cells and done[c[0]]}
    skipped = {
        (one.name, name): method.why_skipped(one.data) for one in sets for name, method in methods.items()
    }
    return Results(
        {one.name: one for one in sets},
        {name: method.title for name, method in methods.items()},
        scores,
        {cell: why for cell, why in failed.items() if done[cell[0]]},
        {cell: why for cell, why in skipped.items() if why is not None},
    )


def versions(packages: Sequence[str]) -> dict[str, str]:
    """Return the versions of installed packages."""
    found = {}
    for package in packages:
        name = _PACKAGES.get(package, package)
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def machine() -> str:
    """Describe processor, cores, system and versions."""
    packages = [method.package for method in METHODS.values() if method.package and not method.missing]
    said = ", ".join(f"{name} {version}" for name, version in versions([*_CORE, *packages]).items())
    where = f"{platform.machine()} with {joblib.cpu_count()} cores, {platform.system()}"
    return f"{where}, Python {platform.python_version()}, {said}"

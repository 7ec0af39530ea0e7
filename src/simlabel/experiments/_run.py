"""Run comparisons: fold by fold, in parallel, and on from where a former run was stopped."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
from joblib import Parallel, delayed

from simlabel._utils.validation import check_matrix, check_number, check_same_length, collected
from simlabel.datasets import Dataset, load_dataset
from simlabel.experiments._algorithms import Algorithm, AlgorithmAbsent, find_algorithm
from simlabel.experiments._comparison import Comparison, CrossValidation, Failure
from simlabel.experiments._fold import FoldResult, criteria_for, run_fold
from simlabel.experiments._protocols import KFolds, Protocol, Split, as_protocol
from simlabel.experiments._store import FoldStore, data_key, metrics_key
from simlabel.labels import LabelSpace
from simlabel.metrics import Criterion, Metric, as_metrics
from simlabel.model.inspection import advise_on_shared_rows

Progress = Callable[[int, int, str], None]
_Outcome = tuple[FoldResult | None, str]


def compare(
    data: Any,
    algorithms: Sequence[str | Algorithm] | Mapping[str, Any],
    protocol: Any = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    seed: int = 0,
    metrics: Sequence[Metric] | Mapping[str, Callable[..., float]] | None = None,
    on_progress: Progress | None = None,
) -> Comparison:
    """Run algorithms on data sets, all on the same folds.

    Parameters
    ----------
    data : Dataset, str or (X, y), or a list of them
        Data sets, or names and paths for `load_dataset`, or rows with their labels in any form.
    algorithms : list of str or Algorithm, or dict of str to estimator
        Names for `find_algorithm`, what it gives, or estimators of your own with the names they go by.
    protocol : Protocol or splitter, optional
        `KFolds` (the default, ten plain folds), `FixedSplit`, `RandomSplits`, or one of scikit-learn's
        splitters, e.g. ``KFold(3)``.
    folder : path, optional
        Where each finished fold is written at once. A run that was stopped goes on from there, with the
        result that it would have had. A fold is run again when the file that an estimator's class is
        written in has changed; what that file imports is not looked at.
    jobs : int
        How many folds run at a time, each in a process of its own; the cores are shared among them.
    seed : int
        `random_state` of the algorithms that are given by name; each split adds its number (0, 1, ...).
    metrics : list of str, callable or Criterion, or dict of str to callable, optional
        What the results hold, in this order; by default every metric that has a name here. A callable is
        called as ``function(Y_true, Y_pred, scores)``, with arrays of 0 and 1 and an array of label weights,
        each (n_rows, n_labels), and returns a number, the higher the better; for a loss give
        ``make_metric(function, higher_is_better=False)`` of `simlabel.metrics`. With a `folder`, folds are
        run again if the file in which a callable is written has changed.
    on_progress : callable, optional
        Called with (folds done, folds in all, what was done last).

    Returns
    -------
    Comparison
        An algorithm that is not installed or fails is listed in its `failures`; the others go on.

    Raises
    ------
    AlgorithmAbsent
        If a name is none of `ALGORITHMS`, before anything is run.

    Examples
    --------
    >>> import numpy as np, scipy.sparse as sp
    >>> X = np.array([[0.0, 1.0], [1.0, 0.0]] * 10)
    >>> Y = sp.csr_array(np.array([[1, 0, 1], [0, 1, 1]] * 10, dtype=np.int8))
    >>> data = Dataset("twice", X, Y, ("a", "b", "c"), ("x", "y"))
    >>> result = compare(data, ["sml", "knn"], KFolds(5))
    >>> result.of("twice", "sml").mean("one_error")
    0.0
    """
    check_number("compare", "jobs", jobs, at_least=1, integer=True)
    protocol = KFolds(seed=seed) if protocol is None else as_protocol(protocol)
    asked = () if metrics is None else tuple(as_metrics(metrics))
    chosen, failures = _chosen(algorithms, seed, max(1, (joblib.cpu_count() or 1) // jobs))
    sets = [data] if isinstance(data, Dataset | str) or _is_pair(data) else list(data)
    store = None if folder is None else FoldStore(Path(folder))
    results: dict[tuple[str, str], tuple[FoldResult, ...]] = {}
    for number, item in enumerate(sets):
        dataset = _as_dataset(item, "data" if len(sets) == 1 else f"data-{number + 1}")
        if any(name == dataset.name for name, _ in results):
            raise ValueError(f"two data sets are called {dataset.name!r}; give each a name of its own.")
        runner = _Runner(dataset, chosen, protocol, store, jobs, asked)
        first = runner.splits[0]  # the others are alike
        if not hasattr(dataset.X, "iloc"):
            advise_on_shared_rows(dataset.X[first.train], dataset.X[first.test])
        report = _shifted(on_progress, number, len(sets))
        found, failed = runner.run(report)
        results |= found
        failures += failed
    titles = {algorithm.name: algorithm.title for algorithm in chosen}
    return Comparison(str(protocol), titles, results, tuple(failures), asked)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    folds: int = 10,
    seed: int = 0,
    on_fold: Callable[[int, int], None] | None = None,
) -> CrossValidation:
    """Fit on all folds but one, evaluate on that one, for each.

    Parameters
    ----------
    estimator : estimator
        With `decision_function` or `predict_proba`; it is cloned for each fold.
    X : array or sparse, (n_rows, n_features)
    y : array, sparse or data frame of 0/1, or list of label sets
    folds : int
        How many; rows are shuffled first.
    seed : int
        For the shuffle.
    on_fold : callable, optional
        Called with (folds done, folds in all).

    Examples
    --------
    >>> import numpy as np
    >>> from simlabel import SMLClassifier
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> cross_validate(SMLClassifier("linear"), X, Y, folds=4).mean("hamming_loss")
    0.0
    """
    data = _as_dataset((X, y), "data")
    algorithm = _as_algorithm("estimator", estimator)
    results = []
    splits = KFolds(folds, seed=seed).splits(data)
    for split in splits:
        results.append(run_fold(data, algorithm, split, criteria_for(data.n_labels)).evaluation)
        if on_fold is not None:
            on_fold(len(results), len(splits))
    return CrossValidation(tuple(results))


def _is_pair(data: Any) -> bool:
    """Whether these are rows and their labels, and not two data sets."""
    return isinstance(data, tuple) and len(data) == 2 and not any(isinstance(x, Dataset | str) for x in data)


def _as_dataset(item: Any, name: str) -> Dataset:
    if not _is_pair(item):
        return item if isinstance(item, Dataset) else load_dataset(item)
    X = check_matrix(collected(item[0]), "X")
    space, Y = LabelSpace.learn(item[1])
    check_same_length(X.shape[0], Y, "y")
    columns = getattr(item[0], "columns", range(X.shape[1]))
    return Dataset(name, X, Y, tuple(map(str, space.classes)), tuple(map(str, columns)))


def _chosen(
    algorithms: Sequence[str | Algorithm] | Mapping[str, Any], seed: int, n_jobs: int
) -> tuple[list[Algorithm], list[Failure]]:
    if isinstance(algorithms, Mapping):
        return [_as_algorithm(name, estimator) for name, estimator in algorithms.items()], []
    chosen, failures = [], []
    for name in dict.fromkeys(algorithms):
        if isinstance(name, Algorithm):
            chosen.append(name)
            continue
        try:
            chosen.append(find_algorithm(name, seed=seed, n_jobs=n_jobs))
        except AlgorithmAbsent as error:
            if ":" not in name:  # mistyped, where an address may be of what is not installed
                raise
            failures.append(Failure("", name, "", str(error)))
    return chosen, failures


def _as_algorithm(name: str, estimator: Any) -> Algorithm:
    ours = type(estimator).__module__.partition(".")[0] == "simlabel"
    return Algorithm(name, name, estimator, sparse_labels=ours, reseeded=False)


def _shifted(on_progress: Progress | None, number: int, count: int) -> Progress:
    """Progress over all data sets; those still to come are taken to have as many folds as this one."""

    def report(done: int, total: int, what: str) -> None:
        if on_progress is not None:
            on_progress(number * total + done, count * total, what)

    return report


class _Runner:
    """All algorithms on one data set."""

    def __init__(
        self,
        data: Dataset,
        algorithms: list[Algorithm],
        protocol: Protocol,
        store: FoldStore | None,
        jobs: int,
        asked: Sequence[Criterion] = (),
    ) -> None:
        self.data, self.jobs, self.store = data, jobs, store
        self.algorithms = algorithms
        self.splits = protocol.splits(data)
        usual = as_metrics(criteria_for(data.n_labels))
        shown = [one for one in asked or usual if one.k is None or one.k <= data.n_labels]
        if not shown:
            names = ", ".join(one.name for one in asked)
            raise ValueError(f"{data.name} has {data.n_labels} labels, too few for {names}.")
        self.shown = [one.name for one in shown]
        # whatever is shown, the usual ones are measured and kept in the folder
        self.criteria = list({one.name: one for one in (*usual, *shown)}.values())
        self.tasks = [(algorithm, split) for algorithm in algorithms for split in self.splits]
        self.paths: list[Path | None] = [None] * len(self.tasks)
        if store is not None:
            key = data_key(data)
            own = metrics_key(asked)
            self.paths = [store.path(key, data, one, protocol, split, own) for one, split in self.tasks]

    def run(self, report: Progress) -> tuple[dict[tuple[str, str], tuple[FoldResult, ...]], list[Failure]]:
        """Results by algorithm, and what failed."""
        outcomes = self._finished()
        report(
            len(outcomes),
            len(self.tasks),
            f"{self.data.name}: found finished folds" if outcomes else self.data.name,
        )
        for number, outcome in self._run_missing(outcomes):
            outcomes[number] = outcome
            algorithm, split = self.tasks[number]
            report(len(outcomes), len(self.tasks), f"{self.data.name}: {algorithm.title}, {split.name}")
        return self._gathered(outcomes)

    def _finished(self) -> dict[int, _Outcome]:
        """What former runs have kept."""
        outcomes: dict[int, _Outcome] = {}
        for number, path in enumerate(self.paths):
            if self.store is None or path is None:
                continue
            finished = self.store.read(path, [one.name for one in self.criteria])
            if finished is not None:
                outcomes[number] = (finished, "")
        return outcomes

    def _run_missing(self, finished: dict[int, _Outcome]) -> Iterator[tuple[int, _Outcome]]:
        missing = [number for number in range(len(self.tasks)) if number not in finished]
        if not missing:
            return
        calls = [
            (number, self.data, *self.tasks[number], self.criteria, self.paths[number]) for number in missing
        ]
        jobs = min(self.jobs, len(missing))  # a worker is a process: none that has nothing to do
        yield from Parallel(n_jobs=jobs, return_as="generator_unordered")(
            delayed(_run_task)(*call) for call in calls
        )

    def _gathered(
        self, outcomes: Mapping[int, _Outcome]
    ) -> tuple[dict[tuple[str, str], tuple[FoldResult, ...]], list[Failure]]:
        results: dict[tuple[str, str], list[FoldResult]] = {}
        failures: dict[str, Failure] = {}
        for number, (algorithm, split) in enumerate(self.tasks):
            result, message = outcomes[number]
            if result is None:
                failed = Failure(self.data.name, algorithm.name, split.name, message)
                failures.setdefault(algorithm.name, failed)
            else:
                shown = replace(result, evaluation=result.evaluation.only(self.shown))
                results.setdefault((self.data.name, algorithm.name), []).append(shown)
        whole = {key: tuple(found) for key, found in results.items() if key[1] not in failures}
        return whole, list(failures.values())


def _run_task(
    number: int,
    data: Dataset,
    algorithm: Algorithm,
    split: Split,
    criteria: list[Criterion],
    path: Path | None,
) -> tuple[int, _Outcome]:
    """Run a fold and keep it; an algorithm that fails is reported, not raised, so that the others go on."""
    try:
        result = run_fold(data, algorithm, split, criteria)
    except Exception as error:
        return number, (None, _one_line(error))
    if path is not None:
        FoldStore.write(path, result)
    return number, (result, "")


def _one_line(error: BaseException) -> str:
    text = re.sub(r"\s+", " ", str(error)).strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__

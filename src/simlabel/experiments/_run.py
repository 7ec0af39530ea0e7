"""Run comparisons fold by fold, in parallel; a stopped run continues from its finished folds."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import joblib
from joblib import Parallel, delayed

from simlabel._utils.validation import check_matrix, check_number, check_same_length, collect_lazy
from simlabel.datasets import Dataset, load_dataset
from simlabel.experiments._algorithms import Algorithm, AlgorithmNotInstalled, find_algorithm
from simlabel.experiments._comparison import Comparison, CrossValidation, Failure
from simlabel.experiments._fold import FoldResult, criteria_for, run_fold
from simlabel.experiments._splits import KFolds, Protocol, Split, as_protocol
from simlabel.experiments._store import data_key, fold_path, metrics_key, read_fold, write_fold
from simlabel.labels import LabelSpace
from simlabel.metrics import Criterion, Metric, as_metrics
from simlabel.model.inspection import warn_about_leakage

FoldProgress = Callable[[int, int, str], None]
_Outcome = FoldResult | str  # or an error message


def compare(
    data: Any,
    algorithms: Sequence[str | Algorithm] | Mapping[str, Any],
    protocol: Any = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    seed: int = 0,
    metrics: Sequence[Metric] | Mapping[str, Callable[..., float]] | None = None,
    on_progress: FoldProgress | None = None,
) -> Comparison:
    """Run algorithms on data sets, with the same folds for all.

    Parameters
    ----------
    data : Dataset, str or (X, y), or a list of them
        Data sets, names and paths for `load_dataset`, or rows with labels in any form.
    algorithms : list of str or Algorithm, or dict of str to estimator
        Names for `find_algorithm`, its results, or your own estimators by name.
    protocol : Protocol or splitter, optional
        `KFolds` (the default, ten plain folds), `FixedSplit`, `RandomSplits`, or a splitter of scikit-learn,
        e.g. ``KFold(3)``.
    folder : path, optional
        Where each finished fold is stored. A stopped run continues from there, with the same result. A fold
        is run again if the source file of an estimator's class has changed; imports of that file are not
        checked.
    jobs : int
        Number of folds that run at the same time, each in its own process; they share the cores.
    seed : int
        `random_state` of the algorithms given by name; each split adds its number (0, 1, ...).
    metrics : list of str, callable or Criterion, or dict of str to callable, optional
        The metrics of the results, in this order; by default all named metrics. A callable is
        ``function(Y_true, Y_pred, scores)``, with arrays of 0 and 1 and an array of label weights, each
        (n_rows, n_labels), and returns a number, where higher is better; for a loss pass
        ``make_metric(function, higher_is_better=False)`` of `simlabel.metrics`. With a `folder`, folds are
        run again if the source file of a callable has changed.
    on_progress : callable, optional
        Called with (folds done, total number of folds, description of the last step).

    Returns
    -------
    Comparison
        An algorithm that is not installed or fails is listed in its `failures`; the others continue.

    Raises
    ------
    AlgorithmNotInstalled
        If a name is not in `ALGORITHMS`, before anything is run.

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
    chosen_metrics = () if metrics is None else tuple(as_metrics(metrics))
    chosen, failures = _chosen(algorithms, seed, max(1, (joblib.cpu_count() or 1) // jobs))
    sets = [data] if isinstance(data, Dataset | str) or _is_pair(data) else list(data)
    store = None if folder is None else Path(folder)
    results: dict[tuple[str, str], tuple[FoldResult, ...]] = {}
    for number, item in enumerate(sets):
        dataset = _as_dataset(item, "data" if len(sets) == 1 else f"data-{number + 1}")
        if any(name == dataset.name for name, _ in results):
            raise ValueError(f"two data sets are called {dataset.name!r}; give each a different name.")
        runner = _Runner(dataset, chosen, protocol, store, jobs, chosen_metrics)
        first = runner.splits[0]  # the others are similar
        if not hasattr(dataset.X, "iloc"):
            warn_about_leakage(dataset.X[first.train], dataset.X[first.test])
        report = _shifted(on_progress, number, len(sets))
        found, failed = runner.run(report)
        results |= found
        failures += failed
    titles = {algorithm.name: algorithm.title for algorithm in chosen}
    return Comparison(str(protocol), titles, results, tuple(failures), chosen_metrics)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    folds: int = 10,
    seed: int = 0,
    on_fold: Callable[[int, int], None] | None = None,
) -> CrossValidation:
    """Evaluate an estimator by k-fold cross-validation.

    Parameters
    ----------
    estimator : estimator
        With `decision_function` or `predict_proba`; cloned for each fold.
    X : array or sparse, (n_rows, n_features)
    y : array, sparse or data frame of 0/1, or list of label sets
    folds : int
        Number of folds; rows are shuffled first.
    seed : int
        Of the shuffle.
    on_fold : callable, optional
        Called with (folds done, total number of folds).

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
    """Return whether these are rows and labels, and not two data sets."""
    return isinstance(data, tuple) and len(data) == 2 and not any(isinstance(x, Dataset | str) for x in data)


def _as_dataset(item: Any, name: str) -> Dataset:
    if not _is_pair(item):
        return item if isinstance(item, Dataset) else load_dataset(item)
    X = check_matrix(collect_lazy(item[0]), "X")
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
        except AlgorithmNotInstalled as error:
            if ":" not in name:  # a typing error; an address may be of a package that is not installed
                raise
            failures.append(Failure("", name, "", str(error)))
    return chosen, failures


def _as_algorithm(name: str, estimator: Any) -> Algorithm:
    ours = type(estimator).__module__.partition(".")[0] == "simlabel"
    return Algorithm(name, name, estimator, sparse_labels=ours, reseeded=False)


def _shifted(on_progress: FoldProgress | None, number: int, count: int) -> FoldProgress:
    """Report progress over all data sets, assuming that all have as many folds as this one."""

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
        folder: Path | None,
        jobs: int,
        metrics: Sequence[Criterion] = (),
    ) -> None:
        self.data, self.jobs = data, jobs
        self.splits = protocol.splits(data)
        usual = as_metrics(criteria_for(data.n_labels))
        shown = [one for one in metrics or usual if one.k is None or one.k <= data.n_labels]
        if not shown:
            names = ", ".join(one.name for one in metrics)
            raise ValueError(f"{data.name} has {data.n_labels} labels, too few for {names}.")
        self.shown = [one.name for one in shown]
        # the usual metrics are always measured and stored
        self.criteria = list({one.name: one for one in (*usual, *shown)}.values())
        self.tasks = [(algorithm, split) for algorithm in algorithms for split in self.splits]
        self.paths: list[Path | None] = [None] * len(self.tasks)
        if folder is not None:
            keys = data_key(data), metrics_key(metrics)
            self.paths = [fold_path(folder, data, one, protocol, split, *keys) for one, split in self.tasks]

    def run(
        self, report: FoldProgress
    ) -> tuple[dict[tuple[str, str], tuple[FoldResult, ...]], list[Failure]]:
        """Return results by algorithm, and failures."""
        names = [one.name for one in self.criteria]
        finished = [None if path is None else read_fold(path, names) for path in self.paths]
        outcomes: dict[int, _Outcome] = {
            number: result for number, result in enumerate(finished) if result is not None
        }
        found = f"{self.data.name}: found finished folds" if outcomes else self.data.name
        report(len(outcomes), len(self.tasks), found)
        missing = [number for number in range(len(self.tasks)) if number not in outcomes]
        for number, outcome in self._run(missing):
            outcomes[number] = outcome
            algorithm, split = self.tasks[number]
            report(len(outcomes), len(self.tasks), f"{self.data.name}: {algorithm.title}, {split.name}")
        return self._gathered(outcomes)

    def _run(self, missing: list[int]) -> Iterable[tuple[int, _Outcome]]:
        if not missing:
            return ()
        jobs = min(self.jobs, len(missing))  # each job is a process
        run = delayed(_run_task)
        return Parallel(n_jobs=jobs, return_as="generator_unordered")(
            run(number, self.data, *self.tasks[number], self.criteria, self.paths[number])
            for number in missing
        )

    def _gathered(
        self, outcomes: Mapping[int, _Outcome]
    ) -> tuple[dict[tuple[str, str], tuple[FoldResult, ...]], list[Failure]]:
        results: dict[tuple[str, str], list[FoldResult]] = {}
        failures: dict[str, Failure] = {}
        for number, (algorithm, split) in enumerate(self.tasks):
            outcome = outcomes[number]
            if isinstance(outcome, str):
                failed = Failure(self.data.name, algorithm.name, split.name, outcome)
                failures.setdefault(algorithm.name, failed)
            else:
                shown = replace(outcome, evaluation=outcome.evaluation.only(self.shown))
                results.setdefault((self.data.name, algorithm.name), []).append(shown)
        complete = {key: tuple(found) for key, found in results.items() if key[1] not in failures}
        return complete, list(failures.values())


def _run_task(
    number: int,
    data: Dataset,
    algorithm: Algorithm,
    split: Split,
    criteria: list[Criterion],
    path: Path | None,
) -> tuple[int, _Outcome]:
    """Run and store a fold; errors of the algorithm are returned, so that the others continue."""
    try:
        result = run_fold(data, algorithm, split, criteria)
    except Exception as error:
        text = " ".join(str(error).split())
        return number, f"{type(error).__name__}: {text}" if text else type(error).__name__
    if path is not None:
        write_fold(path, result)
    return number, result

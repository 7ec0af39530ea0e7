"""One fold: fit, predict and measure, with the time and memory used."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.datasets import Dataset
from simlabel.estimators import AutoSMLClassifier, SMLClassifier
from simlabel.experiments._algorithms import Algorithm
from simlabel.experiments._splits import Split
from simlabel.metrics import (
    CRITERIA,
    MORE_CRITERIA,
    Evaluation,
    Metric,
    constant_columns,
    evaluate,
    find_criterion,
    label_probabilities,
    label_scores,
    predicted_label_sets,
    propensities,
    rank_constant_labels,
)

_BINS = 10  # of the calibration curve

_STATUS, _PEAK_RESET = Path("/proc/self/status"), Path("/proc/self/clear_refs")

Triples = Sequence[tuple[int, int, int]]
Bins = Sequence[tuple[float, float, int]]


@dataclass(frozen=True)
class FoldResult:
    """The result of one fold.

    Attributes
    ----------
    evaluation : Evaluation
        All criteria.
    fit_seconds, predict_seconds : float
    hits, predicted, true : sequence of int
        For each label, the number of rows with a correct prediction, predicted, true.
    sizes : sequence of (int, int, int)
        True number of labels, predicted number, number of rows.
    calibration : sequence of (float, float, int) or None
        For ten equal bins of probability: sum of the probabilities, number of true labels, number of
        pairs. None if the algorithm has no probabilities.
    notes : sequence of str
        Warnings, each once.
    cpu_seconds : float
        Processor time of fit and predict, which hardly depends on the load of the machine.
    peak_mib : float or None
        Peak memory of fit and predict, relative to the start; None if the system does not report it.
    """

    evaluation: Evaluation
    fit_seconds: float
    predict_seconds: float
    hits: Sequence[int]
    predicted: Sequence[int]
    true: Sequence[int]
    sizes: Triples
    calibration: Bins | None
    notes: Sequence[str] = ()
    cpu_seconds: float = math.nan
    peak_mib: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Convert to a dict for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> FoldResult:
        """Convert back from `to_dict`."""
        return cls(**state | {"evaluation": Evaluation(**state["evaluation"])})


def criteria_for(n_labels: int) -> list[str]:
    """Return all criteria for a number of labels: k is at most that number."""
    known = map(find_criterion, (*CRITERIA, *MORE_CRITERIA))
    return [each.name for each in known if each.k is None or each.k <= n_labels]


def run_fold(data: Dataset, algorithm: Algorithm, split: Split, criteria: Sequence[Metric]) -> FoldResult:
    """Fit on the training rows, and measure on the test rows."""
    train, truth = data.Y[split.train], data.Y[split.test]
    rows, X = select_rows(data.X, split.train), select_rows(data.X, split.test)
    memory = _start_memory()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started, worked = time.perf_counter(), time.process_time()
        labels = train if algorithm.sparse_labels else _plain_labels(train)
        model = algorithm.for_split(split.number).fit(rows, labels)
        fitted = time.perf_counter()
        _predict_in_order(model)
        predicted, scores, probabilities = _predictions(model, X, data.n_labels)
        scores = rank_constant_labels(scores, *constant_columns(train))
        done, work = time.perf_counter(), time.process_time() - worked
        peak = None if memory is None else max(0.0, _memory_mib("VmHWM:") - memory)
        if probabilities is None:  # an extra call, whose time is not counted
            probabilities = label_probabilities(model, X, data.n_labels)
    evaluation = evaluate(truth, predicted, scores, criteria=criteria, propensity=propensities(train))
    notes = tuple(dict.fromkeys(f"{note.category.__name__}: {note.message}" for note in caught))
    seconds = (fitted - started, done - fitted)
    found = summarize(evaluation, truth, predicted, probabilities, seconds, notes)
    return replace(found, cpu_seconds=work, peak_mib=peak)


def _predictions(model: Any, X: Rows, n_labels: int) -> tuple[sp.csr_array, FloatArray, FloatArray | None]:
    """Return label sets and scores, and probabilities if one pass computes all of them."""
    if type(model) not in (SMLClassifier, AutoSMLClassifier):  # a subclass may override methods
        return predicted_label_sets(model, X, n_labels), label_scores(model, X, n_labels), None
    outputs = model.outputs(X)
    return outputs.sets.sorted_indices(), outputs.weights.astype(np.float64), outputs.probabilities


def summarize(
    evaluation: Evaluation,
    truth: sp.csr_array,
    predicted: sp.csr_array,
    probabilities: FloatArray | None,
    seconds: tuple[float, float],
    notes: tuple[str, ...] = (),
) -> FoldResult:
    """Summarize the predictions for the test rows."""
    return FoldResult(
        evaluation,
        *seconds,
        _column_sums(sp.csr_array(truth.multiply(predicted))),
        _column_sums(predicted),
        _column_sums(truth),
        _size_table(truth, predicted),
        None if probabilities is None else _calibration(truth, probabilities),
        notes,
    )


def _plain_labels(Y: sp.csr_array) -> IntArray:
    dense = dense_labels(Y)
    return dense.ravel() if dense.shape[1] == 1 else dense


def _predict_in_order(model: Any) -> None:
    """Use one thread: the order in which threads finish changes the rounding of a forest's sums."""
    if type(model).__module__.startswith("sklearn.ensemble"):
        model.set_params(n_jobs=1)


def _column_sums(Y: sp.csr_array) -> tuple[int, ...]:
    return tuple(np.bincount(Y.indices[Y.data != 0], minlength=Y.shape[1]).tolist())


def _size_table(truth: sp.csr_array, predicted: sp.csr_array) -> Triples:
    sizes = np.column_stack([truth.sum(axis=1, dtype=np.int64), predicted.sum(axis=1, dtype=np.int64)])
    pairs, counts = np.unique(sizes, axis=0, return_counts=True)
    rows = zip(pairs.tolist(), counts.tolist(), strict=True)
    return tuple((true, given, count) for (true, given), count in rows)


def _calibration(truth: sp.csr_array, probabilities: FloatArray) -> Bins:
    bins = np.minimum((probabilities * _BINS).astype(np.int64), _BINS - 1).ravel()
    summed = np.bincount(bins, weights=probabilities.ravel(), minlength=_BINS)
    counts = np.bincount(bins, minlength=_BINS)
    true_pairs = np.repeat(np.arange(truth.shape[0]), np.diff(truth.indptr)) * truth.shape[1] + truth.indices
    true = np.bincount(bins[true_pairs], minlength=_BINS)
    return tuple(zip(summed.tolist(), true.astype(float).tolist(), counts.tolist(), strict=True))


def select_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of a matrix or of a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def dense_labels(Y: sp.csr_array) -> IntArray:
    """Return labels as a dense array of 64-bit integers, as most estimators accept them.

    scikit-learn numbers the labels with the integer type of Y, and 8 bits cannot count beyond 127.
    """
    return Y.toarray().astype(np.int64)


def _start_memory() -> float | None:
    """Reset the peak, and return the memory of the process in MiB; None if the system does not allow it."""
    try:
        _PEAK_RESET.write_text("5")
        return _memory_mib("VmRSS:")
    except OSError:
        return None


def _memory_mib(field: str) -> float:
    lines = _STATUS.read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(field))) / 1024

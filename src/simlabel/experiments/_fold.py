"""One fold: fit, ask, measure; and what is kept of it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.datasets import Dataset
from simlabel.estimators import AutoSMLClassifier, SMLClassifier
from simlabel.experiments._algorithms import Algorithm
from simlabel.experiments._memory import peak_mib, resident_mib
from simlabel.experiments._protocols import Split
from simlabel.metrics import (
    CRITERIA,
    MORE_CRITERIA,
    Evaluation,
    Metric,
    constant_labels,
    evaluate,
    find_criterion,
    label_probabilities,
    label_scores,
    label_sets,
    propensities,
    rank_constant_labels,
)

_BINS = 10  # of the calibration curve

Triples = tuple[tuple[int, int, int], ...]
Bins = tuple[tuple[float, float, int], ...]


@dataclass(frozen=True)
class FoldResult:
    """What came out on one fold.

    Attributes
    ----------
    evaluation : Evaluation
        All criteria.
    fit_seconds, predict_seconds : float
    hits, predicted, true : tuple of int
        For each label, in how many rows it was rightly predicted, predicted, true.
    sizes : tuple of (int, int, int)
        True number of labels, predicted number, how many rows.
    calibration : tuple of (float, float, int) or None
        For ten equal bins of probability: sum of the probabilities, number of true labels, number of
        pairs. None where the algorithm gives no probabilities.
    notes : tuple of str
        Warnings, each once.
    cpu_seconds : float
        Processor time of fit and predict together, which a busy machine changes little.
    peak_mib : float or None
        Memory that fit and predict took at their peak, beyond what the process had; None where the system
        does not tell.
    """

    evaluation: Evaluation
    fit_seconds: float
    predict_seconds: float
    hits: tuple[int, ...]
    predicted: tuple[int, ...]
    true: tuple[int, ...]
    sizes: Triples
    calibration: Bins | None
    notes: tuple[str, ...] = ()
    cpu_seconds: float = math.nan
    peak_mib: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it; NaN becomes None."""
        evaluation = self.evaluation
        values = {name: None if math.isnan(value) else value for name, value in evaluation.values.items()}
        rest = {name: value for name, value in vars(self).items() if name != "evaluation"}
        return {"values": values, "undefined": evaluation.undefined, "n_rows": evaluation.n_rows, **rest}

    @classmethod
    def from_dict(cls, state: dict[str, Any]) -> FoldResult:
        """Back from what `to_dict` gave."""
        values = {name: math.nan if value is None else value for name, value in state["values"].items()}
        bins = state["calibration"]
        return cls(
            Evaluation(values, state["undefined"], state["n_rows"]),
            state["fit_seconds"],
            state["predict_seconds"],
            tuple(state["hits"]),
            tuple(state["predicted"]),
            tuple(state["true"]),
            tuple((t, p, n) for t, p, n in state["sizes"]),
            None if bins is None else tuple((p, y, n) for p, y, n in bins),
            tuple(state["notes"]),
            state["cpu_seconds"],
            state["peak_mib"],
        )


def criteria_for(n_labels: int) -> list[str]:
    """All criteria that so many labels allow: k is at most their number."""
    known = map(find_criterion, (*CRITERIA, *MORE_CRITERIA))
    return [each.name for each in known if each.k is None or each.k <= n_labels]


def run_fold(data: Dataset, algorithm: Algorithm, split: Split, criteria: Sequence[Metric]) -> FoldResult:
    """Fit on the training rows and measure on the test rows."""
    train, truth = data.Y[split.train], data.Y[split.test]
    rows, X = take_rows(data.X, split.train), take_rows(data.X, split.test)
    before = resident_mib(start_anew=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        started, worked = time.perf_counter(), time.process_time()
        model = algorithm.for_split(split.number).fit(rows, _as_taken(train, algorithm))
        fitted = time.perf_counter()
        _predict_in_order(model)
        predicted, scores, probabilities = _asked(model, X, data.n_labels)
        scores = rank_constant_labels(scores, *constant_labels(train))
        asked, work = time.perf_counter(), time.process_time() - worked
        peak = peak_mib(before)
        if probabilities is None:  # those that take a call of their own are not charged for it
            probabilities = label_probabilities(model, X, data.n_labels)
    evaluation = evaluate(truth, predicted, scores, criteria=criteria, propensity=propensities(train))
    notes = tuple(dict.fromkeys(f"{note.category.__name__}: {note.message}" for note in caught))
    seconds = (fitted - started, asked - fitted)
    found = summarize(evaluation, truth, predicted, probabilities, seconds, notes)
    return replace(found, cpu_seconds=work, peak_mib=peak)


def _asked(model: Any, X: Rows, n_labels: int) -> tuple[sp.csr_array, FloatArray, FloatArray | None]:
    """Label sets and scores; and probabilities, where one pass gives all of them."""
    if type(model) not in (SMLClassifier, AutoSMLClassifier):  # a subclass may have methods of its own
        return label_sets(model, X, n_labels), label_scores(model, X, n_labels), None
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
    """What is kept of predictions for a whole part of the rows."""
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


def _as_taken(Y: sp.csr_array, algorithm: Algorithm) -> sp.csr_array | IntArray:
    if algorithm.sparse_labels:
        return Y
    dense = dense_labels(Y)
    return dense.ravel() if dense.shape[1] == 1 else dense


def _predict_in_order(model: Any) -> None:
    """Forests add up their trees in the order in which threads finish: rounding would differ by chance."""
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


def take_rows(X: Any, rows: IntArray) -> Any:
    """Return some rows of a matrix or of a data frame."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def dense_labels(Y: sp.csr_array) -> IntArray:
    """Return labels as most estimators take them.

    Of 64 bits: scikit-learn numbers labels by the kind of integer that says whether a row has them, and one
    of 8 bits cannot count beyond 127.
    """
    return Y.toarray().astype(np.int64)

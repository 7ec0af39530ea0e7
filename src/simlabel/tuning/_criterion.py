"""What decides between candidates: a criterion by name, or a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._validation import FloatArray
from simlabel.label_rules import ScoreBlock, SetSize
from simlabel.metrics import criterion_rows, evaluate, find_criterion, needs_scores

Criterion = str | Callable[[Any, FloatArray], float]


def check_criterion(owner: str, criterion: Any) -> None:
    """Refuse what is neither a name nor a function."""
    if callable(criterion):
        return
    try:
        find_criterion(str(criterion))
    except ValueError as error:
        raise ValueError(
            f"{owner}: {error} Or give a function (Y_true, scores) -> float, the higher the better."
        ) from None


def criterion_name(criterion: Criterion) -> str:
    """What the criterion is called in a table."""
    return criterion if isinstance(criterion, str) else getattr(criterion, "__name__", "criterion")


def higher_is_better(criterion: Criterion) -> bool:
    """Whether large values are good."""
    return find_criterion(criterion).higher_is_better if isinstance(criterion, str) else True


def uses_sizes(criterion: Criterion) -> bool:
    """Whether predicted sets, and so set sizes, are needed."""
    return isinstance(criterion, str) and not needs_scores(criterion)


class Judge:
    """Collects leave-one-out scores of one candidate, block by block, and judges them."""

    def __init__(self, criterion: Criterion, sizes: Any) -> None:
        self.criterion = criterion
        self.rule = SetSize().fit(sizes, ()) if uses_sizes(criterion) else None
        self.values: list[FloatArray] = []
        self.weights: list[FloatArray] = []
        self.kept: list[tuple[Any, Any]] = []  # of what is judged as a whole: truth, scores or sets

    def add(self, Y: Any, labels: FloatArray, sizes: FloatArray | None, weights: FloatArray) -> None:
        """Take in scores of some rows, (n_rows, n_labels) and (n_rows, n_sizes)."""
        labels = without_noise(labels)
        self.weights.append(weights)
        if self.rule is not None:
            assert sizes is not None
            predicted = self.rule.predict(ScoreBlock(labels, without_noise(sizes), labels))
            if self.criterion != "hamming_loss":
                self.kept.append((Y, predicted))
                return
            wrong = abs(predicted - Y.astype(np.int8))
            self.values.append(np.asarray(wrong.sum(axis=1)).ravel() / max(1, Y.shape[1]))
        elif callable(self.criterion) or self.criterion.startswith("psp@"):  # propensities are of all rows
            self.kept.append((Y, labels))
        else:
            self.values.append(criterion_rows(self.criterion, Y, labels))

    def result(self) -> tuple[float, float]:
        """Mean over the rows, and its standard error; of what is judged as a whole, its value and NaN."""
        weights = np.concatenate(self.weights)
        if not self.kept:
            return mean_and_error(np.concatenate(self.values), weights)
        Y = sp.vstack([block for block, _ in self.kept], format="csr")
        if self.rule is not None:
            predicted = sp.vstack([block for _, block in self.kept], format="csr")
            name = str(self.criterion)
            return evaluate(Y, predicted, None, criteria=[name])[name], math.nan
        scores = np.concatenate([block for _, block in self.kept])
        if callable(self.criterion):
            return float(self.criterion(Y, scores)), math.nan
        return mean_and_error(criterion_rows(self.criterion, Y, scores), weights)


def without_noise(scores: FloatArray) -> FloatArray:
    """Scores to the digits that do not depend on the order of summation, so that ties are ties."""
    largest = np.abs(scores).max(axis=1, keepdims=True, initial=0.0)
    units: Any = 1e5 if scores.dtype == np.float32 else 1e10
    steps: FloatArray = scores / np.where(largest > 0, largest, 1)
    steps *= units  # in place, all of it: there may be a million labels
    np.rint(steps, out=steps)
    steps /= units
    return steps


def mean_and_error(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    """Weighted mean of the defined values, and its standard error."""
    defined = ~np.isnan(values)
    if not defined.any():
        return math.nan, math.nan
    values, weights = values[defined], weights[defined]
    mean = float(np.average(values, weights=weights))
    n = float(weights.sum())
    if n <= 1:
        return mean, math.nan
    variance = float(np.average((values - mean) ** 2, weights=weights)) * n / (n - 1)
    return mean, math.sqrt(variance / n)

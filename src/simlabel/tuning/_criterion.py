"""What decides between candidates: a criterion by name, or a function."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, IntArray
from simlabel.metrics import Criterion, Truth, find_criterion, propensities
from simlabel.rules import ScoreBlock, SetSize

Judgement = str | Callable[[Any, FloatArray], float]


def criterion_of(judgement: Judgement) -> Criterion:
    """The record of a criterion by name, or of a function of the truth and the scores, to be made large."""
    if isinstance(judgement, str):
        return find_criterion(judgement)
    name = getattr(judgement, "__name__", "criterion")

    def function(truth: Truth, scores: FloatArray) -> float:
        return float(judgement(truth.Y if truth.unknown is None else truth.with_nan(), scores))

    return Criterion(name, name, function, aggregation="whole")


def check_criterion(owner: str, criterion: Any) -> None:
    """Refuse what is neither a name nor a function."""
    try:
        criterion_of(criterion if callable(criterion) else str(criterion))
    except ValueError as error:
        raise ValueError(
            f"{owner}: {error} Or give a function (Y_true, scores) -> float, the higher the better."
        ) from None


class Judge:
    """Collects leave-one-out scores of one candidate, block by block, and judges them."""

    def __init__(self, criterion: Criterion, sizes: IntArray) -> None:
        self.criterion = criterion
        self.rule = None if criterion.needs_scores else SetSize().fit(sizes, ())
        self.values: list[FloatArray] = []
        self.shown: list[Any] = []  # scores or sets, of what is judged as a whole

    def add(self, truth: Truth, scores: ScoreBlock) -> None:
        """Take in scores of some rows."""
        shown: Any = without_noise(scores.labels)
        if self.rule is not None:
            if scores.sizes.shape[1]:
                scores = ScoreBlock(shown, without_noise(scores.sizes), shown)
            shown = self.rule.predict(scores)
        if self.criterion.aggregation == "whole":
            self.shown.append(shown)
        else:
            assert self.criterion.rows is not None
            self.values.append(self.criterion.rows(truth, shown))

    def result(self, truth: Truth, weights: FloatArray) -> tuple[float, float]:
        """Mean over the rows, and its standard error; of what is judged as a whole, its value and NaN.

        Parameters
        ----------
        truth, weights : Truth and array, (n_rows,)
            Of all rows, in the order in which they were taken in.
        """
        one = self.criterion
        if one.aggregation == "mean":
            return mean_and_error(np.concatenate(self.values), weights)
        shown = np.concatenate(self.shown) if one.needs_scores else sp.vstack(self.shown, format="csr")
        if one.rows is not None:
            return mean_and_error(one.rows(truth, shown, propensity=propensities(truth)), weights)
        known = {} if one.needs_scores else {"sample_weight": weights}
        return one.function(truth, shown, **known), math.nan


def learned_scores(left_out: FloatArray, n_labels: int) -> ScoreBlock:
    """Scores of learned influence, (n_rows, n_labels + n_sizes), as a judge takes them."""
    labels = left_out[:, :n_labels]
    return ScoreBlock(labels, left_out[:, n_labels:], labels, np.ones(len(labels)))


def without_noise(scores: FloatArray) -> FloatArray:
    """Scores to the digits that do not depend on the order of summation, so that ties are ties."""
    highest = scores.max(axis=1, keepdims=True, initial=0.0)
    largest = np.maximum(highest, -scores.min(axis=1, keepdims=True, initial=0.0))
    steps: FloatArray = scores / np.where(largest > 0, largest, 1)
    units = 1e5 if scores.dtype == np.float32 else 1e10
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

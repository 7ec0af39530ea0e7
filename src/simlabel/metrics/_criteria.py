"""The record of a criterion, and the paper's five: Hamming loss, one-error, coverage, ranking loss, AP."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from simlabel._utils.kernels import ranking_criteria
from simlabel._utils.validation import BoolArray, FloatArray, check_sample_weight
from simlabel.metrics._truth import (
    LabelMatrix,
    SampleWeights,
    Truth,
    check_scores,
    check_sets,
    no_pair,
    no_true_label,
    nothing_known,
)


def mean_of_defined(rows: FloatArray, sample_weight: SampleWeights = None) -> float:
    """Return the mean of the values that are not NaN, or NaN if there are none."""
    weights = check_sample_weight(sample_weight, len(rows))
    defined = ~np.isnan(rows) if weights is None else ~np.isnan(rows) & (weights > 0)
    if not defined.any():
        return float("nan")
    return float(np.average(rows[defined], weights=None if weights is None else weights[defined]))


@dataclass(frozen=True)
class Criterion:
    """A criterion: its name, its function, and the input that it needs.

    Attributes
    ----------
    name, title : str
        Name for `find_criterion`, and name in reports.
    function : callable
        ``function(Y_true, scores, sample_weight=None)``, with ``propensity=`` if `needs_propensities`; for a
        criterion of label sets ``function(Y_true, Y_pred, sample_weight=None)``.
    rows : callable or None
        The same for each row, (n_rows,), NaN where undefined; None if rows have no value of their own.
    aggregation : {"mean", "whole"}
        "mean": the mean of `rows`, so that blocks of rows can be measured one by one. "whole": all rows are
        needed together.
    undefined : callable or None
        ``undefined(truth)`` returns on which rows the criterion is undefined; None if it is always defined.
    higher_is_better, needs_scores, needs_propensities : bool
        Direction; whether it reads scores or predicted sets; whether it needs label propensities.
    k : int or None
        How many top labels it reads; at most the number of labels.

    Examples
    --------
    >>> from simlabel.metrics import find_criterion
    >>> find_criterion("hamming_loss").heading
    'Hamming loss ↓'
    """

    name: str
    title: str
    function: Callable[..., float]
    rows: Callable[..., FloatArray] | None = None
    aggregation: Literal["mean", "whole"] = "mean"
    undefined: Callable[..., BoolArray] | None = None
    higher_is_better: bool = True
    needs_scores: bool = True
    needs_propensities: bool = False
    k: int | None = None

    @property
    def heading(self) -> str:
        """Title and direction."""
        return f"{self.title} {'↑' if self.higher_is_better else '↓'}"

    def at(self, k: int) -> Criterion:
        """Return the criterion of the top k labels, if its functions take ``k=``."""
        fixed: dict[str, Any] = {}
        for field in ("function", "rows", "undefined"):
            function = getattr(self, field)
            fixed[field] = None if function is None else partial(function, k=k)
        return replace(self, name=f"{self.name}@{k}", title=f"{self.title}@{k}", k=k, **fixed)

    def measure(
        self,
        Y_true: LabelMatrix,
        Y_pred: LabelMatrix,
        scores: npt.ArrayLike,
        propensity: npt.ArrayLike | None = None,
        sample_weight: SampleWeights = None,
    ) -> float:
        """Compute the criterion from the predictions that it needs."""
        if not self.needs_propensities:
            given = scores if self.needs_scores else Y_pred
            return self.function(Y_true, given, sample_weight=sample_weight)
        if propensity is None:
            raise ValueError(
                f"{self.name} needs the propensities of the training labels: propensities(Y_train)."
            )
        return self.function(Y_true, scores, propensity=propensity, sample_weight=sample_weight)

    def n_undefined(self, Y_true: LabelMatrix) -> int:
        """Return the number of rows on which the criterion is undefined."""
        return 0 if self.undefined is None else int(self.undefined(Truth.of(Y_true)).sum())


def row_criteria(Y_true: LabelMatrix, scores: npt.ArrayLike) -> FloatArray:
    """Return one-error, coverage, ranking loss and AP of each row, (n_rows, 4); NaN where undefined.

    Examples
    --------
    >>> row_criteria([[1, 0, 0]], [[0.2, 0.5, 0.1]])
    array([[1. , 1. , 0.5, 0.5]])
    """
    truth = Truth.of(Y_true)
    out: FloatArray = np.empty((truth.shape[0], 4))
    shown = np.ascontiguousarray(truth.mask_unknown(check_scores(scores, truth)))
    ranking_criteria(shown, truth.Y.indptr, truth.Y.indices, truth.n_known, out)
    return out


def _ranking_rows(column: int, Y_true: LabelMatrix, scores: npt.ArrayLike) -> FloatArray:
    rows: FloatArray = row_criteria(Y_true, scores)[:, column]
    return rows


_one_error_rows, _coverage_rows, _ranking_loss_rows, _average_precision_rows = (
    partial(_ranking_rows, column) for column in range(4)
)


def hamming_loss(Y_true: LabelMatrix, Y_pred: LabelMatrix, sample_weight: SampleWeights = None) -> float:
    """Return the share of instance-label pairs that are predicted wrongly.

    If some labels are unknown, it is the mean over the instances of the share of their known labels.

    Examples
    --------
    >>> hamming_loss([[1, 0], [1, 1]], [[1, 1], [1, 1]])
    0.25
    """
    return mean_of_defined(_hamming_rows(Y_true, Y_pred), sample_weight)


def _hamming_rows(Y_true: LabelMatrix, Y_pred: LabelMatrix) -> FloatArray:
    truth, predicted = check_sets(Y_true, Y_pred)
    wrong = abs(predicted.astype(np.int8) - truth.Y.astype(np.int8)).sum(axis=1, dtype=np.int64)
    rows = np.asarray(wrong).ravel() / np.maximum(1, truth.n_known)
    return np.where(nothing_known(truth), np.nan, rows)


def one_error(Y_true: LabelMatrix, scores: npt.ArrayLike, sample_weight: SampleWeights = None) -> float:
    """Return the share of instances whose top label is wrong; a wrong label that ties for the top counts.

    Examples
    --------
    >>> one_error([[1, 0], [1, 0]], [[0.9, 0.1], [0.5, 0.5]])
    0.5
    """
    return mean_of_defined(_one_error_rows(Y_true, scores), sample_weight)


def coverage(Y_true: LabelMatrix, scores: npt.ArrayLike, sample_weight: SampleWeights = None) -> float:
    """Return the depth in the ranking at which all true labels are found, counted from 0.

    It is scikit-learn's `coverage_error` minus 1 if every row has a true label. Rows without true labels are
    ignored; `coverage_error` counts them as 0.

    Examples
    --------
    >>> coverage([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    2.0
    """
    return mean_of_defined(_coverage_rows(Y_true, scores), sample_weight)


def ranking_loss(Y_true: LabelMatrix, scores: npt.ArrayLike, sample_weight: SampleWeights = None) -> float:
    """Return the share of pairs of a true and a false label in which the false one is not ranked below.

    Examples
    --------
    >>> ranking_loss([[1, 0, 1]], [[0.9, 0.5, 0.1]])
    0.5
    """
    return mean_of_defined(_ranking_loss_rows(Y_true, scores), sample_weight)


def average_precision(
    Y_true: LabelMatrix, scores: npt.ArrayLike, sample_weight: SampleWeights = None
) -> float:
    """Return label ranking average precision: the share of true labels among those ranked as high as each.

    The mean over the true labels of a row, then over the rows that have a true label. scikit-learn calls this
    `label_ranking_average_precision_score`, which counts rows without a true label as 1. The scorer
    ``"average_precision"`` of scikit-learn is another metric: it ranks the rows for each label, and averages
    over the labels.

    Examples
    --------
    >>> round(average_precision([[1, 0, 1]], [[0.9, 0.5, 0.1]]), 4)
    0.8333
    """
    return mean_of_defined(_average_precision_rows(Y_true, scores), sample_weight)


_LOSS: Any = {"higher_is_better": False}
_SETS: Any = {"needs_scores": False, **_LOSS}
_RANKED: Any = {"undefined": no_true_label}

#: the paper's five, in the order of its tables
CRITERIA = {
    criterion.name: criterion
    for criterion in (
        Criterion(
            "hamming_loss", "Hamming loss", hamming_loss, _hamming_rows, undefined=nothing_known, **_SETS
        ),
        Criterion("one_error", "One-error", one_error, _one_error_rows, **_RANKED, **_LOSS),
        Criterion("coverage", "Coverage", coverage, _coverage_rows, **_RANKED, **_LOSS),
        Criterion(
            "ranking_loss", "Ranking loss", ranking_loss, _ranking_loss_rows, undefined=no_pair, **_LOSS
        ),
        Criterion(
            "average_precision", "Average precision", average_precision, _average_precision_rows, **_RANKED
        ),
    )
}

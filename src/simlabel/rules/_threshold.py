"""The threshold function t(x) = <w, f(x)> + b."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.linalg

from simlabel._utils.validation import FloatArray, check_flag, check_number, check_numbers
from simlabel.rules._base import Counts, LabelRule, Needs, ScoreBlock, TrainingBlock

_RANK_TOLERANCE = (
    1e-13  # eigenvalues of the normal equations are squares: digits to 3e-7 of the largest column
)


class Threshold(LabelRule):
    """All labels whose weight is above a learnt linear function of the weights.

    t(x) = <w, f(x)> + b by least squares on s(x_i), the threshold that separates the labels of
    training row i best. The least squares are regularized by a ridge penalty that counts as much as one
    more row, so that rare labels, whose weights hardly vary, get no large coefficients.

    Parameters
    ----------
    literal : bool
        False: f(x_i) leaves row i out, since an instance's similarity to itself, which no new
        instance has, would bias the function. True: to the letter of the paper, row i included and no
        penalty; of several solutions the one of minimum norm.
    minimum, maximum : int
        Bounds on the number of labels.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]]
    >>> y = [{"sea", "sunset"}, {"sea", "sunset"}, {"trees"}, {"trees"}]
    >>> SMLClassifier("linear", label_rule=Threshold()).fit(X, y).predict_sets([[1.0, 0.2], [0.1, 1.0]])
    [('sea', 'sunset'), ('trees',)]
    """

    name = "threshold"
    file_key = "label_rules.Threshold"
    fitted_state = ("coef_", "intercept_")

    def __init__(self, literal: bool = False, minimum: int = 0, maximum: int | None = None) -> None:
        self.literal = literal
        self.minimum = minimum
        self.maximum = maximum

    def check(self) -> None:
        """Raise ValueError where `literal` is no flag, or what was learnt is not finite."""
        super().check()
        check_flag("Threshold", "literal", self.literal)
        check_number("Threshold", "intercept_", getattr(self, "intercept_", 0.0))
        if hasattr(self, "coef_"):
            check_numbers("Threshold", "coef_", self.coef_, (None,))

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """Scores of the training rows, with or without their own entry."""
        return "own_scores" if self.literal else "leave_one_out"

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Self:
        """Solve the least squares from normal equations that are added up block by block."""
        A, b = np.zeros(()), np.zeros(())  # as wide as the first block
        for block in blocks:
            F = block.scores.labels.astype(np.float64)
            F1 = np.hstack([F, np.ones((F.shape[0], 1))])
            targets, asked = _targets(F, block)
            weighted = F1 * (block.weights * asked)[:, None]
            with np.errstate(over="ignore", invalid="ignore"):  # it is refused below, in words
                A = A + weighted.T @ F1
                b = b + weighted.T @ targets
        if not (np.isfinite(A).all() and np.isfinite(b).all()):
            raise ValueError(
                "Threshold: the squares of the label weights overflow. Normalize the features "
                "(normalizer='l2'), or take another rule."
            )
        fitted = copy.copy(self)
        if self.literal:
            solution = scipy.linalg.lstsq(A, b, cond=_RANK_TOLERANCE)[0]
            fitted.coef_, fitted.intercept_ = solution[:-1], float(solution[-1])
        else:
            fitted.coef_, fitted.intercept_ = _regularized(A, b)
        return fitted

    def adapted(self, sizes: Counts, places: Counts, n_labels: int) -> Self:
        """Return a copy in which labels that it has not learnt from do not move the threshold."""
        adapted = copy.copy(self)
        adapted.coef_ = np.zeros(n_labels)
        adapted.coef_[places] = self.coef_
        return adapted

    def count(self, scores: ScoreBlock) -> Counts:
        """How many weights are above t(x)."""
        t = scores.labels @ self.coef_ + self.intercept_
        return np.count_nonzero(scores.settled(scores.labels) > t[:, None], axis=1)


def _regularized(A: FloatArray, b: FloatArray) -> tuple[FloatArray, float]:
    """Least squares from normal equations whose last column is the intercept, with a penalty.

    The penalty is the mean variance of the columns, as much as one more row would count: a column that
    hardly varies cannot get a large coefficient.
    """
    n, sums = A[-1, -1], A[-1, :-1]
    if not (len(sums) and n > 0):
        return np.zeros(len(sums)), float(b[-1] / n) if n > 0 else 0.0
    C = A[:-1, :-1] - np.outer(sums, sums) / n
    C[np.diag_indices(len(C))] += max(0.0, float(np.trace(C))) / (len(C) * n)
    coef = scipy.linalg.lstsq(C, b[:-1] - sums * (b[-1] / n), cond=_RANK_TOLERANCE)[0]
    return coef, float((b[-1] - sums @ coef) / n)


def _targets(F: FloatArray, block: TrainingBlock) -> tuple[FloatArray, npt.NDArray[np.bool_]]:
    """s(x) for each row by the labels that are known, and whether any is, (n_rows,) both."""
    truth, known = block.Y.toarray().astype(bool), block.known
    if known is None:
        return best_thresholds(F, truth), np.ones(len(F), dtype=bool)
    asked: npt.NDArray[np.bool_] = np.asarray(known.any(axis=1))
    targets: FloatArray = np.zeros(len(F))
    for i in np.flatnonzero(asked):
        targets[i] = best_thresholds(F[i : i + 1, known[i]], truth[i : i + 1, known[i]])[0]
    return targets, asked


def best_thresholds(
    scores: FloatArray, truth: npt.NDArray[np.bool_], gap: FloatArray | None = None
) -> FloatArray:
    """s(x): the middle of the interval in which a threshold makes the fewest mistakes.

    Of several such intervals the lowest. An unbounded one is left at the extreme score, half the
    gap beyond it.

    Parameters
    ----------
    scores : array, (n_rows, n_labels)
    truth : array of bool, (n_rows, n_labels)
    gap : array, (n_rows,), optional
        By default the mean gap between distinct scores; of one score alone, its size, or 1.

    Examples
    --------
    >>> best_thresholds(np.array([[1.0, 2.0, 6.0]]), np.array([[False, False, True]]))
    array([4.])
    """
    if not scores.shape[1]:
        return np.zeros(scores.shape[0])  # no label, nothing to divide
    order = np.argsort(scores, axis=1, kind="stable")
    ascending = np.take_along_axis(scores, order, axis=1)
    true = np.take_along_axis(truth, order, axis=1).astype(np.int64)
    n, n_labels = scores.shape
    below = np.concatenate([np.zeros((n, 1), dtype=np.int64), np.cumsum(true, axis=1)], axis=1)
    false_above = (n_labels - np.arange(n_labels + 1))[None, :] - (below[:, -1:] - below)
    mistakes = below + false_above
    # no threshold lies between equal scores
    mistakes[:, 1:-1][ascending[:, 1:] <= ascending[:, :-1]] = n_labels + 1
    best = np.argmin(mistakes, axis=1)
    gap = _mean_gap(ascending) if gap is None else gap
    rows = np.arange(n)
    low = np.where(best > 0, ascending[rows, np.maximum(best - 1, 0)], ascending[:, 0] - gap)
    high = np.where(best < n_labels, ascending[rows, np.minimum(best, n_labels - 1)], ascending[:, -1] + gap)
    middle: FloatArray = (low + high) / 2.0
    return middle


def _mean_gap(ascending: FloatArray) -> FloatArray:
    distinct = 1 + np.count_nonzero(np.diff(ascending, axis=1) > 0, axis=1)
    span = ascending[:, -1] - ascending[:, 0]
    lone = np.where(ascending[:, 0] == 0, 1.0, np.abs(ascending[:, 0]))
    return np.where(distinct > 1, span / np.maximum(distinct - 1, 1), lone)

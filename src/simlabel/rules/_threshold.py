"""The threshold function t(x) = <w, f(x)> + b."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import Self

import numpy as np
import scipy.linalg

from simlabel._utils.validation import (
    BoolArray,
    FloatArray,
    IntArray,
    check_flag,
    check_number,
    check_numbers,
)
from simlabel.rules._rules import LabelRule, Needs
from simlabel.rules._scores import ScoreBlock, TrainingBlock

# eigenvalues of the normal equations are squares: this keeps columns down to 3e-7 of the largest one
_RANK_TOLERANCE = 1e-13


class Threshold(LabelRule):
    """Predict the labels whose weight is above a learned linear function of all label weights.

    t(x) = <w, f(x)> + b is fitted by least squares to s(x_i), the threshold that separates the labels of
    training row i best. A ridge penalty that counts as much as one more row keeps the coefficients of
    rare labels small, whose weights hardly vary.

    Parameters
    ----------
    literal : bool
        False: f(x_i) leaves row i out, since its similarity to itself, which no new row has, would bias
        the function. True: as in the paper, with row i included and no penalty; of several solutions the
        one of minimum norm.
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
        """Raise ValueError if `literal` is not True or False, or a learned value is not finite."""
        super().check()
        check_flag("Threshold", "literal", self.literal)
        check_number("Threshold", "intercept_", getattr(self, "intercept_", 0.0))
        if hasattr(self, "coef_"):
            check_numbers("Threshold", "coef_", self.coef_, (None,))

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """Scores of the training rows, with or without their own entry."""
        return "own_scores" if self.literal else "leave_one_out"

    def fit(self, sizes: IntArray, blocks: Iterable[TrainingBlock]) -> Self:
        """Return a copy with the least squares solution; normal equations are added up block by block."""
        A, b = np.zeros(()), np.zeros(())  # as wide as the first block
        for block in blocks:
            F = block.scores.labels.astype(np.float64)
            F1 = np.hstack([F, np.ones((F.shape[0], 1))])
            known = block.known
            weighted = F1 * (block.weights * known.any(axis=1))[:, None]
            with np.errstate(over="ignore", invalid="ignore"):  # `_solved` raises an error
                A = A + weighted.T @ F1
                b = b + weighted.T @ _targets(F, block.Y.toarray().astype(bool), known)
        fitted = copy.copy(self)
        if self.literal:
            solution = _solved(A, b)
            fitted.coef_, fitted.intercept_ = solution[:-1], float(solution[-1])
        else:
            fitted.coef_, fitted.intercept_ = _regularized(A, b)
        return fitted

    def adapted(self, sizes: IntArray, places: IntArray, n_labels: int) -> Self:
        """Return a copy in which labels that it has not learned from have coefficient 0."""
        adapted = copy.copy(self)
        adapted.coef_ = np.zeros(n_labels)
        adapted.coef_[places] = self.coef_
        return adapted

    def cutoffs(self, scores: ScoreBlock) -> FloatArray:
        """Return t(x), (n_queries, 1)."""
        return (scores.labels @ self.coef_ + self.intercept_)[:, None]


def _regularized(A: FloatArray, b: FloatArray) -> tuple[FloatArray, float]:
    """Solve regularized least squares from normal equations whose last column is the intercept.

    The penalty is the mean variance of the columns, as much as one more row would count: a column that
    hardly varies cannot get a large coefficient.
    """
    n, sums = A[-1, -1], A[-1, :-1]
    if not (len(sums) and n > 0):
        return np.zeros(len(sums)), float(b[-1] / n) if n > 0 else 0.0
    with np.errstate(over="ignore", invalid="ignore"):  # `_solved` raises an error
        C = A[:-1, :-1] - np.outer(sums, sums) / n
        C[np.diag_indices(len(C))] += max(0.0, float(np.trace(C))) / (len(C) * n)
        c = b[:-1] - sums * (b[-1] / n)
    coef = _solved(C, c)
    return coef, float((b[-1] - sums @ coef) / n)


def _solved(A: FloatArray, b: FloatArray) -> FloatArray:
    """Return the solution of normal equations; of several, the one of minimum norm."""
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise ValueError(
            "Threshold: the squares of the label weights overflow. Normalize the features "
            "(normalizer='l2'), or use another label rule."
        )
    return scipy.linalg.lstsq(A, b, cond=_RANK_TOLERANCE)[0]


def _targets(F: FloatArray, truth: BoolArray, known: BoolArray) -> FloatArray:
    """Return s(x) of each row by its known labels, (n_rows,); 0 if none is known."""
    if known.all():
        return best_thresholds(F, truth)
    targets = np.zeros(len(F))
    for i in np.flatnonzero(known.any(axis=1)):
        targets[i] = best_thresholds(F[i : i + 1, known[i]], truth[i : i + 1, known[i]])[0]
    return targets


def best_thresholds(scores: FloatArray, truth: BoolArray, gap: FloatArray | None = None) -> FloatArray:
    """Return s(x): the middle of the interval in which a threshold makes the fewest mistakes.

    Of several such intervals, the lowest. If it is unbounded, s(x) is the extreme score plus or minus half
    the gap.

    Parameters
    ----------
    scores : array, (n_rows, n_labels)
    truth : array of bool, (n_rows, n_labels)
    gap : array, (n_rows,), optional
        By default the mean gap between distinct scores; for a single distinct score its size, or 1 if it
        is 0.

    Examples
    --------
    >>> best_thresholds(np.array([[1.0, 2.0, 6.0]]), np.array([[False, False, True]]))
    array([4.])
    """
    if not scores.shape[1]:
        return np.zeros(scores.shape[0])  # no labels
    order = np.argsort(scores, axis=1, kind="stable")
    ascending = np.take_along_axis(scores, order, axis=1)
    true = np.take_along_axis(truth, order, axis=1).astype(np.int64)
    n, n_labels = scores.shape
    below = np.pad(np.cumsum(true, axis=1), ((0, 0), (1, 0)))
    false_above = np.arange(n_labels, -1, -1) - (below[:, -1:] - below)
    mistakes = below + false_above
    # no threshold lies between equal scores
    mistakes[:, 1:-1][ascending[:, 1:] <= ascending[:, :-1]] = n_labels + 1
    gap = (_mean_gap(ascending) if gap is None else gap)[:, None]
    bounds = np.hstack([ascending[:, :1] - gap, ascending, ascending[:, -1:] + gap])
    best, rows = np.argmin(mistakes, axis=1), np.arange(n)
    return (bounds[rows, best] + bounds[rows, best + 1]) / 2.0


def _mean_gap(ascending: FloatArray) -> FloatArray:
    distinct = 1 + np.count_nonzero(np.diff(ascending, axis=1) > 0, axis=1)
    span = ascending[:, -1] - ascending[:, 0]
    lone = np.where(ascending[:, 0] == 0, 1.0, np.abs(ascending[:, 0]))
    return np.where(distinct > 1, span / np.maximum(distinct - 1, 1), lone)

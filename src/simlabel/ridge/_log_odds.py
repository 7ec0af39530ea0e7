"""Label scores as log-odds, to which the scores of other labels contribute.

Learned scores are near 0 and 1; a score of 0.3 says more about a rare label than about a frequent one, and a
label that is hard to predict may occur with one that is easy. So for each label a logistic regression is
fitted to the leave-one-out scores of all labels, less the mean. It is linear in them: with its coefficients
M, the influence becomes V M, and a score remains a sum over references. When rows are added or removed, V
changes and M is held. (Platt 1999 fits such curves one by one; Breiman and Friedman 1997 mix the responses of
linear regressions.)

A prior holds coefficients where there is little data: that of the label's own score near the mean over
labels, those of other labels near 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import scipy.linalg
import scipy.special

from simlabel._utils.threads import effective_jobs, limit_blas_threads
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_number, check_numbers
from simlabel.ridge._leave_one_out import RidgeSolution
from simlabel.sums import run_tasks

# precisions of the prior, for scores with a root mean square of 1
_OTHERS, _OWN, _OFFSET = 30.0, 3.0, 0.25
_FIRST, _FIRST_PRECISION = 1.0, 1.0  # prior of own coefficients before their mean is known
_MIN = 0.1  # own coefficients stay positive
_MOST_SHARE = 1 - 2.0**-53  # below 1 also if weights are so large that adding 1 is lost in rounding
_MAX_OPERATIONS = 4e10  # per Newton step of all labels; beyond, each label uses its own score only
_STEPS = 100
_NEAR = 1e-8  # length of the last step, relative to the largest coefficient
_ROUNDING = 1e-13  # relative, of the loss
_DAMPED = 1e-9  # relative, of the curvature, for collinear columns without a prior


@dataclass(frozen=True)
class Logistic:
    """A logistic regression.

    Attributes
    ----------
    coefficients : array, (n_columns,)
    residuals : array, (n_rows,)
        Target less probability.
    covariance : array, (n_columns, n_columns)
        Inverse of the curvature.
    """

    coefficients: FloatArray
    residuals: FloatArray
    covariance: FloatArray


def logistic(
    X: FloatArray,
    target: FloatArray,
    weights: FloatArray,
    center: FloatArray,
    precision: FloatArray,
    start: FloatArray | None = None,
) -> Logistic:
    """Minimize the log loss with a normal prior by Newton's method.

    Parameters
    ----------
    X : array, (n_rows, n_columns)
    target : array, (n_rows,)
        Between 0 and 1.
    weights : array, (n_rows,)
    center, precision : array, (n_columns,)
        Of the prior. A precision of 0 means no prior.
    start : array, (n_columns,), optional
        Where the search begins; by default at the center.

    Examples
    --------
    >>> X = np.array([[1.0], [-1.0]])
    >>> found = logistic(X, np.array([1.0, 0.0]), np.ones(2), np.zeros(1), np.ones(1))
    >>> z = found.coefficients[0]
    >>> bool(np.isclose(z, 2.0 * (1.0 - 1.0 / (1.0 + np.exp(-z)))))  # where the gradient is 0
    True
    """
    at, value = np.array(center if start is None else start, dtype=np.float64), np.inf
    step = np.zeros_like(at)
    for _ in range(_STEPS):
        z = X @ (at + step)
        loss = float(weights @ (np.logaddexp(0.0, z) - target * z))
        loss += 0.5 * float(precision @ (at + step - center) ** 2)
        if loss > value * (1.0 + _ROUNDING):
            step = step / 2.0  # too far
            continue
        at, value = at + step, loss
        p = scipy.special.expit(z)
        curvature = (X * (weights * p * (1.0 - p))[:, None]).T @ X
        curvature[np.diag_indices(len(at))] += precision + _DAMPED * (1.0 + np.trace(curvature))
        factor = scipy.linalg.cho_factor(curvature, lower=True)
        step = scipy.linalg.cho_solve(factor, X.T @ (weights * (target - p)) - precision * (at - center))
        if np.abs(step).max() <= _NEAR * (1.0 + np.abs(at).max()):
            at = at + step  # the error of the last step is quadratic in its length
            break
    return Logistic(at, target - p, scipy.linalg.cho_solve(factor, np.eye(len(at))))


def logistic_lines(x: FloatArray, target: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return slopes and offsets of one logistic regression for each column, (n_columns,) both.

    The result is that of `logistic` for each column and a column of ones, from slope 1 and offset 0, without
    a prior. All columns are fitted together: thousands of calls would take minutes.

    Parameters
    ----------
    x, target, weights : array, (n_rows, n_columns)

    Examples
    --------
    >>> x, target = np.array([[-1.0], [1.0], [1.0]]), np.array([[0.1], [0.9], [0.9]])
    >>> slopes, offsets = logistic_lines(x, target, np.ones((3, 1)))
    >>> bool(np.isclose(slopes[0], np.log(9.0)) and np.isclose(offsets[0], 0.0))
    True
    """
    at = np.stack([np.ones(x.shape[1]), np.zeros(x.shape[1])])
    step, value, active = np.zeros_like(at), np.full(x.shape[1], np.inf), np.arange(x.shape[1])
    for _ in range(_STEPS):
        if not len(active):
            break
        X, y, w = x[:, active], target[:, active], weights[:, active]
        to = at[:, active] + step[:, active]
        z = X * to[0] + to[1]
        loss = (w * (np.logaddexp(0.0, z) - y * z)).sum(axis=0)
        good = loss <= value[active] * (1.0 + _ROUNDING)
        step[:, active[~good]] /= 2.0  # too far
        X, y, w, z, now = X[:, good], y[:, good], w[:, good], z[:, good], active[good]
        at[:, now], value[now] = to[:, good], loss[good]
        step[:, now] = _newton_step(X, y, w, scipy.special.expit(z))
        near = np.abs(step[:, now]).max(axis=0) <= _NEAR * (1.0 + np.abs(at[:, now]).max(axis=0))
        at[:, now[near]] += step[:, now[near]]
        active = np.setdiff1d(active, now[near])
    return at[0], at[1]


def _newton_step(X: FloatArray, y: FloatArray, w: FloatArray, p: FloatArray) -> FloatArray:
    """Return Newton's step of slope and offset for each column, (2, n_columns)."""
    curvature, left = w * p * (1.0 - p), w * (y - p)
    a, b, c = (curvature * X * X).sum(axis=0), (curvature * X).sum(axis=0), curvature.sum(axis=0)
    damped = _DAMPED * (1.0 + a + c)
    a, c = a + damped, c + damped
    slope, offset = (left * X).sum(axis=0), left.sum(axis=0)
    return np.stack([c * slope - b * offset, a * offset - b * slope]) / (a * c - b * b)


@dataclass(frozen=True)
class Mixing:
    """The map from raw scores to log-odds.

    Attributes
    ----------
    n_labels : int
        Number of all labels, which are the first columns.
    labels : array of int, (k,)
        Positions of the labels that it was learned for, increasing.
    M : array, (k,) or (k, k)
        Coefficients of raw scores less their mean: of the own score, or of all scores for each label.
    offsets : array, (k,)
        Log-odds where all raw scores are equal to their mean.
    slope : float
        Mean coefficient of the own score. Labels that were added later, or that all rows had, or none,
        when the map was learned, use it, with the log-odds of their frequency as offset.
    """

    file_key: ClassVar[str] = "influence.Mixing"

    n_labels: int
    labels: IntArray
    M: FloatArray
    offsets: FloatArray
    slope: float

    def check(self) -> None:
        """Raise ValueError if the arrays are inconsistent or not finite."""
        k = len(self.offsets)
        check_number("Mixing", "n_labels", self.n_labels, integer=True, at_least=k)
        check_numbers("Mixing", "labels", self.labels, (k,), kinds="i", at_least=0)
        if (np.diff(self.labels) <= 0).any() or (self.labels >= self.n_labels).any():
            raise ValueError("Mixing: positions of labels must increase, and be below their number.")
        check_numbers("Mixing", "M", self.M, (k,) * min(max(self.M.ndim, 1), 2))
        check_numbers("Mixing", "offsets", self.offsets, (k,))
        check_number("Mixing", "slope", self.slope)

    def influence(self, V: FloatArray) -> FloatArray:
        """Return the influence of which the sums are log-odds, (n, width); set sizes stay."""
        mixed = V.copy()
        mixed[:, : self.n_labels] *= self.slope
        own = V[:, self.labels]
        mixed[:, self.labels] = own * self.M if self.M.ndim == 1 else own @ self.M
        return mixed

    def intercept(self, mean: FloatArray, total: float) -> FloatArray:
        """Return the intercept, (width,), given the mean of the targets and the sum of the weights."""
        intercept, n = mean.copy(), self.n_labels
        intercept[:n] = _log_odds(mean[:n] * total, total)
        intercept[self.labels] = self.offsets
        return intercept

    def scores(self, raw: FloatArray, mean: FloatArray, total: float) -> FloatArray:
        """Return log-odds for raw scores, (n, width), given the mean and the sum of the weights."""
        return self.influence(raw - mean) + self.intercept(mean, total)

    def moved(self, places: IntArray, n_labels: int) -> Mixing:
        """Return the map for so many labels, at places where the former ones are now."""
        to = places[self.labels]
        order = np.argsort(to)
        M = self.M[order] if self.M.ndim == 1 else self.M[np.ix_(order, order)]
        return Mixing(n_labels, to[order], M, self.offsets[order], self.slope)


def learn_mixing(
    solution: RidgeSolution,
    targets: Rows,
    n_labels: int,
    weights: FloatArray,
    groups: IntArray | None = None,
    n_jobs: int | None = None,
) -> tuple[Mixing, FloatArray]:
    """Learn the map from raw scores to log-odds; return it, and leave-one-out scores, (n, width).

    Parameters
    ----------
    solution : RidgeSolution
        With leave-one-out scores, from which the map is learned.
    targets : array or sparse, (n, width)
        Labels, 0 or 1, then set sizes.
    n_labels : int
    weights : array, (n,)
        Weight of each row.
    groups : array of int, (n,), optional
        Group of each row; groups are left out whole.
    n_jobs : int, optional
        Number of threads.

    Notes
    -----
    A label that all rows have, or none, is not mixed: its score is the log-odds of its frequency.

    In the leave-one-out scores, a row is left out of the influence exactly, and of the map to first order;
    the scores of the other rows, from which it is learned, still depend on the row.
    """
    n, total = len(weights), float(weights.sum())
    present = np.asarray((targets[:, :n_labels] > 0).sum(axis=0)).ravel()
    varying = np.flatnonzero((present > 0) & (present < n))
    scores, mixing = solution.loo_scores.copy(), Mixing(n_labels, varying, np.empty(0), np.empty(0), 1.0)
    if len(varying):
        problem = _MixingProblem(solution, targets, n_labels, varying, weights, groups)
        crosswise = n * (len(varying) + 1.0) ** 3 <= _MAX_OPERATIONS
        mixing, scores[:, varying] = problem.solved(crosswise, effective_jobs(n_jobs))
    constant = np.setdiff1d(np.arange(n_labels), varying)
    scores[:, constant] = mixing.intercept(solution.mean, total)[constant]
    return mixing, scores


def _log_odds(weight: FloatArray, total: float) -> FloatArray:
    """Return the log-odds of the frequency of labels, given the weight of the rows that have each."""
    shares = (weight + 0.5) / (total + 1.0)
    return np.asarray(scipy.special.logit(np.minimum(shares, _MOST_SHARE)))


class _MixingProblem:
    """Labels that vary, and their leave-one-out scores, centered and scaled, with a column of ones."""

    def __init__(
        self,
        solution: RidgeSolution,
        targets: Rows,
        n_labels: int,
        labels: IntArray,
        weights: FloatArray,
        groups: IntArray | None,
    ) -> None:
        self.n_labels, self.labels, self.K = n_labels, labels, len(labels)
        self.weights, self.groups = weights, groups
        F = solution.loo_scores[:, labels] - solution.mean[labels]
        self.scale = float(np.sqrt(weights @ (F**2).mean(axis=1) / weights.sum())) or 1.0
        self.X = np.column_stack([F / self.scale, np.ones(len(F))])
        self.targets = targets[:, labels]
        self.base = _log_odds(np.asarray(weights @ self.targets).ravel(), float(weights.sum()))

    def solved(self, crosswise: bool, n_jobs: int) -> tuple[Mixing, FloatArray]:
        """Return the map, and its leave-one-out scores, (n, n_labels)."""
        K, X = self.K, self.X
        M, offsets, loo_scores = np.zeros((K, K) if crosswise else K), np.empty(K), np.empty((len(X), K))
        alone = [self._alone(k) for k in range(K)]
        certain = np.array([1.0 / each.covariance[0, 0] for each in alone])
        slope = max(_MIN, float(np.array([each.coefficients[0] for each in alone]) @ certain / certain.sum()))

        def work(k: int, stopped: Callable[[], bool]) -> None:
            if stopped():
                return
            columns = np.arange(K + 1) if crosswise else np.array([k, K])
            center, precision, start = np.zeros(K + 1), np.full(K + 1, _OTHERS), np.zeros(K + 1)
            center[[k, K]], precision[[k, K]] = (slope, self.base[k]), (_OWN, _OFFSET)
            start[[k, K]] = alone[k].coefficients
            some = X[:, columns]
            found = logistic(
                some, self._target(k), self.weights, center[columns], precision[columns], start[columns]
            )
            learned = found.coefficients[:-1] / self.scale
            if crosswise:
                M[:, k] = learned
            else:
                M[k] = learned[0]
            offsets[k] = found.coefficients[-1]
            loo_scores[:, k] = some @ found.coefficients - self._self_influence(some, found)

        with limit_blas_threads(1):  # BLAS threads would wait for ours, and spin
            run_tasks(work, range(K), n_jobs)
        return Mixing(self.n_labels, self.labels, M, offsets, slope / self.scale), loo_scores

    def _alone(self, k: int) -> Logistic:
        """Return the regression of one label on its own score."""
        precision, center = np.array([_FIRST_PRECISION, _OFFSET]), np.array([_FIRST, self.base[k]])
        return logistic(self.X[:, [k, self.K]], self._target(k), self.weights, center, precision)

    def _target(self, k: int) -> FloatArray:
        target = self.targets[:, [k]]
        return np.asarray(target if isinstance(target, np.ndarray) else target.toarray()).ravel()

    def _self_influence(self, X: FloatArray, found: Logistic) -> FloatArray:
        """Return by how much a row, or its group, changes its own scores, to first order, (n,)."""
        left = np.minimum(self.weights, 1.0) if self.groups is None else self.weights
        gradient = X * (left * found.residuals)[:, None]
        if self.groups is not None:
            together = np.zeros((int(self.groups.max()) + 1, X.shape[1]))
            np.add.at(together, self.groups, gradient)
            gradient = together[self.groups]
        return np.asarray(((X @ found.covariance) * gradient).sum(axis=1))

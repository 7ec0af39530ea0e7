"""Label scores as log-odds, to which the scores of other labels contribute.

Learned scores are near 0 and 1; a score of 0.3 says more about a rare label than about a frequent one, and a
label that is hard to predict may occur with one that is easy. So for each label a logistic regression is
fitted to the leave-one-out scores of all labels, less the mean. It is linear in them: with its coefficients
M, the influence becomes V M, and a score remains a sum over references. (Platt 1999 fits such curves one by
one; Breiman and Friedman 1997 mix the responses of linear regressions.)

A prior holds coefficients where there is little data: that of the label's own score near the mean over
labels, those of other labels near 0.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
import scipy.special

from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge._leave_one_out import RidgeSolution

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
    X: FloatArray, target: FloatArray, weights: FloatArray, center: FloatArray, precision: FloatArray
) -> Logistic:
    """Minimize the log loss with a normal prior by Newton's method.

    Parameters
    ----------
    X : array, (n_rows, n_columns)
    target : array, (n_rows,)
        Between 0 and 1.
    weights : array, (n_rows,)
    center, precision : array, (n_columns,)
        Of the prior; the search begins at the center. A precision of 0 means no prior.

    Examples
    --------
    >>> X = np.array([[1.0], [-1.0]])
    >>> found = logistic(X, np.array([1.0, 0.0]), np.ones(2), np.zeros(1), np.ones(1))
    >>> z = found.coefficients[0]
    >>> bool(np.isclose(z, 2.0 * (1.0 - 1.0 / (1.0 + np.exp(-z)))))  # where the gradient is 0
    True
    """
    at, value = np.array(center, dtype=np.float64), np.inf
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


def mixed(
    solution: RidgeSolution, targets: Rows, n_labels: int, weights: FloatArray, groups: IntArray | None = None
) -> RidgeSolution:
    """Replace the scores of labels by log-odds; those of set sizes stay.

    Parameters
    ----------
    solution : RidgeSolution
        With leave-one-out scores, from which the mixture is learned.
    targets : array or sparse, (n, width)
        Labels, 0 or 1, then set sizes.
    n_labels : int
    weights : array, (n,)
        Weight of each row.
    groups : array of int, (n,), optional
        Group of each row; groups are left out whole.

    Notes
    -----
    A label that all rows have, or none, is not mixed: its score is the log-odds of its frequency.

    In the leave-one-out scores of the result, a row is left out of the influence exactly, and of the mixture
    to first order; the scores of the other rows, from which the mixture is learned, still depend on it.
    """
    n = len(weights)
    V, mean, scores = solution.V.copy(), solution.mean.copy(), solution.loo_scores.copy()
    present = np.asarray((targets[:, :n_labels] > 0).sum(axis=0)).ravel()
    varying = np.flatnonzero((present > 0) & (present < n))
    mean[:n_labels] = _base_log_odds(targets[:, :n_labels], weights)
    V[:, :n_labels], scores[:, :n_labels] = 0.0, mean[:n_labels]
    if len(varying):
        mixture = _Mixture(solution, targets, varying, weights, groups)
        M, offsets, loo_scores = mixture.learned(crosswise=n * (len(varying) + 1.0) ** 3 <= _MAX_OPERATIONS)
        V[:, varying] = solution.V[:, varying] @ M
        mean[varying], scores[:, varying] = offsets, loo_scores
    return replace(solution, V=V, mean=mean, loo_scores=scores)


def _base_log_odds(targets: Rows, weights: FloatArray) -> FloatArray:
    """Return the log-odds of the frequency of each label, (n_labels,)."""
    shares = (weights @ targets + 0.5) / (weights.sum() + 1.0)
    return np.asarray(scipy.special.logit(np.minimum(shares, _MOST_SHARE)))


class _Mixture:
    """Labels that vary, and their leave-one-out scores, centered and scaled, with a column of ones."""

    def __init__(
        self,
        solution: RidgeSolution,
        targets: Rows,
        labels: IntArray,
        weights: FloatArray,
        groups: IntArray | None,
    ) -> None:
        self.weights, self.groups, self.n_labels = weights, groups, len(labels)
        F = solution.loo_scores[:, labels] - solution.mean[labels]
        self.scale = float(np.sqrt(weights @ (F**2).mean(axis=1) / weights.sum())) or 1.0
        self.X = np.column_stack([F / self.scale, np.ones(len(F))])
        self.targets = targets[:, labels]
        self.base = _base_log_odds(self.targets, weights)

    def learned(self, crosswise: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return M, (n_labels, n_labels), offsets, (n_labels,), and leave-one-out scores, (n, n_labels)."""
        K = self.n_labels
        M, offsets, loo_scores = np.zeros((K, K)), np.empty(K), np.empty((len(self.X), K))
        own = self._mean_own_coefficient()
        for k in range(K):
            columns = np.arange(K + 1) if crosswise else np.array([k, K])
            center, precision = np.zeros(K + 1), np.full(K + 1, _OTHERS)
            center[[k, K]], precision[[k, K]] = (own, self.base[k]), (_OWN, _OFFSET)
            found = self._fit(k, columns, center[columns], precision[columns])
            M[columns[:-1], k], offsets[k] = found.coefficients[:-1] / self.scale, found.coefficients[-1]
            X = self.X[:, columns]
            loo_scores[:, k] = X @ found.coefficients - self._self_influence(X, found)
        return M, offsets, loo_scores

    def _mean_own_coefficient(self) -> float:
        """Return the mean over labels of the coefficient of the own score, weighted by precision."""
        precision = np.array([_FIRST_PRECISION, _OFFSET])
        slopes, certain = np.empty(self.n_labels), np.empty(self.n_labels)
        for k in range(self.n_labels):
            found = self._fit(k, [k, self.n_labels], np.array([_FIRST, self.base[k]]), precision)
            slopes[k], certain[k] = found.coefficients[0], 1.0 / found.covariance[0, 0]
        return max(_MIN, float(slopes @ certain / certain.sum()))

    def _fit(
        self, k: int, columns: IntArray | list[int], center: FloatArray, precision: FloatArray
    ) -> Logistic:
        target = self.targets[:, [k]]
        target = np.asarray(target if isinstance(target, np.ndarray) else target.toarray()).ravel()
        return logistic(self.X[:, columns], target, self.weights, center, precision)

    def _self_influence(self, X: FloatArray, found: Logistic) -> FloatArray:
        """Return by how much a row, or its group, changes its own scores, to first order, (n,)."""
        left = np.minimum(self.weights, 1.0) if self.groups is None else self.weights
        gradient = X * (left * found.residuals)[:, None]
        if self.groups is not None:
            together = np.zeros((int(self.groups.max()) + 1, X.shape[1]))
            np.add.at(together, self.groups, gradient)
            gradient = together[self.groups]
        return np.asarray(((X @ found.covariance) * gradient).sum(axis=1))

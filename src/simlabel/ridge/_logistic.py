"""Logistic regression with a normal prior, by Newton's steps: few columns, many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.special

from simlabel._utils.validation import FloatArray

_STEPS = 100
_NEAR = 1e-8  # of the largest coefficient: how short the last step is
_ROUNDING = 1e-13  # of the loss
_DAMPED = 1e-9  # of the curvature, for columns that say the same where nothing holds them


@dataclass(frozen=True)
class Logistic:
    """What was found.

    Attributes
    ----------
    coefficients : array, (n_columns,)
    residuals : array, (n_rows,)
        Target less probability.
    covariance : array, (n_columns, n_columns)
        The inverse of the curvature.
    """

    coefficients: FloatArray
    residuals: FloatArray
    covariance: FloatArray


def logistic(
    X: FloatArray, target: FloatArray, weights: FloatArray, centre: FloatArray, precision: FloatArray
) -> Logistic:
    """The coefficients with the smallest log loss, each held to its `centre` by its `precision`.

    Parameters
    ----------
    X : array, (n_rows, n_columns)
    target : array, (n_rows,)
        Between 0 and 1.
    weights : array, (n_rows,)
    centre, precision : array, (n_columns,)
        Of the prior, and where the search begins; a precision of 0 holds nothing.

    Examples
    --------
    >>> X = np.array([[1.0], [-1.0]])
    >>> found = logistic(X, np.array([1.0, 0.0]), np.ones(2), np.zeros(1), np.ones(1))
    >>> z = found.coefficients[0]
    >>> bool(np.isclose(z, 2.0 * (1.0 - 1.0 / (1.0 + np.exp(-z)))))  # where the gradient is 0
    True
    """
    at, value = np.array(centre, dtype=np.float64), np.inf
    step = np.zeros_like(at)
    for _ in range(_STEPS):
        z = X @ (at + step)
        loss = float(weights @ (np.logaddexp(0.0, z) - target * z))
        found = loss + 0.5 * float(precision @ (at + step - centre) ** 2)
        if found > value * (1.0 + _ROUNDING):
            step = step / 2.0  # too far
            continue
        at, value = at + step, found
        p = scipy.special.expit(z)
        curvature = (X * (weights * p * (1.0 - p))[:, None]).T @ X
        curvature[np.diag_indices(len(at))] += precision + _DAMPED * (1.0 + np.trace(curvature))
        factor = scipy.linalg.cho_factor(curvature, lower=True)
        step = scipy.linalg.cho_solve(factor, X.T @ (weights * (target - p)) - precision * (at - centre))
        if np.abs(step).max() <= _NEAR * (1.0 + np.abs(at).max()):
            at = at + step  # Newton's last step is exact to its square
            break
    return Logistic(at, target - p, scipy.linalg.cho_solve(factor, np.eye(len(at))))


def logistic_lines(x: FloatArray, target: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Slopes and offsets of one logistic regression for each column, (n_columns,) both.

    The same as `logistic` on each column with a column of ones, from slope 1 and offset 0 and without a
    prior. All columns take their steps together: thousands of calls would take minutes.

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
    step, value, open_ = np.zeros_like(at), np.full(x.shape[1], np.inf), np.arange(x.shape[1])
    for _ in range(_STEPS):
        if not len(open_):
            break
        X, y, w = x[:, open_], target[:, open_], weights[:, open_]
        to = at[:, open_] + step[:, open_]
        z = X * to[0] + to[1]
        found = (w * (np.logaddexp(0.0, z) - y * z)).sum(axis=0)
        good = found <= value[open_] * (1.0 + _ROUNDING)
        step[:, open_[~good]] /= 2.0  # too far
        X, y, w, z, now = X[:, good], y[:, good], w[:, good], z[:, good], open_[good]
        at[:, now], value[now] = to[:, good], found[good]
        step[:, now] = _newton(X, y, w, scipy.special.expit(z))
        near = np.abs(step[:, now]).max(axis=0) <= _NEAR * (1.0 + np.abs(at[:, now]).max(axis=0))
        at[:, now[near]] += step[:, now[near]]
        open_ = np.setdiff1d(open_, now[near])
    return at[0], at[1]


def _newton(X: FloatArray, y: FloatArray, w: FloatArray, p: FloatArray) -> FloatArray:
    """Newton's step of slope and offset for each column, (2, n_columns)."""
    bent, left = w * p * (1.0 - p), w * (y - p)
    a, b, c = (bent * X * X).sum(axis=0), (bent * X).sum(axis=0), bent.sum(axis=0)
    damped = _DAMPED * (1.0 + a + c)
    a, c = a + damped, c + damped
    slope, offset = (left * X).sum(axis=0), left.sum(axis=0)
    return np.stack([c * slope - b * offset, a * offset - b * slope]) / (a * c - b * b)

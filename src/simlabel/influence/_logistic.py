"""Logistic regression with a normal prior, by Newton's steps: few columns, many rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.special

from simlabel.support.validation import FloatArray

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

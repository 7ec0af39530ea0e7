"""What each column brings to a sum of RBF similarities, in which columns do not add up by themselves.

On the way from 0 to the query every column changes the sum by its derivative; what a column brings is that,
added up along the way (integrated gradients: Sundararajan, Taly and Yan 2017). All columns together bring
the difference between both ends.
"""

from __future__ import annotations

import numpy as np

from simlabel._utils.validation import FloatArray

_STEPS = 32  # of Gauss and Legendre: exact to many digits for a curve as smooth as this


def rbf_by_column(q: FloatArray, X: FloatArray, V: FloatArray, gamma: float) -> tuple[FloatArray, FloatArray]:
    """Contributions of the columns, (n_columns, width), and what is left of the sum, (width,).

    Parameters
    ----------
    q : array, (n_columns,)
    X : array, (n_references, n_columns)
    V : array, (n_references, width)

    Examples
    --------
    >>> q, X, V = np.array([1.0, 0.0, 0.5]), np.eye(3), np.ones((3, 1))
    >>> by_column, rest = rbf_by_column(q, X, V, 1.0)
    >>> (by_column.sum(axis=0) + rest).round(3), np.exp(-((X - q) ** 2).sum(axis=1)).sum().round(3)
    (array([1.171]), np.float64(1.171))
    """
    nodes, shares = np.polynomial.legendre.leggauss(_STEPS)
    found = np.zeros((len(q), V.shape[1]))
    for t, share in zip((nodes + 1.0) / 2.0, shares / 2.0, strict=True):
        terms = _similarities(t * q, X, gamma)[:, None] * V
        found -= 2.0 * gamma * share * q[:, None] * (t * q[:, None] * terms.sum(axis=0) - X.T @ terms)
    whole = _similarities(q, X, gamma) @ V
    return found, whole - found.sum(axis=0)


def _similarities(z: FloatArray, X: FloatArray, gamma: float) -> FloatArray:
    return np.exp(-gamma * ((X - z) ** 2).sum(axis=1))

"""Means and spreads of columns, put together from parts."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows._stack import fold
from simlabel._utils.validation import FloatArray, Rows


class Moments(NamedTuple):
    """Weight, means, and sums of squared deviations from the mean, of the columns of some rows."""

    weight: float
    mean: FloatArray
    squares: FloatArray


def moments(X: Rows, sample_weight: FloatArray) -> Moments:
    """Of a block of rows; centred before it is squared, since offsets would cancel digits."""
    weight = float(sample_weight.sum())
    if sp.issparse(X):
        mean = np.asarray(X.T @ sample_weight).ravel() / weight
        second = np.asarray(X.multiply(X).T @ sample_weight).ravel()
        return Moments(weight, mean, np.maximum(second - weight * mean**2, 0.0))
    mean = (sample_weight @ X) / weight
    return Moments(weight, mean, sample_weight @ (X - mean) ** 2)


def merged_moments(one: Moments, other: Moments) -> Moments:
    """Of both.

    Examples
    --------
    >>> a, b = moments(np.array([[1.0]]), np.ones(1)), moments(np.array([[3.0]]), np.ones(1))
    >>> merged_moments(a, b)
    Moments(weight=2.0, mean=array([2.]), squares=array([2.]))
    """
    weight = one.weight + other.weight
    apart = other.mean - one.mean
    mean = one.mean + apart * (other.weight / weight)
    squares = one.squares + other.squares + apart**2 * (one.weight * other.weight / weight)
    return Moments(weight, mean, squares)


def lazy_moments(X: Rows, sample_weight: FloatArray | None) -> Moments:
    """Of rows that are read part by part, or asked where they are."""
    weights = np.broadcast_to(1.0, X.shape[0]) if sample_weight is None else sample_weight
    return fold(X, moments, merged_moments, weights)

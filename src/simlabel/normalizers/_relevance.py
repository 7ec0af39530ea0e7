"""Columns weighed by what they say of the labels."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import LazyRows
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_numbers
from simlabel.normalizers._base import Normalizer

_PARTS = 5  # into which the values of a column are parted
_SHARE = 0.9  # of the squared weight that goes by relevance; the rest is alike for all
_ROUNDING = 1e-12  # a relevance that is no more than this
_AT_ONCE = 1 << 24  # numbers that are held at a time


class Relevance(Normalizer):
    """Columns weighed by what each by itself says of the labels: those that say nothing count less.

    The values of a column part the rows into five (a sparse column: into those that have an entry and the
    others). What lies between the parts is a share of a label's variance, the correlation ratio; less what
    chance alone would bring, and on the mean over the labels, that is the column's relevance. The square of
    its weight is 0.1 plus 0.9 times its relevance over the mean of all columns.

    It comes after the scaling of columns: ``normalizer=["zscore", "relevance"]``. It has seen the labels, and
    is held when a row is left out, as a bandwidth is: whether it helps is for folds to say, which
    `AutoSMLClassifier` asks.

    Attributes
    ----------
    weights_ : array, (n_features,)
        What columns are multiplied by.

    Examples
    --------
    >>> X = np.array([[i, i % 2] for i in range(20)])
    >>> Relevance().fit(X, X[:, :1] > 9).weights_.round(2)  # the second column says nothing
    array([1.38, 0.32])
    """

    name = "relevance"
    file_key = "normalization.Relevance"
    fitted_state = ("weights_",)
    learns_labels = True

    def keeps_nonnegative(self, rows: bool) -> bool:
        """Signs stay as they are."""
        return rows

    def check(self) -> None:
        """Raise ValueError where a weight is not above 0."""
        if hasattr(self, "weights_"):
            check_numbers("Relevance", "weights_", self.weights_, (None,), above=0)

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Learn the weights; y is the labels as 0 and 1, (n_rows, n_labels)."""
        if y is None:
            raise ValueError(
                "normalizer 'relevance' learns from labels: give it to the classifier itself, as in "
                "SMLClassifier(normalizer=['zscore', 'relevance']), not to a part of its similarity."
            )
        if isinstance(X, LazyRows):
            raise TypeError(
                "normalizer 'relevance' sorts all rows at once, and these are not in memory; take 'zscore' "
                "or 'minmax'."
            )
        n = X.shape[0]
        weights = np.ones(n) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        Y = np.asarray(y.toarray() if sp.issparse(y) else y, dtype=np.float64).reshape(n, -1)
        relevance = _beyond_chance(X, _standardized(Y, weights), weights)
        relevance[relevance < _ROUNDING] = 0.0
        mean = relevance.mean() if relevance.size else 0.0
        relative = relevance / mean if mean > 0 else np.ones_like(relevance)
        self.weights_ = np.sqrt(1.0 - _SHARE + _SHARE * relative)
        return self

    def transform(self, X: Rows) -> Rows:
        """Multiply the columns."""
        X = X if sp.issparse(X) else np.asarray(X)
        weights = self.weights_.astype(X.dtype if X.dtype.kind == "f" else np.float64)
        return sp.csr_array(X.multiply(weights[None, :])) if sp.issparse(X) else X * weights


def _standardized(Y: FloatArray, weights: FloatArray) -> FloatArray:
    """Labels that vary, with mean 0 and variance 1; one column of zeros where none does."""
    centred = Y - weights @ Y / weights.sum()
    variances = weights @ centred**2 / weights.sum()
    varying = variances > 1e-12
    if not varying.any():
        return np.zeros((len(Y), 1))
    return np.asarray(centred[:, varying] / np.sqrt(variances[varying]))


def _beyond_chance(X: Rows, Z: FloatArray, weights: FloatArray) -> FloatArray:
    """The mean share of the labels' variance that each column says, less that of chance, (n_features,)."""
    total, n_columns, out = weights.sum(), X.shape[1], np.zeros(X.shape[1])
    columns = sp.csc_array(X) if sp.issparse(X) else X
    size = max(1, _AT_ONCE // (_PARTS * max(1, *Z.shape)))
    for start in range(0, n_columns, size):
        some = columns[:, start : start + size]
        masses, sums = _by_entries(some, Z, weights) if sp.issparse(X) else _by_values(some, Z, weights)
        filled = masses > 1e-9 * total
        between = np.where(filled[:, :, None], sums**2, 0.0) / np.where(filled, masses, 1.0)[:, :, None]
        share = between.sum(axis=1).mean(axis=1) / total
        chance = (filled.sum(axis=1) - 1) / max(total - 1.0, 1.0)
        told = chance < 1.0 - 1e-9  # with a part for each row nothing is
        out[start : start + size][told] = ((share - chance) / np.where(told, 1.0 - chance, 1.0))[told]
    return out


_Parted = tuple[FloatArray, FloatArray]  # how much the rows of a part weigh, and their labels summed


def _by_values(X: FloatArray, Z: FloatArray, weights: FloatArray) -> _Parted:
    """Of dense columns: five parts of about as many rows each; equal values stay together."""
    masses, sums = np.zeros((X.shape[1], _PARTS)), np.zeros((X.shape[1], _PARTS, Z.shape[1]))
    weighed = Z * weights[:, None]
    for k, column in enumerate(np.asarray(X).T):
        values, places = np.unique(column, return_inverse=True)
        mass = np.bincount(places.ravel(), weights, minlength=len(values))
        middle = (np.cumsum(mass) - mass / 2.0) / mass.sum()  # as rows that are repeated would have it
        # a share that lies between two parts belongs to the upper one, however it was rounded
        at: IntArray = np.minimum(middle * _PARTS + 1e-9, _PARTS - 1).astype(np.int64)
        part = at[places.ravel()]
        onehot = np.zeros((len(part), _PARTS))
        onehot[np.arange(len(part)), part] = 1.0
        masses[k], sums[k] = weights @ onehot, onehot.T @ weighed
    return masses, sums


def _by_entries(X: sp.csc_array, Z: FloatArray, weights: FloatArray) -> _Parted:
    """Of sparse columns: rows without an entry, and with one; the labels' sum over both is 0."""
    there = (X != 0).astype(np.float64).T
    masses, sums = there @ weights, there @ (Z * weights[:, None])
    return np.column_stack([weights.sum() - masses, masses]), np.stack([-sums, sums], axis=1)

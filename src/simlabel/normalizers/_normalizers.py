"""Normalizers that map every row by itself, with values learned from the training rows."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
import scipy.special
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler, normalize

from simlabel._utils.rows import LazyRows, fold, lazy_moments
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_numbers

_KNOTS = 1000  # points of a quantile curve: a thousandth of the rows lies between two of them
_PARTS = 5  # parts of the values of a column, for relevance
_SHARE = 0.9  # of the squared weight that follows relevance; the rest is equal for all columns
_ROUNDING = 1e-12  # relevance below this is rounding
_AT_ONCE = 1 << 24  # numbers in memory at a time

_Extremes = tuple[FloatArray, FloatArray]
_Parts = tuple[FloatArray, FloatArray]  # weight of the rows of each part, and sums of their labels


class Normalizer(TransformerMixin, BaseEstimator):
    """Base class: transform every row by itself, with values learned from the training rows."""

    name: ClassVar[str]
    #: whether the output is >= 0 for any input
    nonnegative_output: bool = False
    #: whether fit learns from the rows, so that they are needed to fit again
    learns: bool = True
    #: whether fit learns from labels too
    learns_labels: bool = False
    #: names of the learned attributes, for a model file
    fitted_state: ClassVar[tuple[str, ...]] = ()

    def keeps_nonnegative(self, rows: bool) -> bool:
        """Return whether the output is >= 0; `rows` states whether the input is."""
        return self.nonnegative_output

    def check(self) -> None:
        """Raise ValueError if a parameter or a learned value is out of range."""

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Learn from the training rows."""
        return self


class UnitLength(Normalizer):
    """Scale every row to Euclidean length 1, as the paper does; a zero row stays zero.

    Examples
    --------
    >>> UnitLength().fit_transform([[3.0, 4.0], [0.0, 0.0]])
    array([[0.6, 0.8],
           [0. , 0. ]])
    """

    name = "l2"
    file_key = "normalization.UnitLength"
    learns = False

    def keeps_nonnegative(self, rows: bool) -> bool:
        """Return whether the input is >= 0: signs do not change."""
        return rows

    def transform(self, X: Rows) -> Rows:
        """Divide each row by its length."""
        if sp.issparse(X):
            return normalize(X)
        X = np.asarray(X)
        lengths = np.sqrt(np.einsum("ij,ij->i", X, X))
        lengths[lengths == 0] = 1.0
        return X / lengths[:, None]


class _Affine(Normalizer):
    """Compute (X - shift) * scale; a sparse X is not shifted, so that it stays sparse."""

    fitted_state = ("shift_", "scale_")

    def check(self) -> None:
        """Raise ValueError if a learned value is not finite, or a scale is not positive."""
        if hasattr(self, "shift_") or hasattr(self, "scale_"):
            check_numbers(type(self).__name__, "shift_", self.shift_, (None,))
            check_numbers(type(self).__name__, "scale_", self.scale_, self.shift_.shape, above=0)

    def transform(self, X: Rows) -> Rows:
        """Shift and scale the columns."""
        if sp.issparse(X):
            return sp.csr_array(X.multiply(self.scale_.astype(X.dtype)[None, :]))
        X = np.asarray(X)
        return (X - self.shift_.astype(X.dtype)) * self.scale_.astype(X.dtype)


class ZScore(_Affine):
    """Scale columns to mean 0 and standard deviation 1; constant columns become 0.

    Sparse columns are divided by their standard deviation and not shifted.

    Examples
    --------
    >>> ZScore().fit_transform(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[-1.,  0.],
           [ 1.,  0.]])
    """

    name = "zscore"
    file_key = "normalization.ZScore"

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Learn weighted means and standard deviations."""
        if isinstance(X, LazyRows):
            weight, mean, squares = lazy_moments(X, sample_weight)
            self.shift_ = np.zeros_like(mean) if X.sparse else mean
            self.scale_ = 1.0 / _above_zero(np.sqrt(squares / weight), mean)
            return self
        sparse = sp.issparse(X)
        scaler = StandardScaler(with_mean=not sparse).fit(X, sample_weight=sample_weight)
        self.shift_ = np.zeros(X.shape[1]) if sparse else np.asarray(scaler.mean_)
        self.scale_ = 1.0 / np.asarray(scaler.scale_)
        return self


class MinMax(_Affine):
    """Scale columns to [0, 1]; constant columns become 0.

    Values outside the range of the training rows are clipped to it. Sparse columns are divided by their
    largest magnitude and not shifted.

    Examples
    --------
    >>> MinMax().fit_transform(np.array([[1.0, 5.0], [3.0, 5.0]]))
    array([[0., 0.],
           [1., 0.]])
    """

    name = "minmax"
    file_key = "normalization.MinMax"
    nonnegative_output = True

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Learn the range of each column; weights have no effect."""
        if isinstance(X, LazyRows):
            low, high = fold(X, _extremes, _widest)
            largest = np.maximum(np.abs(low), np.abs(high))
            self.shift_ = np.zeros_like(low) if X.sparse else low
            self.scale_ = 1.0 / _above_zero(largest if X.sparse else high - low, largest)
            return self
        if sp.issparse(X):
            self.shift_ = np.zeros(X.shape[1])
            self.scale_ = 1.0 / np.asarray(MaxAbsScaler().fit(X).scale_)
        else:
            scaler = MinMaxScaler().fit(X)
            self.shift_ = np.asarray(scaler.data_min_)
            self.scale_ = np.asarray(scaler.scale_)
        return self

    def transform(self, X: Rows) -> Rows:
        """Shift, scale and clip the columns."""
        scaled = super().transform(X)
        return scaled if sp.issparse(X) else np.clip(scaled, 0.0, 1.0, out=scaled)


def _above_zero(spread: FloatArray, size: FloatArray) -> FloatArray:
    """Return the divisor of each column: its spread, or 1 if it is constant except for rounding."""
    return np.where(spread > 10 * np.finfo(np.float64).eps * np.abs(size), spread, 1.0)


def _extremes(X: Rows) -> _Extremes:
    """Return the lowest and the highest value of each column."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray(), high.toarray()
    return np.ravel(low).astype(np.float64), np.ravel(high).astype(np.float64)


def _widest(one: _Extremes, other: _Extremes) -> _Extremes:
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


class Quantile(Normalizer):
    """Replace values by normal scores: the quantile of a normal distribution at the same rank.

    The distance of an outlier depends on its rank only. The rank of a value is the share of the rows below
    it plus half of those equal to it; values in between are interpolated, and values outside the range are
    clipped. Constant columns become 0. A curve of at most 1,000 points is stored for each column. Sparse rows
    raise an error: nearly all of their zeros would become nonzero.

    Examples
    --------
    >>> Quantile().fit_transform(np.array([[1.0], [2.0], [3000.0]])).round(3)
    array([[-0.967],
           [ 0.   ],
           [ 0.967]])
    """

    name = "quantile"
    file_key = "normalization.Quantile"
    fitted_state = ("values_", "scores_")

    def check(self) -> None:
        """Raise ValueError if a learned curve decreases or has no point."""
        if hasattr(self, "values_") or hasattr(self, "scores_"):
            check_numbers("Quantile", "values_", self.values_, (None, None))
            check_numbers("Quantile", "scores_", self.scores_, self.values_.shape)
            if not self.values_.shape[1] or any((np.diff(a) < 0).any() for a in (self.values_, self.scores_)):
                raise ValueError("Quantile: the curves must have at least one point, and rise.")

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Learn the curve of each column; a row of weight w counts as w rows."""
        _refuse_sparse(X)
        weights = _weights_in_memory(self, X, sample_weight)
        X = np.asarray(X, dtype=np.float64)
        curves = [_curve(column, weights) for column in X.T]
        points = np.arange(max((len(values) for values, _ in curves), default=1))
        shape = len(curves), len(points)
        self.values_, self.scores_ = np.zeros(shape), np.zeros(shape)
        for k, (values, scores) in enumerate(curves):
            at = np.minimum(points, len(values) - 1)  # shorter curves repeat their last point
            self.values_[k], self.scores_[k] = values[at], scores[at]
        return self

    def transform(self, X: Rows) -> Rows:
        """Interpolate each column on its curve."""
        _refuse_sparse(X)
        X = np.asarray(X)
        normal = np.empty(X.shape, dtype=X.dtype if X.dtype.kind == "f" else np.float64)
        for k in range(X.shape[1]):
            normal[:, k] = np.interp(X[:, k], self.values_[k], self.scores_[k])
        return normal


def _weights_in_memory(normalizer: Normalizer, X: Rows, sample_weight: FloatArray | None) -> FloatArray:
    """Return the weight of each row, for normalizers that sort all rows at once."""
    if isinstance(X, LazyRows):
        raise TypeError(
            f"normalizer {normalizer.name!r} sorts all rows, but X is "
            f"not in memory; take 'zscore' or 'minmax'."
        )
    return np.ones(X.shape[0]) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)


def _refuse_sparse(X: Rows) -> None:
    if sp.issparse(X) or getattr(X, "sparse", False):
        raise TypeError(
            "normalizer 'quantile' would fill a sparse matrix with nonzero values; take 'l2', 'zscore' or "
            "'minmax', or pass dense rows."
        )


def _ranks(column: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray, IntArray]:
    """Return distinct values, the rank of each in [0, 1], and the index of the value of each row.

    The rank is the weight of smaller values plus half of that of equal ones: a weight means repetition.
    """
    values, index = np.unique(column, return_inverse=True)
    mass = np.bincount(index.ravel(), weights, minlength=len(values))
    return values, (np.cumsum(mass) - mass / 2.0) / mass.sum(), index.ravel()


def _curve(column: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return distinct values in ascending order and their normal scores; a sample of many values."""
    values, share, _ = _ranks(column, weights)
    if len(values) > _KNOTS:
        requested = np.linspace(share[0], share[-1], _KNOTS)
        some = np.unique(np.minimum(np.searchsorted(share, requested * (1.0 - 1e-12)), len(values) - 1))
        values, share = values[some], share[some]
    return values, scipy.special.ndtri(share)


class Relevance(Normalizer):
    """Weight columns by their relevance to the labels: uninformative columns count less.

    The values of a column divide the rows into five parts (a sparse column: rows with and without an entry).
    The share of a label's variance between the parts is the correlation ratio. Its mean over the labels, less
    the share expected by chance, is the column's relevance. The square of the column's weight is 0.1 plus
    0.9 times its relevance over the mean of all columns.

    Use it after scaling the columns: ``normalizer=["zscore", "relevance"]``. It learns from labels and is
    held when a row is left out, as a bandwidth is, so leave-one-out scores are optimistically biased. Use
    folds to check whether it helps, as `AutoSMLClassifier` does.

    Attributes
    ----------
    weights_ : array, (n_features,)
        Factor of each column.

    Examples
    --------
    >>> X = np.array([[i, i % 2] for i in range(20)])
    >>> Relevance().fit(X, X[:, :1] > 9).weights_.round(2)  # the second column is not relevant
    array([1.38, 0.32])
    """

    name = "relevance"
    file_key = "normalization.Relevance"
    fitted_state = ("weights_",)
    learns_labels = True

    def keeps_nonnegative(self, rows: bool) -> bool:
        """Return whether the input is >= 0: signs do not change."""
        return rows

    def check(self) -> None:
        """Raise ValueError if a weight is not above 0."""
        if hasattr(self, "weights_"):
            check_numbers("Relevance", "weights_", self.weights_, (None,), above=0)

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Learn the weights; y are the labels as 0 and 1, (n_rows, n_labels)."""
        if y is None:
            raise ValueError(
                "normalizer 'relevance' learns from labels: give it to the classifier itself, as in "
                "SMLClassifier(normalizer=['zscore', 'relevance']), not to a part of its similarity."
            )
        weights = _weights_in_memory(self, X, sample_weight)
        Y = np.asarray(y.toarray() if sp.issparse(y) else y, dtype=np.float64).reshape(len(weights), -1)
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
    """Return the labels that vary, with mean 0 and variance 1; one column of zeros if none does."""
    scaler = StandardScaler().fit(Y, sample_weight=weights)
    Z = scaler.transform(Y)[:, scaler.var_ > 1e-12]
    return Z if Z.shape[1] else np.zeros((len(Y), 1))


def _beyond_chance(X: Rows, Z: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the share of label variance that each column explains, less that of chance, (n_features,)."""
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
        measurable = chance < 1.0 - 1e-9  # false if each row is a part
        relevance = (share - chance) / np.where(measurable, 1.0 - chance, 1.0)
        out[start : start + size] = np.where(measurable, relevance, 0.0)
    return out


def _by_values(X: FloatArray, Z: FloatArray, weights: FloatArray) -> _Parts:
    """Divide the rows by dense columns into five parts of about equal weight; equal values stay together."""
    masses, sums = np.zeros((X.shape[1], _PARTS)), np.zeros((X.shape[1], _PARTS, Z.shape[1]))
    weighted = Z * weights[:, None]
    for k, column in enumerate(np.asarray(X).T):
        _, ranks, index = _ranks(column, weights)
        # a rank on the border of two parts belongs to the upper one, however it was rounded
        part: IntArray = np.minimum(ranks * _PARTS + 1e-9, _PARTS - 1).astype(np.int64)
        indicator = np.eye(_PARTS)[part[index]]
        masses[k], sums[k] = weights @ indicator, indicator.T @ weighted
    return masses, sums


def _by_entries(X: sp.csc_array, Z: FloatArray, weights: FloatArray) -> _Parts:
    """Divide the rows by sparse columns into those without and with an entry; label sums add up to 0."""
    there = (X != 0).astype(np.float64).T
    masses, sums = there @ weights, there @ (Z * weights[:, None])
    return np.column_stack([weights.sum() - masses, masses]), np.stack([-sums, sums], axis=1)

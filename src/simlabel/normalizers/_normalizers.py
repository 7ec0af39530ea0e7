"""Unit length, z-score, min-max, chains of these and others, and any scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler, normalize
from sklearn.utils.validation import has_fit_parameter

from simlabel._utils.registry import Registry
from simlabel._utils.rows import LazyRows, fold, lazy_moments, transformed
from simlabel._utils.validation import FloatArray, Rows, check_finite, check_numbers
from simlabel.normalizers._base import Normalizer
from simlabel.normalizers._quantile import Quantile
from simlabel.normalizers._relevance import Relevance


class UnitLength(Normalizer):
    """Every row at Euclidean length 1, as the paper assumes; a zero row stays zero.

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
        """Signs stay as they are."""
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
    """(X - shift) * scale; a sparse X is not shifted, so that it stays sparse."""

    fitted_state = ("shift_", "scale_")

    def check(self) -> None:
        """Raise ValueError where what was learnt is not finite, or would turn columns round."""
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
    """Columns with mean 0 and standard deviation 1; constant columns become 0.

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
        """Learn means and standard deviations, weighted."""
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
    """Columns in [0, 1]; constant columns become 0.

    What lies outside the range of the training rows is brought to its edge. Sparse columns are
    divided by their largest magnitude and not shifted.

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
        """Learn the range of each column; weights do not change it."""
        if isinstance(X, LazyRows):
            low, high = fold(X, _extremes, _wider)
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
        """Shift and scale the columns, and clip."""
        scaled = super().transform(X)
        return scaled if sp.issparse(X) else np.clip(scaled, 0.0, 1.0, out=scaled)


def _above_zero(spread: FloatArray, size: FloatArray) -> FloatArray:
    """A spread to divide by: 1 for columns that are constant but for rounding."""
    return np.where(spread > 10 * np.finfo(np.float64).eps * np.abs(size), spread, 1.0)


_Extremes = tuple[FloatArray, FloatArray]


def _extremes(X: Rows) -> _Extremes:
    """Lowest and highest value of each column."""
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray(), high.toarray()
    return np.ravel(low).astype(np.float64), np.ravel(high).astype(np.float64)


def _wider(one: _Extremes, other: _Extremes) -> _Extremes:
    return np.minimum(one[0], other[0]), np.maximum(one[1], other[1])


NORMALIZERS: Registry[Normalizer] = Registry(
    "normalizer", Normalizer, [UnitLength, ZScore, MinMax, Quantile, Relevance]
)


class Chain(Normalizer):
    """Several normalizers, one after the other.

    Parameters
    ----------
    steps : list of str or transformer
        Names or objects, in order.

    Examples
    --------
    >>> Chain(["zscore", "l2"]).fit_transform(np.array([[1.0, 5.0], [3.0, 7.0]])).round(3)
    array([[-0.707, -0.707],
           [ 0.707,  0.707]])
    """

    file_key = "normalization.Chain"

    fitted_state = ("fitted_",)

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = steps

    def check(self) -> None:
        """Raise where a step is not understood."""
        for steps in (self.steps, getattr(self, "fitted_", ())):
            if not isinstance(steps, list | tuple):
                raise TypeError(f"Chain: steps must be a list of normalizers, got {steps!r}.")
            for step in map(resolve_normalizer, steps):
                if step is not None:
                    step.check()
        for step in getattr(self, "fitted_", ()):  # a name stands for a normalizer that has learnt nothing
            if not isinstance(step, Normalizer):
                raise TypeError(f"Chain: what was fitted must be normalizers, got {step!r}.")

    @property
    def nonnegative_output(self) -> bool:  # type: ignore[override]
        """Whether the signs are gone at the end: unit length keeps them as they are."""
        return self.keeps_nonnegative(False)

    def keeps_nonnegative(self, rows: bool) -> bool:
        """After all of them."""
        for step in map(resolve_normalizer, self.steps):
            rows = rows if step is None else step.keeps_nonnegative(rows)
        return rows

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether one of them does."""
        return any(step.learns for step in map(resolve_normalizer, self.steps) if step is not None)

    @property
    def learns_labels(self) -> bool:  # type: ignore[override]
        """Whether one of them learns from labels."""
        return any(step.learns_labels for step in map(resolve_normalizer, self.steps) if step is not None)

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Fit each on what the former ones give."""
        self.fitted_ = []
        for step in self.steps:
            normalizer = fit_normalizer(resolve_normalizer(step), X, sample_weight, y)
            if normalizer is not None:
                X = transformed(normalizer, X)
                self.fitted_.append(normalizer)
        return self

    def transform(self, X: Rows) -> Rows:
        """Apply all of them."""
        for normalizer in self.fitted_:
            X = transformed(normalizer, X)
        return X


class _Transformer(Normalizer):
    """A scikit-learn transformer, with its output checked."""

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        if isinstance(X, LazyRows):
            raise TypeError(
                f"normalizer {self.transformer!r} learns from all rows at once, and these are not in memory. "
                f"Use {NORMALIZERS.choice} or a list of them, or transform the rows before."
            )
        weighted = sample_weight is not None and has_fit_parameter(self.transformer, "sample_weight")
        extra = {"sample_weight": sample_weight} if weighted else {}
        self.fitted_ = clone(self.transformer).fit(X, **extra)
        return self

    def transform(self, X: Rows) -> Rows:
        output = self.fitted_.transform(X)
        output = sp.csr_array(output) if sp.issparse(output) else np.asarray(output)
        if output.ndim != 2 or output.shape[0] != X.shape[0] or output.dtype.kind not in "fiub":
            raise ValueError(
                f"normalizer {self.transformer!r} returned {output.dtype} of shape {output.shape} "
                f"for {X.shape[0]} rows; expected numbers, one row for each."
            )
        if output.dtype not in (np.float32, np.float64):
            output = output.astype(np.float64)
        check_finite(output, f"normalized by {self.transformer!r}")
        return output


def resolve_normalizer(spec: Any) -> Normalizer | None:
    """Turn a name, a list of them, a transformer or None into a normalizer; None stays None."""
    if spec is None:
        return None
    if isinstance(spec, list | tuple):
        for step in spec:
            resolve_normalizer(step)  # names are checked now, not in the middle of a fit
        return Chain(spec)
    is_transformer = hasattr(spec, "fit") and hasattr(spec, "transform") and not isinstance(spec, type)
    if is_transformer and not isinstance(spec, Normalizer):
        return _Transformer(spec)
    return NORMALIZERS.resolve(spec)


def fit_normalizer(
    normalizer: Normalizer | None, X: Rows, sample_weight: FloatArray | None = None, Y: Rows | None = None
) -> Normalizer | None:
    """A fitted copy, or None for none; Y is the labels, for those that learn from them."""
    if normalizer is None:
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        fitted = clone(normalizer).fit(X, Y, sample_weight=sample_weight)
    try:
        fitted.check()  # as `load` does: what is fitted can be saved
    except ValueError as error:
        raise ValueError(
            f"normalizer {normalizer!r} cannot be fitted: X has features that are too large, or too far or "
            f"too little apart for it. Clip or rescale them first. ({error})"
        ) from None
    return fitted

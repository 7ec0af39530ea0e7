"""Chains of normalizers, scikit-learn transformers and names as normalizers, and a warning about scales."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.limits import limits
from simlabel._utils.registry import Registry
from simlabel._utils.rows import LazyRows, content_order, evenly_spaced_rows, transformed
from simlabel._utils.validation import FloatArray, Rows, check_finite
from simlabel.normalizers._normalizers import MinMax, Normalizer, Quantile, Relevance, UnitLength, ZScore

_ENOUGH = 10  # rows: with fewer, one column may dominate by chance
_DECIDES = 0.95  # share of the squared lengths, or of the squared distances
_FEW = 0.05  # share of the columns that vary

NORMALIZERS: Registry[Normalizer] = Registry(
    "normalizer", Normalizer, [UnitLength, ZScore, MinMax, Quantile, Relevance]
)


class Chain(Normalizer):
    """Apply several normalizers, one after the other.

    Parameters
    ----------
    steps : list of str or transformer
        Names or objects, in order of application.

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

    def _resolved(self) -> list[Normalizer]:
        return [step for step in map(resolve_normalizer, self.steps) if step is not None]

    def check(self) -> None:
        """Raise TypeError or ValueError if a step is not a normalizer."""
        fitted = getattr(self, "fitted_", ())
        for steps in (self.steps, fitted):
            if not isinstance(steps, list | tuple):
                raise TypeError(f"Chain: steps must be a list of normalizers, got {steps!r}.")
        for step in (*self._resolved(), *fitted):
            if not isinstance(step, Normalizer):  # names are not fitted
                raise TypeError(f"Chain: what was fitted must be normalizers, got {step!r}.")
            step.check()

    @property
    def nonnegative_output(self) -> bool:  # type: ignore[override]
        """Whether the output is >= 0 for any input."""
        return self.keeps_nonnegative(False)

    def keeps_nonnegative(self, rows: bool) -> bool:
        """Return whether the output of the last step is >= 0."""
        for step in self._resolved():
            rows = step.keeps_nonnegative(rows)
        return rows

    @property
    def learns(self) -> bool:  # type: ignore[override]
        """Whether one of the steps learns from the rows."""
        return any(step.learns for step in self._resolved())

    @property
    def learns_labels(self) -> bool:  # type: ignore[override]
        """Whether one of the steps learns from labels."""
        return any(step.learns_labels for step in self._resolved())

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Fit each step to the output of the former ones."""
        self.fitted_: list[Normalizer] = []
        for step in self._resolved():
            fitted = fit_normalizer(step, X, sample_weight, y)
            assert fitted is not None
            X = transformed(fitted, X)
            self.fitted_.append(fitted)
        return self

    def transform(self, X: Rows) -> Rows:
        """Apply all steps."""
        for normalizer in self.fitted_:
            X = transformed(normalizer, X)
        return X


class _Transformer(Normalizer):
    """Wrap a scikit-learn transformer, and check its output."""

    def __init__(self, transformer: Any) -> None:
        self.transformer = transformer

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        if isinstance(X, LazyRows):
            raise TypeError(
                f"normalizer {self.transformer!r} learns from all rows at once, but X is not in memory. "
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
    """Return the normalizer for a name, a list of names, a transformer or an object; None for None."""
    if spec is None:
        return None
    if isinstance(spec, list | tuple):
        for step in spec:
            resolve_normalizer(step)  # names are checked before the fit
        return Chain(spec)
    is_transformer = hasattr(spec, "fit") and hasattr(spec, "transform") and not isinstance(spec, type)
    if is_transformer and not isinstance(spec, Normalizer):
        return _Transformer(spec)
    return NORMALIZERS.resolve(spec)


def fit_normalizer(
    normalizer: Normalizer | None, X: Rows, sample_weight: FloatArray | None = None, Y: Rows | None = None
) -> Normalizer | None:
    """Return a fitted copy, or None for None; Y are the labels, for normalizers that learn from them."""
    if normalizer is None:
        return None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        fitted = clone(normalizer).fit(X, Y, sample_weight=sample_weight)
    try:
        fitted.check()  # as `load` does, so that a fitted model can be saved and loaded
    except ValueError as error:
        raise ValueError(
            f"normalizer {normalizer!r} cannot be fitted: X has features that are too large, or too far or "
            f"too little apart for it. Clip or rescale them first. ({error})"
        ) from None
    return fitted


class UnitsWarning(SimlabelWarning):
    """Very few columns dominate the similarity of rows, because of their units."""


def units_message(X: Rows, normalizer: Normalizer | None, names: object = None) -> str | None:
    """Return the text of a warning if very few columns dominate all distances, else None.

    Very few means one column, or at most a twentieth of the columns that vary. They dominate if they make up
    at least 95% of the squared lengths of all rows, or of the squared distances without a normalizer.

    Parameters
    ----------
    X : rows, (n_rows, n_features)
        Rows before normalization; only dense rows in memory are checked.
    normalizer : Normalizer or None
        One that learns brings columns to one scale.
    names : array of str, optional
        Names of the columns.

    Examples
    --------
    >>> rows = np.array([[41.0, 1.8, 52000.0], [33.0, 1.7, 48000.0], [60.0, 1.6, 11000.0]])
    >>> units_message(np.repeat(rows, 4, axis=0), None, ["age", "height", "income"])[:52]
    "column 'income' makes up 100.0% of squared distances"
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] < 3 or len(X) < _ENOUGH:
        return None
    if normalizer is not None and normalizer.learns:
        return None
    most = limits().compared_rows
    some = X if len(X) <= most else X[evenly_spaced_rows(content_order(X), most)]
    some = some.astype(np.float64, copy=False)
    spread = some.var(axis=0)
    varying = np.count_nonzero(spread)
    if varying < 3:
        return None
    size = spread if normalizer is None else spread + some.mean(axis=0) ** 2
    largest = np.argsort(-size, kind="stable")
    shares = np.cumsum(size[largest]) / size.sum()
    m = int(np.searchsorted(shares, _DECIDES)) + 1
    if m > max(1.0, _FEW * varying):
        return None
    named = ", ".join(repr(k if names is None else names[k]) for k in largest[:m].tolist())  # type: ignore[index]
    subject = f"column {named} makes" if m == 1 else f"columns {named} ({m} of {X.shape[1]}) make"
    of = "distances" if normalizer is None else "lengths"
    return (
        f"{subject} up {shares[m - 1]:.1%} of squared {of}: the others hardly count, in their units; "
        f"normalizer='auto' or 'zscore' brings columns to one scale."
    )

"""Columns as normal scores: only the order of values counts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import scipy.special

from simlabel._utils.rows import LazyRows
from simlabel._utils.validation import FloatArray, Rows, check_numbers
from simlabel.normalizers._base import Normalizer

_KNOTS = 1000  # of a column: between two neighbours lies a thousandth of the rows


class Quantile(Normalizer):
    """Columns as normal scores: the value that a normal variable has at the same rank.

    An outlier is no further out than its rank. The rank of a value is the share of the rows below it and
    half of those that are equal to it; values between two that were seen lie between their scores, and
    values beyond all are brought to the edge. Constant columns become 0. A curve of at most 1,000 points
    is kept for each column. Sparse rows are refused: nearly all of their zeros would become something else.

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
        """Raise ValueError where what was learnt is no rising curve for each column."""
        if hasattr(self, "values_") or hasattr(self, "scores_"):
            check_numbers("Quantile", "values_", self.values_, (None, None))
            check_numbers("Quantile", "scores_", self.scores_, self.values_.shape)
            if not self.values_.shape[1] or any((np.diff(a) < 0).any() for a in (self.values_, self.scores_)):
                raise ValueError("Quantile: the curves must have at least one point, and rise.")

    def fit(self, X: Rows, y: Any = None, sample_weight: FloatArray | None = None) -> Self:
        """Learn the curve of each column; a row of weight w counts as w rows."""
        _refuse_sparse(X)
        if isinstance(X, LazyRows):
            raise TypeError(
                "normalizer 'quantile' sorts all rows at once, and these are not in memory; take 'zscore' or "
                "'minmax'."
            )
        X = np.asarray(X, dtype=np.float64)
        weights = np.ones(len(X)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
        curves = [_curve(column, weights) for column in X.T]
        most = max((len(values) for values, _ in curves), default=1)
        self.values_, self.scores_ = np.zeros((len(curves), most)), np.zeros((len(curves), most))
        for k, (values, scores) in enumerate(curves):  # shorter ones end in copies of their last point
            self.values_[k], self.scores_[k] = values[-1], scores[-1]
            self.values_[k, : len(values)], self.scores_[k, : len(scores)] = values, scores
        return self

    def transform(self, X: Rows) -> Rows:
        """Read each column off its curve."""
        _refuse_sparse(X)
        X = np.asarray(X)
        normal = np.empty(X.shape, dtype=X.dtype if X.dtype.kind == "f" else np.float64)
        for k in range(X.shape[1]):
            normal[:, k] = np.interp(X[:, k], self.values_[k], self.scores_[k])
        return normal


def _refuse_sparse(X: Rows) -> None:
    if sp.issparse(X) or getattr(X, "sparse", False):
        raise TypeError(
            "normalizer 'quantile' would fill a sparse matrix with numbers; take 'l2', 'zscore' or 'minmax', "
            "or give dense rows."
        )


def _curve(column: FloatArray, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Values in rising order, each once, and their normal scores; where there are many, some of them."""
    values, places = np.unique(column, return_inverse=True)
    mass = np.bincount(places.ravel(), weights, minlength=len(values))
    share = (np.cumsum(mass) - mass / 2.0) / mass.sum()
    if len(values) > _KNOTS:
        wanted = np.linspace(share[0], share[-1], _KNOTS)
        some = np.unique(np.minimum(np.searchsorted(share, wanted * (1.0 - 1e-12)), len(values) - 1))
        values, share = values[some], share[some]
    return values, scipy.special.ndtri(share)

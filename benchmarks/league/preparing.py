"""Preprocessing of some methods: scaled columns, dense rows, words of a raw table, a data frame."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.preprocessing import StandardScaler

from simlabel._utils.validation import FloatArray


class ScaledColumns(TransformerMixin, BaseEstimator):
    """Dense columns to mean 0 and variance 1; sparse rows as they are."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn means and variances."""
        self.scaler_ = None if sp.issparse(X) else StandardScaler().fit(X)
        return self

    def transform(self, X: Any) -> Any:
        """The rows on that scale."""
        return X if self.scaler_ is None else self.scaler_.transform(X)


class Dense(TransformerMixin, BaseEstimator):
    """Sparse rows as dense ones, for methods that require them."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Nothing to learn."""
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X: Any) -> Any:
        """The rows, dense."""
        return X.toarray() if sp.issparse(X) else X


class Words(TransformerMixin, BaseEstimator):
    """TF-IDF weights of the words and word pairs in all cells of a row of a raw table.

    Examples
    --------
    >>> Words().fit_transform(pd.DataFrame({"title": ["a sea", "the sea"], "year": [1, 2]})).shape
    (2, 3)
    """

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:
        """Learn the words."""
        self.words_ = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True).fit(_texts(X))
        return self

    def transform(self, X: pd.DataFrame) -> sp.csr_array:
        """Weights of the words, (n_rows, n_words)."""
        return sp.csr_array(self.words_.transform(_texts(X)))


def _texts(frame: pd.DataFrame) -> list[str]:
    return [" ".join(cells) for cells in frame.fillna("").astype(str).itertuples(index=False)]


class AsFrame(ClassifierMixin, BaseEstimator):
    """Pass the columns of a matrix to an estimator of tables as a data frame of numbers.

    Parameters
    ----------
    estimator : estimator
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Fit on the frame."""
        self.model_ = clone(self.estimator).fit(_frame(X), y)
        return self

    def predict(self, X: Any) -> Any:
        """As the estimator does."""
        return self.model_.predict(_frame(X))

    def decision_function(self, X: Any) -> FloatArray:
        """As the estimator does."""
        return np.asarray(self.model_.decision_function(_frame(X)))


def _frame(X: Any) -> pd.DataFrame:
    return pd.DataFrame(np.asarray(X), columns=[f"x{k}" for k in range(X.shape[1])])

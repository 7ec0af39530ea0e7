"""IBLR-ML: logistic regression on how many of the neighbors have each label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler

from simlabel._utils.validation import FloatArray, check_number
from simlabel.baselines import ConstantFallback

_MAX_STEPS = 1000  # of the solver


class IBLRML(ClassifierMixin, BaseEstimator):
    """Instance-based learning and logistic regression, by Cheng and Hüllermeier (2009).

    The shares of a row's k nearest neighbors that have each label are features; one logistic regression
    per label reads all of them, and so learns how labels depend on each other. A training row is not
    its own neighbor.

    Parameters
    ----------
    n_neighbors : int
        Neighbors of a row; 10 in the paper.
    with_features : bool
        Whether the regressions also read the features: IBLR-ML+ in the paper.
    C : float
        Inverse strength of the regressions' ridge penalty. The paper has none; a large value comes near.

    References
    ----------
    W. Cheng and E. Hüllermeier. Combining instance-based learning and logistic regression for multilabel
    classification. Machine Learning 76, 2009.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> y = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> IBLRML(2).fit(X, y).predict([[0.05], [1.05]])
    array([[1, 0],
           [0, 1]], dtype=int8)
    """

    def __init__(self, n_neighbors: int = 10, *, with_features: bool = False, C: float = 1e3) -> None:
        self.n_neighbors = n_neighbors
        self.with_features = with_features
        self.C = C

    def fit(self, X: Any, y: Any) -> Self:
        """Count the neighbors of each row among the others, and learn a regression per label."""
        check_number("IBLRML", "n_neighbors", self.n_neighbors, at_least=1, integer=True)
        check_number("IBLRML", "C", self.C, above=0)
        self._Y = np.asarray(y, dtype=np.float64)
        if len(self._Y) < 2:
            raise ValueError(f"IBLRML needs 2 rows or more: none is its own neighbor; got {len(self._Y)}.")
        X = self._scaled(X, learn=True)
        self.n_neighbors_ = min(int(self.n_neighbors), len(self._Y) - 1)
        self._index = NearestNeighbors(n_neighbors=self.n_neighbors_).fit(X)
        shares = self._shares(self._index.kneighbors(return_distance=False), X)
        base = LogisticRegression(C=self.C, max_iter=_MAX_STEPS)
        self.models_ = [ConstantFallback(base).fit(shares, column) for column in self._Y.T.astype(int)]
        return self

    def _scaled(self, X: Any, *, learn: bool) -> Any:
        """Columns to [0, 1], as the neighbors of ML-kNN are searched for; sparse rows stay as they are."""
        if sp.issparse(X):
            return X
        if learn:
            self._scaler = MinMaxScaler().fit(X)
        return self._scaler.transform(X)

    def _shares(self, neighbors: Any, X: Any) -> FloatArray:
        shares: FloatArray = self._Y[neighbors].mean(axis=1)
        if not self.with_features:
            return shares
        return np.hstack([shares, X.toarray() if sp.issparse(X) else X])

    def predict_proba(self, X: Any) -> FloatArray:
        """Probability of each label, (n_rows, n_labels)."""
        X = self._scaled(X, learn=False)
        shares = self._shares(self._index.kneighbors(X, return_distance=False), X)
        return np.column_stack([model.predict_proba(shares)[:, 1] for model in self.models_])

    def predict(self, X: Any) -> Any:
        """Labels whose probability is above one half, (n_rows, n_labels)."""
        return (self.predict_proba(X) > 0.5).astype(np.int8)

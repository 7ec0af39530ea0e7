"""Two wrappers that scikit-learn lacks: label powerset, and a classifier that bears a constant label."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from simlabel._utils.validation import FloatArray


class LabelPowerset(ClassifierMixin, BaseEstimator):
    """Every distinct label set is a class of its own.

    A label's score is the summed probability of the sets that have it.

    Parameters
    ----------
    estimator : classifier
        Multi-class, with `predict_proba`.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = LabelPowerset(KNeighborsClassifier(1)).fit([[0.0], [1.0]], np.array([[1, 1, 0], [0, 1, 0]]))
    >>> model.predict([[0.1]])
    array([[1, 1, 0]])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Number the distinct rows of y and learn the numbers."""
        self.sets_, numbers = np.unique(np.asarray(y), axis=0, return_inverse=True)
        several = len(self.sets_) > 1
        self.estimator_ = clone(self.estimator).fit(X, numbers.ravel()) if several else None
        return self

    def predict(self, X: Any) -> Any:
        """The likeliest set of each row, (n_rows, n_labels)."""
        if self.estimator_ is None:
            return np.repeat(self.sets_, _length(X), axis=0)
        return self.sets_[self.estimator_.predict(X)]

    def predict_proba(self, X: Any) -> FloatArray:
        """Summed probability of the sets that have the label, (n_rows, n_labels)."""
        if self.estimator_ is None:
            return np.repeat(self.sets_, _length(X), axis=0).astype(np.float64)
        shares: FloatArray = self.estimator_.predict_proba(X) @ self.sets_
        return np.clip(shares, 0.0, 1.0)


class OrConstant(ClassifierMixin, BaseEstimator):
    """A classifier of 0 and 1 that also bears only one of them: it then predicts that one, always.

    Folds of rare labels have such columns, and most classifiers refuse them.

    Parameters
    ----------
    estimator : classifier

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> OrConstant(LogisticRegression()).fit([[0.0], [1.0]], [1, 1]).predict([[0.5]])
    array([1])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Learn, or remember the one class."""
        classes = np.unique(y)
        self.classes_ = np.array([0, 1])
        self.constant_ = int(classes[0]) if len(classes) == 1 else None
        self.estimator_ = clone(self.estimator).fit(X, y) if self.constant_ is None else None
        return self

    def predict(self, X: Any) -> Any:
        """0 or 1 for each row, (n_rows,)."""
        return np.full(_length(X), self.constant_) if self.estimator_ is None else self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities of 0 and 1, (n_rows, 2)."""
        if self.estimator_ is None:
            return np.tile(self.classes_ == self.constant_, (_length(X), 1)).astype(np.float64)
        shares: FloatArray = self.estimator_.predict_proba(X)
        return shares


def _length(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)

"""The base class of the baselines, and label powerset and constant labels for scikit-learn's classifiers."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.dummy import DummyClassifier
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.limits import limits
from simlabel._utils.progress import progress
from simlabel._utils.threads import respects_n_jobs
from simlabel._utils.validation import (
    AnyArray,
    BoolArray,
    Rows,
    check_features,
    check_same_length,
    check_sample_weight,
)
from simlabel.labels import Indicator, LabelSpace
from simlabel.metrics import Truth, exact_rows
from simlabel.model import drop_zero_weight_rows

Float64Array = npt.NDArray[np.float64]


def boosting_rounds(n_rounds: int, description: str, verbose: bool) -> Iterator[int]:
    """Count from 0 to `n_rounds`, with a progress bar if `verbose`."""
    with progress(description, n_rounds, verbose) as advance:
        for each in range(n_rounds):
            yield each
            advance()


class BaselineClassifier(ClassifierMixin, BaseEstimator):
    """A multi-label classifier that scores every label and reads the label set off the scores.

    A subclass defines ``_learn(X, Y, weights)``, which may set fitted attributes freely, ``_score(X)``, which
    gets a block of rows, and ``_relevant(scores)``. With one class per row (1-D y) the classes are the
    labels, ``_relevant`` is not called, and `predict` returns the first class with the highest score.
    """

    classes_: AnyArray
    _space: LabelSpace
    _absent: BoolArray

    def _learn(self, X: Rows, Y: Indicator, weights: Float64Array) -> None:
        raise NotImplementedError

    def _score(self, X: Rows) -> Float64Array:
        raise NotImplementedError

    def _relevant(self, scores: Float64Array) -> BoolArray:
        raise NotImplementedError

    @respects_n_jobs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Features.
        y : array-like, (n_rows,) or (n_rows, n_labels); sparse; data frame; or list of sets
            One class per row, a 0/1 matrix, or label sets.
        sample_weight : array-like, (n_rows,), optional
            How many times each row counts: a weight of 2 equals repeating the row.

        Returns
        -------
        self
            If it fails, the previous fit is kept.
        """
        # scikit-learn's checks change the estimator, so a copy is fitted.
        shadow = copy.copy(self)
        space, Y = LabelSpace.learn(y)
        X = check_features(shadow, X, reset=True)
        check_same_length(X.shape[0], Y, "y")
        batch = drop_zero_weight_rows(X, space, Y, sample_weight, np.arange(X.shape[0]), None)
        if batch.Y.shape[1] == 0:
            raise ValueError("y has no labels; at least one is needed.")
        shadow._space, shadow.classes_ = batch.labels, batch.labels.classes
        shadow._absent = np.bincount(batch.Y.indices, minlength=batch.Y.shape[1]) == 0
        shadow._learn(batch.X, batch.Y, batch.weights.astype(np.float64))
        self.__dict__ = shadow.__dict__
        return self

    @respects_n_jobs
    def decision_function(self, X: Any) -> Float64Array:
        """Score the labels.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Rows to score.

        Returns
        -------
        array, (n_rows, n_labels)
            Higher is more likely. For a 1-D y of two classes: (n_rows,), the second score minus the first.
        """
        return self._present(self._scores(self._check(X)))

    @respects_n_jobs
    def predict(self, X: Any) -> Any:
        """Predict the labels, in the form that y had in fit.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Rows to label.

        Returns
        -------
        array, sparse, data frame or list
            Classes (1-D y), a 0/1 matrix, or label sets; a label set may be empty.
        """
        predicted = self._predicted(self._check(X))
        index = getattr(X, "index", None)  # of a list this is a method
        return self._space.decode(predicted, None if callable(index) else index)

    @respects_n_jobs
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose labels are all predicted correctly.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Rows to label.
        y : as in fit
            Their true labels; a row with a label that was not seen in fit counts as wrong.
        sample_weight : array-like, (n_rows,), optional
            How many times each row is counted.

        Returns
        -------
        float
        """
        X = self._check(X)
        Y, unknown = self._space.encode(y)
        check_same_length(X.shape[0], Y, "y")
        exact = exact_rows(Truth(Y), self._predicted(X)) * ~unknown
        return float(np.average(exact, weights=check_sample_weight(sample_weight, X.shape[0])))

    def _scores(self, X: Rows) -> Float64Array:
        """Score all rows, block by block, (n_rows, n_labels)."""
        scores = np.empty((X.shape[0], len(self.classes_)))
        for start in range(0, X.shape[0], limits().block_rows):
            rows = slice(start, start + limits().block_rows)
            with np.errstate(over="ignore", invalid="ignore"):  # an error below explains it
                scores[rows] = self._score(X[rows])
        if not np.isfinite(scores).all():
            row = int(np.argwhere(~np.isfinite(scores))[0][0])
            raise ValueError(f"{type(self).__name__}: the scores of row {row} overflow. Scale the features.")
        return scores

    def _check(self, X: Any) -> Rows:
        check_is_fitted(self)
        return check_features(self, X, reset=False)

    def _predicted(self, X: Rows) -> Indicator:
        scores = self._scores(X)
        if self._space.kind == "single":
            relevant = np.zeros(scores.shape, dtype=bool)
            relevant[np.arange(len(scores)), scores.argmax(axis=1)] = True
        else:
            relevant = self._relevant(scores)
        return sp.csr_array(relevant.astype(np.int8))

    def _present(self, scores: Float64Array) -> Float64Array:
        """Reduce the scores of two classes to one column, as scikit-learn does."""
        two_classes = self._space.kind == "single" and scores.shape[1] == 2
        return scores[:, 1] - scores[:, 0] if two_classes else scores

    def _absent_labels(self) -> BoolArray:
        """Return which labels no training row had, for scorers."""
        return self._absent

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_space")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


class LabelPowerset(ClassifierMixin, BaseEstimator):
    """Treat every distinct label set as a class.

    The score of a label is the summed probability of the sets that contain it.

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
        """Number the distinct rows of y, and learn the numbers."""
        self.sets_, numbers = np.unique(np.asarray(y), axis=0, return_inverse=True)
        estimator = clone(self.estimator) if len(self.sets_) > 1 else DummyClassifier()
        self.estimator_ = estimator.fit(X, numbers.ravel())
        return self

    def predict(self, X: Any) -> Any:
        """Return the most likely set of each row, (n_rows, n_labels)."""
        return self.sets_[self.estimator_.predict(X)]

    def predict_proba(self, X: Any) -> Float64Array:
        """Return the summed probability of the sets with each label, (n_rows, n_labels)."""
        return np.clip(self.estimator_.predict_proba(X) @ self.sets_, 0.0, 1.0)


class ConstantFallback(ClassifierMixin, BaseEstimator):
    """A classifier of 0 and 1 that accepts a constant label, and then always predicts it.

    Folds of rare labels have such columns, and most classifiers refuse them.

    Parameters
    ----------
    estimator : classifier

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> ConstantFallback(LogisticRegression()).fit([[0.0], [1.0]], [1, 1]).predict([[0.5]])
    array([1])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the classifier if both classes occur."""
        estimator = clone(self.estimator) if len(np.unique(y)) > 1 else DummyClassifier()
        self.estimator_, self.classes_ = estimator.fit(X, y), np.array([0, 1])
        return self

    def predict(self, X: Any) -> Any:
        """Return 0 or 1 for each row, (n_rows,)."""
        return self.estimator_.predict(X)

    def predict_proba(self, X: Any) -> Float64Array:
        """Return the probabilities of 0 and 1, (n_rows, 2)."""
        given = self.estimator_.predict_proba(X)
        shares = np.zeros((len(given), 2))
        shares[:, np.asarray(self.estimator_.classes_, dtype=np.int64)] = given
        return shares

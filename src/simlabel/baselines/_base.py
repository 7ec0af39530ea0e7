"""What the rivals share: reading X and y, publishing a fit whole, and giving label sets back."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.limits import limits
from simlabel._utils.threads import within_n_jobs
from simlabel._utils.validation import Rows, check_features, check_same_length, check_sample_weight
from simlabel.labels import Indicator, LabelSpace
from simlabel.model import drop_weightless

Scores = npt.NDArray[np.float64]


class BaselineClassifier(ClassifierMixin, BaseEstimator):
    """A multi-label learner that gives every label a score and reads the label set off the scores.

    A child defines ``_learn(X, Y, weights)``, which may set fitted attributes freely, ``_score(X)``, which
    gets a block of rows, and ``_relevant(scores)``. With one class per row (1-D y) the classes are the
    labels, ``_relevant`` is not asked, and `predict` gives the class of the highest score (of equals, the
    first).
    """

    classes_: npt.NDArray[Any]
    _space: LabelSpace
    _absent: npt.NDArray[np.bool_]

    def _learn(self, X: Rows, Y: Indicator, weights: Scores) -> None:
        raise NotImplementedError

    def _score(self, X: Rows) -> Scores:
        raise NotImplementedError

    def _relevant(self, scores: Scores) -> npt.NDArray[np.bool_]:
        raise NotImplementedError

    @within_n_jobs
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from rows with known labels.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Features.
        y : array-like, (n_rows,) or (n_rows, n_labels); sparse; data frame; or list of sets
            One class per row, a 0/1 matrix, or label sets.
        sample_weight : array-like, (n_rows,), optional
            How many times each row counts: a weight of 2 is the same as giving the row twice.

        Returns
        -------
        self
            A fit that fails leaves the former one as it was.
        """
        # scikit-learn's checks write on the estimator at once, so the work is done on a copy.
        shadow = copy.copy(self)
        space, Y = LabelSpace.learn(y)
        X = check_features(shadow, X, reset=True)
        check_same_length(X.shape[0], Y, "y")
        batch = drop_weightless(X, space, Y, sample_weight, np.arange(X.shape[0]), None)
        if batch.Y.shape[1] == 0:
            raise ValueError("y has no labels; at least one is needed.")
        shadow._space, shadow.classes_ = batch.labels, batch.labels.classes
        shadow._absent = np.bincount(batch.Y.indices, minlength=batch.Y.shape[1]) == 0
        shadow._learn(batch.X, batch.Y, batch.weights.astype(np.float64))
        self.__dict__ = shadow.__dict__
        return self

    @within_n_jobs
    def decision_function(self, X: Any) -> Scores:
        """Score the labels.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Rows to score.

        Returns
        -------
        array, (n_rows, n_labels)
            Higher is likelier. For a 1-D y of two classes: (n_rows,), the second score less the first.
        """
        return self._present(self._scores(self._check(X)))

    @within_n_jobs
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

    @within_n_jobs
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Give the share of rows whose labels are all predicted right.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Rows to label.
        y : as in fit
            Their true labels; a row with a label that fit did not see counts as wrong.
        sample_weight : array-like, (n_rows,), optional
            How many times each row is counted.

        Returns
        -------
        float
        """
        X = self._check(X)
        Y, unknown = self._space.encode(y)
        check_same_length(X.shape[0], Y, "y")
        wrong = np.asarray(abs(Y - self._predicted(X)).sum(axis=1)).ravel() > 0
        weights = check_sample_weight(sample_weight, X.shape[0])
        return float(np.average(~(wrong | unknown), weights=weights))

    def _scores(self, X: Rows) -> Scores:
        """Score all rows, block by block, (n_rows, n_labels)."""
        scores = np.empty((X.shape[0], len(self.classes_)))
        for start in range(0, X.shape[0], limits().block_rows):
            rows = slice(start, start + limits().block_rows)
            with np.errstate(over="ignore", invalid="ignore"):  # it is refused below, in words
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

    def _present(self, scores: Scores) -> Scores:
        """Give scores the shape that scikit-learn expects of two classes."""
        two_classes = self._space.kind == "single" and scores.shape[1] == 2
        return scores[:, 1] - scores[:, 0] if two_classes else scores

    def _absent_labels(self) -> npt.NDArray[np.bool_]:
        """Which labels no training row had, for scorers."""
        return self._absent

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_space")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags

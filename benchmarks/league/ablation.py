"""Ablation: AutoSML with one of its ingredients replaced by the paper's choice."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from simlabel._utils.validation import FloatArray
from simlabel.estimators import AutoSMLClassifier, Configuration, default_configurations
from simlabel.model import Batch
from simlabel.ridge import Ridge
from simlabel.similarities import RBF


class Ablated(ClassifierMixin, BaseEstimator):
    """AutoSML with the paper's choice in place of one ingredient.

    Parameters
    ----------
    estimator : AutoSMLClassifier
    ingredient : {"normalizer", "similarity", "influence", "mixing", "rule"}
        The ingredient that is replaced.

    Examples
    --------
    >>> from simlabel import AutoSMLClassifier
    >>> X, y = [[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.8]], np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> model = Ablated(AutoSMLClassifier(random_state=0), "similarity").fit(X, y)
    >>> model.model_.similarity_.__class__.__name__
    'RBF'
    """

    def __init__(self, estimator: Any, ingredient: str) -> None:
        self.estimator = estimator
        self.ingredient = ingredient

    def fit(self, X: Any, y: Any) -> Self:
        """Choose among the remaining configurations, and fit."""
        model = clone(self.estimator)
        rows = X if hasattr(X, "shape") else np.asarray(X)
        if self.ingredient == "similarity":
            model = _ByRBF(**model.get_params(deep=False))
        elif self.ingredient == "rule":
            model.label_rule = "set_size"
        elif self.ingredient != "mixing":
            kept = [one for one in default_configurations(rows) if self._keeps(one)]
            model.configurations = [(one.normalizer, one.similarity, one.influence) for one in kept]
        self.model_ = model.fit(rows, y)
        if self.ingredient == "mixing" and isinstance(model.influence_, Ridge):
            plain = clone(model.best_estimator_)
            plain.influence.set_params(mixing=False)
            self.model_ = plain.set_params(label_rule=model.label_rule).fit(rows, y)
        return self

    def _keeps(self, one: Configuration) -> bool:
        """Return whether a configuration lacks the ingredient and has all others."""
        if self.ingredient == "influence":
            return one.influence == "uniform"
        return one.normalizer == "l2" and one.influence == "ridge"

    def predict(self, X: Any) -> Any:
        """Predict with the estimator."""
        return self.model_.predict(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Return label weights, which rank the labels of a row."""
        return np.asarray(self.model_.label_weights(X))


class _ByRBF(AutoSMLClassifier):
    """AutoSML with only the paper's similarity."""

    def _configurations(self, batch: Batch) -> list[Configuration]:
        return [one for one in super()._configurations(batch) if isinstance(one.similarity, RBF)]

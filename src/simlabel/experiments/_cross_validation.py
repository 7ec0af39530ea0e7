"""k-fold cross-validation with the paper's criteria."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import KFold

from simlabel._labels import LabelSpace
from simlabel._validation import FloatArray, check_number
from simlabel.metrics import Evaluation, evaluate

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class CrossValidation:
    """What came out on each fold.

    Attributes
    ----------
    folds : tuple of Evaluation
        In order.
    """

    folds: tuple[Evaluation, ...]

    def values(self, criterion: str) -> FloatArray:
        """A criterion on each fold."""
        return np.array([fold[criterion] for fold in self.folds])

    def mean(self, criterion: str) -> float:
        """Mean over the folds."""
        return float(self.values(criterion).mean())

    def std(self, criterion: str) -> float:
        """Standard deviation over the folds."""
        return float(self.values(criterion).std(ddof=1))


def cross_validate(
    estimator: Any, X: Any, y: Any, *, folds: int = 10, seed: int = 0, on_fold: Progress | None = None
) -> CrossValidation:
    """Fit on all folds but one, evaluate on that one, for each.

    Parameters
    ----------
    estimator : estimator
        With `decision_function`; it is cloned for each fold.
    X : array or sparse, (n_rows, n_features)
    y : array, sparse or data frame of 0/1, or list of label sets
    folds : int
        How many; rows are shuffled first.
    seed : int
        For the shuffle.
    on_fold : callable, optional
        Called with (folds done, folds in all).

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = np.array([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]])
    >>> Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    >>> cross_validate(SMLClassifier("linear"), X, Y, folds=4).mean("hamming_loss")
    0.0
    """
    check_number("cross_validate", "folds", folds, at_least=2, integer=True)
    _, Y = LabelSpace.learn(y)
    if X.shape[0] < folds:
        raise ValueError(f"{folds} folds need at least {folds} rows; X has {X.shape[0]}.")
    results = []
    for train, test in KFold(folds, shuffle=True, random_state=seed).split(np.empty(X.shape[0])):
        model = clone(estimator).fit(X[train], Y[train])
        results.append(evaluate(Y[test], model.predict(X[test]), model.decision_function(X[test])))
        if on_fold is not None:
            on_fold(len(results), folds)
    return CrossValidation(tuple(results))

"""BoosTexter: AdaBoost.MH on real-valued decision stumps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.baselines._base import Scores
from simlabel.baselines._boosting import BoostingClassifier
from simlabel.baselines._conditions import Condition, Weights, evaluate, searching
from simlabel.baselines._progress import rounds
from simlabel.labels import Indicator


class BoosTexter(BoostingClassifier):
    """AdaBoost.MH with real-valued stumps, by Schapire and Singer (2000).

    Every round takes the one-column test with the lowest Z = 2 sum sqrt(W+ W-) under the
    current weights of the (row, label) pairs, gives each of its two sides and each label l the confidence
    1/2 ln((W+ + epsilon) / (W- + epsilon)) with epsilon = 1 / (n_rows * n_labels), and reweights. With
    `sample_weight`, n_rows is the sum of the weights, and pairs start with the weight of their row.

    Parameters
    ----------
    n_rounds : int, default=500
        Boosting rounds.
    n_jobs : int, optional
        Threads that look through the columns; -1 takes every core. The result is the same.
    verbose : bool, default=False
        Whether to show a progress bar in fit.

    Attributes
    ----------
    classes_ : array, (n_labels,)
        Names of the labels.
    words_ : bool
        Whether fit was given sparse rows, which are read as words that are present or absent.
    stump_columns_ : array of int, (n_rounds,)
        The column that each round tests.
    stump_thresholds_ : array, (n_rounds,)
        The test is ``x >= threshold``; -inf for words, where it is ``x != 0``.
    stump_scores_ : array, (n_rounds, 2, n_labels)
        What a stump adds to the scores where its test fails, and where it holds.
    normalizers_ : array, (n_rounds,)
        Z of each round after smoothing; their product bounds the hamming loss on the training rows.

    Notes
    -----
    Dense columns are tested at every threshold half-way between two neighbouring values, sparse ones for
    presence only. Of equally good stumps the first column wins, and in it the lowest threshold. Where
    no column parts the rows, the stump has one side. Z is compared before smoothing, as in the paper.

    `decision_function` is the sum of the confidences; a label is predicted where it is above 0, so a
    score of 0 means absent, and a label set may be empty. The paper defines no probabilities.

    References
    ----------
    R. E. Schapire and Y. Singer. BoosTexter: A boosting-based system for text categorization.
    Machine Learning 39(2/3), 2000.

    Examples
    --------
    >>> from simlabel.baselines import BoosTexter
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> y = [{"sea"}, {"sea"}, {"sea"}, {"sea", "sunset"}, {"sunset"}, {"sunset"}]
    >>> model = BoosTexter(n_rounds=10).fit(X, y)
    >>> model.predict([[0.05], [0.92], [1.05]]) == [{"sea"}, {"sea", "sunset"}, {"sunset"}]
    True
    """

    stump_columns_: npt.NDArray[np.int64]
    stump_thresholds_: npt.NDArray[np.float64]
    stump_scores_: npt.NDArray[np.float64]
    normalizers_: npt.NDArray[np.float64]

    def __init__(self, n_rounds: int = 500, *, n_jobs: int | None = None, verbose: bool = False) -> None:
        super().__init__(n_rounds, n_jobs=n_jobs, verbose=verbose)

    def _learn(self, X: Rows, Y: Indicator, weights: Scores) -> None:
        n_rounds = self._check_rounds()
        pairs = Weights(Y.toarray().astype(np.float64), weights)
        every_row = np.ones(X.shape[0], dtype=bool)
        stumps, scores, normalizers = [], [], []
        with searching(X, self.n_jobs) as search:
            for _ in rounds(n_rounds, "BoosTexter", self.verbose):
                stump = search.best(pairs, every_row) or Condition(np.inf, 0, -np.inf)
                side = search.holds(stump)
                confidences = np.stack([pairs.confidences(~side), pairs.confidences(side)])
                stumps.append(stump)
                scores.append(confidences)
                normalizers.append(pairs.update(confidences[side.astype(np.intp)]))
        self.words_ = sp.issparse(X)
        self.stump_columns_ = np.array([stump.column for stump in stumps])
        self.stump_thresholds_ = np.array([stump.threshold for stump in stumps])
        self.stump_scores_ = np.stack(scores)
        self.normalizers_ = np.array(normalizers)

    def _sides(self, X: Rows) -> npt.NDArray[np.intp]:
        holds = evaluate(X, self.stump_columns_, self.stump_thresholds_, self.words_)
        return holds.astype(np.intp)

    def _score(self, X: Rows) -> Scores:
        fails, holds = self.stump_scores_[:, 0], self.stump_scores_[:, 1]
        side = self._sides(X).astype(np.float64)
        return np.asarray(side @ holds + (1 - side) @ fails)

    def staged_decision_function(self, X: Any) -> Iterator[Scores]:
        """Score the labels after each round.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Rows to score.

        Yields
        ------
        array, (n_rows, n_labels)
            As `decision_function` would give it had boosting stopped there.
        """
        sides = self._sides(self._check(X))
        scores = np.zeros((sides.shape[0], len(self.classes_)))
        for side, confidences in zip(sides.T, self.stump_scores_, strict=True):
            scores = scores + confidences[side]
            yield self._present(scores)

"""A method with a small search and a tuned label rule on the training rows, as its users would run it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone

from simlabel._utils.validation import FloatArray, IntArray
from simlabel.experiments import dense_labels, select_rows, stratified_parts, train_and_test
from simlabel.metrics import (
    constant_columns,
    find_criterion,
    label_scores,
    predicted_label_sets,
    rank_constant_labels,
)
from simlabel.rules import AutoRule, LabelRule, ScoreBlock, TrainingBlock
from simlabel.tuning import search_results

_FOLDS, _LARGE = 3, 5000  # inner folds; with more rows only one part of this size is held out
_CRITERION, _SETS = "average_precision", "f1_micro"  # for candidates, and for label sets
_SMALL = 1500  # rows: below, candidates are compared on all inner folds, otherwise on the first


class Searched(ClassifierMixin, BaseEstimator):
    """An estimator with a grid to choose from and a label rule, both by inner folds.

    The candidate with the best average precision on held-out training rows is chosen. A label rule is tuned
    for micro F1 on its held-out scores, as for our own methods (`AutoRule`); if the estimator's own sets are
    better on rows that the rule was not tuned on, they are kept. Then the candidate is fitted on all rows.

    Parameters
    ----------
    estimator : estimator
        With `predict`, and `predict_proba` or `decision_function`.
    grid : sequence of dict
        Parameters of each candidate.
    sparse_labels : bool
        Whether the estimator accepts a sparse indicator.
    seed : int
        Of the inner folds.

    Attributes
    ----------
    best_params_ : dict
    cv_results_ : dict of arrays
        Parameters, mean score on held-out rows and rank of each candidate, as in scikit-learn.
    rule_ : LabelRule or None
        None if the estimator's own sets are better.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = np.arange(40.0)[:, None], np.array([[1, 0]] * 20 + [[0, 1]] * 20)
    >>> model = Searched(KNeighborsClassifier(), [{"n_neighbors": 3}, {"n_neighbors": 25}]).fit(X, y)
    >>> model.best_params_, model.predict([[1.0], [39.0]]).tolist()
    ({'n_neighbors': 3}, [[1, 0], [0, 1]])
    """

    def __init__(
        self,
        estimator: Any,
        grid: Sequence[Mapping[str, Any]] = ({},),
        *,
        sparse_labels: bool = False,
        seed: int = 0,
    ) -> None:
        self.estimator = estimator
        self.grid = grid
        self.sparse_labels = sparse_labels
        self.seed = seed

    def fit(self, X: Any, y: Any) -> Self:
        """Search, tune the rule, and fit the choice on all rows."""
        Y = sp.csr_array(y).astype(np.int8)
        self._n_labels = Y.shape[1]
        self._constant = constant_columns(Y)
        folds = list(_inner(Y, self.seed))
        first = len(folds) if Y.shape[0] < _SMALL else 1
        found = [[self._held_out(one, X, Y, fold) for fold in folds[:first]] for one in self.grid]
        means = [self._mean_criterion(Y, folds, parts) for parts in found]
        self.cv_results_ = search_results(self.grid, means)
        best = int(np.argmax(means))
        held = found[best] + [self._held_out(self.grid[best], X, Y, fold) for fold in folds[first:]]
        self.best_params_ = dict(self.grid[best])
        self.rule_ = self._rule(Y, [test for _, test in folds], held)
        self.model_ = self._fitted(self.best_params_, X, Y)
        return self

    def _fitted(self, given: Mapping[str, Any], X: Any, Y: sp.csr_array) -> Any:
        labels = Y if self.sparse_labels else dense_labels(Y)
        return clone(self.estimator).set_params(**given).fit(X, labels)

    def _held_out(
        self, given: Mapping[str, Any], X: Any, Y: sp.csr_array, fold: tuple[IntArray, IntArray]
    ) -> tuple[FloatArray, sp.csr_array]:
        """Return scores and the estimator's own sets of held-out rows."""
        train, test = fold
        model = self._fitted(given, select_rows(X, train), Y[train])
        held_out = select_rows(X, test)
        scores = label_scores(model, held_out, self._n_labels)
        scores = rank_constant_labels(scores, *constant_columns(Y[train]))
        return scores, predicted_label_sets(model, held_out, self._n_labels)

    def _mean_criterion(self, Y: sp.csr_array, folds: Sequence[Any], held: Sequence[Any]) -> float:
        criterion = find_criterion(_CRITERION)
        values = [
            criterion.measure(Y[test], sets, scores)
            for (_, test), (scores, sets) in zip(folds, held, strict=False)
        ]
        mean = float(np.nanmean(values)) if not np.all(np.isnan(values)) else 0.0
        return mean if criterion.higher_is_better else -mean

    def _rule(self, Y: sp.csr_array, tests: Sequence[IntArray], held: Sequence[Any]) -> LabelRule | None:
        """Return a rule, or None if the estimator's own sets are better on held-out rows."""
        sizes, self._size_counts = np.unique(np.diff(Y.indptr), return_counts=True)
        blocks = [
            TrainingBlock(self._scores(scores), Y[test], np.ones(len(test)))
            for test, (scores, _) in zip(tests, held, strict=True)
        ]
        whole = AutoRule(_SETS).fit(sizes, blocks)
        if len(blocks) > 1:
            splits = [(blocks[:k] + blocks[k + 1 :], blocks[k]) for k in range(len(blocks))]
        else:
            half = np.arange(len(blocks[0].weights)) % 2 == 0
            one, other = (blocks[0].of_rows(np.flatnonzero(part)) for part in (half, ~half))
            splits = [([one], other), ([other], one)]
        tuned = [(AutoRule(_SETS).fit(sizes, rest).predict(part.scores), part.Y) for rest, part in splits]
        own = [(sets, Y[test]) for test, (_, sets) in zip(tests, held, strict=True)]
        by_rule, unchanged = (_pooled(_SETS, pairs) for pairs in (tuned, own))
        return None if unchanged > by_rule else whole

    def _scores(self, scores: FloatArray) -> ScoreBlock:
        """Return scores in the form that label rules take, with the frequencies of the set sizes."""
        sizes = np.repeat(self._size_counts[None, :].astype(np.float64), len(scores), axis=0)
        return ScoreBlock(scores, sizes, scores, np.ones(len(scores)))

    def decision_function(self, X: Any) -> FloatArray:
        """Return the chosen model's scores, (n_rows, n_labels)."""
        return rank_constant_labels(label_scores(self.model_, X, self._n_labels), *self._constant)

    def predict(self, X: Any) -> Any:
        """Return label sets by the rule, or the model's own, (n_rows, n_labels)."""
        if self.rule_ is None:
            return predicted_label_sets(self.model_, X, self._n_labels).toarray()
        return self.rule_.predict(self._scores(self.decision_function(X))).sorted_indices().toarray()

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.classifier_tags.multi_label = True
        return tags


def _inner(Y: sp.csr_array, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    large = Y.shape[0] > _LARGE
    n_parts = max(_FOLDS, Y.shape[0] // _LARGE + 1) if large else _FOLDS
    yield from train_and_test(stratified_parts(Y, n_parts, seed), 1 if large else n_parts)


def _pooled(criterion: str, pairs: Sequence[tuple[sp.csr_array, sp.csr_array]]) -> float:
    """Return a criterion of label sets over all parts together."""
    predicted, truth = (sp.vstack([pair[k] for pair in pairs], format="csr") for k in (0, 1))
    return float(find_criterion(criterion).function(truth, predicted))

"""A fitted model: immutable, so that a prediction sees it whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._labels import LabelSpace
from simlabel._scoring import Scorer
from simlabel._validation import FloatArray, Rows
from simlabel.engines import n_rows
from simlabel.label_rules import LabelRule, ScoreBlock


@dataclass(frozen=True)
class Model:
    """All stages of a fitted classifier, resolved.

    Attributes
    ----------
    labels : LabelSpace
        Names and form of the labels.
    normalizer : object or None
        Fitted.
    scorer : Scorer
        References, similarity, weighting.
    rule : LabelRule
        Fitted.
    columns : array of int or None
        Of a precomputed matrix, the columns of the rows that were kept (weight above zero).
    """

    labels: LabelSpace
    normalizer: Any
    scorer: Scorer
    rule: LabelRule
    columns: npt.NDArray[np.int64] | None

    def score_chunks(self, X: Rows) -> Iterator[tuple[slice, ScoreBlock]]:
        """Scores of checked queries, chunk by chunk."""
        for part in self.scorer.chunks(X):
            yield part, self.scorer.score(self.normalized(X[part]))

    def normalized(self, X: Rows) -> Rows:
        """Checked queries as the similarity compares them."""
        if self.columns is not None:
            X = X[:, self.columns]
        return X if self.normalizer is None else self.normalizer.transform(X)

    def label_sets(self, X: Rows) -> sp.csr_array:
        """Predicted sets, (n_queries, n_labels), each row's entries strongest first."""
        choose = _single_label if self.labels.kind == "single" else self.rule.predict
        found = [choose(scores) for _, scores in self.score_chunks(X)]
        return sp.vstack(found, format="csr") if len(found) > 1 else found[0]

    def set_sizes(self, X: Rows) -> npt.NDArray[np.int64]:
        """Number of labels of each query, (n_queries,)."""
        if self.labels.kind == "single":
            return np.ones(n_rows(X), dtype=np.int64)
        return np.concatenate([self.rule.bounded_count(scores) for _, scores in self.score_chunks(X)])

    def label_weights(self, X: Rows) -> FloatArray:
        """f_k(x), (n_queries, n_labels)."""
        shape = (n_rows(X), len(self.labels.classes))
        weights: FloatArray = np.empty(shape, dtype=self.scorer.prepared.dtype)
        for part, scores in self.score_chunks(X):
            weights[part] = scores.labels
        return weights

    def probabilities(self, X: Rows) -> FloatArray:
        """Share of the similarity that speaks for each label, (n_queries, n_labels)."""
        shares = np.empty((n_rows(X), len(self.labels.classes)))
        for part, scores in self.score_chunks(X):
            shares[part] = class_shares(scores) if self.labels.kind == "single" else label_shares(scores)
        return shares


def _single_label(scores: ScoreBlock) -> sp.csr_array:
    n, n_labels = scores.ranking.shape
    top = np.argmax(scores.ranking, axis=1)
    return sp.csr_array((np.ones(n, dtype=np.int8), top, np.arange(n + 1)), shape=(n, n_labels))


def label_shares(scores: ScoreBlock) -> FloatArray:
    """f_k over the whole similarity, strictly inside (0, 1)."""
    total = scores.sizes.sum(axis=1, dtype=np.float64)[:, None]
    ranking = scores.ranking.astype(np.float64)
    shares = np.divide(ranking, total, out=np.zeros_like(ranking), where=total > 0)
    edge = np.finfo(np.float64).eps
    return np.clip(shares, edge, 1.0 - edge)


def class_shares(scores: ScoreBlock) -> FloatArray:
    """Shares that sum to 1 and rank as the scores do, also where similarities are negative."""
    weights = scores.ranking.astype(np.float64)
    if weights.shape[1] == 2:
        margin = binary_margin(weights)
        return np.column_stack([(1.0 - margin) / 2.0, (1.0 + margin) / 2.0])
    weights = weights - np.minimum(weights.min(axis=1, keepdims=True), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    even = np.full_like(weights, 1.0 / weights.shape[1])
    return np.divide(weights, total, out=even, where=total > 0)


def binary_margin(weights: FloatArray) -> FloatArray:
    """(F1 - F0) / (|F1| + |F0|), 0 where both are 0; (n_queries,)."""
    total = np.abs(weights).sum(axis=1)
    difference = weights[:, 1] - weights[:, 0]
    return np.divide(difference, total, out=np.zeros_like(difference), where=total > 0)

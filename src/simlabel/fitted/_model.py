"""A fitted model: immutable, so that a prediction sees it whole."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.calibration import LeaveOneOutCalibration, class_shares, label_shares
from simlabel.fitted._scorer import Scorer
from simlabel.fitted._totals import typical_totals
from simlabel.label_rules import LabelRule, ScoreBlock
from simlabel.labels import LabelSpace
from simlabel.rows import n_rows
from simlabel.support.forks import cached_property
from simlabel.support.validation import FloatArray, Rows


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
    calibration : LeaveOneOutCalibration or None
        Fitted; None for shares of the similarity.
    """

    labels: LabelSpace
    normalizer: Any
    scorer: Scorer
    rule: LabelRule
    columns: npt.NDArray[np.int64] | None
    calibration: LeaveOneOutCalibration | None = None

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
        """Calibrated, or the share of the similarity that speaks for each label, (n_queries, n_labels)."""
        result = np.empty((n_rows(X), len(self.labels.classes)))
        for part, scores in self.score_chunks(X):
            result[part] = self.to_probabilities(scores)
        return result

    @property
    def to_probabilities(self) -> Callable[[ScoreBlock], FloatArray]:
        """From scores to probabilities, (n_queries, n_labels) both."""
        shares = class_shares if self.labels.kind == "single" else label_shares
        return shares if self.calibration is None else self.calibration.probabilities

    @cached_property
    def typical_totals(self) -> FloatArray:
        """What `novelty` compares with; computed once."""
        return typical_totals(self.scorer)


def _single_label(scores: ScoreBlock) -> sp.csr_array:
    n, n_labels = scores.ranking.shape
    top = np.argmax(scores.ranking, axis=1)
    return sp.csr_array((np.ones(n, dtype=np.int8), top, np.arange(n + 1)), shape=(n, n_labels))

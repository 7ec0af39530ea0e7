"""A fitted model: immutable, so that a prediction sees it whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.advice import advise
from simlabel._utils.rows import n_rows, transformed
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, Rows
from simlabel.labels import LabelSpace
from simlabel.model._scorer import Scorer
from simlabel.model._totals import typical_totals
from simlabel.normalizers import Normalizer
from simlabel.rules import LabelRule, ScoreBlock
from simlabel.rules.calibration import (
    LeaveOneOutCalibration,
    ShareWarning,
    as_recorded,
    as_true,
    class_shares,
    label_shares,
    n_outside,
)
from simlabel.similarities import RBF, Leaf, Linear, Sum
from simlabel.tables import TableEncoder

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.model._notes import Notes

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Outputs:
    """All that is known of some queries, from one pass over the references.

    Attributes
    ----------
    sets : csr_array of 0/1, (n_queries, n_labels)
        Predicted label sets, each row's entries strongest first.
    weights : array, (n_queries, n_labels)
        Label weights f_k(x).
    probabilities : array, (n_queries, n_labels)
    warning : str
        What is wrong with the probabilities, if something is.
    names : array, (n_labels,)
        What the labels are called, column by column.
    index : index or None, (n_queries,)
        Of the frame that was asked about.
    forced : array of bool, (n_queries,)
        Whether the set holds labels only because the label rule has a minimum number of labels: by their
        scores alone fewer labels would be predicted, or none. Of a rule that counts labels (`SetSize`,
        `FixedSize`): whether it gives its smallest set, with a label that is less likely than not.
    """

    sets: sp.csr_array
    weights: FloatArray
    probabilities: FloatArray
    forced: npt.NDArray[np.bool_]
    warning: str = ""
    names: npt.NDArray[Any] | None = None
    index: Any = None

    def frame(self, what: Literal["probabilities", "weights", "sets"] = "probabilities") -> pd.DataFrame:
        """A table of the queries by the names of the labels, with the index of the frame that was asked.

        Examples
        --------
        >>> import pandas as pd
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> asked = pd.DataFrame([[0.6, 0.8]], index=["bay"])
        >>> model.outputs(asked).frame("weights").round(2)
             sea  trees
        bay  0.6    0.8
        """
        import pandas as pd

        if what not in ("probabilities", "weights", "sets"):
            raise ValueError(f"frame: give 'probabilities', 'weights' or 'sets', got {what!r}.")
        values = getattr(self, what)
        values = values.toarray() if sp.issparse(values) else values
        return pd.DataFrame(values, index=self.index, columns=self.names)

    @property
    def sizes(self) -> Counts:
        """Number of labels of each query, (n_queries,)."""
        return np.diff(self.sets.indptr).astype(np.int64)

    @property
    def confidence(self) -> FloatArray:
        """The smallest probability among the predicted labels of each query; NaN for an empty set."""
        rows = zip(self.probabilities, self.columns, strict=True)
        return np.array([row[chosen].min() if len(chosen) else np.nan for row, chosen in rows])

    @property
    def columns(self) -> list[npt.NDArray[np.integer]]:
        """For each query the columns of its labels, strongest first."""
        return np.split(self.sets.indices, self.sets.indptr[1:-1])


@dataclass(frozen=True)
class Model:
    """All stages of a fitted classifier, resolved.

    Attributes
    ----------
    labels : LabelSpace
        Names and form of the labels.
    normalizer : Normalizer or None
        Fitted.
    scorer : Scorer
        References, similarity, weighting.
    rule : LabelRule
        Fitted.
    columns : array of int or None
        Of a precomputed matrix, the columns of the rows that were kept (weight above zero).
    calibration : LeaveOneOutCalibration or None
        Fitted; None for shares of the similarity.
    encoder : TableEncoder or None
        Fitted; what makes numbers of the rows of a table. None for rows that are numbers.
    """

    labels: LabelSpace
    normalizer: Normalizer | None
    scorer: Scorer
    rule: LabelRule
    columns: npt.NDArray[np.int64] | None
    calibration: LeaveOneOutCalibration | None = None
    encoder: TableEncoder | None = None

    @property
    def compares_by_words(self) -> bool:
        """Whether the rows of a table are compared by inner products, but for numbers."""
        similarity, plain = self.scorer.stages.similarity, self.scorer.stages.weighting is None
        linear = isinstance(similarity, Linear) or self.number_rbf is not None
        return self.encoder is not None and self.normalizer is None and plain and linear

    @property
    def number_rbf(self) -> Leaf | None:
        """What the numbers of a table are compared by beside inner products; None where it is those alone."""
        similarity = self.scorer.stages.similarity
        if self.encoder is None or not isinstance(similarity, Sum) or not isinstance(similarity.left, Linear):
            return None
        leaf, *more = similarity.right.leaves()
        return leaf if isinstance(leaf.similarity, RBF) and len(leaf.views) == 1 and not more else None

    def score_chunks(self, X: Rows) -> Iterator[tuple[slice, ScoreBlock]]:
        """Scores of checked queries, chunk by chunk."""
        for part in self.scorer.chunks(X):
            yield part, self.scorer.score(self.normalized(X[part]))

    def normalized(self, X: Rows) -> Rows:
        """Checked queries as the similarity compares them."""
        if self.encoder is not None:
            X = self.encoder.encode(X)
        if self.columns is not None:
            X = X[:, self.columns]
        return X if self.normalizer is None else transformed(self.normalizer, X)

    def outputs(self, X: Rows, notes: Notes | None = None) -> Outputs:
        """Label sets, label weights and probabilities, from one pass; `notes` add to sets and the last."""
        names = self.labels.classes if notes is None else notes.names
        weights = np.zeros((n_rows(X), len(names)), dtype=self.scorer.prepared.dtype)
        probabilities, sets, outside = np.empty(weights.shape), [], 0
        forced = np.zeros(len(weights), dtype=bool)
        for part in self.scorer.chunks(X):
            Q = self.normalized(X[part])
            scores = self.scorer.score(Q)
            found, probable = self.choose(scores), self.to_probabilities(scores)
            if self.labels.kind != "single":
                forced[part] = self.rule.forced(scores) | self._fills_up(found, probable)
            if notes is not None:
                alone, (found, probable) = found, notes.added(Q, found, probable)
                forced[part] &= _same_sets(alone, found)
            sets.append(found)
            weights[part, : scores.labels.shape[1]], probabilities[part] = scores.labels, probable
            outside += self.n_cut(scores)
        warning = self.told_cut(outside / probabilities.size) if outside else ""
        return Outputs(_stacked(sets), weights, probabilities, forced, warning, names)

    def _fills_up(self, sets: sp.csr_array, probabilities: FloatArray) -> npt.NDArray[np.bool_]:
        """Whether a rule that counts gives its smallest set, with labels less likely than not."""
        sizes, rows = np.diff(sets.indptr), np.repeat(np.arange(sets.shape[0]), np.diff(sets.indptr))
        unlikely = np.bincount(rows[probabilities[rows, sets.indices] < 0.5], minlength=sets.shape[0]) > 0
        smallest: npt.NDArray[np.bool_] = unlikely & (sizes <= self.rule.fewest)
        return smallest

    def label_sets(self, X: Rows) -> sp.csr_array:
        """Predicted sets, (n_queries, n_labels), each row's entries strongest first."""
        return _stacked([self.choose(scores) for _, scores in self.score_chunks(X)])

    def set_sizes(self, X: Rows) -> Counts:
        """Number of labels of each query, (n_queries,)."""
        if self.labels.kind == "single":
            return np.ones(n_rows(X), dtype=np.int64)
        if self.labels.hierarchy is not None:
            return np.diff(self.label_sets(X).indptr).astype(np.int64)
        return np.concatenate([self.rule.bounded_count(scores) for _, scores in self.score_chunks(X)])

    def label_weights(self, X: Rows) -> FloatArray:
        """f_k(x), (n_queries, n_labels)."""
        weights = self._empty(X, self.scorer.prepared.dtype)
        for part in self.scorer.chunks(X):
            weights[part] = self.scorer.label_weights(self.normalized(X[part]))
        return weights

    def decisions(self, X: Rows) -> FloatArray:
        """Scores that can be compared between queries, as far as there are any, (n_queries, n_labels)."""
        if not self.scorer.shares_compare:
            return self.labels.raised(self.label_weights(X))
        shares = self._empty(X, self.scorer.prepared.dtype)
        for part in self.scorer.chunks(X):
            shares[part] = self.scorer.shares(self.normalized(X[part]))
        return self.labels.raised(shares)

    def probabilities(self, X: Rows) -> FloatArray:
        """Calibrated, or the share of the similarity that speaks for each label, (n_queries, n_labels)."""
        probabilities, outside = self._empty(X), 0
        for part, scores in self.score_chunks(X):
            probabilities[part] = self.to_probabilities(scores)
            outside += self.n_cut(scores)
        if outside:
            advise(self.told_cut(outside / probabilities.size), ShareWarning)
        return probabilities

    def n_cut(self, scores: ScoreBlock) -> int:
        """How many probabilities are none: shares that had to be cut, or that were divided by counts."""
        if self.calibration is not None or self.labels.kind == "single":
            return 0
        return scores.ranking.size if self.scorer.solved.scale is not None else n_outside(scores)

    def told_cut(self, share: float) -> str:
        """What is wrong with them, and the way out, in one line."""
        what = "were cut to lie within 0 and 1"
        if self.scorer.solved.scale is not None:
            what = "are sums divided by the number of a label's instances"
        return (
            f"{share:.1%} of the probabilities {what}: here shares of the similarity are no probabilities; "
            f"fit with calibration='loo'."
        )

    def _empty(self, X: Rows, dtype: npt.DTypeLike = np.float64) -> FloatArray:
        return np.empty((n_rows(X), len(self.labels.classes)), dtype=dtype)

    def choose(self, scores: ScoreBlock) -> sp.csr_array:
        """From scores to label sets."""
        if self.labels.kind == "single":
            return _single_label(scores)
        return self.labels.completed(self.rule.predict(scores), scores.ranking)

    def to_probabilities(self, scores: ScoreBlock) -> FloatArray:
        """From scores to probabilities, (n_queries, n_labels) both."""
        shares = class_shares if self.labels.kind == "single" else label_shares
        of_recorded = shares if self.calibration is None else self.calibration.probabilities
        recorded = self.scorer.stages.recorded
        if recorded is None:
            return self.labels.raised(of_recorded(scores))
        return self.labels.raised(as_true(of_recorded(as_recorded(scores, recorded)), recorded))

    @cached_property
    def typical_totals(self) -> FloatArray:
        """What `novelty` compares with; computed once."""
        return typical_totals(self.scorer)


def check_learned(model: Model, before: Model | None) -> None:
    """Refuse a model that `load` would refuse: with parts that are not finite.

    Parameters
    ----------
    model : Model
        The model that is about to replace `before`; parts that they share are not checked again.
    """
    earlier = [] if before is None else [id(part) for part in _learned_parts(before)]
    for part in _learned_parts(model):
        if part is None or id(part) in earlier:
            continue
        try:
            part.check()
        except ValueError as error:
            raise ValueError(
                f"This model cannot be computed: X has features that are too large or too small for "
                f"{model.scorer.stages.similarity!r} with {model.scorer.stages.influence!r}. Clip or rescale "
                f"them first, or normalize the rows (normalizer='l2'). ({error})"
            ) from None


def _learned_parts(model: Model) -> list[Any]:
    """What is learned from similarities, and stored in a model file."""
    scorer = model.scorer
    solution = scorer.solution if scorer.stages.influence.learned else None
    return [model.rule, model.calibration, scorer.sketch, solution]


def _stacked(sets: list[sp.csr_array]) -> sp.csr_array:
    return sp.vstack(sets, format="csr") if len(sets) > 1 else sets[0]


def _same_sets(fewer: sp.csr_array, more: sp.csr_array) -> npt.NDArray[np.bool_]:
    """Which rows hold the same labels, where `more` has the columns of `fewer` and others behind them."""
    fewer = sp.csr_array((fewer.data, fewer.indices, fewer.indptr), shape=more.shape)
    return np.asarray(abs(more - fewer).sum(axis=1)).ravel() == 0


def _single_label(scores: ScoreBlock) -> sp.csr_array:
    n, n_labels = scores.ranking.shape
    top = np.argmax(scores.settled(scores.ranking), axis=1)
    return sp.csr_array((np.ones(n, dtype=np.int8), top, np.arange(n + 1)), shape=(n, n_labels))

"""A fitted model: immutable, so that a prediction never sees it half changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.advice import warn_user
from simlabel._utils.limits import limits
from simlabel._utils.rows import evenly_spaced_rows, joined, n_rows, take_rows, transformed
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, BoolArray, FloatArray, IntArray, Rows
from simlabel.labels import LabelSpace
from simlabel.model._scorer import Scorer, total_similarity
from simlabel.normalizers import Normalizer
from simlabel.ridge import exclude_self
from simlabel.rules import (
    LabelRule,
    LeaveOneOutCalibration,
    ScoreBlock,
    ShareWarning,
    class_shares,
    correct_for_missing,
    label_shares,
    n_outside,
    scale_by_label_frequency,
)
from simlabel.similarities import RBF, Leaf, Linear, Sum
from simlabel.tables import TableEncoder

if TYPE_CHECKING:
    import pandas as pd

    from simlabel.model._pending import PendingRows


@dataclass(frozen=True)
class Outputs:
    """Label sets, label weights and probabilities of some queries, from one pass over the references.

    Attributes
    ----------
    sets : csr_array of 0/1, (n_queries, n_labels)
        Predicted label sets, each row's entries strongest first.
    weights : array, (n_queries, n_labels)
        Label weights f_k(x).
    probabilities : array, (n_queries, n_labels)
    forced : array of bool, (n_queries,)
        Whether the set has labels only because the label rule has a minimum number of labels: by the scores
        alone fewer labels would be predicted, or none. For a rule that counts labels (`SetSize`,
        `FixedSize`): whether it gives its smallest set, with a label that is less likely than not.
    warning : str
        What is wrong with the probabilities; empty if nothing is.
    names : array, (n_labels,)
        Label of each column.
    index : index or None, (n_queries,)
        Index of the queried data frame.
    """

    sets: sp.csr_array
    weights: FloatArray
    probabilities: FloatArray
    forced: BoolArray
    warning: str = ""
    names: AnyArray | None = None
    index: Any = None

    def frame(self, what: Literal["probabilities", "weights", "sets"] = "probabilities") -> pd.DataFrame:
        """Return a data frame with the label names as columns and the index of the queried data frame.

        Examples
        --------
        >>> import pandas as pd
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> queries = pd.DataFrame([[0.6, 0.8]], index=["bay"])
        >>> model.outputs(queries).frame("weights").round(2)
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
    def sizes(self) -> IntArray:
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
        Of a precomputed matrix, the columns of the rows with weight above zero.
    calibration : LeaveOneOutCalibration or None
        Fitted; None for shares of the similarity.
    encoder : TableEncoder or None
        Fitted encoder of the rows of a table; None for numeric rows.
    """

    labels: LabelSpace
    normalizer: Normalizer | None
    scorer: Scorer
    rule: LabelRule
    columns: IntArray | None
    calibration: LeaveOneOutCalibration | None = None
    encoder: TableEncoder | None = None

    @property
    def uses_term_products(self) -> bool:
        """Whether the rows of a table are compared by inner products, except for number columns."""
        similarity, plain = self.scorer.stages.similarity, self.scorer.stages.weighting is None
        linear = isinstance(similarity, Linear) or self.numeric_rbf is not None
        return self.encoder is not None and self.normalizer is None and plain and linear

    @property
    def numeric_rbf(self) -> Leaf | None:
        """RBF on the number columns of a table, added to the inner product; None if there is none."""
        similarity = self.scorer.stages.similarity
        if self.encoder is None or not isinstance(similarity, Sum) or not isinstance(similarity.left, Linear):
            return None
        leaf, *more = similarity.right.leaves()
        return leaf if isinstance(leaf.similarity, RBF) and len(leaf.views) == 1 and not more else None

    def normalized(self, X: Rows) -> Rows:
        """Return checked queries in the form that the similarity compares."""
        if self.encoder is not None:
            X = self.encoder.encode(X)
        if self.columns is not None:
            X = X[:, self.columns]
        return X if self.normalizer is None else transformed(self.normalizer, X)

    def outputs(self, X: Rows, pending: PendingRows | None = None) -> Outputs:
        """Return sets, weights and probabilities in one pass; `pending` change sets and probabilities."""
        names = self.labels.classes if pending is None else pending.names
        weights = np.zeros((n_rows(X), len(names)), dtype=self.scorer.prepared.dtype)
        probabilities, sets, n_clipped = np.empty(weights.shape), [], 0
        forced = np.zeros(len(weights), dtype=bool)
        for part in self.scorer.chunks(X):
            Q = self.normalized(X[part])
            scores = self.scorer.score(Q)
            found, probable = self.choose(scores), self.to_probabilities(scores)
            if self.labels.kind != "single":
                forced[part] = self.rule.forced(scores) | self._fills_up(found, probable)
            if pending is not None:
                alone, (found, probable) = found, pending.added(Q, found, probable)
                forced[part] &= _same_sets(alone, found)
            sets.append(found)
            weights[part, : scores.labels.shape[1]], probabilities[part] = scores.labels, probable
            n_clipped += self._n_cut(scores)
        warning = self._share_warning(n_clipped / probabilities.size) if n_clipped else ""
        return Outputs(joined(sets), weights, probabilities, forced, warning, names)

    def _fills_up(self, sets: sp.csr_array, probabilities: FloatArray) -> BoolArray:
        """Return whether a rule that counts gives its smallest set, with labels less likely than not."""
        sizes, rows = np.diff(sets.indptr), np.repeat(np.arange(sets.shape[0]), np.diff(sets.indptr))
        unlikely = np.bincount(rows[probabilities[rows, sets.indices] < 0.5], minlength=sets.shape[0]) > 0
        return unlikely & (sizes <= self.rule.fewest)

    def label_sets(self, X: Rows) -> sp.csr_array:
        """Return predicted sets, (n_queries, n_labels), each row's entries strongest first."""
        parts = self.scorer.chunks(X)
        return joined([self.choose(self.scorer.score(self.normalized(X[part]))) for part in parts])

    def label_weights(self, X: Rows) -> FloatArray:
        """Return f_k(x), (n_queries, n_labels)."""
        return self._by_chunks(X, self.scorer.label_weights)

    def decisions(self, X: Rows) -> FloatArray:
        """Return scores that can be compared between queries if possible, (n_queries, n_labels)."""
        scorer = self.scorer
        score = scorer.shares if scorer.shares_are_comparable else scorer.label_weights
        return self.labels.enforce_hierarchy(self._by_chunks(X, score))

    def _by_chunks(self, X: Rows, score: Callable[[Rows], FloatArray]) -> FloatArray:
        values = np.empty((n_rows(X), len(self.labels.classes)), dtype=self.scorer.prepared.dtype)
        for part in self.scorer.chunks(X):
            values[part] = score(self.normalized(X[part]))
        return values

    def probabilities(self, X: Rows) -> FloatArray:
        """Return calibrated probabilities, or shares of the similarity, (n_queries, n_labels)."""
        probabilities, n_clipped = np.empty((n_rows(X), len(self.labels.classes))), 0
        for part in self.scorer.chunks(X):
            scores = self.scorer.score(self.normalized(X[part]))
            probabilities[part] = self.to_probabilities(scores)
            n_clipped += self._n_cut(scores)
        if n_clipped:
            warn_user(self._share_warning(n_clipped / probabilities.size), ShareWarning)
        return probabilities

    def _n_cut(self, scores: ScoreBlock) -> int:
        """Count values that are not probabilities: shares that were clipped, or were divided by counts."""
        if self.calibration is not None or self.labels.kind == "single":
            return 0
        return scores.ranking.size if self.scorer.solved.scale is not None else n_outside(scores)

    def _share_warning(self, share: float) -> str:
        what = "were cut to lie within 0 and 1"
        if self.scorer.solved.scale is not None:
            what = "are sums divided by the number of a label's rows"
        return (
            f"{share:.1%} of the probabilities {what}: here shares of the similarity are not probabilities; "
            f"fit with calibration='loo'."
        )

    def choose(self, scores: ScoreBlock) -> sp.csr_array:
        """Return the label sets for scores."""
        if self.labels.kind != "single":
            return self.labels.completed(self.rule.predict(scores), scores.ranking)
        n, n_labels = scores.ranking.shape
        top = np.argmax(scores.with_constant_labels(scores.ranking), axis=1)
        return sp.csr_array((np.ones(n, dtype=np.int8), top, np.arange(n + 1)), shape=(n, n_labels))

    def to_probabilities(self, scores: ScoreBlock) -> FloatArray:
        """Return the probabilities for scores, (n_queries, n_labels) both."""
        shares = class_shares if self.labels.kind == "single" else label_shares
        of_observed = shares if self.calibration is None else self.calibration.probabilities
        label_frequency = self.scorer.stages.label_frequency
        if label_frequency is None:
            return self.labels.enforce_hierarchy(of_observed(scores))
        return self.labels.enforce_hierarchy(
            correct_for_missing(
                of_observed(scale_by_label_frequency(scores, label_frequency)), label_frequency
            )
        )

    @cached_property
    def typical_totals(self) -> FloatArray:
        """Sorted similarity of labeled rows (of a sample if there are many) to all others, for `novelty`."""
        references = self.scorer.references
        rows = evenly_spaced_rows(references.order, limits().compared_rows)
        X = take_rows(references.X, rows)
        return np.sort(total_similarity(self.scorer, X, exclude_self(rows, references)))


def check_learned(model: Model, before: Model | None) -> None:
    """Raise ValueError for a model that `load` would refuse, since learned values are not finite.

    Parameters
    ----------
    model : Model
        The model that is about to replace `before`; parts that they share are not checked again.
    before : Model or None
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
    scorer = model.scorer
    solution = scorer.solution if scorer.stages.influence.learned else None
    return [model.rule, model.calibration, scorer.sketch, solution]


def _same_sets(fewer: sp.csr_array, more: sp.csr_array) -> BoolArray:
    """Return which rows have the same labels; `more` has the columns of `fewer`, and others after them."""
    fewer = sp.csr_array((fewer.data, fewer.indices, fewer.indptr), shape=more.shape)
    return np.asarray(abs(more - fewer).sum(axis=1)).ravel() == 0

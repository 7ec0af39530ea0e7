"""What a label rule sees and gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.kernels import top_labels
from simlabel._utils.validation import FloatArray, IntArray, check_number

Counts = IntArray
Needs = Literal["nothing", "leave_one_out", "own_scores"]


@dataclass(frozen=True)
class ScoreBlock:
    """Scores of some queries.

    Attributes
    ----------
    labels : array, (n_queries, n_labels)
        Label weights f_k(x).
    sizes : array, (n_queries, n_sizes)
        The same sum for each set size seen in training.
    ranking : array, (n_queries, n_labels)
        What labels are ranked by: `labels`, but for queries that are similar to nothing at all
        (every sum is 0) the frequencies of the labels.
    totals : array, (n_queries,), or None
        Similarity to all references; None where the sizes add up to it, since each has one.
    constant : array of int8, (n_labels,), or None
        1 for a label that every training row has, -1 for one that none has, 0 for the others. None if every
        label varies.
    """

    labels: FloatArray
    sizes: FloatArray
    ranking: FloatArray
    totals: FloatArray | None = None
    constant: npt.NDArray[np.int8] | None = None

    def settled(self, values: FloatArray) -> FloatArray:
        """Values per label: infinite for labels that every row has, minus infinite for absent ones."""
        if self.constant is None:
            return values
        values = values.copy()
        values[:, self.constant > 0], values[:, self.constant < 0] = np.inf, -np.inf
        return values

    @property
    def total(self) -> FloatArray:
        """Similarity to all references, in double precision, (n_queries, 1)."""
        totals = self.sizes.sum(axis=1, dtype=np.float64) if self.totals is None else self.totals
        return totals.astype(np.float64)[:, None]

    @property
    def shares(self) -> FloatArray:
        """Which share of the similarity speaks for each label, (n_queries, n_labels); 0 of nothing."""
        total, ranking = self.total, self.ranking.astype(np.float64)
        return np.divide(ranking, total, out=np.zeros_like(ranking), where=total > 0)


@dataclass(frozen=True)
class TrainingBlock:
    """Scores of some training rows with their true labels and weights, for rules that learn.

    `unknown` has ones where it is not known whether a label is true; None where all is. Where only some of
    the labels that apply are recorded, `recorded` is the share of each, (n_labels,). `numbers` says which
    labels the columns stand for; None for all of them in order. `places` are the rows' numbers in an order
    that follows from what rows hold (`References.places`), by which they are thinned; None if no row is
    left out.
    """

    scores: ScoreBlock
    Y: sp.csr_array
    weights: FloatArray
    unknown: sp.csr_array | None = None
    recorded: FloatArray | None = None
    numbers: IntArray | None = None
    places: IntArray | None = None

    @property
    def truth(self) -> npt.NDArray[Any]:
        """1 where a label is true, or how many it stands for, (n_rows, n_labels)."""
        Y = self.Y.toarray()
        return Y if self.recorded is None else Y / self.recorded

    @property
    def known(self) -> npt.NDArray[np.bool_] | None:
        """Where it is known whether a label is true, (n_rows, n_labels); None for everywhere."""
        return None if self.unknown is None else self.unknown.toarray() == 0

    def of_rows(self, rows: IntArray) -> TrainingBlock:
        """A copy of some of its rows."""
        s = self.scores
        totals = None if s.totals is None else s.totals[rows]
        scores = ScoreBlock(s.labels[rows], s.sizes[rows], s.ranking[rows], totals, s.constant)
        unknown = None if self.unknown is None else self.unknown[rows]
        places = None if self.places is None else self.places[rows]
        return replace(
            self, scores=scores, Y=self.Y[rows], weights=self.weights[rows], unknown=unknown, places=places
        )

    def varying(self) -> TrainingBlock:
        """A copy with only the labels that some training rows have and others do not."""
        s = self.scores
        if s.constant is None:
            return self
        numbers = np.flatnonzero(s.constant == 0)
        scores = ScoreBlock(s.labels[:, numbers], s.sizes, s.ranking[:, numbers], s.totals)
        unknown = None if self.unknown is None else self.unknown[:, numbers]
        recorded = None if self.recorded is None else self.recorded[numbers]
        return replace(
            self, scores=scores, Y=self.Y[:, numbers], unknown=unknown, recorded=recorded, numbers=numbers
        )


class LabelRule(BaseEstimator):
    """Base class: how many labels, and which.

    Every rule has a `minimum` and a `maximum` number of labels; where it would give fewer, the
    strongest others are added, where more, the weakest are dropped.

    Rules learn only from labels that vary. A label that no training row has is never predicted, not even to
    reach `minimum`. A label that every training row has is always predicted, before all others: it counts
    toward `maximum`, but not toward `minimum`, since it tells nothing about a row.
    """

    name: ClassVar[str]
    minimum: Any
    maximum: int | None
    #: what `fit` wants to see
    needs: Needs = "nothing"
    #: what `minimum` may be beside a number, until `fit` has resolved it
    open_minimum: ClassVar[tuple[str, ...]] = ()
    #: names of what `fit` learns, for a model file
    fitted_state: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """Raise ValueError where a parameter is out of range."""
        owner = type(self).__name__
        fitted = any(hasattr(self, name) for name in self.fitted_state)
        also = () if fitted else self.open_minimum
        check_number(owner, "minimum", self.minimum, at_least=0, integer=True, also=also)
        least = 0 if self.minimum in also else self.minimum
        check_number(owner, "maximum", self.maximum, at_least=least, integer=True, also=(None,))

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Self:
        """Return a copy that knows the set sizes seen in training, and has learnt from the blocks.

        Sizes and blocks are those of labels that vary (`TrainingBlock.varying`); `adapted` adds the others.
        """
        return self

    def adapted(self, sizes: Counts, places: Counts, n_labels: int) -> Self:
        """Return a copy that holds what it has learnt, for references with other set sizes and more labels.

        Parameters
        ----------
        sizes : array of int
            The set sizes that occur now.
        places : array of int
            Where each label that was there stands now.
        n_labels : int
            How many there are now.
        """
        return self

    def count(self, scores: ScoreBlock) -> Counts:
        """Number of labels for each query, (n_queries,), before `minimum` and `maximum`."""
        raise TypeError(f"{type(self).__name__} does not say how many labels it takes.")

    def rank_by(self, scores: ScoreBlock) -> FloatArray:
        """What the labels are ranked by, (n_queries, n_labels)."""
        return scores.ranking

    @property
    def fewest(self) -> int:
        """How many labels every query gets at least, of a rule that counts labels whatever their scores."""
        return 0

    def forced(self, scores: ScoreBlock) -> npt.NDArray[np.bool_]:
        """Whether the rule alone gives a query fewer labels than `minimum`, (n_queries,)."""
        short: npt.NDArray[np.bool_] = self.count(scores) < min(self.minimum, scores.labels.shape[1])
        return short

    def bounded_count(self, scores: ScoreBlock) -> Counts:
        """Number of labels for each query, within `minimum` and `maximum`."""
        highest, n_always = scores.labels.shape[1], 0
        if scores.constant is not None:
            highest -= int(np.count_nonzero(scores.constant < 0))
            n_always = int(np.count_nonzero(scores.constant > 0))
        highest = highest if self.maximum is None else min(self.maximum, highest)
        lowest = min(self.minimum + n_always if self.minimum else 0, highest)
        bounded: Counts = np.clip(self.count(scores), lowest, highest).astype(np.int64)
        return bounded

    def predict(self, scores: ScoreBlock) -> sp.csr_array:
        """Label sets, (n_queries, n_labels); the entries of a row are stored strongest first."""
        counts = self.bounded_count(scores)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        indices: Counts = np.empty(indptr[-1], dtype=np.int64)
        ranks = scores.settled(self.rank_by(scores))
        top_labels(np.ascontiguousarray(ranks), counts, indptr, indices)
        ones = np.ones(len(indices), dtype=np.int8)
        return sp.csr_array((ones, indices, indptr), shape=scores.labels.shape)

"""Label rules that count labels: by similarity, a fixed number, or any function; and their base class."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.kernels import top_labels
from simlabel._utils.validation import BoolArray, FloatArray, IntArray, check_number, check_numbers
from simlabel.rules._scores import ScoreBlock, TrainingBlock

Needs = Literal["nothing", "leave_one_out", "own_scores"]


class LabelRule(BaseEstimator):
    """Base class: decide how many labels a query gets, and which.

    Every rule has a `minimum` and a `maximum` number of labels. If it gives fewer, the strongest other
    labels are added; if it gives more, the weakest are dropped.

    Rules learn only from labels that vary. A label that no training row has is never predicted, not even to
    reach `minimum`. A label that every training row has is always predicted, before all others: it counts
    toward `maximum`, but not toward `minimum`, since it carries no information about a row.
    """

    name: ClassVar[str]
    minimum: Any
    maximum: int | None
    #: the scores that `fit` needs
    needs: Needs = "nothing"
    #: values of `minimum` that are allowed besides a number, until `fit` has resolved them
    auto_minimum: ClassVar[tuple[str, ...]] = ()
    #: names of the learned attributes, for a model file
    fitted_state: ClassVar[tuple[str, ...]] = ()

    def check(self) -> None:
        """Raise ValueError if a parameter or a learned value is out of range."""
        owner = type(self).__name__
        fitted = any(hasattr(self, name) for name in self.fitted_state)
        also = () if fitted else self.auto_minimum
        check_number(owner, "minimum", self.minimum, at_least=0, integer=True, also=also)
        least = 0 if self.minimum in also else self.minimum
        check_number(owner, "maximum", self.maximum, at_least=least, integer=True, also=(None,))

    def fit(self, sizes: IntArray, blocks: Iterable[TrainingBlock]) -> Self:
        """Return a copy fitted to the set sizes seen in training and to the scores in `blocks`.

        Sizes and blocks hold only labels that vary (`TrainingBlock.varying`); `adapted` adds the others.
        """
        return self

    def adapted(self, sizes: IntArray, places: IntArray, n_labels: int) -> Self:
        """Return a copy for references with other set sizes and more labels; learned values are held.

        Parameters
        ----------
        sizes : array of int
            The set sizes that occur now.
        places : array of int
            The column of each former label now.
        n_labels : int
            The number of labels now.
        """
        return self

    def cutoffs(self, scores: ScoreBlock) -> Any:
        """Return what a label weight must exceed, as an array that broadcasts to (n_queries, n_labels)."""
        raise NotImplementedError(f"{type(self).__name__} must define cutoffs or count.")

    def count(self, scores: ScoreBlock) -> IntArray:
        """Return the number of labels of each query, (n_queries,), before `minimum` and `maximum`."""
        return np.count_nonzero(scores.with_constant_labels(scores.labels) > self.cutoffs(scores), axis=1)

    def rank_by(self, scores: ScoreBlock) -> FloatArray:
        """Return the values by which labels are ranked, (n_queries, n_labels)."""
        return scores.ranking

    @property
    def fewest(self) -> int:
        """The least number of labels of any query, if the rule does not compare scores with a cutoff."""
        return 0

    def forced(self, scores: ScoreBlock) -> BoolArray:
        """Return whether the rule alone gives a query fewer labels than `minimum`, (n_queries,)."""
        return self.count(scores) < min(self.minimum, scores.labels.shape[1])

    def predict(self, scores: ScoreBlock) -> sp.csr_array:
        """Return label sets, (n_queries, n_labels); the entries of a row are stored strongest first."""
        highest, n_always = scores.labels.shape[1], 0
        if scores.constant is not None:
            highest -= int(np.count_nonzero(scores.constant < 0))
            n_always = int(np.count_nonzero(scores.constant > 0))
        highest = highest if self.maximum is None else min(self.maximum, highest)
        lowest = min(self.minimum + n_always if self.minimum else 0, highest)
        counts = np.clip(self.count(scores), lowest, highest).astype(np.int64)
        indptr = np.concatenate([[0], np.cumsum(counts)])
        indices = np.empty(indptr[-1], dtype=np.int64)
        ranks = scores.with_constant_labels(self.rank_by(scores))
        top_labels(np.ascontiguousarray(ranks), counts, indptr, indices)
        return sp.csr_array((np.ones(len(indices), dtype=np.int8), indices, indptr), scores.labels.shape)


class SetSize(LabelRule):
    """Predict the number of labels by similarity, as in the paper.

    References vote for the size of their own label set, weighted by similarity. Only sizes seen in training
    are candidates, including 0; a tie goes to the smaller. References with unknown labels have no vote. If
    all references have unknown labels, the labels' shares of the similarity are added up and rounded.

    Parameters
    ----------
    minimum, maximum : int
        Bounds on the number of labels.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier("linear", normalizer=None, label_rule=SetSize(minimum=1))
    >>> model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea", "sunset"}, {"trees"}]).predict_sets([[1.0, 0.1]])
    [('sea', 'sunset')]
    """

    name = "set_size"
    file_key = "label_rules.SetSize"
    fitted_state = ("sizes_",)

    def __init__(self, minimum: int = 0, maximum: int | None = None) -> None:
        self.minimum = minimum
        self.maximum = maximum

    def check(self) -> None:
        """Raise ValueError if a bound, or a learned size, is not a number of labels."""
        super().check()
        if hasattr(self, "sizes_"):
            check_numbers("SetSize", "sizes_", self.sizes_, (None,), kinds="i", at_least=0)

    def fit(self, sizes: IntArray, blocks: Iterable[TrainingBlock]) -> Self:
        """Return a copy that stores the set size of each column of `ScoreBlock.sizes`."""
        fitted = copy.copy(self)
        fitted.sizes_ = np.asarray(sizes, dtype=np.int64)
        return fitted

    def adapted(self, sizes: IntArray, places: IntArray, n_labels: int) -> Self:
        """Return a copy for these sizes: they are a property of the references and not learned."""
        return self.fit(sizes, ())

    @property
    def fewest(self) -> int:
        """The smallest set size seen in training."""
        return int(self.sizes_.min()) if len(self.sizes_) else 0

    def count(self, scores: ScoreBlock) -> IntArray:
        """Return the size with the largest sum; without candidate sizes, the rounded sum of the shares."""
        if not len(self.sizes_):
            # a half goes to the smaller size, like any tie, independent of rounding
            shares = np.clip(scores.with_constant_labels(scores.shares), 0.0, 1.0)
            return np.ceil(shares.sum(axis=1) - 0.5 - 1e-6).astype(np.int64)
        return self.sizes_[np.argmax(scores.sizes, axis=1)]


class FixedSize(LabelRule):
    """Predict the same number of labels for every row.

    Parameters
    ----------
    size : int
        The number of labels.
    minimum, maximum : int
        Bounds on the number of labels.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier("linear", label_rule=FixedSize(1))
    >>> model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea", "sunset"}, {"trees"}]).predict([[1.0, 0.1]])
    [{'sea'}]
    """

    name = "fixed_size"
    file_key = "label_rules.FixedSize"

    def __init__(self, size: int = 1, minimum: int = 0, maximum: int | None = None) -> None:
        self.size = size
        self.minimum = minimum
        self.maximum = maximum

    def check(self) -> None:
        """Raise ValueError if the size is not a whole number."""
        super().check()
        check_number("FixedSize", "size", self.size, at_least=0, integer=True)

    @property
    def fewest(self) -> int:
        """The size."""
        return self.size

    def count(self, scores: ScoreBlock) -> IntArray:
        """Return the size for each query."""
        return np.full(scores.labels.shape[0], self.size, dtype=np.int64)


class CustomRule(LabelRule):
    """Choose labels by any function of the label weights.

    Parameters
    ----------
    fn : callable
        ``fn(scores) -> array`` of bool or 0/1, (n_queries, n_labels) both.
    minimum, maximum : int
        Bounds on the number of labels.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> above_mean = CustomRule(lambda scores: scores > scores.mean(axis=1, keepdims=True), minimum=1)
    >>> model = SMLClassifier("linear", label_rule=above_mean)
    >>> model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea", "sunset"}, {"trees"}]).predict([[0.0, 1.0]])
    [{'trees'}]
    """

    name = "custom"
    file_key = "label_rules.Custom"

    def __init__(self, fn: Callable[[FloatArray], Any], minimum: int = 0, maximum: int | None = None) -> None:
        self.fn = fn
        self.minimum = minimum
        self.maximum = maximum

    def check(self) -> None:
        """Raise TypeError if `fn` cannot be called."""
        super().check()
        if not callable(self.fn):
            raise TypeError(f"CustomRule: fn must be callable, got {self.fn!r}.")

    def _chosen(self, scores: ScoreBlock) -> BoolArray:
        chosen = np.asarray(self.fn(scores.labels.copy()))
        if chosen.shape != scores.labels.shape:
            raise ValueError(
                f"label_rule {self.fn!r} returned shape {chosen.shape} "
                f"for scores of shape {scores.labels.shape}."
            )
        return scores.with_constant_labels(chosen.astype(np.float64)) > 0

    def count(self, scores: ScoreBlock) -> IntArray:
        """Return how many labels the function chose."""
        return np.count_nonzero(self._chosen(scores), axis=1)

    def rank_by(self, scores: ScoreBlock) -> FloatArray:
        """Rank chosen labels before the others, each by weight."""
        n_labels = scores.labels.shape[1]
        places = np.argsort(np.argsort(-scores.ranking, axis=1, kind="stable"), axis=1)
        return (self._chosen(scores) * n_labels - places).astype(np.float64)

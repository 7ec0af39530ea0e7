"""Set size by similarity, a fixed size, a cutoff, and any function."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import FloatArray, check_number, check_numbers
from simlabel.rules._base import Counts, LabelRule, Needs, ScoreBlock, TrainingBlock
from simlabel.rules._gather import gather
from simlabel.rules._sweeps import common_threshold
from simlabel.rules._tuned import TunedRule


class SetSize(LabelRule):
    """As many labels as the similarity sum over set sizes says: the paper's rule.

    The references vote for the size of their own label set, each as much as it is similar. Only
    sizes seen in training are candidates, 0 among them; a tie goes to the smaller. References not all of
    whose labels are known have no vote; where that is so of all of them, the labels' shares of the similarity
    add up to the number that is to be expected, which is rounded.

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
        """Raise ValueError where a bound, or a size that was learnt, is no number of labels."""
        super().check()
        if hasattr(self, "sizes_"):
            check_numbers("SetSize", "sizes_", self.sizes_, (None,), kinds="i", at_least=0)

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Self:
        """Remember the sizes that the columns of `ScoreBlock.sizes` stand for."""
        fitted = copy.copy(self)
        fitted.sizes_ = np.asarray(sizes, dtype=np.int64)
        return fitted

    def adapted(self, sizes: Counts, places: Counts, n_labels: int) -> Self:
        """Return a copy for these sizes: they are those of the references, not learnt."""
        return self.fit(sizes, ())

    @property
    def fewest(self) -> int:
        """The smallest set size seen in training."""
        return int(self.sizes_.min()) if len(self.sizes_) else 0

    def count(self, scores: ScoreBlock) -> Counts:
        """The size with the largest sum; where no reference is wholly known, what the shares add up to."""
        if not len(self.sizes_):
            # a half goes to the smaller size, like any tie, whatever its last bits are
            shares = np.clip(scores.settled(scores.shares), 0.0, 1.0)
            return np.ceil(shares.sum(axis=1) - 0.5 - 1e-6).astype(np.int64)
        chosen: Counts = self.sizes_[np.argmax(scores.sizes, axis=1)]
        return chosen


class FixedSize(LabelRule):
    """The same number of labels for every instance.

    Parameters
    ----------
    size : int
        How many.
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
        """Raise ValueError where the size is not a whole number."""
        super().check()
        check_number("FixedSize", "size", self.size, at_least=0, integer=True)

    @property
    def fewest(self) -> int:
        """The size."""
        return self.size

    def count(self, scores: ScoreBlock) -> Counts:
        """The size."""
        return np.full(scores.labels.shape[0], self.size, dtype=np.int64)


class CutoffRule(TunedRule):
    """All labels whose weight is above a value.

    Parameters
    ----------
    value : float or "auto"
        A label weight is a sum over all references, so the value depends on their number.
        ``"auto"`` is the one that is best on leave-one-out scores, of those at which at most twice as
        many labels are accepted as are true.
    minimum, maximum : int
        Bounds on the number of labels; ``minimum="auto"`` is 1 where no training row is without a label,
        and 0 otherwise.
    criterion : {"f1_micro", "f1_macro", "f1_instance", "subset_accuracy", "hamming_loss"}
        What a value that is found is best for.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier("linear", label_rule=CutoffRule(0.5))
    >>> model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea", "sunset"}, {"trees"}]).predict([[0.0, 1.0]])
    [{'trees'}]
    """

    name = "cutoff"
    file_key = "label_rules.Cutoff"
    fitted_state = ("value_",)

    def __init__(
        self,
        value: float | Literal["auto"] = "auto",
        minimum: int | Literal["auto"] = 0,
        maximum: int | None = None,
        criterion: str = "hamming_loss",
    ) -> None:
        self.value = value
        self.minimum = minimum
        self.maximum = maximum
        self.criterion = criterion

    def check(self) -> None:
        """Raise ValueError where the value is no number."""
        super().check()
        check_number("CutoffRule", "value", self.value, also=("auto",))
        learnt = getattr(self, "value_", 0.0)
        if not isinstance(learnt, float) or math.isnan(learnt):  # infinite where no label is ever there
            raise ValueError(f"CutoffRule: value_ must be a number, got {learnt!r}.")

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """Leave-one-out scores where the value is to be found."""
        return "leave_one_out" if self.value == "auto" else "nothing"

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Self:
        """Find the value: the same for all labels."""
        fitted = copy.copy(self)
        fitted.minimum, fitted.criterion = self.resolved_minimum(sizes), self.criterion
        if self.value == "auto":
            data = gather(blocks)
            known = data.scores.size > 0
            fitted.value_ = common_threshold(data.scores, data, fitted.criterion) if known else 0.0
        else:
            fitted.value_ = float(self.value)
        return fitted

    def count(self, scores: ScoreBlock) -> Counts:
        """How many weights are above."""
        return np.count_nonzero(scores.settled(scores.labels) > self.value_, axis=1)


class CustomRule(LabelRule):
    """Any function of the label weights.

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
        """Raise TypeError where `fn` cannot be called."""
        super().check()
        if not callable(self.fn):
            raise TypeError(f"CustomRule: fn must be callable, got {self.fn!r}.")

    def _chosen(self, scores: ScoreBlock) -> npt.NDArray[np.bool_]:
        chosen = np.asarray(self.fn(scores.labels.copy()))
        if chosen.shape != scores.labels.shape:
            raise ValueError(
                f"label_rule {self.fn!r} returned shape {chosen.shape} "
                f"for scores of shape {scores.labels.shape}."
            )
        return scores.settled(chosen.astype(np.float64)) > 0

    def count(self, scores: ScoreBlock) -> Counts:
        """How many the function chose."""
        return np.count_nonzero(self._chosen(scores), axis=1)

    def rank_by(self, scores: ScoreBlock) -> FloatArray:
        """Chosen labels before the others, each by weight."""
        n_labels = scores.labels.shape[1]
        order = np.argsort(-scores.ranking, axis=1, kind="stable")
        place = np.empty_like(order)
        np.put_along_axis(place, order, np.arange(n_labels)[None, :], axis=1)
        return (self._chosen(scores) * n_labels - place).astype(np.float64)

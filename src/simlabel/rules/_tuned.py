"""Label rules whose thresholds are tuned for a metric: a cutoff, one per label, the best rule."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray, IntArray, check_number, check_numbers
from simlabel.rules._rules import CustomRule, FixedSize, LabelRule, Needs, SetSize
from simlabel.rules._scores import ScoreBlock, TrainingBlock, merged_blocks
from simlabel.rules._search import (
    AT_MOST,
    TUNED_METRICS,
    Strength,
    best_by_folds,
    common_threshold,
    tuned_thresholds,
)
from simlabel.rules._threshold import Threshold

#: metrics that are functions of the counts of each label, and so can be corrected for missing positives
BY_LABEL = ("f1_micro", "f1_macro", "hamming_loss")


class TunedRule(LabelRule):
    """Base class of rules that are tuned for a `criterion` on leave-one-out scores.

    Their `minimum` may be "auto": 1 if every training row has a label, else 0.
    """

    criterion: str
    needs: Needs = "leave_one_out"
    auto_minimum = ("auto",)

    def check(self) -> None:
        """Raise ValueError if the criterion is not one of `TUNED_METRICS`."""
        super().check()
        if self.criterion not in TUNED_METRICS:
            owner, known = type(self).__name__, ", ".join(TUNED_METRICS)
            raise ValueError(f"{owner}: criterion must be one of {known}, got {self.criterion!r}.")

    def resolved_minimum(self, sizes: IntArray) -> int:
        """Return the minimum number of labels, given the set sizes seen in training."""
        if self.minimum != "auto":
            return int(self.minimum)
        least = 1 if len(sizes) and min(sizes) > 0 else 0
        return least if self.maximum is None else min(least, self.maximum)


class CutoffRule(TunedRule):
    """Predict the labels whose weight is above one value.

    Parameters
    ----------
    value : float or "auto"
        A label weight is a sum over all references, so the value depends on their number.
        ``"auto"`` is the best one on leave-one-out scores, of those at which at most twice as many
        labels are accepted as are true.
    minimum, maximum : int
        Bounds on the number of labels; ``minimum="auto"`` is 1 if every training row has a label, else 0.
    criterion : {"f1_micro", "f1_macro", "f1_instance", "subset_accuracy", "hamming_loss"}
        The metric that an automatic value is tuned for.

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
        """Raise ValueError if the value is not a number."""
        super().check()
        check_number("CutoffRule", "value", self.value, also=("auto",))
        learned = getattr(self, "value_", 0.0)
        if not isinstance(learned, float) or math.isnan(learned):  # infinite if no row has any label
            raise ValueError(f"CutoffRule: value_ must be a number, got {learned!r}.")

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """Leave-one-out scores if the value is "auto"."""
        return "leave_one_out" if self.value == "auto" else "nothing"

    def fit(self, sizes: IntArray, blocks: Iterable[TrainingBlock]) -> Self:
        """Return a copy with the value."""
        fitted = copy.copy(self)
        fitted.minimum = self.resolved_minimum(sizes)
        if self.value == "auto":
            block = merged_blocks(blocks)
            fitted.value_ = common_threshold(block, self.criterion) if block.scores.labels.size else 0.0
        else:
            fitted.value_ = float(self.value)
        return fitted

    def cutoffs(self, scores: ScoreBlock) -> float:
        """Return the value."""
        return self.value_


class PerLabel(TunedRule):
    """Predict the labels whose weight is above a threshold of their own.

    The best threshold of a rare label is uncertain. It is shrunk towards a common one: a label of n rows has
    weight n / (n + shrinkage) on its own threshold. The common one is the mean of two: the weight, and the
    multiple of a label's frequency, that is the best cut for all labels together.

    Parameters
    ----------
    criterion : {"f1_macro", "f1_micro", "f1_instance", "subset_accuracy", "hamming_loss"}
        The metric that thresholds are tuned for, on leave-one-out scores: F1 averaged over labels, over all
        entries, or over rows, the share of sets that are exactly right, or of wrong entries. Without
        shrinkage thresholds are optimal, except for ``"f1_instance"`` and ``"subset_accuracy"``: these are
        the best that changing one threshold at a time reaches.
    thresholds : array, (n_labels,), or dict of label number to float, optional
        Thresholds to use in place of tuned ones; with a dict the others are tuned.
    minimum, maximum : int
        Bounds on the number of labels; ``minimum="auto"`` is 1 if every training row has a label, else 0.
    shrinkage : float, "auto" or "full"
        How strongly thresholds are shrunk towards the common one: 0 for not at all, "full" for the common
        one alone. "auto" is 80, unless "full", 20 or 0 is clearly better on held-out training rows: in five
        folds, by more than two standard errors.
    at_most : float or None
        Over the training rows no label is accepted more often than this many times as often as it is true,
        apart from what `minimum` adds; None for no bound.

    Attributes
    ----------
    thresholds_ : array, (n_labels,)
        A label that no row has, or that every row has, gets the median of the others.

    See Also
    --------
    AutoRule : The best of several rules.
    OperatingPointRule : A cutoff that aims at a precision or a recall.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]], [{"a"}, {"a"}, {"b"}, {"b"}]
    >>> model = SMLClassifier("linear", label_rule=PerLabel("f1_macro")).fit(X, y)
    >>> model.predict([[0.8, 0.1]])
    [{'a'}]
    """

    name = "per_label"
    file_key = "label_rules.PerLabel"
    fitted_state = ("thresholds_",)
    #: candidates of "auto"; the first, unless another is clearly better
    strengths: ClassVar[tuple[Strength, ...]] = (80.0, "full", 20.0, 0.0)

    def __init__(
        self,
        criterion: str = "f1_macro",
        thresholds: Any = None,
        minimum: int | Literal["auto"] = "auto",
        maximum: int | None = None,
        shrinkage: float | Literal["auto", "full"] = "auto",
        at_most: float | None = AT_MOST,
    ) -> None:
        self.criterion = criterion
        self.thresholds = thresholds
        self.minimum = minimum
        self.maximum = maximum
        self.shrinkage = shrinkage
        self.at_most = at_most

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """Leave-one-out scores, unless all thresholds are given."""
        return "nothing" if self._all_given else "leave_one_out"

    @property
    def _all_given(self) -> bool:
        return self.thresholds is not None and not isinstance(self.thresholds, Mapping)

    def check(self) -> None:
        """Raise ValueError if a parameter or a threshold is out of range."""
        super().check()
        check_number("PerLabel", "shrinkage", self.shrinkage, at_least=0, also=("auto", "full"))
        check_number("PerLabel", "at_most", self.at_most, above=0, also=(None,))
        if self.thresholds is not None:
            given = self.thresholds if self._all_given else list(self.thresholds.values())
            given = np.asarray(given, dtype=np.float64)
            check_numbers("PerLabel", "thresholds", given, (None,), finite=False)
        if hasattr(self, "thresholds_"):  # infinite for a label that no row has
            check_numbers("PerLabel", "thresholds_", self.thresholds_, (None,), finite=False)

    def fit(self, sizes: IntArray, blocks: Iterable[TrainingBlock]) -> Self:
        """Return a copy with tuned thresholds."""
        if self._all_given:
            return self._fitted(sizes, np.asarray(self.thresholds, dtype=np.float64), self.shrinkage)
        if self.shrinkage == "auto":
            fit_all = partial(self.fit_each, self.strengths, sizes)
            return best_by_folds(fit_all, merged_blocks(blocks), self.criterion)
        return self.fit_each([self.shrinkage], sizes, blocks)[0]

    def fit_each(
        self, strengths: Sequence[Strength], sizes: IntArray, blocks: Iterable[TrainingBlock]
    ) -> list[Self]:
        """Return a rule for each strength of shrinkage; what they share is computed once."""
        block = merged_blocks(blocks)
        tuned = tuned_thresholds(block, self.criterion, strengths, self.at_most)
        numbers = range(block.Y.shape[1]) if block.numbers is None else block.numbers.tolist()
        for at, label in enumerate(numbers if self.thresholds else ()):
            for thresholds in tuned:
                thresholds[at] = self.thresholds.get(label, thresholds[at])
        return [self._fitted(sizes, *each) for each in zip(tuned, strengths, strict=True)]

    def _fitted(self, sizes: IntArray, thresholds: FloatArray, shrinkage: Any) -> Self:
        fitted = copy.copy(self)
        fitted.minimum = self.resolved_minimum(sizes)
        fitted.shrinkage, fitted.thresholds_ = shrinkage, thresholds
        return fitted

    def adapted(self, sizes: IntArray, places: IntArray, n_labels: int) -> Self:
        """Return a copy in which labels that it has not learned from have the median threshold."""
        adapted = copy.copy(self)
        known = self.thresholds_[np.isfinite(self.thresholds_)]
        adapted.thresholds_ = np.full(n_labels, np.median(known) if known.size else 0.5)
        adapted.thresholds_[places] = self.thresholds_
        given = self.thresholds if isinstance(self.thresholds, Mapping) else {}
        for label in given.keys() - set(places.tolist()):
            adapted.thresholds_[label] = given[label]
        return adapted

    def cutoffs(self, scores: ScoreBlock) -> FloatArray:
        """Return the threshold of each label."""
        if self.thresholds_.shape != (scores.labels.shape[1],):
            raise ValueError(
                f"PerLabel: thresholds have shape {self.thresholds_.shape}, "
                f"but there are {scores.labels.shape[1]} labels."
            )
        return self.thresholds_

    def rank_by(self, scores: ScoreBlock) -> FloatArray:
        """Rank labels by how far they are above their threshold."""
        return scores.ranking - np.where(np.isfinite(self.thresholds_), self.thresholds_, 1e300)


class AutoRule(TunedRule):
    """Choose per-label thresholds, unless a cutoff, the threshold function or set size is clearly better.

    Each rule is fitted on leave-one-out scores of four fifths of the training rows and evaluated on the
    others, five times; per-label thresholds with every strength of shrinkage. Per-label thresholds with
    moderate shrinkage are chosen unless another rule is better by more than two standard errors: on a few
    hundred rows the best result is often due to chance. The chosen rule is fitted on all rows. Beyond 2,000
    labels the threshold function is not tried: the time of its regression is cubic in their number.

    Parameters
    ----------
    criterion : {"f1_micro", "f1_macro", "f1_instance", "subset_accuracy", "hamming_loss"}
        The metric that decides, and for which the cutoff and the thresholds are tuned.
    minimum, maximum : int
        Bounds on the number of labels; ``minimum="auto"`` is 1 if every training row has a label, else 0.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]], [{"a"}, {"a"}, {"b"}, {"b"}]
    >>> SMLClassifier("linear", label_rule="auto").fit(X, y).label_rule_
    PerLabel(criterion='f1_micro', minimum=1, shrinkage=80.0)
    """

    name = "auto"
    file_key = "label_rules.Auto"

    def __init__(
        self,
        criterion: str = "f1_micro",
        minimum: int | Literal["auto"] = "auto",
        maximum: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.minimum = minimum
        self.maximum = maximum

    def fit(self, sizes: IntArray, blocks: Iterable[TrainingBlock]) -> Any:
        """Return the chosen rule, fitted."""
        bounds: Any = {"minimum": self.resolved_minimum(sizes), "maximum": self.maximum}
        block = merged_blocks(blocks)
        rules: list[LabelRule] = [CutoffRule(criterion=self.criterion, **bounds), SetSize(**bounds)]
        if block.Y.shape[1] <= limits().threshold_labels:
            rules.insert(1, Threshold(**bounds))
        per_label = PerLabel(self.criterion, **bounds)

        def fit_all(some: Iterable[TrainingBlock]) -> list[LabelRule]:
            shrunk = per_label.fit_each(per_label.strengths, sizes, some)
            return [*shrunk, *(rule.fit(sizes, some) for rule in rules)]

        return best_by_folds(fit_all, block, self.criterion)


def for_positive_unlabeled(rule: LabelRule) -> LabelRule:
    """Return a rule that can be fitted if labels may be missing: thresholds per label in place of "auto"."""
    if isinstance(rule, SetSize | FixedSize | CustomRule) or rule.needs == "nothing":
        return rule
    if isinstance(rule, AutoRule):
        return for_positive_unlabeled(PerLabel(rule.criterion, minimum=rule.minimum, maximum=rule.maximum))
    if isinstance(rule, PerLabel | CutoffRule) and rule.criterion in BY_LABEL:
        return rule
    raise ValueError(
        f"{rule!r} learns from whole label sets, but with unlabeled='unknown' labels may be missing. "
        f"Use 'set_size', 'fixed_size', or 'cutoff' or 'per_label' with a criterion of {', '.join(BY_LABEL)}."
    )

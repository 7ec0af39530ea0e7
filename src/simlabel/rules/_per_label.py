"""One threshold per label, tuned on leave-one-out scores."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np

from simlabel._utils.validation import FloatArray, check_number, check_numbers
from simlabel.rules._base import Counts, Needs, ScoreBlock, TrainingBlock
from simlabel.rules._folds import best_by_folds
from simlabel.rules._gather import gather, thinned
from simlabel.rules._sweeps import AT_MOST, Strength, tuned_thresholds
from simlabel.rules._tuned import TunedRule


class PerLabel(TunedRule):
    """All labels whose weight is above their own threshold.

    The threshold that is best for one label alone is uncertain where the label is rare. It is drawn
    towards a common one, with weight n / (n + shrinkage) on its own for a label that n rows have. The
    common one is midway between two: the weight, and the multiple of a label's frequency, that is the
    best cut for all labels together.

    Parameters
    ----------
    criterion : {"f1_macro", "f1_micro", "f1_instance", "subset_accuracy", "hamming_loss"}
        What the thresholds are tuned for, on leave-one-out scores: F1 averaged over labels, over all
        entries, or over instances, the share of sets that are exactly right, or of wrong entries. Without
        shrinkage the best there are, but for ``"f1_instance"`` and ``"subset_accuracy"``: these are
        the best that changing one threshold at a time reaches.
    thresholds : array, (n_labels,), or dict of label number to float, optional
        Thresholds of your own, in place of tuned ones; with a dict the others are tuned.
    minimum, maximum : int
        Bounds on the number of labels; ``minimum="auto"`` is 1 where no training row is without a label,
        and 0 otherwise.
    shrinkage : float, "auto" or "full"
        How strongly thresholds are drawn towards the common one: 0 for not at all, "full" for the common
        one alone. "auto" takes 80, unless "full", 20 or 0 is clearly better on training rows that the
        thresholds were not tuned on: in five folds by more than two standard errors.
    at_most : float or None
        Over the training rows no label is accepted more often than so many times as often as it is true,
        but for what `minimum` adds; None for no bound.

    Attributes
    ----------
    thresholds_ : array, (n_labels,)
        A label that no row has, or that every row has, gets the median of the others.

    See Also
    --------
    AutoRule : The best of several rules.
    AimedRule : A cut that aims at a precision or a recall.

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
    #: what "auto" chooses from; the first, unless another is clearly better
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
        """Nothing where all thresholds are given."""
        return "nothing" if self._all_given else "leave_one_out"

    @property
    def _all_given(self) -> bool:
        return self.thresholds is not None and not isinstance(self.thresholds, Mapping)

    def check(self) -> None:
        """Raise ValueError where the criterion or a threshold is not understood."""
        super().check()
        check_number("PerLabel", "shrinkage", self.shrinkage, at_least=0, also=("auto", "full"))
        check_number("PerLabel", "at_most", self.at_most, above=0, also=(None,))
        if self.thresholds is not None:
            given = (
                list(self.thresholds.values()) if isinstance(self.thresholds, Mapping) else self.thresholds
            )
            given = np.asarray(given, dtype=np.float64)
            check_numbers("PerLabel", "thresholds", given, (None,), finite=False)
        if hasattr(self, "thresholds_"):  # infinite for a label that is never there
            check_numbers("PerLabel", "thresholds_", self.thresholds_, (None,), finite=False)

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Self:
        """Tune the thresholds."""
        if self._all_given:
            fitted = self._fitted(sizes, np.asarray(self.thresholds, dtype=np.float64), self.shrinkage)
        elif self.shrinkage == "auto":
            fit_all = partial(self.fit_each, self.strengths, sizes)
            fitted = best_by_folds(fit_all, thinned(blocks), self.criterion)
        else:
            fitted = self.fit_each([self.shrinkage], sizes, blocks)[0]
        return fitted

    def fit_each(
        self, strengths: Sequence[Strength], sizes: Counts, blocks: Iterable[TrainingBlock]
    ) -> list[Self]:
        """Return a rule for each strength of shrinkage; what they share is computed once."""
        data = gather(blocks)
        tuned = tuned_thresholds(data, self.criterion, strengths, self.at_most)
        given = self.thresholds or {}
        if data.numbers is not None:
            given = {at: given[label] for at, label in enumerate(data.numbers.tolist()) if label in given}
        for thresholds in tuned:
            for label, value in given.items():
                thresholds[label] = value
        return [self._fitted(sizes, *each) for each in zip(tuned, strengths, strict=True)]

    def _fitted(self, sizes: Counts, thresholds: FloatArray, shrinkage: Any) -> Self:
        fitted = copy.copy(self)
        fitted.criterion = self.criterion
        fitted.minimum = self.resolved_minimum(sizes)
        fitted.shrinkage, fitted.thresholds_ = shrinkage, thresholds
        return fitted

    def adapted(self, sizes: Counts, places: Counts, n_labels: int) -> Self:
        """Return a copy in which labels that it has not learnt from have the median threshold."""
        adapted = copy.copy(self)
        known = self.thresholds_[np.isfinite(self.thresholds_)]
        adapted.thresholds_ = np.full(n_labels, np.median(known) if known.size else 0.5)
        adapted.thresholds_[places] = self.thresholds_
        given = self.thresholds if isinstance(self.thresholds, Mapping) else {}
        for label in given.keys() - set(places.tolist()):
            adapted.thresholds_[label] = given[label]
        return adapted

    def count(self, scores: ScoreBlock) -> Counts:
        """How many weights are above their threshold."""
        if self.thresholds_.shape != (scores.labels.shape[1],):
            raise ValueError(
                f"PerLabel: thresholds have shape {self.thresholds_.shape}, "
                f"but there are {scores.labels.shape[1]} labels."
            )
        return np.count_nonzero(scores.settled(scores.labels) > self.thresholds_, axis=1)

    def rank_by(self, scores: ScoreBlock) -> FloatArray:
        """How far above its threshold a label is."""
        return scores.ranking - np.where(np.isfinite(self.thresholds_), self.thresholds_, 1e300)

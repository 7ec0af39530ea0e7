"""One threshold per label, tuned on leave-one-out scores."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from simlabel.label_rules._base import Counts, Needs, ScoreBlock, TrainingBlock
from simlabel.label_rules._gather import gather
from simlabel.label_rules._sweeps import tuned_thresholds
from simlabel.label_rules._tuned import TunedRule
from simlabel.metrics import current_name
from simlabel.support.validation import FloatArray, check_numbers


class PerLabel(TunedRule):
    """All labels whose weight is above their own threshold.

    Parameters
    ----------
    criterion : {"f1_macro", "f1_micro", "f1_instance", "hamming_loss"}
        What the thresholds are tuned for, on leave-one-out scores: F1 averaged over labels, over all
        entries, or over instances, or the share of wrong entries. All but ``"f1_instance"`` are
        optimal; that one is the best that changing one threshold at a time reaches.
    thresholds : array, (n_labels,), or dict of label number to float, optional
        Thresholds of your own, in place of tuned ones; with a dict the others are tuned.
    minimum, maximum : int
        Bounds on the number of labels.

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

    def __init__(
        self,
        criterion: str = "f1_macro",
        thresholds: Any = None,
        minimum: int = 0,
        maximum: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.thresholds = thresholds
        self.minimum = minimum
        self.maximum = maximum

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
        fitted = copy.copy(self)
        fitted.criterion = current_name(self.criterion)
        if self._all_given:
            fitted.thresholds_ = np.asarray(self.thresholds, dtype=np.float64)
            return fitted
        fitted.thresholds_ = tuned_thresholds(gather(blocks), fitted.criterion)
        for label, value in (self.thresholds or {}).items():
            fitted.thresholds_[label] = value
        return fitted

    def adapted(self, sizes: Counts, places: Counts, n_labels: int) -> Self:
        """Return a copy in which labels that it has not learnt from have the median threshold."""
        adapted = copy.copy(self)
        known = self.thresholds_[np.isfinite(self.thresholds_)]
        adapted.thresholds_ = np.full(n_labels, np.median(known) if known.size else 0.5)
        adapted.thresholds_[places] = self.thresholds_
        return adapted

    def count(self, scores: ScoreBlock) -> Counts:
        """How many weights are above their threshold."""
        if self.thresholds_.shape != (scores.labels.shape[1],):
            raise ValueError(
                f"PerLabel: thresholds have shape {self.thresholds_.shape}, "
                f"but there are {scores.labels.shape[1]} labels."
            )
        return np.count_nonzero(scores.labels > self.thresholds_, axis=1)

    def rank_by(self, scores: ScoreBlock) -> FloatArray:
        """How far above its threshold a label is."""
        return scores.ranking - np.where(np.isfinite(self.thresholds_), self.thresholds_, 1e300)

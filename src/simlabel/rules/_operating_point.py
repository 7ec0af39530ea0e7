"""A cutoff that aims at a precision or a recall."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from typing import Literal, Self

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray, IntArray, check_number
from simlabel.rules._rules import LabelRule, Needs
from simlabel.rules._scores import ScoreBlock, TrainingBlock, merged_blocks
from simlabel.rules._search import flat_sweep, folds

_Z = 1.959963984540054  # 97.5% quantile of the normal distribution


class OperatingPointRule(LabelRule):
    """Predict the labels whose weight is above a cutoff that reaches a given precision or recall.

    Precision is the share of predicted labels that are true, recall the share of true labels that are
    predicted, over all rows and labels together. Of the cutoffs that reach the aim on leave-one-out scores,
    the lowest is used for precision and the highest for recall. If no cutoff reaches a precision, the one
    that comes nearest is used. The aim is not a guarantee: `describe` returns the measured value.

    Parameters
    ----------
    measure : {"precision", "recall"}
        The metric that has an aim.
    aim : float
        Its value, above 0 and at most 1.
    minimum, maximum : int
        Bounds on the number of labels. The aim may be missed because of them; `measured_` includes them.

    Attributes
    ----------
    value_ : float
        The cutoff.
    measured_ : float
        The value on held-out training rows (five folds); NaN if nothing was predicted, or nothing is
        true.
    interval_ : tuple of float
        Wilson's 95% confidence interval, wider if the labels of a row tend to be right or wrong together.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.8, 0.1], [0.0, 1.0], [0.1, 0.9], [0.1, 0.8]]
    >>> y = [{"sea"}, {"sea"}, {"sea"}, {"trees"}, {"trees"}, {"trees"}]
    >>> model = SMLClassifier("linear", label_rule=OperatingPointRule("precision", 0.9)).fit(X, y)
    >>> model.label_rule_.describe()
    'precision 1.000 (0.610 to 1.000) on held-out training rows; the aim is 0.9'
    """

    name = "aimed"
    file_key = "label_rules.Aimed"
    fitted_state = ("value_", "measured_", "low_", "high_")
    needs: Needs = "leave_one_out"

    def __init__(
        self,
        measure: Literal["precision", "recall"] = "precision",
        aim: float = 0.9,
        minimum: int = 0,
        maximum: int | None = None,
    ) -> None:
        self.measure = measure
        self.aim = aim
        self.minimum = minimum
        self.maximum = maximum

    def check(self) -> None:
        """Raise ValueError if the aim or a learned value is out of range."""
        super().check()
        if self.measure not in ("precision", "recall"):
            raise ValueError(
                f"OperatingPointRule: measure must be 'precision' or 'recall', got {self.measure!r}."
            )
        check_number("OperatingPointRule", "aim", self.aim, above=0)
        if self.aim > 1:
            raise ValueError(f"OperatingPointRule: aim must be a share of at most 1, got {self.aim!r}.")
        for name in self.fitted_state:
            learned = getattr(self, name, 0.0)
            valid = isinstance(learned, float) and (name == "measured_" or not math.isnan(learned))
            if not valid or (name != "value_" and (learned < 0 or learned > 1)):
                raise ValueError(
                    f"OperatingPointRule: {name} must be a number, and a share in [0, 1], got {learned!r}."
                )

    @property
    def interval_(self) -> tuple[float, float]:
        """The 95% confidence interval of `measured_`."""
        return self.low_, self.high_

    def fit(self, sizes: IntArray, blocks: Iterable[TrainingBlock]) -> Self:
        """Return a copy with the cutoff, and with the value that it reaches on held-out rows."""
        block = merged_blocks(blocks, limits().evaluated_entries)
        fitted = self._cut(block)
        hits = [self._cut(rest)._hits(held) for rest, held in folds(block)]
        fitted.measured_, fitted.low_, fitted.high_ = _share(np.concatenate([np.empty((0, 3)), *hits]))
        return fitted

    def _cut(self, block: TrainingBlock) -> Self:
        flat = flat_sweep(merged_blocks([block]))
        if self.measure == "precision":
            share = flat.right / np.maximum(flat.taken, 1e-300)
            reached = np.flatnonzero(flat.possible & (share >= self.aim))
            cut = reached[-1] if len(reached) else flat.best(share)
        else:
            cut = flat.best(flat.right >= self.aim * flat.right[-1] * (1 - 1e-12))
        found = copy.copy(self)
        found.value_ = flat.threshold(int(cut)) if len(flat.scores) else 0.0
        return found

    def _hits(self, block: TrainingBlock) -> FloatArray:
        """Return for each row the number of right labels, the number they are a share of, and its weight."""
        truth, predicted = block.Y.toarray(), self.predict(block.scores).toarray() * block.known
        counted = predicted if self.measure == "precision" else truth
        return np.column_stack([(predicted * truth).sum(axis=1), counted.sum(axis=1), block.weights])

    def cutoffs(self, scores: ScoreBlock) -> float:
        """Return the cutoff."""
        return self.value_

    def describe(self) -> str:
        """Return the aim and the measured value with its interval, as text."""
        return (
            f"{self.measure} {self.measured_:.3f} ({self.low_:.3f} to {self.high_:.3f}) "
            f"on held-out training rows; the aim is {self.aim:g}"
        )


def _share(hits: FloatArray) -> tuple[float, float, float]:
    """Return a share over rows and its Wilson interval, for the effective number of trials."""
    right, of, weights = hits.T
    trials = float(weights @ of)
    if trials == 0:
        return float("nan"), 0.0, 1.0
    share = float(weights @ right) / trials
    spread = float(weights / trials @ (right - share * of) ** 2)  # `trials` times the variance
    n = min(trials, trials * (share * (1 - share) / spread)) if spread > 0 else trials
    middle = (share * n + _Z**2 / 2) / (n + _Z**2)
    half = _Z / (n + _Z**2) * math.sqrt(share * (1 - share) * n + _Z**2 / 4)
    return share, max(0.0, middle - half), min(1.0, middle + half)

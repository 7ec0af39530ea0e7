"""A cutoff that aims at a precision or a recall."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Sequence
from typing import Literal, Self

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray, check_number
from simlabel.rules._base import Counts, LabelRule, Needs, ScoreBlock, TrainingBlock
from simlabel.rules._folds import folds
from simlabel.rules._gather import gather, thinned
from simlabel.rules._sweeps import flat_sweep

_Z = 1.959963984540054  # of the normal distribution 95% lie within so many standard deviations


class AimedRule(LabelRule):
    """All labels whose weight is above a value at which the precision, or the recall, is as wanted.

    Precision is the share of accepted labels that are true, recall the share of true labels that are
    accepted, over all instances and labels together. Of the values at which leave-one-out scores reach
    the aim, precision takes the lowest, to accept as much as it may, and recall the highest. Where no
    value reaches a precision, the one that comes nearest is taken. It is an aim and not a guarantee:
    `describe` says what was measured.

    Parameters
    ----------
    measure : {"precision", "recall"}
        What is aimed at.
    aim : float
        How much of it, above 0 and at most 1.
    minimum, maximum : int
        Bounds on the number of labels, which may miss the aim; what is measured counts with them.

    Attributes
    ----------
    value_ : float
        The cut.
    measured_ : float
        What the rule reaches on training rows when the cut is found on others (five folds); NaN where
        nothing was accepted, or nothing is true.
    interval_ : tuple of float
        In which it lies with a confidence of 95%: Wilson's interval, wider where the labels of an
        instance tend to be right or wrong together.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[1.0, 0.0], [0.9, 0.1], [0.8, 0.1], [0.0, 1.0], [0.1, 0.9], [0.1, 0.8]]
    >>> y = [{"sea"}, {"sea"}, {"sea"}, {"trees"}, {"trees"}, {"trees"}]
    >>> model = SMLClassifier("linear", label_rule=AimedRule("precision", 0.9)).fit(X, y)
    >>> model.label_rule_.describe()
    'precision 1.000 (0.610 to 1.000) on training rows left out; the aim is 0.9'
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
        """Raise ValueError where the aim, or what was learnt, is out of range."""
        super().check()
        if self.measure not in ("precision", "recall"):
            raise ValueError(f"AimedRule: measure must be 'precision' or 'recall', got {self.measure!r}.")
        check_number("AimedRule", "aim", self.aim, above=0)
        if self.aim > 1:
            raise ValueError(f"AimedRule: aim must be a share of at most 1, got {self.aim!r}.")
        for name in self.fitted_state:
            learnt = getattr(self, name, 0.0)
            good = isinstance(learnt, float) and (name == "measured_" or not math.isnan(learnt))
            if not good or (name != "value_" and (learnt < 0 or learnt > 1)):
                raise ValueError(
                    f"AimedRule: {name} must be a number, and a share in [0, 1], got {learnt!r}."
                )

    @property
    def interval_(self) -> tuple[float, float]:
        """In which what was measured lies with a confidence of 95%."""
        return self.low_, self.high_

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Self:
        """Find the cut, and what it reaches on rows that it was not found on."""
        parts = thinned(blocks, limits().judged_entries)
        fitted = self._cut(parts)
        hits = [self._cut(rest)._hits(block) for rest, held in folds(parts) for block in held]
        fitted.measured_, fitted.low_, fitted.high_ = _share(np.concatenate([np.empty((0, 3)), *hits]))
        return fitted

    def _cut(self, blocks: Sequence[TrainingBlock]) -> Self:
        flat = flat_sweep(gather(blocks))
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
        """For each row how many labels are right, of how many, and its weight, (n_rows, 3)."""
        predicted = self.predict(block.scores)
        right = np.asarray(predicted.multiply(block.Y).sum(axis=1)).ravel()
        if block.unknown is not None:
            predicted = sp.csr_array(predicted - predicted.multiply(block.unknown))
            predicted.eliminate_zeros()
        counted = predicted if self.measure == "precision" else block.Y
        return np.column_stack([right, np.diff(counted.indptr), block.weights])

    def count(self, scores: ScoreBlock) -> Counts:
        """How many weights are above."""
        return np.count_nonzero(scores.settled(scores.labels) > self.value_, axis=1)

    def describe(self) -> str:
        """What was aimed at, and what was measured, with its interval."""
        return (
            f"{self.measure} {self.measured_:.3f} ({self.low_:.3f} to {self.high_:.3f}) "
            f"on training rows left out; the aim is {self.aim:g}"
        )


def _share(hits: FloatArray) -> tuple[float, float, float]:
    """A share over rows, and its interval: Wilson's, for as many trials as the rows are worth."""
    right, of, weights = hits.T
    trials = float(weights @ of)
    if trials == 0:
        return float("nan"), 0.0, 1.0
    share = float(weights @ right) / trials
    spread = float(weights @ (right - share * of) ** 2) / trials**2  # the variance, rows being independent
    worth = min(trials, share * (1 - share) / spread) if spread > 0 else trials
    middle = (share + _Z**2 / (2 * worth)) / (1 + _Z**2 / worth)
    half = _Z / (1 + _Z**2 / worth) * math.sqrt(share * (1 - share) / worth + (_Z / (2 * worth)) ** 2)
    return share, max(0.0, middle - half), min(1.0, middle + half)

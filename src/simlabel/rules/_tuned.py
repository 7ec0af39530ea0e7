"""What rules share that are tuned for a criterion of label sets."""

from __future__ import annotations

from simlabel.rules._base import Counts, LabelRule, Needs
from simlabel.rules._sweeps import TUNED


class TunedRule(LabelRule):
    """Base class of rules with a `criterion` that decides, on leave-one-out scores.

    Their `minimum` may be "auto": 1 where no training row is without a label, and 0 otherwise.
    """

    criterion: str
    needs: Needs = "leave_one_out"
    open_minimum = ("auto",)

    def check(self) -> None:
        """Raise ValueError if the criterion is not one of `TUNED`."""
        super().check()
        if self.criterion not in TUNED:
            owner, known = type(self).__name__, ", ".join(TUNED)
            raise ValueError(f"{owner}: criterion must be one of {known}, got {self.criterion!r}.")

    def resolved_minimum(self, sizes: Counts) -> int:
        """The least number of labels, given the set sizes seen in training."""
        if self.minimum != "auto":
            return int(self.minimum)
        least = 1 if len(sizes) and min(sizes) > 0 else 0
        return least if self.maximum is None else min(least, self.maximum)

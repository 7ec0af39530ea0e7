"""What rules share that are tuned for a criterion of label sets."""

from __future__ import annotations

import warnings

from simlabel.label_rules._base import Counts, LabelRule, Needs
from simlabel.label_rules._sweeps import TUNED
from simlabel.metrics import current_name


class TunedRule(LabelRule):
    """Base class of rules with a `criterion` that decides, on leave-one-out scores.

    Their `minimum` may be "auto": 1 where no training row is without a label, and 0 otherwise.
    """

    criterion: str
    needs: Needs = "leave_one_out"
    open_minimum = ("auto",)

    def check(self) -> None:
        """Raise ValueError where the criterion is not one of those above; warn where it has another name."""
        super().check()
        owner, name = type(self).__name__, current_name(self.criterion)
        if name not in TUNED:
            raise ValueError(f"{owner}: criterion must be one of {', '.join(TUNED)}, got {self.criterion!r}.")
        if name != self.criterion:
            warnings.warn(
                f"{owner}: the criterion {self.criterion!r} is called {name!r} now, and the former name "
                f"will not be understood for ever; write {owner}({name!r}).",
                FutureWarning,
                stacklevel=2,
            )

    def resolved_minimum(self, sizes: Counts) -> int:
        """The least number of labels, given the set sizes seen in training."""
        if self.minimum != "auto":
            return int(self.minimum)
        least = 1 if len(sizes) and min(sizes) > 0 else 0
        return least if self.maximum is None else min(least, self.maximum)

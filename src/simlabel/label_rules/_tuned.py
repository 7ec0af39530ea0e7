"""What rules share that are tuned for a criterion of label sets."""

from __future__ import annotations

import warnings

from simlabel.label_rules._base import LabelRule, Needs
from simlabel.label_rules._sweeps import TUNED
from simlabel.metrics import current_name


class TunedRule(LabelRule):
    """Base class of rules with a `criterion` that decides, on leave-one-out scores."""

    criterion: str
    needs: Needs = "leave_one_out"

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

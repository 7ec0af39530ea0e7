"""The label rule that suits a criterion, by leave-one-out scores."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from simlabel._utils.limits import limits
from simlabel.rules._base import Counts, LabelRule, TrainingBlock
from simlabel.rules._folds import Blocks, best_by_folds
from simlabel.rules._gather import thinned
from simlabel.rules._per_label import PerLabel
from simlabel.rules._rules import CutoffRule, SetSize
from simlabel.rules._threshold import Threshold
from simlabel.rules._tuned import TunedRule


class AutoRule(TunedRule):
    """Per-label thresholds, unless a cutoff, the threshold function or set size is clearly better.

    Each is fitted on leave-one-out scores of four fifths of the training rows and judged by its sets for
    the others, five times, per-label thresholds with every strength of shrinkage. Those with moderate
    shrinkage are seldom far from the best, whatever the criterion, and are taken unless another rule gains
    more than two standard errors: what looks best on a few hundred rows is often just lucky. The rule that
    is taken is fitted on all rows. Beyond 2,000 labels the threshold function is not tried: a regression on
    all of them, it takes their number to the third.

    Parameters
    ----------
    criterion : {"f1_micro", "f1_macro", "f1_instance", "subset_accuracy", "hamming_loss"}
        What decides, and what the cutoff and the thresholds are tuned for.
    minimum, maximum : int
        Bounds on the number of labels; ``minimum="auto"`` is 1 where no training row is without a label,
        and 0 otherwise.

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

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Any:
        """Return the best rule, fitted."""
        criterion = self.criterion
        bounds: Any = {"minimum": self.resolved_minimum(sizes), "maximum": self.maximum}
        kept = thinned(blocks)
        few = not kept or kept[0].Y.shape[1] <= limits().threshold_labels
        rules = (
            CutoffRule(criterion=criterion, **bounds),
            *([Threshold(**bounds)] if few else []),
            SetSize(**bounds),
        )
        per_label = PerLabel(criterion, **bounds)

        def fit_all(some: Blocks) -> list[LabelRule]:
            shrunk = per_label.fit_each(per_label.strengths, sizes, some)
            return [*shrunk, *(rule.fit(sizes, some) for rule in rules)]

        return best_by_folds(fit_all, kept, criterion)

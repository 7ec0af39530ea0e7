"""The label rule that does best on leave-one-out scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel.label_rules._base import Counts, LabelRule, TrainingBlock
from simlabel.label_rules._gather import thinned
from simlabel.label_rules._per_label import PerLabel
from simlabel.label_rules._rules import CutoffRule, SetSize
from simlabel.label_rules._threshold import Threshold
from simlabel.label_rules._tuned import TunedRule
from simlabel.metrics import current_name, find_criterion


class AutoRule(TunedRule):
    """Whichever of set size, threshold function, cutoff and per-label thresholds is best.

    Each is fitted on leave-one-out scores and judged by its sets for the same rows; the first of
    equals is taken, in the order above.

    Parameters
    ----------
    criterion : {"hamming_loss", "f1_macro", "f1_micro", "f1_instance"}
        What decides.
    minimum, maximum : int
        Bounds on the number of labels.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]], [{"a"}, {"a"}, {"b"}, {"b"}]
    >>> SMLClassifier("linear", label_rule="auto").fit(X, y).label_rule_
    SetSize()
    """

    name = "auto"
    file_key = "label_rules.Auto"

    def __init__(self, criterion: str = "hamming_loss", minimum: int = 0, maximum: int | None = None) -> None:
        self.criterion = criterion
        self.minimum = minimum
        self.maximum = maximum

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Any:
        """Return the best rule, fitted."""
        parts, criterion = thinned(blocks), current_name(self.criterion)
        bounds: Any = {"minimum": self.minimum, "maximum": self.maximum}
        candidates = [
            SetSize(**bounds),
            Threshold(**bounds),
            CutoffRule("auto", **bounds),
            PerLabel(criterion, **bounds),
        ]
        fitted = [rule.fit(sizes, parts) for rule in candidates]
        losses = [rule_loss(rule, parts, criterion) for rule in fitted]
        return fitted[int(np.argmin(np.round(losses, 9)))]


def rule_loss(rule: LabelRule, blocks: Sequence[TrainingBlock], criterion: str) -> float:
    """What a fitted rule loses on blocks of scores: the criterion, the lower the better."""
    judged = find_criterion(criterion)
    predicted = sp.vstack([rule.predict(block.scores) for block in blocks], format="csr")
    truth = sp.vstack([block.Y for block in blocks], format="csr")
    weights = np.concatenate([block.weights for block in blocks])
    value = judged.function(truth, predicted, sample_weight=weights)
    if np.isnan(value):
        return -np.inf  # nothing is true, and nothing was predicted
    return -value if judged.higher_is_better else value

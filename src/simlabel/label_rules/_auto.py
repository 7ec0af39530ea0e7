"""The label rule that does best on leave-one-out scores."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import f1_score

from simlabel.label_rules._base import Counts, LabelRule, Needs, TrainingBlock
from simlabel.label_rules._gather import thinned
from simlabel.label_rules._per_label import CRITERIA, PerLabel
from simlabel.label_rules._rules import Cutoff, SetSize
from simlabel.label_rules._threshold import Threshold


class Auto(LabelRule):
    """Whichever of set size, threshold function, cutoff and per-label thresholds is best.

    Each is fitted on leave-one-out scores and judged by its sets for the same rows; the first of
    equals is taken, in the order above.

    Parameters
    ----------
    criterion : {"hamming_loss", "macro_f1", "micro_f1", "instance_f1"}
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

    def __init__(self, criterion: str = "hamming_loss", minimum: int = 0, maximum: int | None = None) -> None:
        self.criterion = criterion
        self.minimum = minimum
        self.maximum = maximum

    needs: Needs = "leave_one_out"

    def check(self) -> None:
        """Raise ValueError where the criterion is not one of those above."""
        super().check()
        if self.criterion not in CRITERIA:
            raise ValueError(f"Auto: criterion must be one of {', '.join(CRITERIA)}, got {self.criterion!r}.")

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Any:
        """Return the best rule, fitted."""
        kept = thinned(blocks)
        bounds: Any = {"minimum": self.minimum, "maximum": self.maximum}
        candidates = [
            SetSize(**bounds),
            Threshold(**bounds),
            Cutoff("auto", **bounds),
            PerLabel(self.criterion, **bounds),
        ]
        fitted = [rule.fit(sizes, kept) for rule in candidates]
        losses = [rule_loss(rule, kept, self.criterion) for rule in fitted]
        return fitted[int(np.argmin(np.round(losses, 9)))]


def rule_loss(rule: LabelRule, blocks: Sequence[TrainingBlock], criterion: str) -> float:
    """What a fitted rule loses on blocks of scores: hamming loss, or 1 - F1."""
    predicted = sp.vstack([rule.predict(block.scores) for block in blocks], format="csr")
    truth = sp.vstack([block.Y for block in blocks], format="csr")
    weights = np.concatenate([block.weights for block in blocks])
    if criterion == "hamming_loss" or truth.shape[1] < 2:
        wrong = abs(predicted.astype(np.int8) - truth.astype(np.int8)).sum(axis=1)
        return float(np.average(wrong / max(1, truth.shape[1]), weights=weights))
    average = {"macro_f1": "macro", "micro_f1": "micro", "instance_f1": "samples"}[criterion]
    f1 = f1_score(truth, predicted, average=average, sample_weight=weights, zero_division=0.0)
    return 1.0 - float(f1)

"""Label rules: from label weights to a set of labels."""

from simlabel.label_rules._auto import Auto
from simlabel.label_rules._base import LabelRule, ScoreBlock, TrainingBlock
from simlabel.label_rules._per_label import PerLabel
from simlabel.label_rules._rules import Custom, Cutoff, FixedSize, SetSize
from simlabel.label_rules._threshold import Threshold, best_thresholds
from simlabel.support.registry import Registry

LABEL_RULES: Registry[LabelRule] = Registry(
    "label_rule", LabelRule, [SetSize, Threshold, FixedSize, Cutoff, PerLabel, Auto], from_callable=Custom
)

__all__ = [
    "LABEL_RULES",
    "SetSize",
    "Threshold",
    "FixedSize",
    "Cutoff",
    "PerLabel",
    "Auto",
    "Custom",
    "LabelRule",
    "ScoreBlock",
    "TrainingBlock",
    "best_thresholds",
]

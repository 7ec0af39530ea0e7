"""Label rules: from label weights to a set of labels."""

from simlabel._utils.registry import Registry
from simlabel.rules._aimed import AimedRule
from simlabel.rules._auto import AutoRule
from simlabel.rules._base import LabelRule, ScoreBlock, TrainingBlock
from simlabel.rules._per_label import PerLabel
from simlabel.rules._presence import BY_LABEL, for_presence_only
from simlabel.rules._rules import CustomRule, CutoffRule, FixedSize, SetSize
from simlabel.rules._threshold import Threshold, best_thresholds

LABEL_RULES: Registry[LabelRule] = Registry(
    "label_rule",
    LabelRule,
    [SetSize, Threshold, FixedSize, CutoffRule, PerLabel, AimedRule, AutoRule],
    from_callable=CustomRule,
)

__all__ = [
    "LABEL_RULES",
    "SetSize",
    "Threshold",
    "FixedSize",
    "CutoffRule",
    "PerLabel",
    "AimedRule",
    "AutoRule",
    "CustomRule",
    "LabelRule",
    "ScoreBlock",
    "TrainingBlock",
    "best_thresholds",
    "BY_LABEL",
    "for_presence_only",
]

"""Label rules (from label weights to label sets) and calibration (from label weights to probabilities)."""

from simlabel._utils.registry import Registry
from simlabel.rules._calibration import (
    LeaveOneOutCalibration,
    LogisticCurve,
    PiecewiseCurve,
    PositiveUnlabeled,
    correct_for_missing,
    logistic_probabilities,
    scale_by_label_frequency,
)
from simlabel.rules._operating_point import OperatingPointRule
from simlabel.rules._rules import CustomRule, FixedSize, LabelRule, SetSize
from simlabel.rules._scores import (
    ScoreBlock,
    ShareWarning,
    TrainingBlock,
    binary_margin,
    class_shares,
    label_shares,
    merged_blocks,
    n_outside,
)
from simlabel.rules._search import TUNED_METRICS
from simlabel.rules._threshold import Threshold, best_thresholds
from simlabel.rules._tuned import BY_LABEL, AutoRule, CutoffRule, PerLabel, for_positive_unlabeled

LABEL_RULES: Registry[LabelRule] = Registry(
    "label_rule",
    LabelRule,
    [SetSize, Threshold, FixedSize, CutoffRule, PerLabel, OperatingPointRule, AutoRule],
    from_callable=CustomRule,
)
CALIBRATIONS: Registry[LeaveOneOutCalibration] = Registry(
    "calibration", LeaveOneOutCalibration, [LeaveOneOutCalibration]
)
#: ways to treat labels that a row does not have, besides None: the label is absent
UNLABELED_METHODS: Registry[PositiveUnlabeled] = Registry("unlabeled", PositiveUnlabeled, [PositiveUnlabeled])

__all__ = [
    "LABEL_RULES",
    "SetSize",
    "Threshold",
    "FixedSize",
    "CutoffRule",
    "PerLabel",
    "OperatingPointRule",
    "AutoRule",
    "CustomRule",
    "LabelRule",
    "CALIBRATIONS",
    "LeaveOneOutCalibration",
    "LogisticCurve",
    "PiecewiseCurve",
    "UNLABELED_METHODS",
    "PositiveUnlabeled",
    "ShareWarning",
    "ScoreBlock",
    "TrainingBlock",
    "BY_LABEL",
    "TUNED_METRICS",
    "scale_by_label_frequency",
    "correct_for_missing",
    "best_thresholds",
    "binary_margin",
    "class_shares",
    "for_positive_unlabeled",
    "label_shares",
    "logistic_probabilities",
    "merged_blocks",
    "n_outside",
]

"""Label rules (from label weights to label sets) and calibration (from label weights to probabilities)."""

from simlabel._utils.registry import Registry
from simlabel.rules._aimed import AimedRule
from simlabel.rules._calibration import (
    LeaveOneOutCalibration,
    LogisticCurve,
    PiecewiseCurve,
    PresenceOnly,
    as_recorded,
    as_true,
    logistic_probabilities,
)
from simlabel.rules._rules import CustomRule, FixedSize, LabelRule, SetSize
from simlabel.rules._scores import (
    ScoreBlock,
    ShareWarning,
    TrainingBlock,
    binary_margin,
    class_shares,
    label_shares,
    n_outside,
)
from simlabel.rules._search import TUNED_METRICS
from simlabel.rules._threshold import Threshold, best_thresholds
from simlabel.rules._tuned import BY_LABEL, AutoRule, CutoffRule, PerLabel, for_presence_only

LABEL_RULES: Registry[LabelRule] = Registry(
    "label_rule",
    LabelRule,
    [SetSize, Threshold, FixedSize, CutoffRule, PerLabel, AimedRule, AutoRule],
    from_callable=CustomRule,
)
CALIBRATIONS: Registry[LeaveOneOutCalibration] = Registry(
    "calibration", LeaveOneOutCalibration, [LeaveOneOutCalibration]
)
#: ways to treat labels that a row does not have, besides None: the label is absent
ABSENCES: Registry[PresenceOnly] = Registry("absent", PresenceOnly, [PresenceOnly])

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
    "CALIBRATIONS",
    "LeaveOneOutCalibration",
    "LogisticCurve",
    "PiecewiseCurve",
    "ABSENCES",
    "PresenceOnly",
    "ShareWarning",
    "ScoreBlock",
    "TrainingBlock",
    "BY_LABEL",
    "TUNED_METRICS",
    "as_recorded",
    "as_true",
    "best_thresholds",
    "binary_margin",
    "class_shares",
    "for_presence_only",
    "label_shares",
    "logistic_probabilities",
    "n_outside",
]

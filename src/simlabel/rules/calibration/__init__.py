"""Calibration: from scores to probabilities that mean what they say."""

from simlabel._utils.registry import Registry
from simlabel.rules.calibration._leave_one_out import (
    LeaveOneOutCalibration,
    LogisticCurve,
    PiecewiseCurve,
    logistic_probabilities,
)
from simlabel.rules.calibration._presence import PresenceOnly, as_recorded, as_true
from simlabel.rules.calibration._shares import (
    ShareWarning,
    binary_margin,
    class_shares,
    label_shares,
    n_outside,
)

CALIBRATIONS: Registry[LeaveOneOutCalibration] = Registry(
    "calibration", LeaveOneOutCalibration, [LeaveOneOutCalibration]
)

#: what it can mean that a row has not been given a label, beside that it has it not
ABSENCES: Registry[PresenceOnly] = Registry("absent", PresenceOnly, [PresenceOnly])

__all__ = [
    "ABSENCES",
    "as_recorded",
    "as_true",
    "PresenceOnly",
    "CALIBRATIONS",
    "LeaveOneOutCalibration",
    "LogisticCurve",
    "PiecewiseCurve",
    "ShareWarning",
    "binary_margin",
    "class_shares",
    "label_shares",
    "logistic_probabilities",
    "n_outside",
]

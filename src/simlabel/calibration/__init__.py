"""Calibration: from scores to probabilities that mean what they say."""

from simlabel.calibration._leave_one_out import LeaveOneOutCalibration, LogisticCurve, PiecewiseCurve
from simlabel.calibration._shares import ShareWarning, binary_margin, class_shares, label_shares, n_outside
from simlabel.support.registry import Registry

CALIBRATIONS: Registry[LeaveOneOutCalibration] = Registry(
    "calibration", LeaveOneOutCalibration, [LeaveOneOutCalibration]
)

__all__ = [
    "CALIBRATIONS",
    "LeaveOneOutCalibration",
    "LogisticCurve",
    "PiecewiseCurve",
    "ShareWarning",
    "binary_margin",
    "class_shares",
    "label_shares",
    "n_outside",
]

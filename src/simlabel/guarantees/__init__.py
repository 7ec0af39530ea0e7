"""Guarantees of label sets for rows that are exchangeable with the labeled ones: conformal prediction."""

from simlabel.guarantees._base import FittedGuarantee, Guarantee, Measured, SelectionBiasWarning
from simlabel.guarantees._calibration_data import CalibrationData, HeldOutRows
from simlabel.guarantees._guarantees import LabelCoverage, Precision, Recall, SetCoverage

#: by name, as on the command line
GUARANTEES: dict[str, type[Guarantee]] = {
    one.name: one for one in (Recall, Precision, LabelCoverage, SetCoverage)
}

__all__ = [
    "GUARANTEES",
    "Recall",
    "Precision",
    "LabelCoverage",
    "SetCoverage",
    "HeldOutRows",
    "CalibrationData",
    "Guarantee",
    "Measured",
    "SelectionBiasWarning",
    "FittedGuarantee",
]

"""Experiments: cross-validation with the paper's criteria, and the paper's published figures."""

from simlabel.experiments._cross_validation import CrossValidation, cross_validate
from simlabel.experiments._published import PUBLISHED, Figure

__all__ = ["cross_validate", "CrossValidation", "PUBLISHED", "Figure"]

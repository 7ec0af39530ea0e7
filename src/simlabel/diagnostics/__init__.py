"""Diagnostics: what leave-one-out says about the labelled instances, and about new ones."""

from simlabel.diagnostics._duplicates import contradicting_duplicates
from simlabel.diagnostics._labels import suspicious_labels
from simlabel.diagnostics._novelty import novelty, typical_totals
from simlabel.diagnostics._suggestion import suggest, uncertainty
from simlabel.diagnostics._values import data_values

__all__ = [
    "contradicting_duplicates",
    "data_values",
    "novelty",
    "suggest",
    "suspicious_labels",
    "typical_totals",
    "uncertainty",
]

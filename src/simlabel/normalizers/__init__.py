"""Normalization of features, fitted to the training rows only."""

from simlabel.normalizers._normalizers import MinMax, Normalizer, Quantile, Relevance, UnitLength, ZScore
from simlabel.normalizers._resolve import (
    NORMALIZERS,
    Chain,
    UnitsWarning,
    fit_normalizer,
    resolve_normalizer,
    units_message,
)

__all__ = [
    "NORMALIZERS",
    "UnitLength",
    "ZScore",
    "MinMax",
    "Quantile",
    "Relevance",
    "Chain",
    "Normalizer",
    "UnitsWarning",
    "fit_normalizer",
    "resolve_normalizer",
    "units_message",
]

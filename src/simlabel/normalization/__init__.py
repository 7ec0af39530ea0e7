"""Normalization of features, fitted on the training rows only."""

from simlabel.normalization._normalizers import (
    NORMALIZERS,
    Chain,
    MinMax,
    Normalizer,
    UnitLength,
    ZScore,
    fit_normalizer,
    resolve_normalizer,
)

__all__ = [
    "NORMALIZERS",
    "UnitLength",
    "ZScore",
    "MinMax",
    "Chain",
    "Normalizer",
    "fit_normalizer",
    "resolve_normalizer",
]

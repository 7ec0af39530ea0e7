"""Normalization of features, fitted on the training rows only."""

from simlabel.normalization._base import Normalizer
from simlabel.normalization._normalizers import (
    NORMALIZERS,
    Chain,
    MinMax,
    UnitLength,
    ZScore,
    fit_normalizer,
    resolve_normalizer,
)
from simlabel.normalization._quantile import Quantile
from simlabel.normalization._relevance import Relevance
from simlabel.normalization._units import UnitsWarning, told_units

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
    "told_units",
]

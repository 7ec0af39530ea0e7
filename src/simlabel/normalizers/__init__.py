"""Normalization of features, fitted on the training rows only."""

from simlabel.normalizers._base import Normalizer
from simlabel.normalizers._normalizers import (
    NORMALIZERS,
    Chain,
    MinMax,
    UnitLength,
    ZScore,
    fit_normalizer,
    resolve_normalizer,
)
from simlabel.normalizers._quantile import Quantile
from simlabel.normalizers._relevance import Relevance
from simlabel.normalizers._units import UnitsWarning, told_units

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

"""Influence: how much each reference contributes per unit of similarity."""

from simlabel._registry import Registry
from simlabel.influence._base import Influence, Setting, Solved
from simlabel.influence._ridge import Ridge
from simlabel.influence._sums import LabelMean, Uniform

INFLUENCES: Registry[Influence] = Registry("influence", Influence, [Uniform, LabelMean, Ridge])

__all__ = ["INFLUENCES", "Uniform", "LabelMean", "Ridge", "Influence", "Setting", "Solved"]

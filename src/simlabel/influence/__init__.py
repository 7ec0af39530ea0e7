"""Influence: how much each reference contributes per unit of similarity."""

from simlabel.influence._base import Influence, Kept, Problem, Solved, Stages
from simlabel.influence._closed_form import left_out_scores, positive_definite_inverse
from simlabel.influence._linear import fits_in_matrix
from simlabel.influence._pairs import similarity_matrix
from simlabel.influence._ridge import RetuneWarning, Ridge
from simlabel.influence._sums import LabelMean, Uniform
from simlabel.support.registry import Registry

INFLUENCES: Registry[Influence] = Registry("influence", Influence, [Uniform, LabelMean, Ridge])

__all__ = [
    "INFLUENCES",
    "Uniform",
    "LabelMean",
    "Ridge",
    "Influence",
    "Kept",
    "RetuneWarning",
    "Problem",
    "Solved",
    "Stages",
    "fits_in_matrix",
    "left_out_scores",
    "positive_definite_inverse",
    "similarity_matrix",
]

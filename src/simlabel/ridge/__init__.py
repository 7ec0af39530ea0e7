"""Influence: how much each reference contributes per unit of similarity."""

from simlabel._utils.registry import Registry
from simlabel.ridge._base import Influence, Kept, Problem, Solved, Stages
from simlabel.ridge._closed_form import left_out_scores, positive_definite_inverse
from simlabel.ridge._linear import fits_in_matrix, linear_form
from simlabel.ridge._logistic import logistic_lines
from simlabel.ridge._own_columns import is_vocabulary
from simlabel.ridge._pairs import ridge_targets, similarity_matrix
from simlabel.ridge._partly import knowledge, partly_known_solution, patterns, work
from simlabel.ridge._penalties import LeftOut, left_out_by_penalty
from simlabel.ridge._ridge import PENALTIES, RetuneWarning, Ridge
from simlabel.ridge._sums import LabelMean, Uniform

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
    "linear_form",
    "logistic_lines",
    "is_vocabulary",
    "ridge_targets",
    "knowledge",
    "partly_known_solution",
    "patterns",
    "work",
    "LeftOut",
    "left_out_by_penalty",
    "PENALTIES",
]

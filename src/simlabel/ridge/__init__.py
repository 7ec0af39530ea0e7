"""Influence: the contribution of each reference per unit of similarity, uniform or learned (ridge)."""

from simlabel._utils.registry import Registry
from simlabel.ridge._closed_form import (
    LooScores,
    loo_scores_by_penalty,
    positive_definite_inverse,
    ridge_solution,
)
from simlabel.ridge._influence import (
    Change,
    Influence,
    LabelMean,
    Problem,
    RemainingRows,
    Rescaling,
    Solved,
    Stages,
    Uniform,
    exclude_self,
    ridge_targets,
)
from simlabel.ridge._leave_one_out import RidgeSolution, closed_form_loo_scores, is_vocabulary
from simlabel.ridge._linear import LinearRidge, fits_in_matrix, linear_form
from simlabel.ridge._log_odds import Mixing, learn_mixing, logistic, logistic_lines
from simlabel.ridge._ridge import PENALTIES, RetuneWarning, Ridge, similarity_matrix
from simlabel.ridge._unknown_labels import (
    KnownSums,
    knowledge,
    never_negative,
    partly_known_solution,
    patterns,
    work,
)

INFLUENCES: Registry[Influence] = Registry("influence", Influence, [Uniform, LabelMean, Ridge])

__all__ = [
    "KnownSums",
    "Rescaling",
    "never_negative",
    "exclude_self",
    "INFLUENCES",
    "Uniform",
    "LabelMean",
    "Ridge",
    "Influence",
    "Change",
    "RemainingRows",
    "RetuneWarning",
    "Problem",
    "Solved",
    "Stages",
    "RidgeSolution",
    "LinearRidge",
    "ridge_solution",
    "fits_in_matrix",
    "closed_form_loo_scores",
    "positive_definite_inverse",
    "similarity_matrix",
    "linear_form",
    "logistic",
    "logistic_lines",
    "Mixing",
    "learn_mixing",
    "is_vocabulary",
    "ridge_targets",
    "knowledge",
    "partly_known_solution",
    "patterns",
    "work",
    "LooScores",
    "loo_scores_by_penalty",
    "PENALTIES",
]

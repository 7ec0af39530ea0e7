"""Criteria of multi-label predictions: the paper's five, those of sets and of the top k labels, and scorers.

Ties count against the scorer. `CRITERIA` and `MORE_CRITERIA` list the names; `evaluate` computes several.
"""

from simlabel.metrics._criteria import (
    CRITERIA,
    Criterion,
    average_precision,
    coverage,
    hamming_loss,
    one_error,
    ranking_loss,
    row_criteria,
)
from simlabel.metrics._evaluation import (
    MORE_CRITERIA,
    USUAL_K,
    Evaluation,
    Metric,
    UserMetric,
    as_metrics,
    evaluate,
    find_criterion,
    make_metric,
)
from simlabel.metrics._scorer import (
    CriterionScorer,
    constant_columns,
    label_probabilities,
    label_scores,
    predicted_label_sets,
    rank_constant_labels,
    scorer,
)
from simlabel.metrics._sets import (
    exact_rows,
    f1_instance,
    f1_macro,
    f1_micro,
    hierarchical_f1,
    hierarchical_precision,
    hierarchical_recall,
    subset_accuracy,
)
from simlabel.metrics._top_k import ndcg_at, precision_at, propensities, propensity_scored_precision_at
from simlabel.metrics._truth import Truth

__all__ = [
    "hamming_loss",
    "one_error",
    "coverage",
    "ranking_loss",
    "average_precision",
    "subset_accuracy",
    "f1_micro",
    "f1_macro",
    "f1_instance",
    "hierarchical_precision",
    "hierarchical_recall",
    "hierarchical_f1",
    "precision_at",
    "ndcg_at",
    "propensities",
    "propensity_scored_precision_at",
    "evaluate",
    "make_metric",
    "scorer",
    "rank_constant_labels",
    "CriterionScorer",
    "Evaluation",
    "CRITERIA",
    "MORE_CRITERIA",
    "USUAL_K",
    "Criterion",
    "UserMetric",
    "Truth",
    "Metric",
    "as_metrics",
    "find_criterion",
    "row_criteria",
    "exact_rows",
    "constant_columns",
    "label_scores",
    "predicted_label_sets",
    "label_probabilities",
]

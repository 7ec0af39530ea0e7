"""The paper's five criteria, with ties counted against the scorer, and what papers are asked for today."""

from simlabel.metrics._criteria import (
    CRITERIA,
    average_precision,
    coverage,
    hamming_loss,
    one_error,
    ranking_loss,
    row_criteria,
)
from simlabel.metrics._evaluation import Evaluation, evaluate
from simlabel.metrics._hierarchical import hierarchical_f1, hierarchical_precision, hierarchical_recall
from simlabel.metrics._named import MORE_CRITERIA, USUAL_K, find_criterion
from simlabel.metrics._outputs import (
    constant_labels,
    label_probabilities,
    label_scores,
    label_sets,
    rank_constant_labels,
)
from simlabel.metrics._own import Metric, OwnMetric, as_metrics, make_metric
from simlabel.metrics._record import Criterion, Family
from simlabel.metrics._scorer import CriterionScorer, scorer
from simlabel.metrics._set_criteria import exact_rows, f1_instance, f1_macro, f1_micro, subset_accuracy
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
    "Family",
    "Truth",
    "Metric",
    "as_metrics",
    "find_criterion",
    "row_criteria",
    "constant_labels",
    "label_probabilities",
    "label_scores",
    "label_sets",
    "OwnMetric",
    "exact_rows",
]

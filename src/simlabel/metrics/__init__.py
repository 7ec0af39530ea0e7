"""The five criteria of the paper, with ties counted against the scorer."""

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
from simlabel.metrics._evaluation import Evaluation, evaluate

__all__ = [
    "hamming_loss",
    "one_error",
    "coverage",
    "ranking_loss",
    "average_precision",
    "evaluate",
    "Evaluation",
    "CRITERIA",
    "Criterion",
    "row_criteria",
]

"""A fitted model: immutable stages, their scores, leave-one-out, and what teaching and forgetting make."""

from simlabel.fitted._leave_one_out import left_out_scores, one_copy, own_entries, rescaled, training_blocks
from simlabel.fitted._model import Model
from simlabel.fitted._scorer import Scorer
from simlabel.fitted._totals import total_similarity
from simlabel.fitted._updates import (
    Batch,
    drop_weightless,
    forgotten,
    numbered,
    one_teacher,
    refuse_estimates,
    refuse_precomputed,
    refuse_samples,
    refuse_short_forms,
    taught,
)

__all__ = [
    "total_similarity",
    "Batch",
    "drop_weightless",
    "forgotten",
    "left_out_scores",
    "Model",
    "numbered",
    "one_copy",
    "one_teacher",
    "own_entries",
    "refuse_estimates",
    "refuse_precomputed",
    "refuse_samples",
    "refuse_short_forms",
    "rescaled",
    "Scorer",
    "taught",
    "training_blocks",
]

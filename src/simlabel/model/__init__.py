"""A fitted model: immutable stages, their scores, leave-one-out, and the model with more or fewer rows."""

from simlabel.model._calibrating import Wanted, learnt_outcomes, told_probabilities
from simlabel.model._known import KnownSums
from simlabel.model._leave_one_out import (
    Rescaling,
    fit_rule,
    left_out_scores,
    left_out_shares,
    own_entries,
    training_blocks,
)
from simlabel.model._model import Model, Outputs, check_learned
from simlabel.model._notes import Notes
from simlabel.model._relabelling import relabelled
from simlabel.model._scorer import Scorer
from simlabel.model._totals import total_similarity
from simlabel.model._updates import (
    Batch,
    drop_weightless,
    one_thread_changes,
    refuse_estimates,
    refuse_groups,
    refuse_precomputed,
    refuse_samples,
    refuse_short_forms,
    resolve_ids,
    with_fewer,
    with_more,
    with_what_was_known,
)

__all__ = [
    "Batch",
    "KnownSums",
    "Model",
    "Notes",
    "Outputs",
    "Rescaling",
    "Scorer",
    "Wanted",
    "check_learned",
    "drop_weightless",
    "fit_rule",
    "learnt_outcomes",
    "left_out_scores",
    "left_out_shares",
    "one_thread_changes",
    "own_entries",
    "refuse_estimates",
    "refuse_groups",
    "refuse_precomputed",
    "refuse_samples",
    "refuse_short_forms",
    "relabelled",
    "resolve_ids",
    "told_probabilities",
    "total_similarity",
    "training_blocks",
    "with_fewer",
    "with_more",
    "with_what_was_known",
]

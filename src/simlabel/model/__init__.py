"""The fitted model: an immutable record of its stages, its scores and outputs, and its updates."""

from simlabel.model._leave_one_out import (
    Wanted,
    fit_rule,
    learnt_outcomes,
    left_out_scores,
    left_out_shares,
    relabelled,
    told_probabilities,
    training_blocks,
)
from simlabel.model._model import Model, Outputs, check_learned
from simlabel.model._pending import Notes
from simlabel.model._scorer import Scorer, total_similarity
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
    "Model",
    "Notes",
    "Outputs",
    "Scorer",
    "Wanted",
    "check_learned",
    "drop_weightless",
    "fit_rule",
    "learnt_outcomes",
    "left_out_scores",
    "left_out_shares",
    "one_thread_changes",
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

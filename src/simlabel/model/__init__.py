"""The fitted model: an immutable record of its stages, its scores and outputs, and its updates."""

from simlabel.model._leave_one_out import (
    CalibrationSpec,
    compute_loo_scores,
    compute_loo_shares,
    describe_probabilities,
    fit_rule,
    fit_rule_and_calibration,
    relabeled,
    training_blocks,
)
from simlabel.model._model import Model, Outputs, check_learned
from simlabel.model._pending import PendingRows
from simlabel.model._scorer import Scorer, total_similarity
from simlabel.model._updates import (
    Batch,
    add_references,
    drop_zero_weight_rows,
    lock_for_changes,
    merge_with_known_labels,
    refuse_estimates,
    refuse_groups,
    refuse_precomputed,
    refuse_samples,
    refuse_sketches,
    remove_references,
    resolve_ids,
)

__all__ = [
    "Batch",
    "Model",
    "PendingRows",
    "Outputs",
    "Scorer",
    "CalibrationSpec",
    "check_learned",
    "drop_zero_weight_rows",
    "fit_rule",
    "fit_rule_and_calibration",
    "compute_loo_scores",
    "compute_loo_shares",
    "lock_for_changes",
    "refuse_estimates",
    "refuse_groups",
    "refuse_precomputed",
    "refuse_samples",
    "refuse_sketches",
    "relabeled",
    "resolve_ids",
    "describe_probabilities",
    "total_similarity",
    "training_blocks",
    "remove_references",
    "add_references",
    "merge_with_known_labels",
]

"""Whether probabilities are calibrated where nobody says so, and what becomes of them otherwise."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from simlabel._utils.arithmetic import n_copies
from simlabel._utils.limits import limits
from simlabel._utils.rows import is_remote
from simlabel._utils.validation import FloatArray
from simlabel.model._leave_one_out import fit_rule, training_blocks
from simlabel.model._model import Model
from simlabel.model._scorer import Scorer
from simlabel.rules import LabelRule, TrainingBlock
from simlabel.rules.calibration import LeaveOneOutCalibration, as_recorded
from simlabel.similarities import Function
from simlabel.sums import Sampled

Wanted = LeaveOneOutCalibration | Literal["auto"] | None


def learnt_outcomes(
    rule: LabelRule, wanted: Wanted, scorer: Scorer, *, single: bool, sums: FloatArray | None = None
) -> tuple[LabelRule, LeaveOneOutCalibration | None]:
    """Rule and calibration, fitted, from one pass over the rows where both want it and scores fit in memory.

    Parameters
    ----------
    single : bool
        Whether a row has one class, which asks no rule.
    sums : array, (n_references, n_columns), optional
        Leave-one-out sums of all references, if they are known from tuning.
    """
    if isinstance(wanted, str):
        wanted = LeaveOneOutCalibration() if why_uncalibrated(scorer) is None else None
    if wanted is None and sums is None:
        return fit_rule(rule, scorer), None
    if wanted is not None and scorer.references.n_rows * scorer.job.reducer.width > limits().judged_entries:
        return fit_rule(rule, scorer), wanted.fit(map(_recorded, training_blocks(scorer)), single=single)
    blocks = list(training_blocks(scorer, sums=sums))
    rule = fit_rule(rule, scorer, blocks)
    return rule, None if wanted is None else wanted.fit(map(_recorded, blocks), single=single)


def _recorded(block: TrainingBlock) -> TrainingBlock:
    """Scores of what is recorded, where labels that apply may not be: what curves can be learnt for."""
    return replace(block, scores=as_recorded(block.scores, block.recorded))


def why_uncalibrated(scorer: Scorer) -> str | None:
    """Why "auto" leaves probabilities as shares of the similarity, in words; None where it does not."""
    references, limit = scorer.references, limits()
    n, n_labels = n_copies(references.weights), references.n_labels  # a weight means repetition here too
    if scorer.solved.left_out is not None:
        return None  # what calibration learns from is there
    if n < limit.fewest_calibrated:
        return f"{n} labelled instances are fewer than {limit.fewest_calibrated}"
    if isinstance(scorer.stages.engine, Sampled):
        return "references are drawn for each query"
    if is_remote(references.X):
        return "the labelled instances are on a cluster"
    if n > limit.calibrated_rows:
        return f"{n:,} labelled instances are more than {limit.calibrated_rows:,}"
    if n * n_labels > limit.judged_entries:
        return f"{n:,} x {n_labels:,} scores are more than {limit.judged_entries:,}"
    calls = references.n_rows**2 * sum(
        _one_by_one(leaf.similarity) for leaf in scorer.stages.similarity.leaves()
    )
    if calls > limit.calibrated_calls:
        return f"it would call your function {calls:,} times"
    return None


def _one_by_one(similarity: object) -> bool:
    return isinstance(similarity, Function) and not similarity.blockwise


def told_probabilities(model: Model, wanted: object) -> str:
    """What the probabilities of a model are, in words, for its plan and its description."""
    if model.calibration is not None:
        return "probabilities are calibrated on leave-one-out scores"
    why = ""
    if isinstance(wanted, str):
        why = why_uncalibrated(model.scorer) or "the first rows were too few; retune() calibrates them"
    return "probabilities are shares of the similarity" + (f": {why}" if why else "")

"""Leave-one-out scores, and the label rule and calibration that are fitted to them.

A row's own entry is masked and never subtracted from the sum: at a narrow bandwidth the similarity of a row
to itself, 1, is the whole sum, and a subtraction leaves no correct digits. Of a row of weight w one copy is
left out, and w - 1 remain; of a row that belongs to a group, the whole group is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from simlabel._utils.limits import limits
from simlabel._utils.rows import is_remote, n_copies
from simlabel._utils.validation import FloatArray
from simlabel.labels import LabelSpace, UnknownLabels
from simlabel.model._model import Model
from simlabel.model._scorer import Scorer, shares_of
from simlabel.ridge import Rescaling, exclude_self
from simlabel.rules import (
    LabelRule,
    LeaveOneOutCalibration,
    ScoreBlock,
    TrainingBlock,
    for_positive_unlabeled,
    scale_by_label_frequency,
)
from simlabel.similarities import Function
from simlabel.sums import Sampled

CalibrationSpec = LeaveOneOutCalibration | Literal["auto"] | None


def training_blocks(
    scorer: Scorer, *, leave_out: bool = True, sums: FloatArray | None = None
) -> Iterator[TrainingBlock]:
    """Yield scores of all references, block by block, with or without their own entry.

    Leave-one-out `sums`, (n_references, n_columns), may be known from tuning.
    """
    references = scorer.references
    rescaled = Rescaling(scorer.problem, scorer.solved.scale) if leave_out else None
    many = references.n_rows * references.n_labels > limits().evaluated_entries
    Y, U = references.imputed_Y, references.unknown
    for part in scorer.chunks(references.X):
        unknown, places = None if U is None else U[part], references.places[part] if many else None
        if rescaled is None:
            scores = scorer.score(references.X[part])
        else:
            scores = _loo_scores(scorer, part, rescaled, sums)
        label_frequency = scorer.stages.label_frequency
        yield TrainingBlock(
            scores, Y[part], scorer.multiplicity[part], unknown, label_frequency, places=places
        )


def _loo_scores(
    scorer: Scorer, part: slice, rescaled: Rescaling, sums: FloatArray | None = None
) -> ScoreBlock:
    references = scorer.references
    if scorer.loo_scores is not None:
        return scorer.block(scorer.loo_scores[part])
    rows = np.arange(part.start, part.stop)
    own = exclude_self(rows, references)
    if sums is not None:
        scores = scorer.block(sums[part], rows)
    elif len(rows) == references.n_rows and isinstance(references.X, np.ndarray | sp.csr_array):
        scores = scorer.score(references.X, own, rows, symmetric=True)  # each pair is computed once
    else:
        scores = scorer.score(references.X[part], own, rows)
    if scorer.solved.scale is None:
        return scores
    labels = rescaled(scores.labels, rows)
    return replace(scores, labels=labels, ranking=labels)


def compute_loo_scores(scorer: Scorer) -> FloatArray:
    """Return leave-one-out label weights of all references, (n_references, n_labels)."""
    return np.concatenate([block.scores.labels for block in training_blocks(scorer)])


def compute_loo_shares(scorer: Scorer) -> FloatArray:
    """Return leave-one-out scores as `Model.decisions` has them: comparable between rows if scores are."""
    if not scorer.shares_are_comparable:
        return compute_loo_scores(scorer)
    return np.concatenate([shares_of(block.scores) for block in training_blocks(scorer)])


def fit_rule(rule: LabelRule, scorer: Scorer, loo_scores: Sequence[TrainingBlock] | None = None) -> LabelRule:
    """Return the rule fitted to the scores that it needs; `loo_scores` are leave-one-out scores if known.

    Labels that no row has, or that every row has, are ignored.
    """
    if scorer.stages.label_frequency is not None:
        rule = for_positive_unlabeled(rule)
    blocks: Iterable[TrainingBlock] = ()
    if rule.needs == "leave_one_out" and loo_scores is not None:
        blocks = loo_scores
    elif rule.needs != "nothing":
        blocks = training_blocks(scorer, leave_out=rule.needs == "leave_one_out")
    sizes, n_labels, constant = scorer.set_sizes, scorer.references.n_labels, scorer.references.constant
    if constant is None:
        return rule.fit(sizes, blocks)
    varying = np.arange(n_labels) if rule.needs == "nothing" else np.flatnonzero(constant == 0)
    fitted = rule.fit(sizes - np.count_nonzero(constant > 0), (block.varying() for block in blocks))
    return fitted.adapted(sizes, varying, n_labels)


def fit_rule_and_calibration(
    rule: LabelRule, wanted: CalibrationSpec, scorer: Scorer, *, single: bool, sums: FloatArray | None = None
) -> tuple[LabelRule, LeaveOneOutCalibration | None]:
    """Fit rule and calibration, in one pass over the rows if both need it and the scores fit in memory.

    Parameters
    ----------
    rule : LabelRule
    wanted : LeaveOneOutCalibration, "auto" or None
    scorer : Scorer
    single : bool
        Whether each row has one class, so that the rule is not used.
    sums : array, (n_references, n_columns), optional
        Leave-one-out sums of all references, if they are known from tuning.
    """
    if isinstance(wanted, str):
        wanted = LeaveOneOutCalibration() if uncalibrated_reason(scorer) is None else None
    if wanted is None and sums is None:
        return fit_rule(rule, scorer), None
    blocks = None
    if wanted is None or scorer.references.n_rows * scorer.job.reducer.width <= limits().evaluated_entries:
        blocks = list(training_blocks(scorer, sums=sums))
    rule = fit_rule(rule, scorer, blocks)
    if wanted is None:
        return rule, None
    label_frequency = [  # curves are fitted to scores of recorded labels
        replace(block, scores=scale_by_label_frequency(block.scores, block.label_frequency))
        for block in blocks or training_blocks(scorer)
    ]
    return rule, wanted.fit(label_frequency, single=single)


def uncalibrated_reason(scorer: Scorer) -> str | None:
    """Return why calibration="auto" leaves probabilities as shares of the similarity; None if it does not."""
    references, limit = scorer.references, limits()
    n, n_labels = n_copies(references.weights), references.n_labels  # a weight means repetition here too
    if scorer.stages.influence.learned:
        return None  # leave-one-out scores are known in closed form
    if n < limit.min_calibrated:
        return f"{n} labeled rows are fewer than {limit.min_calibrated}"
    if isinstance(scorer.stages.engine, Sampled):
        return "references are drawn for each query"
    if is_remote(references.X):
        return "the labeled rows are on a cluster"
    if n > limit.calibrated_rows:
        return f"{n:,} labeled rows are more than {limit.calibrated_rows:,}"
    if n * n_labels > limit.evaluated_entries:
        return f"{n:,} x {n_labels:,} scores are more than {limit.evaluated_entries:,}"
    similarities = [leaf.similarity for leaf in scorer.stages.similarity.leaves()]
    by_pair = [each for each in similarities if isinstance(each, Function) and not each.blockwise]
    calls = references.n_rows**2 * len(by_pair)
    if calls > limit.calibrated_calls:
        return f"it would call your function {calls:,} times"
    return None


def describe_probabilities(model: Model, wanted: object) -> str:
    """Describe the probabilities of a model, for its plan and its description."""
    if model.calibration is not None:
        return "probabilities are calibrated on leave-one-out scores"
    why = ""
    if isinstance(wanted, str):
        why = uncalibrated_reason(model.scorer) or "the first rows were too few; retune() calibrates them"
    return "probabilities are shares of the similarity" + (f": {why}" if why else "")


def relabeled(model: Model, space: LabelSpace, Y: sp.csr_array, unknown: UnknownLabels | None) -> Model:
    """Return the model with other label sets for the same rows.

    Similarity, normalizer, penalty and the kind of label rule are held. Rule and calibration are fitted again
    to the leave-one-out scores of the new labels.
    """
    if model.scorer.stages.label_frequency is not None:
        raise ValueError(
            "With unlabeled='unknown' the share of missing labels was estimated label by label: fit again "
            "with the changed labels."
        )
    space, Y, unknown = space.nested(Y, unknown)
    scorer = model.scorer.solved_again(model.scorer.references.with_labels(Y, unknown))
    requested = None if model.calibration is None else clone(model.calibration)
    rule, calibration = fit_rule_and_calibration(
        clone(model.rule), requested, scorer, single=space.kind == "single"
    )
    return replace(model, labels=space, scorer=scorer, rule=rule, calibration=calibration)

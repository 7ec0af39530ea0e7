"""Leave-one-out by masking a row's own entry, never by subtracting it from the sum.

At a narrow bandwidth an instance's similarity to itself, 1, is the whole sum: what is left after
a subtraction has no digits. Of a row of weight w one copy is left out, and w - 1 stay; of a row that
belongs to a group, the whole group.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray
from simlabel.model._scorer import Scorer, shares_of
from simlabel.ridge import Rescaling, own_entries
from simlabel.rules import LabelRule, ScoreBlock, TrainingBlock, for_presence_only


def training_blocks(
    scorer: Scorer, *, leave_out: bool = True, sums: FloatArray | None = None
) -> Iterator[TrainingBlock]:
    """Return scores of all references, each left out of its own sums or not, block by block.

    Leave-one-out `sums`, (n_references, n_columns), may be known from tuning.
    """
    references = scorer.references
    rescaled = Rescaling(scorer.problem, scorer.solved.scale) if leave_out else None
    many = references.n_rows * references.n_labels > limits().judged_entries
    Y_all, U = references.settled_Y, references.unknown
    for part in scorer.chunks(references.X):
        Y, weights = Y_all[part], scorer.stands_for[part]
        unknown = None if U is None else U[part]
        if rescaled is None:
            scores = scorer.score(references.X[part])
        else:
            scores = _left_out(scorer, part, rescaled, sums)
        places = references.places[part] if many else None
        yield TrainingBlock(scores, Y, weights, unknown, scorer.stages.recorded, places=places)


def fit_rule(rule: LabelRule, scorer: Scorer, left_out: Sequence[TrainingBlock] | None = None) -> LabelRule:
    """A label rule that has learnt from the scores that it wants to see; leave-one-out ones may be known.

    Labels that no row has, or that every row has, take no part.
    """
    if scorer.stages.recorded is not None:
        rule = for_presence_only(rule)
    blocks: Iterable[TrainingBlock] = ()
    if rule.needs == "leave_one_out" and left_out is not None:
        blocks = left_out
    elif rule.needs != "nothing":
        blocks = training_blocks(scorer, leave_out=rule.needs == "leave_one_out")
    sizes, n_labels, constant = scorer.set_sizes, scorer.references.n_labels, scorer.references.constant
    if constant is None:
        return rule.fit(sizes, blocks)
    varying = np.arange(n_labels) if rule.needs == "nothing" else np.flatnonzero(constant == 0)
    fitted = rule.fit(sizes - np.count_nonzero(constant > 0), (block.varying() for block in blocks))
    return fitted.adapted(sizes, varying, n_labels)


def _left_out(scorer: Scorer, part: slice, rescaled: Rescaling, sums: FloatArray | None = None) -> ScoreBlock:
    solved, references = scorer.solved, scorer.references
    if solved.left_out is not None:
        return scorer.block(solved.left_out[part])
    rows = np.arange(part.start, part.stop)
    own = own_entries(rows, references)
    if sums is not None:
        scores = scorer.block(sums[part], rows)
    elif len(rows) == references.n_rows and isinstance(references.X, np.ndarray | sp.csr_array):
        scores = scorer.score(references.X, own, rows, symmetric=True)  # each pair is touched once
    else:
        scores = scorer.score(references.X[part], own, rows)
    if solved.scale is None:
        return scores
    labels = rescaled(scores.labels, rows)
    return replace(scores, labels=labels, ranking=labels)


def left_out_shares(scorer: Scorer) -> FloatArray:
    """The same as `Model.decisions` has them: comparable between rows, as far as scores are."""
    if not scorer.shares_compare:
        return left_out_scores(scorer)
    return np.concatenate([shares_of(block.scores) for block in training_blocks(scorer)])


def left_out_scores(scorer: Scorer) -> FloatArray:
    """Label weights of all references, each left out of its own, (n_references, n_labels)."""
    return np.concatenate([block.scores.labels for block in training_blocks(scorer)])

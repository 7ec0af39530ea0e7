"""Leave-one-out by masking a row's own entry, never by subtracting it from the sum.

At a narrow bandwidth an instance's similarity to itself, 1, is the whole sum: what is left after
a subtraction has no digits. Of a row of weight w one copy is left out, and w - 1 stay.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.engines import Exclude
from simlabel.fitted._scorer import Scorer
from simlabel.label_rules import LabelRule, ScoreBlock, TrainingBlock
from simlabel.support.validation import FloatArray


def own_entries(rows: npt.NDArray[np.integer], weights: FloatArray) -> Exclude:
    """What to leave out when these references are the queries."""
    w = weights[rows]
    return Exclude(rows.astype(np.int64), np.maximum(w - 1.0, 0.0) / w)


def training_blocks(scorer: Scorer, *, leave_out: bool = True) -> Iterator[TrainingBlock]:
    """Scores of all references, each left out of its own sums or not, block by block."""
    references = scorer.references
    for part in scorer.chunks(references.X):
        Y, weights = references.Y[part], scorer.stands_for[part]
        scores = _left_out(scorer, part, Y) if leave_out else scorer.score(references.X[part])
        yield TrainingBlock(scores, Y, weights)


def fit_rule(rule: LabelRule, scorer: Scorer) -> LabelRule:
    """A label rule that has learnt from the scores that it wants to see."""
    nothing = rule.needs == "nothing"
    blocks = () if nothing else training_blocks(scorer, leave_out=rule.needs == "leave_one_out")
    return rule.fit(scorer.references.sizes, blocks)


def _left_out(scorer: Scorer, part: slice, Y: sp.csr_array) -> ScoreBlock:
    solved, weights = scorer.solved, scorer.references.weights
    if solved.left_out is not None:
        return scorer.block(solved.left_out[part])
    exclude = own_entries(np.arange(part.start, part.stop), weights)
    scores = scorer.score(scorer.references.X[part], exclude)
    if solved.scale is None:
        return scores
    labels = rescaled(scores.labels, solved.scale, Y, one_copy(weights, scorer.stages.scales)[part])
    return replace(scores, labels=labels, ranking=labels)


def one_copy(weights: FloatArray, scales: FloatArray | None) -> FloatArray:
    """How much goes when a row is left out: one copy of it, times what it was drawn for."""
    gone = np.minimum(weights, 1.0)
    return gone if scales is None else gone * scales


def rescaled(labels: FloatArray, scale: FloatArray | None, Y: sp.csr_array, gone: FloatArray) -> FloatArray:
    """Sums that were divided by counts: without the row there is less to divide by."""
    if scale is None:
        return labels
    count = scale[: Y.shape[1]]
    rest = count - Y.toarray() * gone[:, None]
    return np.divide(labels * count, rest, out=np.zeros_like(labels), where=rest > 1e-9 * count)


def left_out_scores(scorer: Scorer) -> FloatArray:
    """Label weights of all references, each left out of its own, (n_references, n_labels)."""
    return np.concatenate([block.scores.labels for block in training_blocks(scorer)])

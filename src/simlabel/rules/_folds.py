"""Rules are judged by rows that they were not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray
from simlabel.metrics import Truth, find_criterion
from simlabel.rules._base import LabelRule, TrainingBlock
from simlabel.rules._gather import thinned

_FOLDS = 5
_MOST_MICRO_LOST = 0.05

Blocks = Sequence[TrainingBlock]
#: sets that a rule gave, with what is true
Judged = Sequence[tuple[sp.csr_array, TrainingBlock]]


def folds(blocks: Blocks) -> Iterator[tuple[list[TrainingBlock], list[TrainingBlock]]]:
    """Rows to learn from and rows to judge by, five times; fewer times where fewer rows differ.

    A row's fold follows from its scores and not from its place, so the order of rows does not matter,
    equal rows stay together, and every fold has rows with high scores and with low ones.
    """
    keys = [
        np.column_stack(
            [
                block.scores.labels.max(axis=1, initial=-np.inf),
                block.scores.labels.min(axis=1, initial=np.inf),
                np.diff(block.Y.indptr),
            ]
        )
        for block in blocks
    ]
    place = np.unique(np.concatenate(keys), axis=0, return_inverse=True)[1].ravel()
    within = np.split(place % _FOLDS, np.cumsum([len(key) for key in keys])[:-1])
    for fold in range(_FOLDS):
        rest, held = (
            [
                block.of_rows(np.flatnonzero(chosen))
                for block, chosen in zip(blocks, wanted, strict=True)
                if chosen.any()
            ]
            for wanted in ([of != fold for of in within], [of == fold for of in within])
        )
        if rest and held:
            yield rest, held


def best_by_folds(
    fit_all: Callable[[Blocks], Sequence[LabelRule]], blocks: Blocks, criterion: str
) -> LabelRule:
    """Of the rules that `fit_all` fits, always as many, the first, unless another is clearly better.

    On some hundred rows most differences between rules are luck, and who takes the best takes the
    luckiest. Clearly better is what gains, on rows held out, more than twice the standard error of the
    gain: by the jackknife that leaves out one fold after the other, since most criteria are no means
    over rows. Of those that are clearly better the best is taken. For macro F1 no rule is taken that loses
    more than 0.05 of the micro F1 of another: labels that nobody can tell would drown those that one can.
    """
    held_out: list[list[Judged]] = []  # by fold and rule
    for rest, held in folds(thinned(blocks, limits().judged_entries)):
        held_out.append([[(rule.predict(block.scores), block) for block in held] for rule in fit_all(rest)])
    return fit_all(blocks)[_clearly_best(held_out, criterion)]


def _clearly_best(held_out: list[list[Judged]], criterion: str) -> int:
    if not held_out:
        return 0
    n_folds = len(held_out)
    all_folds = range(n_folds)

    def losses(some: Iterable[int], criterion: str = criterion) -> FloatArray:
        by_rule = zip(*(held_out[fold] for fold in some), strict=True)
        return np.array([_loss([pair for part in parts for pair in part], criterion) for parts in by_rule])

    loss = losses(all_folds)
    without = np.array([losses(other for other in all_folds if other != fold) for fold in all_folds])
    possible = np.ones(len(loss), dtype=bool)
    if criterion == "f1_macro":
        micro = losses(all_folds, "f1_micro")
        possible = micro <= micro.min() + _MOST_MICRO_LOST
    first = int(np.argmax(possible))
    with np.errstate(invalid="ignore"):  # where nothing is true and nothing predicted no loss is finite
        gain, gains = loss[first] - loss, without[:, [first]] - without
        clear = possible & (np.round(gain, 9) > 2.0 * np.sqrt(n_folds - 1) * gains.std(axis=0))
    return int(np.argmin(np.where(clear, loss, np.inf))) if clear.any() else first


def _loss(judged: Judged, criterion: str) -> float:
    """The criterion over all rows together, the lower the better."""
    record = find_criterion(criterion)
    predicted = sp.vstack([sets for sets, _ in judged], format="csr")
    if judged[0][1].recorded is not None:
        return _loss_of_true(predicted, [block for _, block in judged], criterion)
    truth = Truth.of(sp.vstack([block.Y for _, block in judged], format="csr"))
    if judged[0][1].unknown is not None:
        truth = Truth(truth.Y, sp.vstack([block.unknown for _, block in judged], format="csr"))
    weights = np.concatenate([block.weights for _, block in judged])
    value = record.function(truth, predicted, sample_weight=weights)
    if np.isnan(value):
        return -np.inf  # nothing is true, and nothing was predicted
    return -value if record.higher_is_better else value


def _loss_of_true(predicted: sp.csr_array, blocks: Blocks, criterion: str) -> float:
    """The same where a recorded label stands for several that are true: from the numbers of each label."""
    truth = np.concatenate([block.truth for block in blocks])
    weights = np.concatenate([block.weights for block in blocks])[:, None]
    sets = predicted.toarray() * weights
    if blocks[0].unknown is not None:
        sets = sets * np.concatenate([block.known for block in blocks])
    right, taken, true = (sets * truth).sum(axis=0), sets.sum(axis=0), (truth * weights).sum(axis=0)
    if criterion == "hamming_loss":
        return float((taken + true - 2.0 * right).sum())
    if criterion == "f1_micro":
        right, taken, true = (each.sum(keepdims=True) for each in (right, taken, true))
    there = taken + true > 0
    return -float((2.0 * right[there] / (taken + true)[there]).mean()) if there.any() else -np.inf

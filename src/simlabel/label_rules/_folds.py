"""Rules are judged by rows that they were not fitted on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import scipy.sparse as sp

from simlabel.label_rules._base import LabelRule, TrainingBlock
from simlabel.label_rules._gather import thinned
from simlabel.metrics import Truth, find_criterion
from simlabel.support.limits import limits

_FOLDS = 5

Blocks = Sequence[TrainingBlock]


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
    """Of the rules that `fit_all` fits, always as many, the best on rows held out; the first of equals."""
    pairs: list[list[tuple[sp.csr_array, TrainingBlock]]] = []
    for rest, held in folds(thinned(blocks, limits().judged_entries)):
        rules = fit_all(rest)
        pairs = pairs or [[] for _ in rules]
        for rule, judged in zip(rules, pairs, strict=True):
            judged += [(rule.predict(block.scores), block) for block in held]
    best = int(np.argmin(np.round([_loss(judged, criterion) for judged in pairs], 9))) if pairs else 0
    return fit_all(blocks)[best]


def _loss(judged: Sequence[tuple[sp.csr_array, TrainingBlock]], criterion: str) -> float:
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

"""Leave-one-out scores of many rows at once, thinned where they would not fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simlabel._validation import FloatArray
from simlabel.label_rules._base import ScoreBlock, TrainingBlock

_ENTRIES = 1 << 26  # scores kept at once


@dataclass(frozen=True)
class Gathered:
    """Scores and truth, (n_rows, n_labels) each, and weights, (n_rows,)."""

    scores: FloatArray
    truth: Any
    weights: FloatArray


def thinned(blocks: Iterable[TrainingBlock]) -> list[TrainingBlock]:
    """The blocks; where they are too many, every second row, every fourth and so on."""
    kept: list[TrainingBlock] = []
    step = 1
    for block in blocks:
        kept.append(_every(block, step))
        while sum(one.scores.labels.size for one in kept) > _ENTRIES:
            step *= 2
            kept = [_every(one, 2) for one in kept]
    return kept


def _every(block: TrainingBlock, step: int) -> TrainingBlock:
    if step == 1:
        return block
    rows = slice(None, None, step)
    s = block.scores
    return TrainingBlock(
        ScoreBlock(s.labels[rows].copy(), s.sizes[rows].copy(), s.ranking[rows].copy()),
        block.Y[rows],
        block.weights[rows],
    )


def gather(blocks: Iterable[TrainingBlock]) -> Gathered:
    """All rows in one array."""
    kept = thinned(blocks)
    return Gathered(
        np.concatenate([block.scores.labels for block in kept]),
        np.concatenate([block.Y.toarray() for block in kept]),
        np.concatenate([block.weights for block in kept]),
    )

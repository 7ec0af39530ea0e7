"""Leave-one-out scores of many rows at once, thinned where they would not fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel.label_rules._base import TrainingBlock
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, IntArray


@dataclass(frozen=True)
class Gathered:
    """Scores and truth, (n_rows, n_labels) each, and weights, (n_rows,).

    `known` says where the truth is known, (n_rows, n_labels); None for everywhere. `numbers` says which
    labels the columns stand for; None for all of them in order.
    """

    scores: FloatArray
    truth: npt.NDArray[Any]
    weights: FloatArray
    known: npt.NDArray[np.bool_] | None = None
    numbers: IntArray | None = None

    def every(self, step: int) -> Gathered:
        """Every so many rows."""
        known = None if self.known is None else self.known[::step]
        return Gathered(self.scores[::step], self.truth[::step], self.weights[::step], known)

    def of_labels(self, labels: npt.NDArray[np.bool_]) -> Gathered:
        """Some of the labels."""
        known = None if self.known is None else self.known[:, labels]
        return Gathered(self.scores[:, labels], self.truth[:, labels], self.weights, known)

    def known_of(self, label: int) -> npt.NDArray[np.bool_] | None:
        """In which rows a label is known, (n_rows,); None for all."""
        return None if self.known is None else self.known[:, label]

    def with_scores(self, scores: FloatArray) -> Gathered:
        """The same rows with other scores."""
        return Gathered(scores, self.truth, self.weights, self.known)


def thinned(blocks: Iterable[TrainingBlock], most: int | None = None) -> list[TrainingBlock]:
    """The blocks; where they hold too many scores, every second row, every fourth and so on."""
    most = limits().gathered_entries if most is None else most
    parts: list[tuple[int, TrainingBlock]] = []  # with the number of the first row of each among all
    step, seen, held = 1, 0, 0
    for block in blocks:
        n = len(block.weights)
        first = -(-seen // step) * step  # counted over all blocks: each by itself would keep a row for ever
        if first < seen + n:
            parts.append((first, _every(block, first - seen, step)))
            held += parts[-1][1].scores.labels.size
        seen += n
        while held > most and step < seen:
            step *= 2
            parts = _halved(parts, step)
            held = sum(one.scores.labels.size for _, one in parts)
    return [one for _, one in parts]


def _halved(parts: list[tuple[int, TrainingBlock]], step: int) -> list[tuple[int, TrainingBlock]]:
    """Of rows that are `step / 2` apart every second; blocks that have none are gone."""
    halves = []
    for first, block in parts:
        skipped = first % step * 2 // step
        if skipped < len(block.weights):
            halves.append((first + skipped * step // 2, _every(block, skipped, 2)))
    return halves


def _every(block: TrainingBlock, first: int, step: int) -> TrainingBlock:
    return block if step == 1 else block.of_rows(np.arange(first, len(block.weights), step))


def gather(blocks: Iterable[TrainingBlock]) -> Gathered:
    """All rows in one array."""
    parts = thinned(blocks)
    return Gathered(
        np.concatenate([block.scores.labels for block in parts]),
        np.concatenate([block.truth for block in parts]),
        np.concatenate([block.weights for block in parts]),
        None if parts[0].unknown is None else np.concatenate([block.known for block in parts]),
        parts[0].numbers,
    )

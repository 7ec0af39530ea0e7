"""Leave-one-out scores of many rows at once, thinned where they would not fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.rules._base import TrainingBlock


@dataclass(frozen=True)
class Gathered:
    """Scores and truth, (n_rows, n_labels) each, and weights, (n_rows,).

    `known` says where the truth is known, (n_rows, n_labels); None for everywhere. `numbers` says which
    labels the columns stand for; None for all of them in order. `order` are the positions of the rows,
    sorted by their `TrainingBlock.places`; None for the order in which they are.
    """

    scores: FloatArray
    truth: npt.NDArray[Any]
    weights: FloatArray
    known: npt.NDArray[np.bool_] | None = None
    numbers: IntArray | None = None
    order: IntArray | None = None

    def every(self, step: int) -> Gathered:
        """Every so many rows in that order."""
        if step == 1:
            return self
        rows = np.arange(len(self.weights))[::step] if self.order is None else self.order[::step]
        known = None if self.known is None else self.known[rows]
        return Gathered(self.scores[rows], self.truth[rows], self.weights[rows], known, self.numbers)

    def of_labels(self, labels: npt.NDArray[np.bool_]) -> Gathered:
        """Some of the labels."""
        known = None if self.known is None else self.known[:, labels]
        return replace(self, scores=self.scores[:, labels], truth=self.truth[:, labels], known=known)

    def known_of(self, label: int) -> npt.NDArray[np.bool_] | None:
        """In which rows a label is known, (n_rows,); None for all."""
        return None if self.known is None else self.known[:, label]

    def with_scores(self, scores: FloatArray) -> Gathered:
        """The same rows with other scores."""
        return replace(self, scores=scores)


def thinned(blocks: Iterable[TrainingBlock], most: int | None = None) -> list[TrainingBlock]:
    """Return the blocks; if they hold too many scores, with a half of the rows, a quarter and so on.

    Which rows remain follows from their `places`, or else from their positions.
    """
    most = limits().gathered_entries if most is None else most
    parts: list[TrainingBlock] = []
    step, seen = 1, 0
    for block in blocks:
        n = len(block.weights)
        places = np.arange(seen, seen + n) if block.places is None else block.places
        parts.append(_every(replace(block, places=places), step))
        seen += n
        while sum(part.scores.labels.size for part in parts) > most and step < seen:
            step *= 2
            parts = [_every(part, step) for part in parts]
    return [part for part in parts if len(part.weights)]


def _every(block: TrainingBlock, step: int) -> TrainingBlock:
    assert block.places is not None  # `thinned` has numbered the rows
    return block if step == 1 else block.of_rows(np.flatnonzero(block.places % step == 0))


def gather(blocks: Iterable[TrainingBlock]) -> Gathered:
    """All rows in one array."""
    parts = thinned(blocks)
    return Gathered(
        np.concatenate([block.scores.labels for block in parts]),
        np.concatenate([block.truth for block in parts]),
        np.concatenate([block.weights for block in parts]),
        None if parts[0].unknown is None else np.concatenate([block.known for block in parts]),
        parts[0].numbers,
        np.argsort(np.concatenate([block.places for block in parts])),
    )

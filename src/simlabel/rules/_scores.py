"""Scores of queries and training rows, as label rules and calibration see them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.limits import limits
from simlabel._utils.rows import joined
from simlabel._utils.validation import AnyArray, BoolArray, FloatArray, IntArray

_ROUNDING = 1e-5  # relative error of the total similarity in single precision


class ShareWarning(SimlabelWarning):
    """Shares of the similarity were requested as probabilities, but are not probabilities."""


@dataclass(frozen=True)
class ScoreBlock:
    """Scores of some queries.

    Attributes
    ----------
    labels : array, (n_queries, n_labels)
        Label weights f_k(x).
    sizes : array, (n_queries, n_sizes)
        The same sum for each set size seen in training.
    ranking : array, (n_queries, n_labels)
        Values by which labels are ranked: `labels`, or the label frequencies for queries that are not
        similar to any reference (every sum is 0).
    totals : array, (n_queries,), or None
        Similarity to all references; None if it is the sum of `sizes`, since each reference has one size.
    constant : array of int8, (n_labels,), or None
        1 for a label that every training row has, -1 for one that no row has, 0 for the others. None if
        every label varies.
    """

    labels: FloatArray
    sizes: FloatArray
    ranking: FloatArray
    totals: FloatArray | None = None
    constant: npt.NDArray[np.int8] | None = None

    def with_constant_labels(self, values: FloatArray) -> FloatArray:
        """Replace the values of constant labels: infinity if all rows have it, minus infinity if none has."""
        if self.constant is None:
            return values
        values = values.copy()
        values[:, self.constant > 0], values[:, self.constant < 0] = np.inf, -np.inf
        return values

    def labels_at(self, index: Any) -> tuple[FloatArray, FloatArray]:
        """Return some entries of `labels` and of `ranking`, as one array if they are one."""
        labels = self.labels[index]
        return labels, labels if self.ranking is self.labels else self.ranking[index]

    @property
    def total(self) -> FloatArray:
        """Similarity to all references, in double precision, (n_queries, 1)."""
        totals = self.sizes.sum(axis=1, dtype=np.float64) if self.totals is None else self.totals
        return totals.astype(np.float64)[:, None]

    @property
    def shares(self) -> FloatArray:
        """Share of the total similarity for each label, (n_queries, n_labels); 0 without similarity."""
        total, ranking = self.total, self.ranking.astype(np.float64)
        return np.divide(ranking, total, out=np.zeros_like(ranking), where=total > 0)


@dataclass(frozen=True)
class TrainingBlock:
    """Scores of some training rows with their true labels and weights.

    Attributes
    ----------
    scores : ScoreBlock
    Y : csr_array, (n_rows, n_labels)
        True labels.
    weights : array, (n_rows,)
    unknown : csr_array, (n_rows, n_labels), or None
        Ones where it is unknown whether a label is true; None if everything is known.
    label_frequency : array, (n_labels,), or None
        Share of each label's true occurrences that are recorded; None if all are.
    numbers : array, (n_labels,), or None
        Label index of each column; None for all labels in order.
    places : array, (n_rows,), or None
        Positions of the rows in an order that depends on their content only (`References.places`), by
        which rows are thinned; None if no row is left out.
    """

    scores: ScoreBlock
    Y: sp.csr_array
    weights: FloatArray
    unknown: sp.csr_array | None = None
    label_frequency: FloatArray | None = None
    numbers: IntArray | None = None
    places: IntArray | None = None

    @property
    def truth(self) -> AnyArray:
        """1 where a label is true, or the number of true labels that it represents, (n_rows, n_labels)."""
        Y = self.Y.toarray()
        return Y if self.label_frequency is None else Y / self.label_frequency

    @property
    def known(self) -> BoolArray:
        """Where it is known whether a label is true, (n_rows, n_labels)."""
        return np.ones(self.Y.shape, dtype=bool) if self.unknown is None else self.unknown.toarray() == 0

    def of_rows(self, rows: IntArray) -> TrainingBlock:
        """Return a copy with some of the rows."""
        s = self.scores
        labels, ranking = s.labels_at(rows)
        return replace(
            self,
            scores=ScoreBlock(labels, s.sizes[rows], ranking, _at(s.totals, rows), s.constant),
            Y=self.Y[rows],
            weights=self.weights[rows],
            unknown=_at(self.unknown, rows),
            places=_at(self.places, rows),
        )

    def of_labels(self, labels: IntArray) -> TrainingBlock:
        """Return a copy with some of the labels that vary."""
        s, columns = self.scores, (slice(None), labels)
        weights, ranking = s.labels_at(columns)
        return replace(
            self,
            scores=ScoreBlock(weights, s.sizes, ranking, s.totals),
            Y=self.Y[columns],
            unknown=_at(self.unknown, columns),
            label_frequency=_at(self.label_frequency, labels),
            numbers=labels if self.numbers is None else self.numbers[labels],
        )

    def varying(self) -> TrainingBlock:
        """Return a copy with only the labels that some training rows have and others do not."""
        constant = self.scores.constant
        return self if constant is None else self.of_labels(np.flatnonzero(constant == 0))


def _at(values: Any, index: Any) -> Any:
    return None if values is None else values[index]


def merged_blocks(blocks: Iterable[TrainingBlock], most: float | None = None) -> TrainingBlock:
    """Return all rows as one block; if they have more than `most` scores, a half, a quarter and so on.

    Which rows remain depends on their `places`, or on their positions if these are None.
    """
    most = limits().gathered_entries if most is None else most
    parts: list[TrainingBlock] = []
    step, seen = 1, 0
    for block in blocks:
        n = len(block.weights)
        places = np.arange(seen, seen + n) if block.places is None else block.places
        block = replace(block, places=places)
        parts.append(block if step == 1 else block.of_rows(np.flatnonzero(places % step == 0)))
        seen += n
        while sum(part.scores.labels.size for part in parts) > most and step < seen:
            step *= 2
            parts = [part.of_rows(np.flatnonzero(np.asarray(part.places) % step == 0)) for part in parts]
    if len(parts) == 1:
        return parts[0]
    scores = _joined([part.scores for part in parts], "labels", "sizes", "totals")
    ranking = scores.labels
    if any(part.scores.ranking is not part.scores.labels for part in parts):
        ranking = joined([part.scores.ranking for part in parts])
    rows: TrainingBlock = _joined(parts, "Y", "weights", "unknown", "places")
    return replace(rows, scores=replace(scores, ranking=ranking))


def _joined(parts: Sequence[Any], *names: str) -> Any:
    """Return the first part with fields that hold the rows of all parts."""
    fields = {name: [getattr(part, name) for part in parts] for name in names}
    return replace(parts[0], **{k: None if rows[0] is None else joined(rows) for k, rows in fields.items()})


def label_shares(scores: ScoreBlock) -> FloatArray:
    """Return f_k over the total similarity, strictly inside (0, 1)."""
    return inside(scores.shares)


def n_outside(scores: ScoreBlock) -> int:
    """Count the shares that lie outside [0, 1] by more than rounding, or are undefined."""
    total = scores.total
    rounding = _ROUNDING * np.abs(total)
    return int(np.count_nonzero((scores.ranking < -rounding) | (scores.ranking > total + rounding)))


def inside(shares: FloatArray) -> FloatArray:
    """Clip shares so that they lie strictly inside (0, 1)."""
    edge = np.finfo(np.float64).eps
    return np.clip(shares, edge, 1.0 - edge)


def class_shares(scores: ScoreBlock) -> FloatArray:
    """Return shares that sum to 1 and rank as the scores do, also if similarities are negative."""
    weights = scores.ranking.astype(np.float64)
    if weights.shape[1] == 2:
        margin = binary_margin(weights)
        return np.column_stack([(1.0 - margin) / 2.0, (1.0 + margin) / 2.0])
    weights = weights - np.minimum(weights.min(axis=1, keepdims=True), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    even = np.full_like(weights, 1.0 / weights.shape[1])
    return np.divide(weights, total, out=even, where=total > 0)


def binary_margin(weights: FloatArray) -> FloatArray:
    """Return (F1 - F0) / (|F1| + |F0|), 0 where both are 0; (n_queries,)."""
    total = np.abs(weights).sum(axis=1)
    difference = weights[:, 1] - weights[:, 0]
    return np.divide(difference, total, out=np.zeros_like(difference), where=total > 0)

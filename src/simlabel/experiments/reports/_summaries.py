"""Folds -> the numbers that a report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import FloatArray
from simlabel.datasets import Dataset
from simlabel.experiments._fold import FoldResult

Counts = npt.NDArray[np.int64]
#: pairs of row and label from which on the share of true labels in a bin is shown
ENOUGH_PAIRS = 30


@dataclass(frozen=True)
class LabelScores:
    """Precision, recall and F1 of each label over all folds; NaN where undefined."""

    precision: FloatArray
    recall: FloatArray
    f1: FloatArray
    support: Counts


def label_scores(folds: Sequence[FoldResult]) -> LabelScores:
    """Add up the folds' counts for each label."""
    hits, predicted, true = (
        np.sum([getattr(fold, name) for fold in folds], axis=0) for name in ("hits", "predicted", "true")
    )
    return LabelScores(_share(hits, predicted), _share(hits, true), _share(2 * hits, predicted + true), true)


def _share(part: Counts, whole: Counts) -> FloatArray:
    return np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0)


def size_confusion(folds: Sequence[FoldResult]) -> tuple[list[int], Counts]:
    """Sizes that occur, and how many rows of a true size (down) got a predicted size (across)."""
    triples = [triple for fold in folds for triple in fold.sizes]
    sizes = sorted({size for true, predicted, _ in triples for size in (true, predicted)})
    place = {size: position for position, size in enumerate(sizes)}
    table: Counts = np.zeros((len(sizes), len(sizes)), dtype=np.int64)
    for true, predicted, rows in triples:
        table[place[true], place[predicted]] += rows
    return sizes, table


@dataclass(frozen=True)
class Calibration:
    """Probabilities compared with the share of true labels, in bins of probability.

    Bins with few pairs of row and label are left out, of the curve and of both errors.

    Attributes
    ----------
    predicted, observed : array, (n_bins,)
        Mean probability and share of true labels in each bin.
    counts : array of int, (n_bins,)
        Pairs of row and label in each bin.
    """

    predicted: FloatArray
    observed: FloatArray
    counts: Counts

    @property
    def expected_error(self) -> float:
        """Expected calibration error (ECE): mean distance from the diagonal, weighted by the counts."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    @property
    def worst(self) -> int:
        """The bin that is farthest from the diagonal."""
        return int(np.argmax(np.abs(self.predicted - self.observed)))


def calibration(folds: Sequence[FoldResult]) -> Calibration | None:
    """Add up the folds' bins; None without probabilities, or where no bin has enough pairs."""
    found = [fold.calibration for fold in folds if fold.calibration is not None]
    if len(found) < len(folds):
        return None
    bins = np.sum(np.array(found), axis=0)
    bins = bins[bins[:, 2] >= ENOUGH_PAIRS]
    if not len(bins):
        return None
    return Calibration(bins[:, 0] / bins[:, 2], bins[:, 1] / bins[:, 2], bins[:, 2].astype(np.int64))


def gives_one_set(folds: Sequence[FoldResult]) -> bool:
    """Whether every row of a fold got the same labels: each label is given to all rows or to none."""
    return all(count in (0, fold.evaluation.n_rows) for fold in folds for count in fold.predicted)


def co_occurrence(data: Dataset, at_most: int) -> tuple[list[int], FloatArray]:
    """The most frequent labels, and the share of rows with one (down) that have another too (across)."""
    Y = data.Y.astype(np.int64)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    labels = [k for k in np.argsort(-counts, kind="stable")[:at_most].tolist() if counts[k]]
    chosen = Y[:, labels]
    together = (chosen.T @ chosen).toarray()
    return labels, together / counts[labels][:, None]

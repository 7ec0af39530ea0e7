"""Folds -> the numbers that a report shows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simlabel.datasets import Dataset
from simlabel.experiments import FoldResult
from simlabel.support.validation import FloatArray

Counts = npt.NDArray[np.int64]


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


def calibration_curve(folds: Sequence[FoldResult]) -> tuple[FloatArray, FloatArray] | None:
    """Mean probability and share of true labels in each bin that has any; None without probabilities."""
    bins = _bins(folds)
    if bins is None:
        return None
    bins = bins[bins[:, 2] > 0]
    return bins[:, 0] / bins[:, 2], bins[:, 1] / bins[:, 2]


def calibration_error(folds: Sequence[FoldResult]) -> float:
    """Mean distance between probability and share, weighted by the pairs in each bin."""
    bins = _bins(folds)
    return float("nan") if bins is None else float(np.abs(bins[:, 0] - bins[:, 1]).sum() / bins[:, 2].sum())


def gives_one_set(folds: Sequence[FoldResult]) -> bool:
    """Whether every row of a fold got the same labels: each label is given to all rows or to none."""
    return all(count in (0, fold.evaluation.n_rows) for fold in folds for count in fold.predicted)


def _bins(folds: Sequence[FoldResult]) -> FloatArray | None:
    bins = [fold.calibration for fold in folds if fold.calibration is not None]
    return np.sum(np.array(bins), axis=0) if len(bins) == len(folds) else None


def co_occurrence(data: Dataset, at_most: int) -> tuple[list[int], FloatArray]:
    """The most frequent labels, and the share of rows with one (down) that have another too (across)."""
    Y = data.Y.astype(np.int64)
    counts = np.asarray(Y.sum(axis=0)).ravel()
    labels = [k for k in np.argsort(-counts, kind="stable")[:at_most].tolist() if counts[k]]
    chosen = Y[:, labels]
    together = (chosen.T @ chosen).toarray()
    return labels, together / counts[labels][:, None]

"""Scores of training rows where leaving out one row is not enough: the similarity has seen their labels."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from simlabel.engines import prepare
from simlabel.influence._base import Problem, Stages
from simlabel.influence._closed_form import positive_definite_inverse
from simlabel.rows import References, fold_numbers, take_rows
from simlabel.support.validation import FloatArray, IntArray, Rows

_FOLDS = 5


def folds_of(references: References, seed: int) -> Iterator[tuple[IntArray, IntArray]]:
    """Rows to learn from and rows held out, five times; a group is never parted."""
    parts = fold_numbers(references.units, _FOLDS, seed)
    for part in range(int(parts.max()) + 1):
        yield np.flatnonzero(parts != part), np.flatnonzero(parts == part)


def left_out_by_folds(problem: Problem, targets: Rows, penalty: float) -> FloatArray:
    """Scores of each row by a solution, and by a similarity, that have not seen its fold, (n, width)."""
    references, stages = problem.references, problem.stages
    T: FloatArray = targets if isinstance(targets, np.ndarray) else targets.toarray()
    out = np.broadcast_to(references.weights @ T / references.weights.sum(), T.shape).copy()
    for rest, held in folds_of(references, stages.seed):
        if len(rest):
            S, across = fold_similarities(stages, references, rest, held)
            out[held] = fold_scores(S, across, T[rest], references.weights[rest], penalty)
    return out


def fold_similarities(
    stages: Stages, references: References, rest: IntArray, held: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Of the rest to itself and of the rows held out to the rest, by what has learnt from the rest."""
    X = take_rows(references.X, rest)[:]
    similarity = stages.similarity.fit_labels(X, references.Y[rest], references.weights[rest], stages.seed)
    stages = replace(stages, similarity=similarity)
    prepared = prepare(X.astype(np.float64), [similarity])
    queries = take_rows(references.X, held)[:].astype(np.float64)
    return stages.similarities(prepared.X, prepared), stages.similarities(queries, prepared)


def fold_scores(
    S: FloatArray, across: FloatArray, targets: FloatArray, weights: FloatArray, penalty: float
) -> FloatArray:
    """Scores of the rows held out, (n_held, width)."""
    mean = weights @ targets / weights.sum()
    V = positive_definite_inverse(S, penalty / weights) @ (targets - mean)
    return np.asarray(across @ V + mean)

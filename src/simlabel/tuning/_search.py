"""What all searches share: candidates from grids, one pass for all of them, the best one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._leave_one_out import own_entries
from simlabel._references import References
from simlabel._validation import FloatArray, take_rows
from simlabel.engines import Engine, Job, blocks, prepare, reducer_for
from simlabel.metrics import CRITERIA, row_criteria
from simlabel.similarities import Grid, Similarity
from simlabel.tuning._result import TuningResult
from simlabel.weightings import Weighting

Candidate = dict[str, Any]

_REFINED = tuple(2.0**power for power in (-0.75, -0.5, -0.25, 0.25, 0.5, 0.75))
_SAME = 1e-9  # criteria this close are equal: rounding must not choose
_SCORES_BYTES = 1 << 26  # scores of all candidates for one chunk of queries


@dataclass(frozen=True)
class Problem:
    """What a search works on."""

    similarity: Similarity
    weighting: Weighting | None
    references: References
    engine: Engine
    n_jobs: int | None
    seed: int


class Search(BaseEstimator):
    """Base class: resolves what is "auto" by scoring training rows against the others."""

    name: ClassVar[str]
    criterion: str

    def check(self) -> None:
        """Raise ValueError where a setting is not understood."""
        known = [name for name, criterion in CRITERIA.items() if criterion.column is not None]
        if self.criterion not in known:
            raise ValueError(
                f"{type(self).__name__}: unknown criterion {self.criterion!r}; "
                f"expected one of {', '.join(known)}."
            )

    def queries(self, references: References, seed: int) -> npt.NDArray[np.int64]:
        """Which references are scored."""
        raise TypeError(f"{type(self).__name__} does not say which rows it scores.")

    def run(self, problem: Problem) -> tuple[Similarity, TuningResult]:
        """Return the similarity with every "auto" replaced, and the curve."""
        X, weights = problem.references.X, problem.references.weights
        grids = problem.similarity.grids(X, weights, problem.seed)
        rows = self.queries(problem.references, problem.seed)
        if not grids:
            return problem.similarity, TuningResult(
                (), (), self.criterion, (), (), {}, 0, "nothing is 'auto'"
            )
        tried = [dict(zip(grids, values, strict=True)) for values in _product(grids)]
        note = "; ".join(grid.note for grid in grids.values() if grid.note)
        measured = self._measure(problem, tried, rows) if len(tried) > 1 else [(math.nan, math.nan)]
        best = self._best(measured)
        if best is None:
            best = _middle(tried, grids)
            note = note or "the criterion cannot tell the candidates apart: 1 / (mean distance) is taken"
        else:
            finer = _refine(tried[best], grids)
            measured += self._measure(problem, finer, rows) if finer else []
            tried += finer
            best = self._best(measured)
            assert best is not None
        values, errors = zip(*measured, strict=True)
        chosen = tried[best]
        result = TuningResult(
            tuple(grids),
            tuple(tried),
            self.criterion,
            values,
            errors,
            chosen,
            len(rows) if len(tried) > 1 else 0,
            note,
        )
        return problem.similarity.replaced(chosen), result

    def _best(self, measured: Sequence[tuple[float, float]]) -> int | None:
        """Index of the best candidate, the first among equals; None if all are equal or undefined."""
        values = np.array([value for value, _ in measured])
        if np.isnan(values).all():
            return None
        sign = 1.0 if CRITERIA[self.criterion].higher_is_better else -1.0
        values = sign * values
        top = np.nanmax(values)
        if top - np.nanmin(values) <= _SAME:
            return None
        return int(np.argmax(values >= top - _SAME))

    def _measure(
        self, problem: Problem, candidates: Sequence[Candidate], rows: npt.NDArray[np.int64]
    ) -> list[tuple[float, float]]:
        """Mean and standard error of the criterion for each candidate, all in one pass."""
        references = problem.references
        Y = _two_sided(references.Y)
        V = sp.csr_array(Y.astype(np.float64).multiply(references.weights[:, None]))
        reducer = reducer_for(problem.weighting, V, references.weights)
        similarities = [problem.similarity.replaced(candidate) for candidate in candidates]
        jobs = [Job(similarity, problem.weighting, reducer) for similarity in similarities]
        prepared = prepare(references.X, similarities)
        column = CRITERIA[self.criterion].column
        per_row: Any = np.empty((len(jobs), len(rows)))
        for part in blocks(len(rows), max(1, _SCORES_BYTES // (8 * len(jobs) * max(1, V.shape[1])))):
            asked = rows[part]
            scores = problem.engine.reduce(
                take_rows(references.X, asked),
                prepared,
                jobs,
                exclude=own_entries(asked, references.weights),
                n_jobs=problem.n_jobs,
            )
            for i, score in enumerate(scores):
                per_row[i, part] = row_criteria(Y[asked], _without_noise(score))[:, column]
        return [_mean_and_error(row, references.weights[rows]) for row in per_row]


def _without_noise(scores: FloatArray) -> FloatArray:
    """Scores to the digits that do not depend on the order of summation, so that ties are ties."""
    largest = np.abs(scores).max(axis=1, keepdims=True, initial=0.0)
    digits = 5 if scores.dtype == np.float32 else 10
    return np.round(np.divide(scores, largest, out=np.zeros_like(scores), where=largest > 0), digits)


def _two_sided(Y: sp.csr_array) -> sp.csr_array:
    """One label cannot be ranked; as present against absent it can."""
    if Y.shape[1] != 1:
        return Y
    present = Y.toarray()
    return sp.csr_array(np.hstack([1 - present, present]))


def _product(grids: dict[str, Grid]) -> list[tuple[float, ...]]:
    return list(itertools.product(*(grid.values for grid in grids.values())))


def _refine(best: Candidate, grids: dict[str, Grid]) -> list[Candidate]:
    """Values between the best candidate and its neighbours, for one scale at a time."""
    finer = []
    for name, grid in grids.items():
        if grid.refine:
            finer += [best | {name: best[name] * factor} for factor in _REFINED]
    return finer


def _middle(tried: list[Candidate], grids: dict[str, Grid]) -> int:
    """The candidate at 1 / (mean distance), which a grid has at its fourth place."""
    wanted = {name: grid.values[min(3, len(grid.values) - 1)] for name, grid in grids.items()}
    return tried.index(wanted)


def _mean_and_error(values: FloatArray, weights: FloatArray) -> tuple[float, float]:
    defined = ~np.isnan(values)
    if not defined.any():
        return math.nan, math.nan
    values, weights = values[defined], weights[defined]
    mean = float(np.average(values, weights=weights))
    n = float(weights.sum())
    if n <= 1:
        return mean, math.nan
    variance = float(np.average((values - mean) ** 2, weights=weights)) * n / (n - 1)
    return mean, math.sqrt(variance / n)

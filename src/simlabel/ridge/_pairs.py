"""References as a learned influence is solved for: what they should score, and all pairs of them."""

from __future__ import annotations

import numpy as np

from simlabel._utils.validation import FloatArray, Rows
from simlabel.ridge._base import Problem
from simlabel.sums import Job, Keep, ReduceCall, Reducer, References, SumReducer, prepare


def ridge_targets(references: References) -> Rows:
    """[Y | one-hot of the set size] without weights, sparse, (n_references, n_labels + n_sizes)."""
    ones = References(references.X, references.Y, np.ones(references.n_rows), unknown=references.knowledge)
    return ones.influence[:, : references.n_labels + len(references.sizes)]


def similarity_matrix(problem: Problem) -> FloatArray:
    """Similarities of all references to each other, float64, (n_references, n_references)."""
    rows = DoubledRows(problem)
    return rows.similarities(rows.X)


class DoubledRows:
    """References in float64, and their similarities to others and to themselves."""

    def __init__(self, problem: Problem) -> None:
        # in one piece, in memory: few enough for a matrix of all pairs
        self.stages, self.X = problem.stages, problem.references.X[:]
        if getattr(self.X, "dtype", None) == np.float32:
            self.X = self.X.astype(np.float64)
        self.prepared = prepare(self.X, [self.stages.similarity])

    def similarities(self, X: Rows) -> FloatArray:
        """Of some rows to all references, (n_rows, n_references)."""
        return self._reduce(X, Keep(self.prepared.n_rows))

    def sums(self, V: FloatArray) -> FloatArray:
        """S V, (n_references, width)."""
        return self._reduce(self.X, SumReducer(V))

    def _reduce(self, X: Rows, reducer: Reducer) -> FloatArray:
        stages = self.stages
        job = Job(stages.similarity, None, reducer)
        call = ReduceCall(X, self.prepared, [job], n_jobs=stages.n_jobs)
        return stages.engine.at_home.reduce(call)[0]

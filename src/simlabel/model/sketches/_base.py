"""What a sketch is: the sums of all references in a short form, and how wrong it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.forks import cached_property
from simlabel._utils.rows import take_rows
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge import Stages
from simlabel.similarities import Similarity
from simlabel.sums import Exclude, Job, Plan, Prepared, ReduceCall, References

_CHECKED_ROWS = 1000  # rows on which the error is measured


@dataclass(frozen=True)
class SketchProblem:
    """What a sketch is made of.

    Attributes
    ----------
    stages : Stages
        How the exact sums are computed, and the seed for what is random.
    references : References
        Normalized instances and their label sets.
    prepared, job
        What is summed over, and which sum.
    """

    stages: Stages
    references: References
    prepared: Prepared
    job: Job

    @property
    def similarity(self) -> Similarity:
        """What the references are compared by."""
        return self.stages.similarity

    @cached_property
    def V(self) -> sp.csr_array:
        """Influence of the references, (n_references, n_columns)."""
        reducer: Any = self.job.reducer
        return sp.csr_array(reducer.influence.V)

    @cached_property
    def checked(self) -> IntArray:
        """Rows on which exact and sketched sums are compared."""
        return np.sort(self._order[: min(_CHECKED_ROWS, max(1, self.references.n_rows // 2))])

    def others(self, most: int) -> IntArray:
        """At most so many rows that are not checked, for a sketch to learn from."""
        unseen = self._order[len(self.checked) :]
        return np.sort(unseen[:most]) if len(unseen) else self.checked

    @cached_property
    def _order(self) -> IntArray:
        rng = np.random.default_rng(
            [self.stages.seed, 1]
        )  # not the draw of a sketch, which has the seed alone
        return self.references.order[rng.permutation(self.references.n_rows)]

    @cached_property
    def exact(self) -> FloatArray:
        """Exact sums of the checked rows, each left out of its own."""
        return self.left_out(self.checked)

    def left_out(self, rows: IntArray) -> FloatArray:
        """Exact sums of some references, each left out of its own, (n_rows, n_columns)."""
        Q = take_rows(self.references.X, rows)
        own = Exclude(rows, np.zeros(len(rows)))
        return self.sums(Q, own).astype(np.float64)

    def sums(self, Q: Rows, exclude: Exclude | None = None) -> FloatArray:
        """Exact sums of normalized queries, (n_queries, n_columns)."""
        stages = self.stages
        call = ReduceCall(Q, self.prepared, [self.job], exclude, n_jobs=stages.n_jobs)
        return stages.engine.reduce(call)[0]

    def sketched(self, sketch: FittedSketch) -> FloatArray:
        """Sketched sums of the checked rows, each left out of its own."""
        Q = take_rows(self.references.X, self.checked)
        own = sketch.own_similarity(Q)
        return sketch.sums(Q).astype(np.float64) - self.V[self.checked].toarray() * own[:, None]

    def error(self, sketch: FittedSketch) -> float:
        """How far sketched sums point away from exact ones: mean sine of the angle between their rows.

        A common factor of a row's sums changes neither the order of its labels nor its set size.
        """
        if self.references.n_rows == 1:
            return 0.0  # there is no other reference, whose sums could be compared
        one, other = self.exact, self.sketched(sketch)
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        seen = lengths > 0
        cosine = np.einsum("ij,ij->i", one[seen], other[seen]) / lengths[seen]
        sine = np.where(cosine > 0, np.sqrt(np.clip(1.0 - cosine**2, 0.0, 1.0)), 1.0)
        return float(sine.mean()) if seen.any() else 1.0


class FittedSketch(Protocol):
    """The short form."""

    def sums(self, Q: Rows) -> FloatArray:
        """Sums for normalized queries, (n_queries, n_columns)."""

    def own_similarity(self, Q: Rows) -> FloatArray:
        """What the short form takes for the similarity of references to themselves, (n_queries,)."""

    def plan(self, n_queries: int) -> Plan:
        """What a call with that many queries does."""


class Sketch(BaseEstimator):
    """Base class of all sketches."""

    name: ClassVar[str]

    def check(self) -> None:
        """Raise ValueError where a setting is not understood."""

    def why_not(self, similarity: Similarity) -> str | None:
        """What stands against sketching this similarity, or None."""
        return None

    def cost(self, problem: SketchProblem) -> float:
        """Predicted multiplications for one query."""
        raise TypeError(f"{type(self).__name__} does not say what it costs.")

    def make(self, problem: SketchProblem) -> FittedSketch:
        """The short form, its error not yet looked at."""
        raise TypeError(f"{type(self).__name__} makes nothing.")

"""What an influence is given, and what it gives."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, Rows, check_number, check_numbers
from simlabel.metrics import Truth
from simlabel.similarities import Similarity
from simlabel.sums import (
    Engine,
    Exact,
    Exclude,
    Job,
    Keep,
    Prepared,
    ReduceCall,
    References,
    Weighting,
    prepare,
)

Kept = npt.NDArray[np.int64] | range  # positions among the former references


@dataclass(frozen=True, kw_only=True)
class Stages:
    """How scores are made of references; a search replaces what is "auto" in it.

    Attributes
    ----------
    similarity, weighting, influence, engine
        As in `SMLClassifier`, as objects.
    n_jobs : int or None
        Threads.
    seed : int
        For what is drawn.
    scales : array, (n_references,), or None
        Of references that were drawn by a sampler: how many each stands for.
    recorded : array, (n_labels,), or None
        Where labels that apply may not be recorded: which share of each is. None: all.
    """

    similarity: Similarity
    weighting: Weighting | None = None
    influence: Influence
    engine: Engine
    n_jobs: int | None = None
    seed: int = 0
    scales: FloatArray | None = None
    recorded: FloatArray | None = None

    @property
    def by_pairs(self) -> Exact:
        """What looks at single pairs within the bounds that the user gave the engine, on this machine."""
        engine = self.engine.at_home
        return engine if isinstance(engine, Exact) else Exact(engine.memory_mib)

    def similarities(self, Q: Rows, prepared: Prepared, weighting: Weighting | None = None) -> FloatArray:
        """Of queries to rows that were made ready, float64, (n_queries, n_rows)."""
        job = Job(self.similarity, weighting, Keep(prepared.n_rows))
        call = ReduceCall(Q, prepared, [job], n_jobs=self.n_jobs)
        return self.by_pairs.reduce(call)[0].astype(np.float64, copy=False)

    def own_similarities(self, X: Rows) -> FloatArray:
        """Of each row to itself, (n_rows,)."""
        parts = [X[part] for part in blocks(n_rows(X), limits().own_rows)]
        return np.concatenate(
            [np.diag(self.similarities(rows, prepare(rows, [self.similarity]))) for rows in parts]
        )


@dataclass(frozen=True)
class Problem:
    """Stages and the labelled instances that they are applied to."""

    stages: Stages
    references: References

    @property
    def rows(self) -> Rows:
        """`References.influence`, times what each reference and each recorded label stands for."""
        V, scales = self.references.influence, self.stages.scales
        V = V if scales is None else sp.csr_array(sp.csr_array(V[:]).multiply(scales[:, None]))
        return self.as_true(V)

    def as_true(self, targets: Rows) -> Rows:
        """Labels, and whatever stands behind them, where each that is recorded counts for all that apply."""
        if self.stages.recorded is None:
            return targets
        factors = np.ones(targets.shape[1])
        factors[: self.references.n_labels] = 1.0 / self.stages.recorded
        return sp.csr_array(sp.csr_array(targets[:]).multiply(factors[None, :]))

    @property
    def stands_for(self) -> FloatArray:
        """How many instances each reference counts as: its weight, times what it was drawn for."""
        weights, scales = self.references.weights, self.stages.scales
        return weights if scales is None else weights * scales

    @cached_property
    def truth(self) -> Truth:
        """The label sets of all references, checked once for all candidates and blocks."""
        return Truth(Truth.of(self.references.settled_Y).Y, self.references.unknown)

    def solve(self) -> Solved:
        """The influence of the references."""
        return self.stages.influence.solve(self)


@dataclass(frozen=True)
class Solved:
    """scores(q) = sum over the used references of similarity * V, plus the intercept.

    Columns are the labels, then the set sizes that occur.

    Attributes
    ----------
    V : array, sparse or Stack, (n_used, n_labels + n_sizes)
        Influence of each used reference.
    intercept : array, (n_labels + n_sizes,), or None
        None for sums that have none.
    used : array of int or None
        Positions of the references that are summed over; None for all.
    left_out : array, (n_references, n_labels + n_sizes), or None
        Leave-one-out scores where they are known in closed form; None where masking gives them.
    scale : array, (n_labels + n_sizes,), or None
        Of sums divided by counts, the counts: leaving a row out divides by less.
    inverse : array, (n_references, n_references), or None
        What `Influence.updated` works on; kept from the first update on.
    residual : float or None
        Of a solution by iteration: the largest share of a column's targets that it leaves over.
    """

    file_key: ClassVar[str] = "influence.Solved"

    V: Rows
    intercept: FloatArray | None = None
    used: npt.NDArray[np.int64] | None = None
    left_out: FloatArray | None = None
    scale: FloatArray | None = None
    inverse: FloatArray | None = None
    residual: float | None = None

    def check(self) -> None:
        """Raise ValueError where the parts of what was learnt do not fit each other, or are not finite."""
        check_numbers("Solved", "V", self.V, (None, None))
        width = self.V.shape[1]
        if self.intercept is not None:
            check_numbers("Solved", "intercept", self.intercept, (width,))
        if self.left_out is not None:
            check_numbers("Solved", "left_out", self.left_out, (None, width))
        if self.scale is not None:
            check_numbers("Solved", "scale", self.scale, (width,), above=0)
        if self.inverse is not None:
            check_numbers("Solved", "inverse", self.inverse, (len(self.V), len(self.V)))
        check_number("Solved", "residual", self.residual, at_least=0, also=(None,))
        if self.used is not None:
            check_numbers("Solved", "used", self.used, (len(self.V),), kinds="i", at_least=0)
            if (np.diff(self.used) <= 0).any():
                raise ValueError("Solved: the positions that are used must rise.")


class Influence(BaseEstimator):
    """Base class."""

    name: ClassVar[str]
    #: whether (similarity, penalty) are chosen by leave-one-out in closed form
    learned: bool = False

    def check(self) -> None:
        """Raise ValueError where a parameter is out of range."""

    def grids(self) -> dict[str, tuple[float, ...]]:
        """Candidates for each parameter that is ``"auto"``."""
        return {}

    def check_similarity(self, similarity: Similarity, weighting: Weighting | None) -> None:
        """Raise ValueError where this influence is not defined for a similarity or a weighting."""

    def solve(self, problem: Problem) -> Solved:
        """The influence of all references."""
        raise TypeError(f"{type(self).__name__} does not say how it is computed.")

    def updated(self, before: Solved, problem: Problem, kept: Kept) -> Solved:
        """The influence of references that have changed, equal to solving anew with every value held.

        Parameters
        ----------
        before : Solved
            What was there.
        problem : Problem
            The references as they are now: first those that were kept, then new ones.
        kept : array of int or range
            Which of the former references these are, in rising order.
        """
        return self.solve(problem)


def own_entries(rows: npt.NDArray[np.integer], references: References) -> Exclude:
    """What to leave out when these references are the queries."""
    own, groups = rows.astype(np.int64), references.groups
    if groups is not None:
        return Exclude(own, np.zeros(len(own)), (groups[own], groups))
    w = references.weights[rows]
    return Exclude(own, np.maximum(w - 1.0, 0.0) / w)

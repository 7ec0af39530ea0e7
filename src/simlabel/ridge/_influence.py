"""Influence of references: the problem, its solution, and influence without learning.

scores(q) = sum over references j of similarity(q, x_j) * V_j, plus an intercept; V_j is the influence of
reference j.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, group_sums, n_rows, pieces, stacked
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_number, check_numbers
from simlabel.metrics import Truth
from simlabel.ridge._log_odds import Mixing
from simlabel.similarities import Similarity
from simlabel.sums import (
    Engine,
    Exact,
    Exclude,
    Job,
    MatrixReducer,
    Prepared,
    ReduceCall,
    References,
    Weighting,
    prepare,
)

RemainingRows = IntArray | range  # positions among the former references


@dataclass(frozen=True, kw_only=True)
class Stages:
    """The stages that compute scores; a search replaces what is "auto".

    Attributes
    ----------
    similarity, weighting, influence, engine
        As in `SMLClassifier`, as objects.
    n_jobs : int or None
        Number of threads.
    seed : int
        Random seed.
    scales : array, (n_references,), or None
        Number of rows that each reference represents, if a sampler drew them.
    label_frequency : array, (n_labels,), or None
        Share of the positives of each label that are recorded (positive-unlabeled data); None for all.
    """

    similarity: Similarity
    weighting: Weighting | None = None
    influence: Influence
    engine: Engine
    n_jobs: int | None = None
    seed: int = 0
    scales: FloatArray | None = None
    label_frequency: FloatArray | None = None

    @property
    def exact_engine(self) -> Exact:
        """The engine for single pairs: on this machine, within the memory that the user allows."""
        engine = self.engine.local_engine
        return engine if isinstance(engine, Exact) else Exact(engine.memory_mib)

    def similarities(self, Q: Rows, prepared: Prepared, weighting: Weighting | None = None) -> FloatArray:
        """Return the similarities of queries to prepared rows, float64, (n_queries, n_rows)."""
        job = Job(self.similarity, weighting, MatrixReducer(prepared.n_rows))
        call = ReduceCall(Q, prepared, [job], n_jobs=self.n_jobs)
        return self.exact_engine.reduce(call)[0].astype(np.float64, copy=False)

    def self_similarities(self, X: Rows) -> FloatArray:
        """Return the similarity of each row to itself, (n_rows,)."""
        parts = [X[part] for part in blocks(n_rows(X), limits().own_rows)]
        return np.concatenate(
            [np.diag(self.similarities(rows, prepare(rows, [self.similarity]))) for rows in parts]
        )


def ridge_targets(references: References) -> Rows:
    """Return [Y | one-hot of the set size], unweighted, sparse, (n_references, n_labels + n_sizes)."""
    ones = References(references.X, references.Y, np.ones(references.n_rows), unknown=references.knowledge)
    return ones.influence[:, : references.n_labels + len(references.sizes)]


@dataclass(frozen=True)
class Problem:
    """Stages, and the labeled rows that they are applied to."""

    stages: Stages
    references: References

    @property
    def rows(self) -> Rows:
        """`References.influence`, scaled by the number of rows and positives that each entry represents."""
        V, scales = self.references.influence, self.stages.scales
        V = V if scales is None else sp.csr_array(sp.csr_array(V[:]).multiply(scales[:, None]))
        return self.correct_for_missing(V)

    def correct_for_missing(self, targets: Rows) -> Rows:
        """Scale labels by the inverse of their recorded share; further columns stay."""
        if self.stages.label_frequency is None:
            return targets
        factors = np.ones(targets.shape[1])
        factors[: self.references.n_labels] = 1.0 / self.stages.label_frequency
        return sp.csr_array(sp.csr_array(targets[:]).multiply(factors[None, :]))

    @cached_property
    def targets(self) -> Rows:
        """The targets of learned influence: labels and one-hot set sizes, (n_references, width)."""
        return self.correct_for_missing(ridge_targets(self.references))

    @cached_property
    def target_mean(self) -> FloatArray:
        """The weighted mean of the targets, (width,)."""
        weights = self.references.weights
        return np.asarray(weights @ self.targets).ravel() / weights.sum()

    @property
    def multiplicity(self) -> FloatArray:
        """Number of rows that each reference represents: its weight, times its scale."""
        weights, scales = self.references.weights, self.stages.scales
        return weights if scales is None else weights * scales

    @cached_property
    def truth(self) -> Truth:
        """Label sets of all references, validated once."""
        return Truth(Truth.of(self.references.imputed_Y).Y, self.references.unknown)

    def solve(self) -> Solved:
        """Compute the influence of the references."""
        return self.stages.influence.solve(self)


@dataclass(frozen=True)
class Change:
    """How references differ from former ones.

    Attributes
    ----------
    former : Problem
        The problem of the former references.
    kept : array of int or range
        Positions of the remaining references among the former ones, increasing.
    places : array of int, (n_former_labels,)
        Position of each former label among the labels.
    """

    former: Problem
    kept: RemainingRows
    places: IntArray

    def mover(self, now: References) -> Callable[[FloatArray], FloatArray]:
        """Return a function that moves columns to where their label or set size is now; new ones are 0."""
        former = self.former.references
        _, sizes, to_sizes = np.intersect1d(former.sizes, now.sizes, return_indices=True)
        at = np.append(np.arange(former.n_labels), former.n_labels + sizes)
        to = np.append(self.places, now.n_labels + to_sizes)

        def move(A: FloatArray) -> FloatArray:
            moved = np.zeros((len(A), now.n_labels + len(now.sizes)))
            moved[:, to] = A[:, at]
            return moved

        return move


@dataclass(frozen=True)
class Solved:
    """A solution: scores are similarities to the used references, times the influence, plus the intercept.

    Columns are the labels, then the set sizes that occur.

    Attributes
    ----------
    V : array, sparse or Stack, (n_used, n_labels + n_sizes)
        Influence of each used reference, before mixing.
    intercept : array, (n_labels + n_sizes,), or None
        None if there is none.
    used : array of int or None
        Positions of the references with influence; None for all.
    loo_scores : array, (n_references, n_labels + n_sizes), or None
        Leave-one-out scores in closed form; None if they are computed by masking, or when they are needed.
    scale : array, (n_labels + n_sizes,), or None
        Counts by which sums were divided; without a row they are smaller.
    residual : float or None
        Largest relative residual of a column, of an iterative solution.
    mixing : Mixing or None
        The map that turns the scores of labels into log-odds.
    system : object or None
        The linear system that V solves, for `Influence.updated`. It is neither saved nor pickled.
    """

    file_key: ClassVar[str] = "influence.Solved"

    V: Rows
    intercept: FloatArray | None = None
    used: IntArray | None = None
    loo_scores: FloatArray | None = None
    scale: FloatArray | None = None
    residual: float | None = None
    mixing: Mixing | None = None
    system: Any = field(default=None, repr=False, compare=False)

    @cached_property
    def influence(self) -> Rows:
        """What similarities are multiplied with: V, mixed."""
        return self.V if self.mixing is None else self.mixing.influence(self.V)

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)} | {"system": None}

    def check(self) -> None:
        """Raise ValueError if the arrays are inconsistent or not finite."""
        check_numbers("Solved", "V", self.V, (None, None))
        width = self.V.shape[1]
        for name, shape in {"intercept": (width,), "loo_scores": (None, width)}.items():
            if getattr(self, name) is not None:
                check_numbers("Solved", name, getattr(self, name), shape)
        if self.scale is not None:
            check_numbers("Solved", "scale", self.scale, (width,), above=0)
        check_number("Solved", "residual", self.residual, at_least=0, also=(None,))
        if self.mixing is not None and self.mixing.n_labels > width:
            raise ValueError("Solved: there are fewer columns than labels that are mixed.")
        if self.used is not None:
            check_numbers("Solved", "used", self.used, (len(self.V),), kinds="i", at_least=0)
            if (np.diff(self.used) <= 0).any():
                raise ValueError("Solved: used positions must increase.")


class Influence(BaseEstimator):
    """Base class."""

    name: ClassVar[str]
    #: whether V is the solution of a linear system, with leave-one-out scores in closed form
    learned: bool = False

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""

    def grids(self) -> dict[str, tuple[float, ...]]:
        """Return candidates for each parameter that is ``"auto"``."""
        return {}

    def check_similarity(self, similarity: Similarity, weighting: Weighting | None) -> None:
        """Raise ValueError if this influence is undefined for a similarity or a weighting."""

    def solve(self, problem: Problem) -> Solved:
        """Compute the influence of all references."""
        raise TypeError(f"{type(self).__name__} does not define solve().")

    def updated(self, before: Solved, change: Change, problem: Problem) -> Solved:
        """Compute the influence of changed references; equal to `solve` with all parameters held.

        Parameters
        ----------
        before : Solved
            Previous solution.
        change : Change
            How the references differ from those of the previous solution.
        problem : Problem
            Current references: first those that remain, then new ones.
        """
        return self.solve(problem)

    def loo_scores(self, solved: Solved, problem: Problem) -> FloatArray | None:
        """Return leave-one-out scores in closed form, (n_references, n_labels + n_sizes), if there are."""
        return solved.loo_scores


class Uniform(Influence):
    """Influence of the paper: every reference with a label contributes its similarity.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier("linear", influence=Uniform(), normalizer=None)
    >>> model.fit([[1.0], [2.0]], [{"a"}, {"a", "b"}]).label_weights([[1.0]])
    array([[3., 2.]])
    """

    name = "uniform"
    file_key = "influence.Uniform"

    def solve(self, problem: Problem) -> Solved:
        """Return the weighted label rows."""
        return Solved(problem.rows)


class LabelMean(Influence):
    """Divide the sum of each label by the number of references that have it, so that rare labels can win.

    Set sizes are summed as they are.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier("linear", influence="label_mean", normalizer=None)
    >>> model.fit([[1.0], [2.0]], [{"a"}, {"a", "b"}]).label_weights([[1.0]])
    array([[1.5, 2. ]])
    """

    name = "label_mean"
    file_key = "influence.LabelMean"

    def solve(self, problem: Problem) -> Solved:
        """Return the weighted label rows, divided by the weight of each label."""
        V, n_labels = problem.rows, problem.references.n_labels
        counts = np.sum([np.asarray(piece.sum(axis=0)).ravel() for piece in pieces(V)], axis=0)
        counts[n_labels:] = 1.0
        counts[counts == 0] = 1.0  # a label without positives has score 0
        scaled = [sp.csr_array(piece.multiply(1.0 / counts[None, :])) for piece in pieces(V)]
        return Solved(stacked(scaled), scale=counts)


class Rescaling:
    """Correct sums that were divided by counts for a row, or a group, that is left out.

    Parameters
    ----------
    problem : Problem
    scale : array, (n_labels + n_sizes,), or None
        The counts; None for sums that were not divided.
    """

    def __init__(self, problem: Problem, scale: FloatArray | None) -> None:
        self.problem, self.scale, references = problem, scale, problem.references
        self.groups = references.groups
        if scale is None or self.groups is None:
            return
        self.of_groups = group_sums(self.groups, problem.multiplicity, references.imputed_Y)

    def __call__(self, labels: FloatArray, rows: npt.NDArray[np.integer]) -> FloatArray:
        """Return the sums of some references, each without itself or its group, (n_rows, n_labels)."""
        if self.scale is None:
            return labels
        references, stages = self.problem.references, self.problem.stages
        if self.groups is None:  # without one copy of the row
            weights = np.minimum(references.weights[rows], 1.0)
            weights = weights if stages.scales is None else weights * stages.scales[rows]
            removed = references.imputed_Y[rows].toarray() * weights[:, None]
        else:
            removed = self.of_groups[self.groups[rows]].toarray()
        if stages.label_frequency is not None:
            removed = removed / stages.label_frequency
        count = self.scale[: references.n_labels]
        rest = count - removed
        return np.divide(labels * count, rest, out=np.zeros_like(labels), where=rest > 1e-9 * count)


def exclude_self(rows: npt.NDArray[np.integer], references: References) -> Exclude:
    """Return what to mask when these references are the queries: themselves, or their groups."""
    own, groups = rows.astype(np.int64), references.groups
    if groups is not None:
        return Exclude(own, np.zeros(len(own)), (groups[own], groups))
    w = references.weights[rows]
    return Exclude(own, np.maximum(w - 1.0, 0.0) / w)

"""A few prototypes in place of the references."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from simlabel._utils.forks import cached_property
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, dense_rows, n_rows, take_rows
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_finite, check_number, check_numbers
from simlabel.model.sketches._base import FittedSketch, Sketch, SketchProblem
from simlabel.similarities import Similarity
from simlabel.sums import Exact, Job, Plan, Prepared, ReduceCall, References, SumReducer, prepare

_LEAST_LEARNT, _LEARNT_PER_PROTOTYPE = 2000, 12  # references that the influence of prototypes is learnt from
_PENALTY = 0.01  # on changes of the influence, in units of the mean squared similarity


@dataclass(frozen=True)
class PrototypeSums:
    """Prototypes with their influence, summed over exactly.

    Attributes
    ----------
    X : rows, (n_prototypes, n_features)
        The prototypes.
    V : array, (n_prototypes, n_columns)
        Their influence.
    """

    file_key: ClassVar[str] = "sketching.PrototypeSums"

    X: Rows
    V: FloatArray
    similarity: Similarity
    n_jobs: int | None
    n_references: int
    words: str

    def check(self) -> None:
        """Raise where the influence is not that of the prototypes."""
        n = int(self.X.shape[0])
        check_finite(self.X, "prototypes")
        check_numbers("PrototypeSums", "V", self.V, (n, None))
        check_number("PrototypeSums", "n_references", self.n_references, at_least=0, integer=True)

    @cached_property
    def prepared(self) -> Prepared:
        """The prototypes made ready."""
        return prepare(self.X, [self.similarity], keep_views=True)

    @cached_property
    def job(self) -> Job:
        """What is summed."""
        return Job(self.similarity, None, SumReducer(self.V))

    def sums(self, Q: Rows) -> FloatArray:
        """Sums over the prototypes."""
        return Exact().reduce(ReduceCall(Q, self.prepared, [self.job], n_jobs=self.n_jobs))[0]

    def own_similarity(self, Q: Rows) -> FloatArray:
        """None: influence that is learnt has nothing of a single reference in it."""
        return np.zeros(n_rows(Q))

    def plan(self, n_queries: int) -> Plan:
        """The plan of the sum over prototypes."""
        plan = Exact().plan(n_queries, self.prepared, [self.job], self.n_jobs)
        words = f"asked for by sketch=...: in place of {self.n_references:,} references"
        return replace(plan, how=f"sketched sums: {self.words}", reasons=(*plan.reasons, words))


class Condense(Sketch):
    """Means of groups of references that share a label (k-means), whose influence is learnt.

    At first each has the labels of its whole group: with exp(-gamma * distance) a reference counts as
    much as it is similar to the mean of its group. Then the influence is changed so that the sums over
    the means are those over the references, by least squares on references left out of their own sums.
    Each counts by the size of its sums, since only their proportions matter.

    Parameters
    ----------
    n : int
        Number of prototypes; it is shared among the labels by their frequency, at least one for each.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> from simlabel.similarities import RBF
    >>> X, y = [[0.0, 1.0], [1.0, 0.0]] * 10, [{"a"}, {"b"}] * 10
    >>> model = SMLClassifier(RBF(0.5), sketch=Condense(2), random_state=0).fit(X, y)
    >>> model.label_weights([[0.0, 1.0]]).round(2)
    array([[10.  ,  3.68]])
    """

    name = "condense"
    file_key = "sketching.Condense"

    def __init__(self, n: int = 1000) -> None:
        self.n = n

    def check(self) -> None:
        """Raise ValueError where n is not a positive whole number."""
        check_number("Condense", "n", self.n, at_least=1, integer=True)

    def why_not(self, similarity: Similarity) -> str | None:
        """Means must be rows that can be compared."""
        if any(leaf.similarity.form in ("block", "precomputed") for leaf in similarity.leaves()):
            return f"{similarity!r} does not compare features"
        return None

    def cost(self, problem: SketchProblem) -> float:
        """A comparison with each prototype."""
        return float(self.n * (problem.references.X.shape[1] + 20 + problem.V.shape[1]))

    def make(self, problem: SketchProblem) -> FittedSketch:
        """Group, add up the influence of each group, and correct it."""
        X, n = problem.references.X[:], problem.references.n_rows
        k = min(self.n, n)
        of = _groups(problem.references, X, k, problem.stages.seed)
        groups = sp.csr_array((np.ones(n), (of, np.arange(n))), shape=(int(of.max()) + 1, n))
        centers = dense_rows(groups @ X) / groups.sum(axis=1)[:, None]  # of the whole groups, not of batches
        centers = np.asarray(centers, dtype=problem.prepared.dtype)
        share = _nearness(problem, centers, of)
        V = (groups @ problem.V.multiply(share[:, None])).toarray()
        V = _corrected(problem, centers, V)
        return PrototypeSums(
            centers, V, problem.similarity, problem.stages.n_jobs, n, f"{len(centers):,} prototypes"
        )


def _corrected(problem: SketchProblem, centers: FloatArray, V: FloatArray) -> FloatArray:
    """V, changed so that sums over the prototypes are nearer to those over the references."""
    rows = problem.others(max(_LEAST_LEARNT, _LEARNT_PER_PROTOTYPE * len(centers)))
    few = prepare(centers, [problem.similarity], keep_views=True)
    H, b = np.zeros((len(centers), len(centers))), np.zeros_like(V)
    count = np.asarray(problem.V.sum(axis=0)).ravel()
    for part in blocks(len(rows), limits().block_rows):
        wanted = problem.left_out(rows[part])
        rest = count - problem.V[rows[part]].toarray()  # a new query sees one more with each of its labels
        wanted *= np.divide(count, rest, out=np.ones_like(rest), where=rest > 0)
        A = problem.stages.similarities(take_rows(problem.references.X, rows[part]), few)
        size = np.linalg.norm(wanted, axis=1)[:, None]
        weight = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
        A, wanted = A * weight, wanted * weight
        H += A.T @ A
        b += A.T @ (wanted - A @ V)
    penalty = _PENALTY * np.trace(H) / len(H)
    if not penalty > 0:
        return V  # no reference is similar to any prototype
    return V + scipy.linalg.solve(H + penalty * np.eye(len(H)), b, assume_a="pos")


def _groups(references: References, X: Rows, k: int, seed: int) -> IntArray:
    """About k groups of rows that are alike and share a label, numbered without a gap, (n_rows,)."""
    from sklearn.cluster import MiniBatchKMeans  # loads half of scikit-learn, and few want it

    label, order = _rarest_label(references.settled_Y), references.order
    of = np.empty(len(label), dtype=np.int64)
    used = 0
    for rows in (order[label[order] == which] for which in np.unique(label)):
        share = min(len(rows), max(1, round(k * len(rows) / len(label))))
        group = np.zeros(len(rows), dtype=np.int64)
        if share > 1:
            means = MiniBatchKMeans(
                share, init="random", batch_size=4096, n_init=1, max_iter=10, random_state=seed
            )
            group = np.unique(means.fit(X[rows]).predict(X[rows]), return_inverse=True)[1]
        of[rows] = used + group
        used += int(group.max()) + 1
    return of


def _rarest_label(Y: sp.csr_array) -> IntArray:
    """For each row the one of its labels that fewest rows have; -1 for none."""
    rarity = 1.0 / np.maximum(1.0, np.asarray(Y.sum(axis=0), dtype=np.float64).ravel())
    weighted = sp.csr_array((rarity[Y.indices], Y.indices, Y.indptr), shape=Y.shape)
    rarest = np.asarray(weighted.argmax(axis=1)).ravel().astype(np.int64)
    rarest[np.diff(Y.indptr) == 0] = -1
    return rarest


def _nearness(problem: SketchProblem, centers: FloatArray, of: IntArray) -> FloatArray:
    """How much of a reference its prototype stands for, (n_references,).

    exp(-gamma * distance) of a query and a reference is about the product of those of the query and
    the prototype and of the prototype and the reference, since the ways there have little in common.
    """
    share = np.ones(len(of))
    if not hasattr(problem.similarity, "gamma"):
        return share
    X = problem.references.X
    order = np.argsort(of, kind="stable")
    for part in blocks(len(order), 512):  # neighbours in this order belong to few prototypes
        rows = order[part]
        near, place = np.unique(of[rows], return_inverse=True)
        few = prepare(centers[near], [problem.similarity])
        S = problem.stages.similarities(take_rows(X, rows), few)
        share[rows] = S[np.arange(len(rows)), place]
    return share

"""Prototypes in place of the references, and the choice of a sketch."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.registry import Registry
from simlabel._utils.rows import blocks, dense_rows, n_rows, take_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_finite, check_number, check_numbers
from simlabel.metrics import Truth, average_precision
from simlabel.model.sketches._features import FeatureSums, RandomFeatures, Sketch, SketchProblem
from simlabel.similarities import Similarity
from simlabel.sums import Exact, Job, Plan, Prepared, ReduceCall, References, SumReducer, Weighting, prepare

_LEAST_LEARNED, _LEARNED_PER_PROTOTYPE = 2000, 12  # references that influence is learned from
_PENALTY = 0.01  # on changes of the influence, in units of the mean squared similarity


@dataclass(frozen=True)
class PrototypeSums:
    """Prototypes and their influence, with exact sums over them.

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
        """Raise if the influence does not fit the prototypes."""
        n = int(self.X.shape[0])
        check_finite(self.X, "prototypes")
        check_numbers("PrototypeSums", "V", self.V, (n, None))
        check_number("PrototypeSums", "n_references", self.n_references, at_least=0, integer=True)

    @cached_property
    def prepared(self) -> Prepared:
        """The prepared prototypes."""
        return prepare(self.X, [self.similarity], keep_views=True)

    @cached_property
    def job(self) -> Job:
        """The sum over the prototypes."""
        return Job(self.similarity, None, SumReducer(self.V))

    def sums(self, Q: Rows) -> FloatArray:
        """Return the sums over the prototypes."""
        return Exact().reduce(ReduceCall(Q, self.prepared, [self.job], n_jobs=self.n_jobs))[0]

    def self_similarity(self, Q: Rows) -> FloatArray:
        """Return 0: learned influence contains no entry of a single reference."""
        return np.zeros(n_rows(Q))

    def plan(self, n_queries: int) -> Plan:
        """Return the plan of the sum over prototypes."""
        plan = Exact().plan(n_queries, self.prepared, [self.job], self.n_jobs)
        words = f"requested by sketch=...: in place of {self.n_references:,} references"
        return replace(plan, how=f"sketched sums: {self.words}", reasons=(*plan.reasons, words))


class Condense(Sketch):
    """Means of groups of references that share a label (k-means), with learned influence.

    At first each mean has the labels of its whole group: with exp(-gamma * distance) a reference is weighted
    by its similarity to the mean of its group. Then the influence is corrected so that the sums over the
    means approximate those over the references, by least squares on leave-one-out sums. Rows are weighted
    by the inverse length of their sums, since only proportions matter.

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
        """Raise ValueError if n is not a positive integer."""
        check_number("Condense", "n", self.n, at_least=1, integer=True)

    def unsupported_reason(self, similarity: Similarity) -> str | None:
        """Refuse similarities that do not compare features, since means are rows of features."""
        if any(leaf.similarity.form in ("block", "precomputed") for leaf in similarity.leaves()):
            return f"{similarity!r} does not compare features"
        return None

    def cost(self, problem: SketchProblem) -> float:
        """Predict a comparison with each prototype."""
        return float(self.n * (problem.references.X.shape[1] + 20 + problem.V.shape[1]))

    def make(self, problem: SketchProblem) -> PrototypeSums:
        """Group the references, add up the influence of each group, and correct it."""
        X, n = problem.references.X[:], problem.references.n_rows
        k = min(self.n, n)
        of = _groups(problem.references, X, k, problem.stages.seed)
        groups = sp.csr_array((np.ones(n), (of, np.arange(n))), shape=(int(of.max()) + 1, n))
        centers = dense_rows(groups @ X) / groups.sum(axis=1)[:, None]  # of whole groups, not of batches
        centers = np.asarray(centers, dtype=problem.prepared.dtype)
        share = _nearness(problem, centers, of)
        V = (groups @ problem.V.multiply(share[:, None])).toarray()
        V = _corrected(problem, centers, V)
        return PrototypeSums(
            centers, V, problem.similarity, problem.stages.n_jobs, n, f"{len(centers):,} prototypes"
        )


def _corrected(problem: SketchProblem, centers: FloatArray, V: FloatArray) -> FloatArray:
    """Correct V so that sums over the prototypes approximate those over the references."""
    rows = problem.others(max(_LEAST_LEARNED, _LEARNED_PER_PROTOTYPE * len(centers)))
    few = prepare(centers, [problem.similarity], keep_views=True)
    H, b = np.zeros((len(centers), len(centers))), np.zeros_like(V)
    count = np.asarray(problem.V.sum(axis=0)).ravel()
    for part in blocks(len(rows), limits().block_rows):
        requested = problem.loo_sums(rows[part])
        rest = count - problem.V[rows[part]].toarray()  # a new query sees one more with each of its labels
        requested *= np.divide(count, rest, out=np.ones_like(rest), where=rest > 0)
        A = problem.stages.similarities(take_rows(problem.references.X, rows[part]), few)
        size = np.linalg.norm(requested, axis=1)[:, None]
        weight = np.divide(1.0, size, out=np.zeros_like(size), where=size > 0)
        A, requested = A * weight, requested * weight
        H += A.T @ A
        b += A.T @ (requested - A @ V)
    penalty = _PENALTY * np.trace(H) / len(H)
    if not penalty > 0:
        return V  # no reference is similar to any prototype
    return V + scipy.linalg.solve(H + penalty * np.eye(len(H)), b, assume_a="pos")


def _groups(references: References, X: Rows, k: int, seed: int) -> IntArray:
    """Return the group of each row: about k groups of similar rows that share a label, numbered from 0."""
    from sklearn.cluster import MiniBatchKMeans  # a slow import that few need

    label, order = _rarest_label(references.imputed_Y), references.order
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
    """Return the rarest label of each row; -1 for none."""
    rarity = 1.0 / np.maximum(1.0, np.asarray(Y.sum(axis=0), dtype=np.float64).ravel())
    weighted = sp.csr_array((rarity[Y.indices], Y.indices, Y.indptr), shape=Y.shape)
    rarest = np.asarray(weighted.argmax(axis=1)).ravel().astype(np.int64)
    rarest[np.diff(Y.indptr) == 0] = -1
    return rarest


def _nearness(problem: SketchProblem, centers: FloatArray, of: IntArray) -> FloatArray:
    """Return the similarity of each reference to its prototype, (n_references,).

    exp(-gamma * distance) of a query and a reference is about the product of the two values for query and
    prototype and for prototype and reference, since the two differences are nearly orthogonal.
    """
    share = np.ones(len(of))
    if not hasattr(problem.similarity, "gamma"):
        return share
    X = problem.references.X
    order = np.argsort(of, kind="stable")
    for part in blocks(len(order), 512):  # neighbors in this order belong to few prototypes
        rows = order[part]
        near, place = np.unique(of[rows], return_inverse=True)
        few = prepare(centers[near], [problem.similarity])
        S = problem.stages.similarities(take_rows(X, rows), few)
        share[rows] = S[np.arange(len(rows)), place]
    return share


FittedSketch = FeatureSums | PrototypeSums

_CANDIDATES: tuple[Sketch, ...] = (
    Condense(100),
    Condense(300),
    RandomFeatures(512),
    Condense(1000),
    RandomFeatures(2048),
    Condense(3000),
)
_SMALLEST_GAIN = 2.0  # times faster than exact sums; less is not worth an error


class AutoSketch(Sketch):
    """Use the cheapest sketch that keeps the average precision.

    Training rows are scored by exact and sketched leave-one-out sums. If no cheaper sketch is good enough,
    the sums stay exact.

    Parameters
    ----------
    tolerance : float
        Largest loss of average precision.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> model = SMLClassifier(sketch=AutoSketch(tolerance=0.01)).fit([[0.0], [1.0]], [{"a"}, {"b"}])
    >>> model.sketch_ is None  # two references are few enough
    True
    """

    name = "auto"
    file_key = "sketching.AutoSketch"

    def __init__(self, tolerance: float = 0.015) -> None:
        self.tolerance = tolerance

    def check(self) -> None:
        """Raise ValueError if the tolerance is negative."""
        check_number("AutoSketch", "tolerance", self.tolerance, at_least=0)

    def make(self, problem: SketchProblem) -> FittedSketch | None:
        """Compute the cheapest sketch that is good enough, or return None."""
        n, n_features = problem.references.n_rows, int(problem.references.X.shape[1])
        exact_cost = n * (n_features + 20.0)
        known = [c for c in _CANDIDATES if c.unsupported_reason(problem.similarity) is None]
        known = [c for c in known if c.cost(problem) * _SMALLEST_GAIN < exact_cost]
        truth = Truth.of(problem.references.imputed_Y[problem.checked])
        requested = _precision(truth, problem.exact) - self.tolerance if known else 0.0
        for candidate in sorted(known, key=lambda c: c.cost(problem)):
            fitted = candidate.make(problem)
            if _precision(truth, problem.sketched(fitted)) >= requested:
                return fitted
        return None


def _precision(truth: Truth, sums: FloatArray) -> float:
    """Return the average precision; 0 if no row has a label."""
    return float(np.nan_to_num(average_precision(truth, sums[:, : truth.Y.shape[1]])))


SKETCHES: Registry[Sketch] = Registry("sketch", Sketch, [AutoSketch, Condense, RandomFeatures])
_LARGEST_ERROR = 0.5  # sine of 30 degrees: larger errors are mostly noise


def resolve_sketch(spec: Any, similarity: Similarity, weighting: Weighting | None) -> Sketch:
    """Turn a name or an object into a sketch; raise ValueError if it is not possible."""
    sketch = SKETCHES.resolve(spec)
    sketch.check()
    if weighting is not None:
        raise ValueError(
            f"sketch={spec!r} sums before the weighting {weighting!r} could be applied: use one of them."
        )
    reason = sketch.unsupported_reason(similarity)
    if reason is not None:
        raise ValueError(f"sketch={spec!r} is not possible: {reason}.")
    return sketch


_MIN_SHOWN = 5  # times fewer rows to compare with


def cheaper_alternatives(similarity: Similarity, n_references: int) -> str | None:
    """Describe a faster approximation, its gain and loss; None if there is none."""
    few = Condense(300)
    gain = n_references / few.n
    if gain < _MIN_SHOWN or few.unsupported_reason(similarity) is not None:
        return None
    return (
        f"cheaper: sketch='auto' takes the cheapest sketch that loses at most "
        f"{AutoSketch().tolerance} of average precision, measured at fit; {few!r} compares with {gain:,.0f} "
        f"times fewer rows. So does sampler={few.n}, which is right on average and loses more"
    )


def fit_sketch(sketch: Sketch, problem: SketchProblem) -> FittedSketch | None:
    """Compute a sketch, and raise ValueError if its leave-one-out sums of training rows are mostly noise."""
    fitted: FittedSketch | None = sketch.make(problem)
    if fitted is None or isinstance(sketch, AutoSketch):
        return fitted
    error = problem.error(fitted)
    if not error <= _LARGEST_ERROR:
        raise ValueError(
            f"{sketch!r} gives sums that point elsewhere than the exact ones with {problem.similarity!r}: "
            f"the mean sine of the angle is {error:.2f} on {len(problem.checked)} training rows left out of "
            f"their own sums, so they are mostly noise. Narrow similarities have small sums, but the noise "
            f"of a sketch does not shrink with them. Use more columns or prototypes, another sketch, or none."
        )
    return fitted

"""Sketches: approximate sums whose cost does not grow with the references, and random features."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows, take_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_number, check_numbers
from simlabel.ridge import Stages
from simlabel.similarities import RBF, Laplacian, Similarity
from simlabel.sums import Exclude, Job, Plan, Prepared, ReduceCall, References, SumReducer

_CHECKED_ROWS = 1000  # rows on which the error is measured


@dataclass(frozen=True)
class SketchProblem:
    """The references and the sum that a sketch approximates.

    Attributes
    ----------
    stages : Stages
        How the exact sums are computed, and the seed.
    references : References
        Normalized rows and their label sets.
    prepared, job
        The prepared references, and the sum.
    """

    stages: Stages
    references: References
    prepared: Prepared
    job: Job

    @property
    def similarity(self) -> Similarity:
        """The similarity of the references."""
        return self.stages.similarity

    @cached_property
    def V(self) -> sp.csr_array:
        """Influence of the references, (n_references, n_columns)."""
        assert isinstance(self.job.reducer, SumReducer)
        return sp.csr_array(self.job.reducer.influence.V)

    @cached_property
    def checked(self) -> IntArray:
        """Rows on which exact and sketched sums are compared."""
        return np.sort(self._order[: min(_CHECKED_ROWS, max(1, self.references.n_rows // 2))])

    def others(self, most: int) -> IntArray:
        """Return at most `most` rows that are not checked, for a sketch to learn from."""
        unseen = self._order[len(self.checked) :]
        return np.sort(unseen[:most]) if len(unseen) else self.checked

    @cached_property
    def _order(self) -> IntArray:
        rng = np.random.default_rng([self.stages.seed, 1])  # a sketch draws with the seed alone
        return self.references.order[rng.permutation(self.references.n_rows)]

    @cached_property
    def exact(self) -> FloatArray:
        """Exact leave-one-out sums of the checked rows."""
        return self.loo_sums(self.checked)

    def loo_sums(self, rows: IntArray) -> FloatArray:
        """Return exact leave-one-out sums of some references, (n_rows, n_columns)."""
        Q = take_rows(self.references.X, rows)
        own = Exclude(rows, np.zeros(len(rows)))
        call = ReduceCall(Q, self.prepared, [self.job], own, n_jobs=self.stages.n_jobs)
        return self.stages.engine.reduce(call)[0].astype(np.float64)

    def sketched(self, sketch: Any) -> FloatArray:
        """Return sketched leave-one-out sums of the checked rows."""
        Q = take_rows(self.references.X, self.checked)
        own = sketch.self_similarity(Q)
        return sketch.sums(Q).astype(np.float64) - self.V[self.checked].toarray() * own[:, None]

    def error(self, sketch: Any) -> float:
        """Return the mean sine of the angle between rows of sketched and exact sums.

        A common factor of a row's sums changes neither the order of its labels nor its set size.
        """
        if self.references.n_rows == 1:
            return 0.0  # there are no other references to sum over
        one, other = self.exact, self.sketched(sketch)
        lengths = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
        seen = lengths > 0
        cosine = np.einsum("ij,ij->i", one[seen], other[seen]) / lengths[seen]
        sine = np.where(cosine > 0, np.sqrt(np.clip(1.0 - cosine**2, 0.0, 1.0)), 1.0)
        return float(sine.mean()) if seen.any() else 1.0


class Sketch(BaseEstimator):
    """Base class of all sketches."""

    name: ClassVar[str]

    def check(self) -> None:
        """Raise ValueError if a parameter is invalid."""

    def unsupported_reason(self, similarity: Similarity) -> str | None:
        """Return why this similarity cannot be sketched, or None."""
        return None

    def cost(self, problem: SketchProblem) -> float:
        """Predict multiplications for one query."""
        raise NotImplementedError

    def make(self, problem: SketchProblem) -> Any:
        """Compute the sketch; its error is not checked yet."""
        raise NotImplementedError


@dataclass(frozen=True)
class FeatureSums:
    """Random features, and the sum over references of features times influence."""

    file_key: ClassVar[str] = "sketching.FeatureSums"

    columns: Waves
    W: FloatArray
    n_references: int
    words: str

    def check(self) -> None:
        """Raise if the sums are not finite, or do not fit the features."""
        check_numbers("FeatureSums", "W", self.W, (None, None))
        check_number("FeatureSums", "n_references", self.n_references, at_least=0, integer=True)
        if not isinstance(self.columns, Waves) or self.columns.width != len(self.W):
            raise ValueError(f"FeatureSums: {len(self.W)} sums need as many features, got {self.columns!r}.")

    def sums(self, Q: Rows) -> FloatArray:
        """Return columns(Q) @ W, block by block."""
        out: FloatArray = np.empty((n_rows(Q), self.W.shape[1]), dtype=self.W.dtype)
        for part in feature_blocks(n_rows(Q), self.W.shape[0]):
            out[part] = self.columns(Q[part]) @ self.W
        return out

    def self_similarity(self, Q: Rows) -> FloatArray:
        """Return the squared length of the features."""
        Z = self.columns(Q)
        return np.einsum("ij,ij->i", Z, Z, dtype=np.float64)

    def plan(self, n_queries: int) -> Plan:
        """Return the plan of two products."""
        width, n_columns = self.W.shape
        return Plan(
            f"sketched sums: {self.words}",
            n_queries,
            self.n_references,
            self.W.dtype,
            queries=n_queries,
            references=0,
            parts=1,
            threads=1,
            memory=limits().block_bytes * 3 + self.W.nbytes,
            operations=2.0 * n_queries * width * n_columns,
            reasons=("requested by sketch=...; the number of references does not matter",),
        )

    def emptied(self, n_columns: int) -> FeatureSums:
        """Return the same features without references."""
        return replace(self, W=np.zeros((self.W.shape[0], n_columns), dtype=self.W.dtype), n_references=0)

    def added(self, X: Rows, V: Any, sign: float = 1.0) -> FeatureSums:
        """Add references, or with sign -1 remove them."""
        W = self.W.astype(np.float64)
        for part in feature_blocks(n_rows(X), len(W)):
            W += sign * (sp.csr_array(V[part]).T @ self.columns(X[part]).astype(np.float64)).T
        n = self.n_references + round(sign) * n_rows(X)
        return replace(self, W=W.astype(self.W.dtype), n_references=n)


def feature_blocks(n: int, width: int) -> Iterable[slice]:
    """Return blocks of rows whose features take little memory."""
    return blocks(n, max(1, limits().block_bytes // (8 * width)))


@dataclass(frozen=True)
class Waves:
    """Cosines and sines of random projections."""

    file_key: ClassVar[str] = "sketching.Waves"

    directions: FloatArray

    def check(self) -> None:
        """Raise ValueError if a direction is not finite."""
        check_numbers("Waves", "directions", self.directions, (None, None))

    @property
    def n_features(self) -> int:
        """Number of columns of the rows."""
        return int(self.directions.shape[0])

    @property
    def width(self) -> int:
        """Number of features."""
        return 2 * int(self.directions.shape[1])

    def __call__(self, X: Rows) -> FloatArray:
        projected = np.asarray(X @ self.directions)
        Z = np.concatenate([np.cos(projected), np.sin(projected)], axis=1)
        return Z * Z.dtype.type(1.0 / np.sqrt(self.directions.shape[1]))


class RandomFeatures(Sketch):
    """Cosines of random projections: orthogonal ones for RBF, Cauchy ones for Laplacian.

    Their noise does not shrink with the similarities. For a narrow bandwidth it is larger than the sums, and
    fit raises ValueError.

    Parameters
    ----------
    n : int
        Number of features, even.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> from simlabel.similarities import RBF
    >>> X, y = [[0.0, 1.0], [1.0, 0.0]] * 10, [{"a"}, {"b"}] * 10
    >>> model = SMLClassifier(RBF(0.5), sketch=RandomFeatures(512), random_state=0).fit(X, y)
    >>> model.predict([[0.1, 0.9]])
    [{'a'}]
    """

    name = "random_features"
    file_key = "sketching.RandomFeatures"

    def __init__(self, n: int = 2048) -> None:
        self.n = n

    def check(self) -> None:
        """Raise ValueError if n is not an even number."""
        check_number("RandomFeatures", "n", self.n, at_least=2, integer=True)
        if self.n % 2:
            raise ValueError(
                f"RandomFeatures: n must be even, a cosine and a sine for each projection; got {self.n}."
            )

    def unsupported_reason(self, similarity: Similarity) -> str | None:
        """Refuse similarities other than RBF and Laplacian."""
        if isinstance(similarity, RBF | Laplacian):
            return None
        return f"random features are for RBF and Laplacian, not for {similarity!r}"

    def cost(self, problem: SketchProblem) -> float:
        """Predict projections, cosines and a product with the sums."""
        return self.n / 2 * problem.references.X.shape[1] + 10 * self.n + self.n * problem.V.shape[1]

    def make(self, problem: SketchProblem) -> FeatureSums:
        """Draw directions and sum over the references."""
        rng, n_features = np.random.default_rng(problem.stages.seed), int(problem.references.X.shape[1])
        similarity = problem.similarity
        assert isinstance(similarity, RBF | Laplacian)  # see `unsupported_reason`
        gamma = float(similarity.gamma)
        if isinstance(similarity, Laplacian):
            directions = rng.standard_cauchy((n_features, self.n // 2)) * gamma
        else:
            directions = _orthogonal(n_features, self.n // 2, rng) * np.sqrt(2.0 * gamma)
        dtype = problem.prepared.dtype
        none = np.zeros((self.n, problem.V.shape[1]), dtype=dtype)
        words = f"{self.n:,} random features of {similarity!r}"
        return FeatureSums(Waves(directions.astype(dtype)), none, 0, words).added(
            problem.references.X, problem.V
        )


def _orthogonal(n_features: int, n: int, rng: np.random.Generator) -> FloatArray:
    """Return Gaussian directions, orthogonal in groups of `n_features`, which reduces the noise."""
    groups = []
    for _ in range(-(-n // n_features)):
        Q, _R = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        lengths = np.linalg.norm(rng.standard_normal((n_features, n_features)), axis=0)
        groups.append(Q * lengths)
    return np.hstack(groups)[:, :n]

"""Explicit random columns whose inner product is the similarity, on average."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows
from simlabel._utils.validation import FloatArray, Rows, check_number, check_numbers
from simlabel.model.sketches._base import FittedSketch, Sketch, SketchProblem
from simlabel.similarities import RBF, Laplacian, Similarity
from simlabel.sums import Plan


@dataclass(frozen=True)
class FeatureSums:
    """Random columns, and the sum over references of columns times influence."""

    file_key: ClassVar[str] = "sketching.FeatureSums"

    columns: Waves
    W: FloatArray
    n_references: int
    words: str

    def check(self) -> None:
        """Raise where the sums are not finite, or are of no columns."""
        check_numbers("FeatureSums", "W", self.W, (None, None))
        check_number("FeatureSums", "n_references", self.n_references, at_least=0, integer=True)
        if not isinstance(self.columns, Waves) or self.columns.width != len(self.W):
            raise ValueError(f"FeatureSums: {len(self.W)} sums need as many columns, got {self.columns!r}.")

    def sums(self, Q: Rows) -> FloatArray:
        """columns(Q) @ W, block by block."""
        out: FloatArray = np.empty((n_rows(Q), self.W.shape[1]), dtype=self.W.dtype)
        for part in feature_blocks(n_rows(Q), self.W.shape[0]):
            out[part] = self.columns(Q[part]) @ self.W
        return out

    def own_similarity(self, Q: Rows) -> FloatArray:
        """Squared length of the columns."""
        Z = self.columns(Q)
        return np.einsum("ij,ij->i", Z, Z, dtype=np.float64)

    def plan(self, n_queries: int) -> Plan:
        """Two products."""
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
            reasons=("asked for by sketch=...; the number of references does not matter",),
        )

    def emptied(self, n_columns: int) -> FeatureSums:
        """No sums yet."""
        return replace(self, W=np.zeros((self.W.shape[0], n_columns), dtype=self.W.dtype), n_references=0)

    def added(self, X: Rows, V: Any, sign: float = 1.0) -> FeatureSums:
        """Columns of the rows times their influence, added to the sums."""
        W = self.W.astype(np.float64)
        for part in feature_blocks(n_rows(X), len(W)):
            W += sign * (sp.csr_array(V[part]).T @ self.columns(X[part]).astype(np.float64)).T
        n = self.n_references + round(sign) * n_rows(X)
        return replace(self, W=W.astype(self.W.dtype), n_references=n)


def feature_blocks(n: int, width: int) -> Iterable[slice]:
    """Blocks of rows whose columns take little memory."""
    return blocks(n, max(1, limits().block_bytes // (8 * width)))


@dataclass(frozen=True)
class Waves:
    """Cosines and sines of random projections."""

    file_key: ClassVar[str] = "sketching.Waves"

    directions: FloatArray

    def check(self) -> None:
        """Raise ValueError where a direction is not finite."""
        check_numbers("Waves", "directions", self.directions, (None, None))

    @property
    def n_features(self) -> int:
        """Of the rows that it is for."""
        return int(self.directions.shape[0])

    @property
    def width(self) -> int:
        """Number of columns that it makes."""
        return 2 * int(self.directions.shape[1])

    def __call__(self, X: Rows) -> FloatArray:
        projected = np.asarray(X @ self.directions)
        Z = np.concatenate([np.cos(projected), np.sin(projected)], axis=1)
        return Z * Z.dtype.type(1.0 / np.sqrt(self.directions.shape[1]))


class RandomFeatures(Sketch):
    """Cosines of random projections: orthogonal ones for RBF, Cauchy ones for Laplacian.

    Their noise does not become smaller where the similarities do. For a narrow bandwidth it is
    larger than the sums, and fit refuses.

    Parameters
    ----------
    n : int
        Number of columns, even.

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
        """Raise ValueError where n is not an even number."""
        check_number("RandomFeatures", "n", self.n, at_least=2, integer=True)
        if self.n % 2:
            raise ValueError(
                f"RandomFeatures: n must be even, a cosine and a sine for each projection; got {self.n}."
            )

    def why_not(self, similarity: Similarity) -> str | None:
        """Only RBF and Laplacian have them."""
        if isinstance(similarity, RBF | Laplacian):
            return None
        return f"random features are for RBF and Laplacian, not for {similarity!r}"

    def cost(self, problem: SketchProblem) -> float:
        """Projections, cosines and a product with the sums."""
        return self.n / 2 * problem.references.X.shape[1] + 10 * self.n + self.n * problem.V.shape[1]

    def make(self, problem: SketchProblem) -> FittedSketch:
        """Draw directions, then collapse."""
        rng, n_features = np.random.default_rng(problem.stages.seed), int(problem.references.X.shape[1])
        similarity = problem.similarity
        assert isinstance(similarity, RBF | Laplacian)  # says `why_not`
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
    """Gaussian directions, orthogonal in groups of `n_features`: less noise than independent ones."""
    groups = []
    for _ in range(-(-n // n_features)):
        Q, _R = np.linalg.qr(rng.standard_normal((n_features, n_features)))
        lengths = np.linalg.norm(rng.standard_normal((n_features, n_features)), axis=0)
        groups.append(Q * lengths)
    return np.hstack(groups)[:, :n]

"""Similarities made of similarities: sums, products, multiples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Self

import numpy as np

from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.similarities._base import Grid, Leaf, Names, Similarity


class _Pair(Similarity):
    form = "composite"

    def __init__(self, left: Similarity, right: Similarity) -> None:
        self.left = left
        self.right = right

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        return bool(self.left.positive_definite and self.right.positive_definite)

    @property
    def nonnegative_input(self) -> bool:  # type: ignore[override]
        return bool(self.left.nonnegative_input or self.right.nonnegative_input)

    @property
    def compares_objects(self) -> bool:
        return self.left.compares_objects and self.right.compares_objects

    def never_negative(self, rows: bool) -> bool:
        return self.left.never_negative(rows) and self.right.never_negative(rows)

    def check(self) -> None:
        for side in ("left", "right"):
            part = getattr(self, side)
            if not isinstance(part, Similarity):
                raise TypeError(
                    f"{type(self).__name__}: {side} must be a similarity object such as RBF(), got {part!r}."
                )
            if part.form == "precomputed":
                raise ValueError(
                    f"{type(self).__name__}: a Precomputed similarity cannot be combined with others."
                )
            part.check()

    def fit(
        self, X: Rows, feature_names: Names | None = None, sample_weight: FloatArray | None = None
    ) -> Self:
        parts = [part.fit(X, feature_names, sample_weight) for part in (self.left, self.right)]
        return type(self)(*parts)

    def leaves(self) -> tuple[Leaf, ...]:
        return self.left.leaves() + self.right.leaves()

    def assemble(self, blocks: Sequence[FloatArray]) -> FloatArray:
        n_left = len(self.left.leaves())
        left, right = self.left.assemble(blocks[:n_left]), self.right.assemble(blocks[n_left:])
        return self._combine(left, right)

    def _combine(self, left: FloatArray, right: FloatArray) -> FloatArray:
        raise TypeError(f"{type(self).__name__} does not say how it combines two blocks.")

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        parts = {"left": self.left, "right": self.right}
        return {
            f"{side}__{name}": grid
            for side, part in parts.items()
            for name, grid in part.grids(X, sample_weight, seed).items()
        }


class Sum(_Pair):
    """left + right: alike in one way or in the other. Also written ``RBF() + Linear()``.

    Parameters
    ----------
    left, right : Similarity
        The parts.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> from simlabel.similarities import Linear, Quadratic
    >>> similarity_sums([[1.0]], [[2.0]], [[1.0]], Linear() + Quadratic())
    array([[11.]])
    """

    name = "sum"
    file_key = "similarities.Sum"

    def _combine(self, left: FloatArray, right: FloatArray) -> FloatArray:
        left += right
        return left


class Product(_Pair):
    """left * right: alike in one way and in the other. Also written ``RBF() * Cosine()``.

    Parameters
    ----------
    left, right : Similarity
        The parts.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> from simlabel.similarities import Linear, Quadratic
    >>> similarity_sums([[1.0]], [[2.0]], [[1.0]], Linear() * Quadratic())
    array([[18.]])
    """

    name = "product"
    file_key = "similarities.Product"

    def _combine(self, left: FloatArray, right: FloatArray) -> FloatArray:
        left *= right
        return left


class Around(Similarity):
    """One similarity with something done to it; all else is as the one inside."""

    form = "composite"
    similarity: Similarity

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        """As the similarity inside."""
        return bool(self.similarity.positive_definite)

    def never_negative(self, rows: bool) -> bool:
        """As the similarity inside."""
        return self.similarity.never_negative(rows)

    def check(self) -> None:
        """Raise where what is inside is no similarity, or is not in order."""
        owner = type(self).__name__
        if not isinstance(self.similarity, Similarity):
            raise TypeError(f"{owner}: similarity must be an object such as RBF(), got {self.similarity!r}.")
        self.similarity.check()

    def assemble(self, blocks: Sequence[FloatArray]) -> FloatArray:
        """As the similarity inside."""
        return self.similarity.assemble(blocks)

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """Candidates of the similarity inside."""
        inside = self.similarity.grids(X, sample_weight, seed)
        return {f"similarity__{name}": grid for name, grid in inside.items()}


class Scaled(Around):
    """factor * similarity: how much one part of a sum counts. Also written ``2 * RBF()``.

    Parameters
    ----------
    similarity : Similarity
        What is scaled.
    factor : float
        Above 0: a similarity that falls the more alike two rows are would be none.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> from simlabel.similarities import Linear, Quadratic
    >>> similarity_sums([[1.0]], [[2.0]], [[1.0]], 0.5 * Linear() + Quadratic())
    array([[10.]])
    """

    name = "scaled"
    file_key = "similarities.Scaled"

    def __init__(self, similarity: Similarity, factor: float) -> None:
        self.similarity = similarity
        self.factor = factor

    @property
    def nonnegative_input(self) -> bool:  # type: ignore[override]
        """As the similarity inside."""
        return bool(self.similarity.nonnegative_input)

    @property
    def compares_objects(self) -> bool:
        """As the similarity inside."""
        return self.similarity.compares_objects

    def check(self) -> None:
        """Raise where a part is not what it should be."""
        super().check()
        check_number("Scaled", "factor", self.factor, above=0)
        if self.similarity.form == "precomputed":
            raise ValueError("Scaled: multiply the matrix itself; Precomputed takes it as it is.")

    def fit(
        self, X: Rows, feature_names: Names | None = None, sample_weight: FloatArray | None = None
    ) -> Self:
        """Fit the similarity inside."""
        return type(self)(self.similarity.fit(X, feature_names, sample_weight), self.factor)

    def leaves(self) -> tuple[Leaf, ...]:
        """The parts inside; a single one carries the factor, so that every way of summing knows it."""
        inside = self.similarity.leaves()
        return inside if len(inside) > 1 else (replace(inside[0], factor=self.factor * inside[0].factor),)

    def assemble(self, blocks: Sequence[FloatArray]) -> FloatArray:
        """As the similarity inside, times the factor where no leaf carries it."""
        S = super().assemble(blocks)
        return S if len(blocks) == 1 else np.multiply(S, S.dtype.type(self.factor), out=S)

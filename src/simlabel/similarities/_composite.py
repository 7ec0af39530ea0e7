"""Similarities made of similarities: sums, products, multiples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar, Self

import numpy as np

from simlabel._utils.validation import AnyArray, FloatArray, Rows, check_number
from simlabel.similarities._base import Grid, Leaf, Similarity


class Composite(Similarity):
    """A similarity made of others, with their traits."""

    form = "composite"
    #: names of the parameters that hold similarities
    part_names: ClassVar[tuple[str, ...]]

    @property
    def parts(self) -> dict[str, Similarity]:
        """The similarities inside."""
        return {name: getattr(self, name) for name in self.part_names}

    @property
    def positive_definite(self) -> bool:  # type: ignore[override]
        """Whether all parts are."""
        return all(part.positive_definite for part in self.parts.values())

    @property
    def nonnegative_input(self) -> bool:  # type: ignore[override]
        """Whether any part is defined for features >= 0 only."""
        return any(part.nonnegative_input for part in self.parts.values())

    @property
    def compares_objects(self) -> bool:
        """Whether all parts do."""
        return all(part.compares_objects for part in self.parts.values())

    def never_negative(self, rows: bool) -> bool:
        """Whether no part is ever negative."""
        return all(part.never_negative(rows) for part in self.parts.values())

    def check(self) -> None:
        """Raise if a part is not a similarity, or has a bad parameter."""
        for name, part in self.parts.items():
            if not isinstance(part, Similarity):
                raise TypeError(
                    f"{type(self).__name__}: {name} must be a similarity object such as RBF(), got {part!r}."
                )
            part.check()

    def fit(
        self, X: Rows, feature_names: AnyArray | None = None, sample_weight: FloatArray | None = None
    ) -> Self:
        """Fit the parts."""
        parts = {name: part.fit(X, feature_names, sample_weight) for name, part in self.parts.items()}
        return type(self)(**{**self.get_params(deep=False), **parts})

    def leaves(self) -> tuple[Leaf, ...]:
        """Return the leaves of all parts."""
        return tuple(leaf for part in self.parts.values() for leaf in part.leaves())

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """Return the candidates of all parts."""
        return {
            f"{name}__{inner}": grid
            for name, part in self.parts.items()
            for inner, grid in part.grids(X, sample_weight, seed).items()
        }


class _Pair(Composite):
    part_names = ("left", "right")

    def __init__(self, left: Similarity, right: Similarity) -> None:
        self.left = left
        self.right = right

    def check(self) -> None:
        super().check()
        if any(part.form == "precomputed" for part in self.parts.values()):
            raise ValueError(
                f"{type(self).__name__}: a Precomputed similarity cannot be combined with others."
            )

    def assemble(self, blocks: Sequence[FloatArray]) -> FloatArray:
        n_left = len(self.left.leaves())
        left, right = self.left.assemble(blocks[:n_left]), self.right.assemble(blocks[n_left:])
        combine = np.add if isinstance(self, Sum) else np.multiply
        return combine(left, right, out=left)


class Sum(_Pair):
    """left + right: similar in one way or the other. Also written ``RBF() + Linear()``.

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


class Product(_Pair):
    """left * right: similar in one way and the other. Also written ``RBF() * Cosine()``.

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


class Scaled(Composite):
    """factor * similarity: the weight of one part of a sum. Also written ``2 * RBF()``.

    Parameters
    ----------
    similarity : Similarity
        The similarity to scale.
    factor : float
        Above 0, since the result must still be larger for more similar rows.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> from simlabel.similarities import Linear, Quadratic
    >>> similarity_sums([[1.0]], [[2.0]], [[1.0]], 0.5 * Linear() + Quadratic())
    array([[10.]])
    """

    name = "scaled"
    file_key = "similarities.Scaled"
    part_names = ("similarity",)

    def __init__(self, similarity: Similarity, factor: float) -> None:
        self.similarity = similarity
        self.factor = factor

    def check(self) -> None:
        """Raise if the similarity or the factor is invalid."""
        super().check()
        check_number("Scaled", "factor", self.factor, above=0)
        if self.similarity.form == "precomputed":
            raise ValueError("Scaled: multiply the matrix itself; Precomputed takes it as it is.")

    def leaves(self) -> tuple[Leaf, ...]:
        """Return the leaves; a single one carries the factor, so that every engine applies it."""
        inside = self.similarity.leaves()
        return inside if len(inside) > 1 else (replace(inside[0], factor=self.factor * inside[0].factor),)

    def assemble(self, blocks: Sequence[FloatArray]) -> FloatArray:
        """Combine the blocks, times the factor if no leaf carries it."""
        S = self.similarity.assemble(blocks)
        return S if len(blocks) == 1 else np.multiply(S, S.dtype.type(self.factor), out=S)

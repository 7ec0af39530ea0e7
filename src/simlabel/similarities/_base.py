"""What a similarity declares, and what the engines ask of it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from simlabel._utils.kernels import PRODUCT
from simlabel._utils.validation import FloatArray, Rows

if TYPE_CHECKING:
    from simlabel.similarities._composite import Product, Scaled, Sum

Parameter = float | Literal["auto"]
Form = Literal["dot", "coordinate", "block", "precomputed", "composite"]
View = Callable[[Rows], Rows]
Names = npt.NDArray[Any]  # of columns


@dataclass(frozen=True)
class Grid:
    """Values to try for a parameter that is ``"auto"``.

    Attributes
    ----------
    values : tuple
        Candidates in rising order.
    refine : bool
        True for a positive scale, whose best value may lie between two candidates.
    note : str
        What a reader of the search should know, e.g. that the data have no spread.
    at_mean : int
        Place of the value that is taken where nothing can be told apart.
    """

    values: tuple[float, ...]
    refine: bool = False
    note: str = ""
    at_mean: int = 0


@dataclass(frozen=True)
class Leaf:
    """A similarity that is read off the data, the view of the rows that it reads, and what it is scaled by.

    Two leaves with the same `key` read the same statistic, which is then computed once.
    """

    similarity: Similarity
    views: tuple[View, ...] = ()
    factor: float = 1.0

    @property
    def key(self) -> Hashable:
        """What identifies the statistic: how it is computed, and from which view of the rows."""
        return self.similarity.statistic_key, self.views

    def view(self, X: Rows) -> Rows:
        """The rows as this leaf reads them; each view maps every row by itself."""
        for view in self.views:
            X = view(X)
        return X

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """`Similarity.finish`, times the factor."""
        S = self.similarity.finish(T, q_side, x_side)
        return S if self.factor == 1.0 else np.multiply(S, S.dtype.type(self.factor), out=S)

    def zero_product_factor(self, side: FloatArray) -> FloatArray | None:
        """`Similarity.zero_product_factor`; the factor is shared between the two sides."""
        g = self.similarity.zero_product_factor(side)
        return None if g is None else g * math.sqrt(self.factor)

    @property
    def common_term(self) -> int | None:
        """What a column that two sparse rows have in common adds; None where that does not tell all.

        Nor does it where a subclass of a known similarity has other sums.
        """
        if self.similarity.form == "dot":
            return PRODUCT
        for kind in type(self.similarity).__mro__:
            if "common_term" in vars(kind):
                return self.similarity.common_term
            if "sums" in vars(kind):
                return None
        return None

    def expanded(self, X: Rows) -> Rows:
        """Columns of the viewed rows whose plain inner product is the similarity, float64.

        The factor is shared between the two sides.
        """
        columns = self.similarity.expanded(self.view(X).astype(np.float64, copy=False))
        return columns if self.factor == 1.0 else columns * math.sqrt(self.factor)


class Similarity(BaseEstimator):
    """Base class of all similarities: a function of two rows that is larger the more alike they are.

    A subclass declares its `form`, which tells an engine how its *statistic* is computed, and its
    traits. `finish` turns a block of statistics into similarities, and is all that sees parameters,
    so candidates that differ only in parameters share the expensive part.
    """

    name: ClassVar[str]
    form: ClassVar[Form]
    #: (S + lambda I) is invertible for every lambda > 0
    positive_definite: bool = False
    #: defined for features >= 0 only
    nonnegative_input: bool = False
    #: what `column_terms` add up to, e.g. "L1 distance"; empty where there is no sum over columns
    column_sum: str = ""
    #: the kernel that sums this similarity by itself, if there is one
    sums_in_panels: Callable[..., None] | None = None
    #: of sums over coordinates: what a column that two sparse rows have in common adds to what they share
    #: (SMALLER or HARMONIC of `_kernels`), where that and the two sides tell the sum (`from_common`)
    common_term: int | None = None
    #: names of what `fit` learns, for a model file
    fitted_state: ClassVar[tuple[str, ...]] = ()

    @property
    def compares_objects(self) -> bool:
        """Whether rows may be any objects, e.g. texts, in place of numbers."""
        return self.form == "block"

    @property
    def open_parameters(self) -> list[str]:
        """Nested names of the parameters that are ``"auto"``."""
        given = self.get_params(deep=True).items()
        return [name for name, value in given if isinstance(value, str) and value == "auto"]

    def check(self) -> None:
        """Raise ValueError where a parameter is out of range."""

    def fit(
        self, X: Rows, feature_names: Names | None = None, sample_weight: FloatArray | None = None
    ) -> Self:
        """Return a copy that has seen the training rows, or itself where there is nothing to see."""
        return self

    def never_negative(self, rows: bool) -> bool:
        """Whether no similarity is below 0, as far as is known; `rows` says whether no feature is."""
        return False

    def leaves(self) -> tuple[Leaf, ...]:
        """The parts that are read off the data."""
        return (Leaf(self, self.views()),)

    def views(self) -> tuple[View, ...]:
        """How this similarity wants to see rows before its statistic."""
        return ()

    @property
    def statistic_key(self) -> Hashable:
        """What identifies the computation of the statistic."""
        return self.form

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Turn statistics into similarities; may overwrite and return `T`.

        A similarity of the forms "dot" and "coordinate" is symmetric: the engine calls this with
        references in place of queries where that is quicker.

        Parameters
        ----------
        T : array, (n_queries, n_references)
            Inner products (form "dot"), sums over coordinates ("coordinate"), or similarities.
        q_side, x_side : array, (n_queries,) and (n_references,)
            Squared lengths (form "dot") or sums of sizes ("coordinate") of the rows.
        """
        return T

    @property
    def panel_parameters(self) -> tuple[Parameter, ...]:
        """What `sums_in_panels` wants to know."""
        return ()

    def zero_product_factor(self, side: FloatArray) -> FloatArray | None:
        """g, where a pair of rows that share nothing has similarity g(one side) * g(other side).

        With it sparse rows need no more than the columns in common. None where there is no such g.
        """
        return None

    def from_common(self, common: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """The statistic of rows that share so much, (n_queries, n_references); sides as in `finish`."""
        return common

    def expanded_width(self, n_features: int) -> int | None:
        """Number of columns of `expanded`; None where no finite number of columns will do."""
        return None

    def expanded(self, rows: Rows) -> Rows:
        """Columns whose plain inner product is this similarity, (n_rows, expanded_width)."""
        raise TypeError(f"{type(self).__name__} has no explicit columns.")

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """What each column adds to `column_sum`, for one query and some rows, (n_rows, n_columns)."""
        raise TypeError(f"{type(self).__name__} is no function of a sum over columns.")

    def assemble(self, blocks: Sequence[FloatArray]) -> FloatArray:
        """Combine one finished block per leaf, in the order of `leaves`."""
        return blocks[0]

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """Candidates for each parameter that is ``"auto"``, by its nested name."""
        return {}

    def replaced(self, values: dict[str, Any]) -> Self:
        """Return a copy with parameters of these nested names set; what was fitted is shared, not copied."""
        changed = copy.copy(self)
        inner: dict[str, dict[str, Any]] = {}
        for name, value in values.items():
            head, _, rest = name.partition("__")
            if rest:
                inner.setdefault(head, {})[rest] = value
            else:
                setattr(changed, head, value)
        for head, part in inner.items():
            setattr(changed, head, getattr(self, head).replaced(part))
        return changed

    def relative_error(self, dtype: np.dtype[Any], largest_square: float) -> float:
        """Bound on the relative error of a similarity in `dtype`, for rows of at most that squared length."""
        return 0.0

    def largest(self, largest_square: float) -> float:
        """Bound on the magnitude of a similarity, for rows of at most that squared length."""
        return 1.0

    def __add__(self, other: Similarity) -> Sum:
        from simlabel.similarities._composite import Sum

        return Sum(self, other)

    def __mul__(self, other: Similarity | float) -> Product | Scaled:
        from simlabel.similarities._composite import Product, Scaled

        return Product(self, other) if isinstance(other, Similarity) else Scaled(self, other)

    def __rmul__(self, factor: float) -> Scaled:
        from simlabel.similarities._composite import Scaled

        return Scaled(self, factor)

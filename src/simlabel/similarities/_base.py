"""Base classes of similarities: what they declare, and what engines call."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._utils.kernels import PRODUCT, in_panels, tile_rows
from simlabel._utils.rows import dense_rows
from simlabel._utils.validation import AnyArray, FloatArray, Rows

if TYPE_CHECKING:
    from simlabel.similarities._composite import Product, Scaled, Sum

Parameter = float | Literal["auto"]
Form = Literal["dot", "coordinate", "block", "precomputed", "composite"]
RowView = Callable[[Rows], Rows]


@dataclass(frozen=True)
class Grid:
    """Candidate values of a parameter that is ``"auto"``.

    Attributes
    ----------
    values : tuple
        Candidates in increasing order.
    refine : bool
        True for a positive scale, whose best value may lie between two candidates.
    note : str
        A remark for the reader of the search, e.g. that the data have no spread.
    at_mean : int
        Index of the value to use if all candidates score the same.
    """

    values: tuple[float, ...]
    refine: bool = False
    note: str = ""
    at_mean: int = 0


@dataclass(frozen=True)
class Leaf:
    """An elementary similarity, the view of the rows that it reads, and its factor.

    Leaves with the same `key` read the same statistic, which is then computed once.
    """

    similarity: Similarity
    views: tuple[RowView, ...] = ()
    factor: float = 1.0

    @property
    def key(self) -> Hashable:
        """Identify the statistic: how it is computed, and from which view of the rows."""
        return self.similarity.statistic_key, self.views

    def view(self, X: Rows) -> Rows:
        """Return the rows as this leaf reads them; each view maps every row by itself."""
        for view in self.views:
            X = view(X)
        return X

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Compute `Similarity.finish` times the factor."""
        S = self.similarity.finish(T, q_side, x_side)
        return S if self.factor == 1.0 else np.multiply(S, S.dtype.type(self.factor), out=S)

    def zero_product_factor(self, side: FloatArray) -> FloatArray | None:
        """Compute `Similarity.zero_product_factor`; the factor is shared between the two sides."""
        g = self.similarity.zero_product_factor(side)
        return None if g is None else g * math.sqrt(self.factor)

    @property
    def common_term(self) -> int | None:
        """The term of a column that two sparse rows have in common; None if these do not suffice."""
        return (
            PRODUCT
            if self.similarity.form == "dot"
            else self.similarity.attribute_unless_overridden("common_term", "sums")
        )

    def expanded(self, X: Rows) -> Rows:
        """Return columns of the viewed rows whose inner product is the similarity, float64.

        The factor is shared between the two sides.
        """
        columns = self.similarity.expanded(self.view(X).astype(np.float64, copy=False))
        return columns if self.factor == 1.0 else columns * math.sqrt(self.factor)


class Similarity(BaseEstimator):
    """Base class of all similarities: functions of two rows that are larger for more similar rows.

    A subclass declares its `form`, which tells an engine how its *statistic* is computed, and its
    traits. `finish` turns a block of statistics into similarities, and alone reads parameters, so
    candidates that differ only in parameters share the expensive part.
    """

    name: ClassVar[str]
    form: ClassVar[Form]
    #: (S + lambda I) is invertible for every lambda > 0
    positive_definite: bool = False
    #: defined for features >= 0 only
    nonnegative_input: bool = False
    #: the sum of `column_terms`, e.g. "L1 distance"; empty if there is no sum over columns
    column_sum: str = ""
    #: the kernel that computes sums of this similarity in one pass, if there is one
    sums_in_panels: Callable[..., None] | None = None
    #: form "coordinate": SMALLER or HARMONIC of `_kernels` if the sum over columns in common and the two
    #: sides suffice to compute the statistic (`from_common`)
    common_term: int | None = None
    #: transformations of rows that precede the statistic
    views: tuple[RowView, ...] = ()
    #: names of fitted attributes that model files store
    fitted_state: ClassVar[tuple[str, ...]] = ()

    @property
    def compares_objects(self) -> bool:
        """Whether rows may be any objects, e.g. texts, in place of numbers."""
        return self.form == "block"

    @property
    def auto_parameters(self) -> list[str]:
        """Nested names of the parameters that are ``"auto"``."""
        given = self.get_params(deep=True).items()
        return [name for name, value in given if isinstance(value, str) and value == "auto"]

    def attribute_unless_overridden(self, name: str, *overrides: str) -> Any:
        """Return a class attribute, or None if a subclass of its class overrides what it depends on."""
        for kind in type(self).__mro__:
            if name in vars(kind):
                return getattr(self, name)
            if vars(kind).keys() & {*overrides}:
                return None
        return None

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""

    def fit(
        self, X: Rows, feature_names: AnyArray | None = None, sample_weight: FloatArray | None = None
    ) -> Self:
        """Return a copy fitted to the training rows, or self if there is nothing to fit."""
        return self

    def never_negative(self, rows: bool) -> bool:
        """Whether all similarities are known to be >= 0; `rows` states whether all features are."""
        return False

    def leaves(self) -> tuple[Leaf, ...]:
        """Return the elementary similarities."""
        return (Leaf(self, self.views),)

    @property
    def statistic_key(self) -> Hashable:
        """Identify the computation of the statistic."""
        return self.form

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Turn statistics into similarities; may overwrite and return `T`.

        A similarity of the forms "dot" and "coordinate" is symmetric: engines swap queries and
        references where that is faster.

        Parameters
        ----------
        T : array, (n_queries, n_references)
            Inner products (form "dot"), sums over coordinates ("coordinate"), or similarities.
        q_side, x_side : array, (n_queries,) and (n_references,)
            Squared lengths (form "dot") or sums of absolute values ("coordinate") of the rows.
        """
        return T

    @property
    def panel_parameters(self) -> tuple[Parameter, ...]:
        """The parameters of `sums_in_panels`."""
        return ()

    def zero_product_factor(self, side: FloatArray) -> FloatArray | None:
        """Return g, where rows without a common column have similarity g(one side) * g(other side).

        With it, only columns in common of sparse rows are visited. None if there is no such g.
        """
        return None

    def from_common(self, common: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Compute the statistic from sums over common columns, (n_queries, n_references)."""
        return common

    def expanded_width(self, n_features: int) -> int | None:
        """Return the number of columns of `expanded`; None if no finite number of columns suffices."""
        return None

    def expanded(self, rows: Rows) -> Rows:
        """Return columns whose inner product is this similarity, (n_rows, expanded_width)."""
        raise TypeError(f"{type(self).__name__} has no explicit columns.")

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Return the term of each column in `column_sum` for a query and some rows, (n_rows, n_columns)."""
        raise TypeError(f"{type(self).__name__} is not a function of a sum over columns.")

    def assemble(self, blocks: Sequence[FloatArray]) -> FloatArray:
        """Combine one finished block per leaf, in the order of `leaves`."""
        return blocks[0]

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """Return candidates for each parameter that is ``"auto"``, by its nested name."""
        return {}

    def replaced(self, values: dict[str, Any]) -> Self:
        """Return a copy with the parameters of these nested names; fitted attributes are shared."""
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
        """Bound the relative error of a similarity in `dtype`, for rows of at most this squared length."""
        return 0.0

    def largest(self, largest_square: float) -> float:
        """Bound the magnitude of a similarity, for rows of at most this squared length."""
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


class CoordinateSimilarity(Similarity):
    """A function of a sum over coordinates.

    A subclass gives `sums`, a kernel (X, panels of Q, rows of a tile, out) that fills `out` with the sums.
    """

    form = "coordinate"
    sums: ClassVar[Callable[[FloatArray, FloatArray, int, FloatArray], None]]

    @property
    def statistic_key(self) -> Hashable:
        """Identify the kernel: similarities with the same sums share them."""
        return self.form, id(type(self).sums)

    def mean_statistic(self, X: Rows, weights: FloatArray) -> float:
        """Return the mean of the sums over all pairs of rows."""
        X = np.ascontiguousarray(dense_rows(X), dtype=np.float64)
        out: FloatArray = np.empty((X.shape[0], X.shape[0]))
        type(self).sums(X, in_panels(X), tile_rows(X.shape[1], X.dtype), out)
        share = weights / weights.sum()
        return float(share @ out @ share)

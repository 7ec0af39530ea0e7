"""Rows as the leaves of a similarity want to see them: viewed, with one number beside each row."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.arithmetic import squared_lengths
from simlabel._utils.forks import cached_property
from simlabel._utils.kernels import in_panels, tile_rows
from simlabel._utils.limits import limits
from simlabel._utils.rows import (
    LazyRows,
    blocks,
    dense_rows,
    fold,
    is_remote,
    joined,
    n_rows,
    pieces,
    row_width,
    stacked,
)
from simlabel._utils.validation import FloatArray, Rows, check_nonnegative
from simlabel.similarities import CoordinateSimilarity, Function, Leaf, Similarity


@dataclass(frozen=True)
class Side:
    """Some rows, viewed, and the squared length or the sum of sizes of each."""

    rows: Rows
    beside: FloatArray

    @cached_property
    def panels(self) -> FloatArray:
        """The rows in panels, made once."""
        panels: FloatArray = in_panels(dense_rows(self.rows))
        return panels


@dataclass(frozen=True)
class Prepared:
    """References made ready for the leaves of some similarities.

    The numbers beside the rows are kept; the viewed rows are kept only when `keep_views`
    (a fitted model), otherwise they are made block by block, so that no copy of X exists.
    """

    X: Rows
    leaves: dict[Hashable, Leaf]
    beside: dict[Hashable, FloatArray]
    dtype: np.dtype[Any]
    views: dict[Hashable, Rows] = field(default_factory=dict)
    largest: dict[Hashable, tuple[float, ...]] = field(default_factory=dict)
    columns: dict[Hashable, sp.csc_array] = field(default_factory=dict, compare=False)
    cast: dict[Hashable, Rows] = field(default_factory=dict, compare=False)
    products: dict[Hashable, float] = field(default_factory=dict, compare=False)

    def densify(self, key: Hashable) -> bool:
        """Whether blocks of sparse references are so full that a dense product of them is quicker."""
        rows: Rows = self.views.get(key, self.X)
        return self.sparse and rows.nnz > limits().full_share * self.n_rows * max(1, row_width(rows))

    def by_column(self, key: Hashable) -> sp.csc_array:
        """Sparse references as the leaf of `key` reads them, in float64, as CSC; made once."""
        if key not in self.columns:
            rows = self.views[key][:] if key in self.views else self.leaves[key].view(self.X[:])
            self.columns[key] = sp.csc_array(rows).astype(np.float64)
        return self.columns[key]

    def products_per_query(self, key: Hashable) -> float:
        """Multiplications for a query that is like the references: the sum of squared column counts / n."""
        if key not in self.products:
            counts = np.diff(self.by_column(key).indptr).astype(np.float64)
            self.products[key] = float(np.square(counts).sum()) / max(1, self.n_rows)
        return self.products[key]

    @property
    def n_rows(self) -> int:
        """Number of references."""
        return n_rows(self.X)

    def references(self, key: Hashable, part: slice) -> Side:
        """References `part` as the leaf of `key` reads them."""
        beside = self._numbers(key)[part]
        rows = self.views[key][part] if key in self.views else self.leaves[key].view(self.X[part])
        return Side(self._cast(dense_rows(rows) if self.densify(key) else rows), beside)

    def _numbers(self, key: Hashable) -> Rows:
        """The numbers beside the rows in the precision of the similarities; cast once."""
        if key not in self.cast:
            parts = [piece.astype(self.dtype, copy=False) for piece in pieces(self.beside[key])]
            self.cast[key] = stacked(parts)
        return self.cast[key]

    def queries(self, Q: Rows) -> dict[Hashable, Side]:
        """A block of queries, once for every leaf."""
        sides = {}
        for key, leaf in self.leaves.items():
            rows = leaf.view(Q)
            _check(leaf, rows)
            sides[key] = Side(self._cast(rows), numbers_beside(leaf, rows).astype(self.dtype, copy=False))
        return sides

    def ready(self, key: Hashable) -> dict[int, _Piece]:
        """What was made ready of each piece of the references, by the piece's identity."""
        own = pieces(self.X)
        views = pieces(self.views[key]) if key in self.views else (None,) * len(own)
        made = zip(pieces(self.beside[key]), self.largest[key], views, strict=True)
        return dict(zip(map(id, own), made, strict=True))

    @property
    def sparse(self) -> bool:
        """Whether the references are sparse."""
        return sp.issparse(pieces(self.X)[0])

    def part(self, rows: slice) -> Prepared:
        """Some of the references, read."""
        beside = {key: numbers[rows] for key, numbers in self.beside.items()}
        views = {key: view[rows] for key, view in self.views.items()}
        return Prepared(self.X[rows], self.leaves, beside, self.dtype, views)

    def __reduce__(self) -> Any:
        # keys are made of the identity of functions, which another process does not share
        made_ready = [
            (leaf, self.beside[key], self.views.get(key), self.largest.get(key))
            for key, leaf in self.leaves.items()
        ]
        return _restored, (self.X, self.dtype, made_ready)

    def _cast(self, rows: Rows) -> Rows:
        return rows.astype(self.dtype, copy=False) if hasattr(rows, "astype") else rows


def prepare(
    X: Rows, similarities: Iterable[Similarity], *, keep_views: bool = False, known: Prepared | None = None
) -> Prepared:
    """Make references ready for all leaves of the similarities, and choose the precision.

    Parameters
    ----------
    X : rows or Stack, (n_references, n_features)
        References.
    known : Prepared, optional
        What was made ready for these similarities before: pieces of X that it has are not read again.
    """
    similarities = list(similarities)
    leaves = {leaf.key: leaf for similarity in similarities for leaf in similarity.leaves()}
    beside: dict[Hashable, FloatArray] = {}
    views: dict[Hashable, Rows] = {}
    largest: dict[Hashable, tuple[float, ...]] = {}
    for key, leaf in leaves.items():
        ready = {} if known is None else known.ready(key)
        made_ready = [
            ready.get(id(piece))
            or _prepare_piece(
                piece, leaf, keep_views and bool(leaf.views) and not isinstance(piece, LazyRows)
            )
            for piece in pieces(X)
        ]
        beside[key] = stacked([piece[0] for piece in made_ready])
        largest[key] = tuple(piece[1] for piece in made_ready)
        if made_ready[0][2] is not None:
            views[key] = stacked([piece[2] for piece in made_ready])
    dtype = choose_dtype(X, similarities, {key: max(each, default=0.0) for key, each in largest.items()})
    return Prepared(X, leaves, beside, dtype, views, largest)


def _restored(X: Rows, dtype: np.dtype[Any], made_ready: Iterable[Any]) -> Prepared:
    made = Prepared(X, {}, {}, dtype)
    for leaf, beside, view, largest in made_ready:
        made.leaves[leaf.key], made.beside[leaf.key] = leaf, beside
        if view is not None:
            made.views[leaf.key] = view
        if largest is not None:
            made.largest[leaf.key] = largest
    return made


_Piece = tuple[FloatArray, float, Rows | None]


def _prepare_piece(X: Rows, leaf: Leaf, keep_view: bool) -> _Piece:
    """The numbers beside the rows, the largest, and where wanted the rows as the leaf sees them."""
    if is_remote(X):  # a worker finds them itself
        return Absent(n_rows(X)), float(fold(X, _Largest(leaf), max)), None  # type: ignore[return-value]
    beside = np.empty(n_rows(X))
    viewed, differ = [], False
    for part in blocks(n_rows(X), _rows_per_block(X)):
        given = X[part]
        rows = leaf.view(given)
        _check(leaf, rows)
        beside[part] = numbers_beside(leaf, rows)
        differ = differ or rows is not given
        if keep_view:
            viewed.append(rows)
    view = joined(viewed) if viewed and differ else X  # no copy of rows that the leaf sees as they are
    return beside, float(beside.max(initial=0.0)), view if viewed else None


class _Largest:
    """The largest number beside some rows."""

    def __init__(self, leaf: Leaf) -> None:
        self.leaf = leaf

    def __call__(self, X: Rows) -> float:
        return _prepare_piece(X, self.leaf, keep_view=False)[1]


class Absent:
    """In place of numbers that are on other machines."""

    def __init__(self, n: int) -> None:
        self.shape = (n,)

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(
            "The references are on a cluster, and this looks at them one by one. Fit on rows that are here, "
            "e.g. X.compute()."
        )


def _check(leaf: Leaf, rows: Rows) -> None:
    if leaf.similarity.nonnegative_input:
        check_nonnegative(rows, type(leaf.similarity).__name__)


def _rows_per_block(X: Rows) -> int:
    """So many that their entries are few: of sparse rows those that are there, not the columns."""
    width = X.nnz // max(1, n_rows(X)) if sp.issparse(X) else row_width(X)
    return max(1, limits().prepared_entries // max(1, width))


def numbers_beside(leaf: Leaf, rows: Rows) -> FloatArray:
    """Squared lengths (form "dot"), sums of sizes ("coordinate"), or zeros where none are needed."""
    form = leaf.similarity.form
    if form == "dot":
        return squared_lengths(rows)
    if form == "coordinate":
        return np.asarray(abs(rows).sum(axis=1, dtype=np.float64)).ravel()
    return np.zeros(n_rows(rows))


_WORST_ERROR = 1e-3  # beyond this float32 is left for float64
_LARGEST_FLOAT32 = 1e30


def choose_dtype(
    X: Rows, similarities: Iterable[Similarity], largest: dict[Hashable, float]
) -> np.dtype[Any]:
    """float32 where X is float32 and every similarity keeps its digits in it, else float64."""
    float32 = np.dtype(np.float32)
    if getattr(X, "dtype", None) != float32:
        return np.dtype(np.float64)
    for similarity in similarities:
        bounds = []
        for leaf in similarity.leaves():
            square = largest[leaf.key]
            if isinstance(leaf.similarity, Function):
                return np.dtype(np.float64)
            if leaf.similarity.relative_error(float32, square) > _WORST_ERROR:
                return np.dtype(np.float64)
            bounds.append(np.array([[leaf.factor * leaf.similarity.largest(square)]]))
        if similarity.assemble(bounds)[0, 0] > _LARGEST_FLOAT32:
            return np.dtype(np.float64)
    return float32


def statistic(leaf: Leaf, q: Side, x: Side, q_rows: Rows, part: slice, dtype: np.dtype[Any]) -> FloatArray:
    """The statistic of a block of references and a block of queries, one driver per form.

    Parameters
    ----------
    q, x : Side
        Viewed rows of both sides.
    part : slice
        Which references, for the form "precomputed", whose rows hold the similarities.

    Returns
    -------
    array, (n_references, n_queries), contiguous by row or by column
    """
    form = leaf.similarity.form
    if form == "dot":
        return _inner_products(x.rows, q.rows, dtype)
    if form == "coordinate":
        assert isinstance(leaf.similarity, CoordinateSimilarity)
        out: FloatArray = np.empty((n_rows(x.rows), n_rows(q.rows)), dtype=dtype)
        X = np.ascontiguousarray(dense_rows(x.rows))
        type(leaf.similarity).sums(X, q.panels, tile_rows(X.shape[1], dtype), out)
        return out
    if form == "block":
        assert isinstance(leaf.similarity, Function)
        return leaf.similarity.block(q.rows, x.rows).T
    return np.array(dense_rows(q_rows[:, part]), dtype=dtype, order="C").T


def _inner_products(X: Rows, Q: Rows, dtype: np.dtype[Any]) -> FloatArray:
    if sp.issparse(X):
        products = sp.csr_array(X) @ sp.csr_array(Q).T.tocsr()
        return np.ascontiguousarray(products.toarray(), dtype=dtype)
    products = X @ dense_rows(Q).T
    return np.asarray(products, dtype=dtype)

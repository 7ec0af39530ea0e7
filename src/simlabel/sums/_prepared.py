"""References and queries as the leaves of a similarity read them: viewed, with their norms."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp

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
    squared_lengths,
    stacked,
)
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, Rows, check_nonnegative
from simlabel.similarities import CoordinateSimilarity, Function, Leaf, Similarity


@dataclass(frozen=True)
class Side:
    """Viewed rows, and the squared length or the sum of absolute values of each."""

    rows: Rows
    norms: FloatArray

    @cached_property
    def panels(self) -> FloatArray:
        """The rows in panels."""
        panels: FloatArray = in_panels(dense_rows(self.rows))
        return panels

    @cached_property
    def by_column(self) -> sp.csr_array:
        """Sparse rows, transposed."""
        return sp.csr_array(sp.csr_array(self.rows).T)


_Piece = tuple[FloatArray, float, Rows | None]  # norms of the rows, the largest, the viewed rows


@dataclass(frozen=True)
class Prepared:
    """References prepared for the leaves of some similarities.

    The norms of the rows (squared lengths or sums of absolute values) are stored; the viewed rows only with
    `keep_views` (a fitted model), otherwise they are computed block by block, so that no copy of X exists.
    """

    X: Rows
    leaves: dict[Hashable, Leaf]
    norms: dict[Hashable, FloatArray]
    dtype: np.dtype[Any]
    views: dict[Hashable, Rows] = field(default_factory=dict)
    largest: dict[Hashable, tuple[float, ...]] = field(default_factory=dict)
    cache: dict[Hashable, Any] = field(default_factory=dict, compare=False)

    @cached_property
    def n_rows(self) -> int:
        """Number of references."""
        return n_rows(self.X)

    @cached_property
    def sparse(self) -> bool:
        """Whether the references are sparse."""
        return sp.issparse(pieces(self.X)[0])

    @cached_property
    def forms(self) -> set[str]:
        """The forms of all leaves."""
        return {leaf.similarity.form for leaf in self.leaves.values()}

    @cached_property
    def stays_sparse(self) -> bool:
        """Whether products of sparse blocks are computed, so that a row takes the memory of its entries."""
        if not (self.sparse and self.forms == {"dot"} and hasattr(self.X, "nnz")):
            return False
        return not any(self.densify(key) for key in self.leaves)

    def densify(self, key: Hashable) -> bool:
        """Whether blocks of sparse references are so full that a dense product of them is faster."""
        rows: Rows = self.views.get(key, self.X)
        return bool(rows.nnz > limits().full_share * self.n_rows * max(1, row_width(rows)))

    def by_column(self, key: Hashable) -> sp.csc_array:
        """Return sparse references as the leaf of `key` reads them, float64, as CSC; cached."""
        if ("columns", key) not in self.cache:
            rows = self.views[key][:] if key in self.views else self.leaves[key].view(self.X[:])
            self.cache["columns", key] = sp.csc_array(rows).astype(np.float64)
        return self.cache["columns", key]

    def products_per_query(self, key: Hashable) -> float:
        """Predict multiplications for a query like the references: the sum of squared column counts / n."""
        if ("products", key) not in self.cache:
            counts = np.diff(self.by_column(key).indptr).astype(np.float64)
            self.cache["products", key] = float(np.square(counts).sum()) / max(1, self.n_rows)
        return float(self.cache["products", key])

    def references(self, key: Hashable, part: slice) -> Side:
        """Return the references `part` as the leaf of `key` reads them."""
        if ("norms", key) not in self.cache:
            parts = [piece.astype(self.dtype, copy=False) for piece in pieces(self.norms[key])]
            self.cache["norms", key] = stacked(parts)
        rows = self.views[key][part] if key in self.views else self.leaves[key].view(self.X[part])
        rows = dense_rows(rows) if self.sparse and self.densify(key) else rows
        rows = rows.astype(self.dtype, copy=False) if hasattr(rows, "astype") else rows
        return Side(rows, self.cache["norms", key][part])

    def queries(self, Q: Rows) -> dict[Hashable, Side]:
        """Return a block of queries as each leaf reads them."""
        sides = {}
        for key, leaf in self.leaves.items():
            rows = checked_view(leaf, Q)
            norms = row_norms(leaf, rows).astype(self.dtype, copy=False)
            rows = rows.astype(self.dtype, copy=False) if hasattr(rows, "astype") else rows
            sides[key] = Side(rows, norms)
        return sides

    def pieces_of(self, key: Hashable) -> dict[int, _Piece]:
        """Return what was computed for each piece of the references, by the piece's identity."""
        own = pieces(self.X)
        views = pieces(self.views[key]) if key in self.views else (None,) * len(own)
        computed = zip(pieces(self.norms[key]), self.largest[key], views, strict=True)
        return dict(zip(map(id, own), computed, strict=True))

    def part(self, rows: slice) -> Prepared:
        """Return some of the references, read into memory."""
        norms = {key: numbers[rows] for key, numbers in self.norms.items()}
        views = {key: view[rows] for key, view in self.views.items()}
        return Prepared(self.X[rows], self.leaves, norms, self.dtype, views)

    def __reduce__(self) -> Any:
        # keys contain the identity of functions, which differs between processes
        computed = [
            (leaf, self.norms[key], self.views.get(key), self.largest.get(key))
            for key, leaf in self.leaves.items()
        ]
        return _restored, (self.X, self.dtype, computed)


def prepare(
    X: Rows, similarities: Iterable[Similarity], *, keep_views: bool = False, known: Prepared | None = None
) -> Prepared:
    """Prepare references for all leaves of the similarities, and choose the precision.

    Parameters
    ----------
    X : rows or Stack, (n_references, n_features)
        References.
    known : Prepared, optional
        Former references, prepared for these similarities: pieces of X that it has are not read again.
    """
    similarities = list(similarities)
    computed, largest = [], {}
    for leaf in {leaf.key: leaf for similarity in similarities for leaf in similarity.leaves()}.values():
        before = {} if known is None else known.pieces_of(leaf.key)
        viewed = keep_views and bool(leaf.views)
        found = [
            before.get(id(piece)) or _prepare_piece(leaf, piece, viewed and not isinstance(piece, LazyRows))
            for piece in pieces(X)
        ]
        numbers, each, views = zip(*found, strict=True)
        computed.append((leaf, stacked(numbers), None if views[0] is None else stacked(views), each))
        largest[leaf.key] = max(each, default=0.0)
    return _restored(X, choose_dtype(X, similarities, largest), computed)


def _restored(X: Rows, dtype: np.dtype[Any], computed: Iterable[Any]) -> Prepared:
    prepared = Prepared(X, {}, {}, dtype)
    for leaf, norms, view, largest in computed:
        prepared.leaves[leaf.key], prepared.norms[leaf.key] = leaf, norms
        if view is not None:
            prepared.views[leaf.key] = view
        if largest is not None:
            prepared.largest[leaf.key] = largest
    return prepared


def _prepare_piece(leaf: Leaf, X: Rows, keep_view: bool) -> _Piece:
    """Compute the norms of the rows, the largest, and with `keep_view` the viewed rows."""
    if is_remote(X):  # a worker computes them itself
        return RemoteNorms(n_rows(X)), float(fold(X, partial(_largest, leaf), max)), None  # type: ignore[return-value]
    norms = np.empty(n_rows(X))
    viewed, differ = [], False
    width = X.nnz // max(1, n_rows(X)) if sp.issparse(X) else row_width(X)
    for part in blocks(n_rows(X), max(1, limits().prepared_entries // max(1, width))):
        given = X[part]
        rows = checked_view(leaf, given)
        norms[part] = row_norms(leaf, rows)
        differ = differ or rows is not given
        if keep_view:
            viewed.append(rows)
    view = joined(viewed) if viewed and differ else X  # no copy of rows that the leaf reads as they are
    return norms, float(norms.max(initial=0.0)), view if viewed else None


def _largest(leaf: Leaf, X: Rows) -> float:
    return _prepare_piece(leaf, X, keep_view=False)[1]


class RemoteNorms:
    """A placeholder for numbers on other machines."""

    def __init__(self, n: int) -> None:
        self.shape = (n,)

    def __getitem__(self, index: Any) -> Any:
        raise TypeError(
            "The references are on a cluster, but this needs single rows of them: fit on rows in memory, "
            "e.g. X.compute()."
        )


def checked_view(leaf: Leaf, X: Rows) -> Rows:
    """Return rows as a leaf reads them; raise ValueError if they must not be negative but are."""
    rows = leaf.view(X)
    if leaf.similarity.nonnegative_input:
        check_nonnegative(rows, type(leaf.similarity).__name__)
    return rows


def row_norms(leaf: Leaf, rows: Rows) -> FloatArray:
    """Return squared lengths (form "dot"), sums of absolute values ("coordinate"), or zeros."""
    form = leaf.similarity.form
    if form == "dot":
        return squared_lengths(rows)
    if form == "coordinate":
        return np.asarray(abs(rows).sum(axis=1, dtype=np.float64)).ravel()
    return np.zeros(n_rows(rows))


_WORST_ERROR = 1e-3  # a larger relative error needs float64
_LARGEST_FLOAT32 = 1e30


def choose_dtype(
    X: Rows, similarities: Iterable[Similarity], largest: dict[Hashable, float]
) -> np.dtype[Any]:
    """Return float32 if X is float32 and every similarity is accurate in it, else float64."""
    float32, float64 = np.dtype(np.float32), np.dtype(np.float64)
    if getattr(X, "dtype", None) != float32:
        return float64
    for similarity in similarities:
        bounds = []
        for leaf in similarity.leaves():
            square = largest[leaf.key]
            inaccurate = leaf.similarity.relative_error(float32, square) > _WORST_ERROR
            if inaccurate or isinstance(leaf.similarity, Function):
                return float64
            bounds.append(np.array([[leaf.factor * leaf.similarity.largest(square)]]))
        if similarity.assemble(bounds)[0, 0] > _LARGEST_FLOAT32:
            return float64
    return float32


def statistic(leaf: Leaf, q: Side, x: Side, q_rows: Rows, part: slice, dtype: np.dtype[Any]) -> FloatArray:
    """Compute the statistic of a block of references and a block of queries.

    Parameters
    ----------
    q, x : Side
        Viewed rows of both sides.
    part : slice
        Which references, for the form "precomputed", whose rows contain the similarities.

    Returns
    -------
    array, (n_references, n_queries), contiguous by row or by column
    """
    similarity = leaf.similarity
    if similarity.form == "dot" and sp.issparse(x.rows):
        products = sp.csr_array(x.rows) @ q.by_column
        return np.ascontiguousarray(products.toarray(), dtype=dtype)
    if similarity.form == "dot":
        return np.asarray(x.rows @ dense_rows(q.rows).T, dtype=dtype)
    if isinstance(similarity, CoordinateSimilarity):
        out: FloatArray = np.empty((n_rows(x.rows), n_rows(q.rows)), dtype=dtype)
        X = np.ascontiguousarray(dense_rows(x.rows))
        type(similarity).sums(X, q.panels, tile_rows(X.shape[1], dtype), out)
        return out
    if isinstance(similarity, Function):
        return similarity.block(q.rows, x.rows).T
    return np.array(dense_rows(q_rows[:, part]), dtype=dtype, order="C").T

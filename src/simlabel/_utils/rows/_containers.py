"""Rows of any kind (arrays, CSR matrices, lists of objects, rows on a disk), stacks, and equal columns."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, IntArray, Rows

Index = slice | npt.NDArray[np.integer[Any]] | tuple[slice, Any]  # rows; or columns of all rows


def n_rows(X: Rows) -> int:
    """Return the number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def row_width(X: Rows) -> int:
    """Return the number of columns, 1 for objects."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) > 1 else 1


def take_rows(X: Rows, rows: npt.NDArray[np.integer[Any]]) -> Rows:
    """Return the rows at some positions."""
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def is_objects(X: Any) -> bool:
    """Whether X is a list of objects for a Python function, not a matrix of numbers."""
    if sp.issparse(X) or hasattr(X, "columns"):
        return False
    if isinstance(X, np.ndarray):
        return X.ndim == 1
    try:
        return np.asarray(list(X)[:1], dtype=np.float64).ndim != 2
    except (TypeError, ValueError):
        return True


def dense_rows(X: Rows) -> Rows:
    """Return a block of rows as a dense array; lists of objects are unchanged. Not for whole matrices."""
    return X.toarray() if sp.issparse(X) else X


def squared_lengths(rows: Rows) -> FloatArray:
    """Return the squared Euclidean norm of each row, in float64."""
    if sp.issparse(rows):
        rows = rows.astype(np.float64, copy=False)
        return np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", rows, rows, dtype=np.float64)


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover range(n)."""
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


class Stack:
    """Pieces of rows, read as one matrix: a slice within one piece is not copied.

    Parameters
    ----------
    pieces : list of rows
        Arrays, CSR matrices, lists of objects, or any object that returns rows for a slice.

    Examples
    --------
    >>> rows = Stack([np.array([1, 2]), np.array([3, 4, 5])])
    >>> rows[1:4], rows[np.array([4, 0])]
    (array([2, 3, 4]), array([5, 1]))
    """

    def __init__(self, pieces: Iterable[Rows]) -> None:
        self.pieces = tuple(pieces)
        self.starts = [0, *itertools.accumulate(map(n_rows, self.pieces))]

    @property
    def shape(self) -> tuple[int, ...]:
        """(n_rows, n_columns), or (n_rows,) for numbers and objects."""
        return (self.starts[-1], *getattr(self.pieces[0], "shape", (0,))[1:])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype, which is the same for all pieces."""
        return self.pieces[0].dtype

    @property
    def nnz(self) -> int:
        """The number of stored entries of sparse pieces."""
        return sum(int(piece.indptr[-1]) for piece in self.pieces)

    def __len__(self) -> int:
        return int(self.starts[-1])

    def __getitem__(self, index: Index) -> Rows:
        if isinstance(index, tuple):
            return Stack([piece[index] for piece in self.pieces])
        if not isinstance(index, slice):
            return self._take(np.asarray(index))
        parts = [piece[rows] for piece, _, rows in self.parts(index)]
        return joined(parts) if parts else self.pieces[0][0:0]

    def parts(self, index: slice) -> Iterator[tuple[Rows, slice, slice]]:
        """Yield the pieces in a slice, each with its rows in the slice and its rows in the piece."""
        done = 0
        for i, rows in touched(self.starts, index):
            n = rows.stop - rows.start
            yield self.pieces[i], slice(done, done + n), rows
            done += n

    def _take(self, rows: IntArray) -> Rows:
        of = np.searchsorted(self.starts, rows, side="right") - 1
        used = np.unique(of).tolist()
        parts = [take_rows(self.pieces[p], rows[of == p] - self.starts[p]) for p in used]
        back = np.argsort(np.argsort(of, kind="stable"))
        return take_rows(joined(parts or [self.pieces[0][0:0]]), back)

    def whole(self) -> Rows:
        """Return all pieces as one, copied."""
        return self[:]


def touched(starts: Sequence[int], index: slice) -> Iterator[tuple[int, slice]]:
    """Yield the number of each piece that a slice touches, and its rows in the slice.

    `starts` are the positions of the first rows of the pieces, and the number of all rows.
    """
    start, stop, _ = index.indices(starts[-1])
    for i in range(max(0, bisect_right(starts, start) - 1), len(starts) - 1):
        low, high = max(start, starts[i]), min(stop, starts[i + 1])
        if low >= stop:
            return
        yield i, slice(low - starts[i], high - starts[i])


def pieces(X: Rows) -> tuple[Rows, ...]:
    """Return the pieces of a stack, or the rows themselves as one piece."""
    return X.pieces if isinstance(X, Stack) else (X,)


def joined(parts: Sequence[Rows]) -> Rows:
    """Concatenate rows; a single part is returned unchanged."""
    if len(parts) == 1:
        return parts[0]
    if sp.issparse(parts[0]):
        return type(parts[0])(sp.vstack(parts, format="csr"))
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    return np.concatenate(parts)


def stacked(parts: Sequence[Rows]) -> Rows:
    """Return a stack of the parts; a single part is returned unchanged."""
    return parts[0] if len(parts) == 1 else Stack(parts)


def splice(rows: Rows, first: int, piece: Rows) -> Rows:
    """Return the first pieces of rows followed by another one; none of them is read."""
    return stacked([*pieces(rows)[:first], piece])


@dataclass(frozen=True)
class MergedColumns:
    """The distinct columns, and the one that represents each column.

    Attributes
    ----------
    representatives : array, (n_distinct,)
        One of each set of equal columns that have entries in two rows or more, the fullest first.
    copies : array, (n_distinct,)
        The number of columns equal to it.
    of_column : array, (n_columns,)
        The position in `representatives` for each column; -1 if the column has one entry at most.
    """

    representatives: IntArray
    copies: IntArray
    of_column: IntArray


def merge_equal_columns(Z: sp.csr_array) -> MergedColumns:
    """Find the columns of sparse rows that have the same numbers in the same rows.

    Most terms of texts occur in one row only. Many of the others are equal, such as the character n-grams of
    a rare word. The fullest come first, so that they are adjacent in the cache.

    Examples
    --------
    >>> Z = np.array([[1.0, 2.0, 1.0, 0.0], [3.0, 2.0, 3.0, 5.0], [0.0, 1.0, 0.0, 0.0]])
    >>> found = merge_equal_columns(sp.csr_array(Z))
    >>> found.representatives.tolist(), found.copies.tolist(), found.of_column.tolist()
    ([1, 0], [1, 2], [1, 0, 1, -1])
    """
    counts = np.bincount(Z.indices, minlength=Z.shape[1])
    # equal columns have equal sums, bit by bit; others differ except with a probability of about 2^-100
    mark = np.random.default_rng(0).random((Z.shape[0], 2))
    marks = np.ascontiguousarray(sp.csr_array(Z.T) @ mark).view(np.complex128).ravel()
    shared = np.flatnonzero(counts > 1)
    _, first, which, copies = np.unique(
        marks[shared], return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(-counts[shared[first]], kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    of_column = np.full(Z.shape[1], -1)
    of_column[shared] = places[which]
    return MergedColumns(shared[first][order], copies[order], of_column)


def n_shared_columns(Z: sp.csr_array) -> int:
    """Return the number of columns with entries in two rows or more."""
    return int(np.count_nonzero(np.bincount(Z.indices, minlength=Z.shape[1]) > 1))


def unshared_column_squares(Z: sp.csr_array, merged: MergedColumns) -> FloatArray:
    """Return the sum of squares of each row's entries in columns with no other entry, (n_rows, 1)."""
    rows = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
    alone = merged.of_column[Z.indices] < 0
    return np.bincount(rows[alone], Z.data[alone] ** 2, minlength=Z.shape[0]).astype(np.float64)[:, None]

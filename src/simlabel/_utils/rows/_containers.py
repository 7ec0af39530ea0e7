"""Rows of any kind (arrays, CSR matrices, lists of objects, rows on a disk), and stacks of several pieces."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import IntArray, Rows

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


def dense_rows(X: Rows) -> Rows:
    """Return a block of rows as a dense array; lists of objects are unchanged. Not for whole matrices."""
    return X.toarray() if sp.issparse(X) else X


def blocks(n: int, size: int) -> Iterator[slice]:
    """Yield slices of at most `size` rows that cover range(n)."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


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
        start, stop, _ = index.indices(len(self))
        first = max(0, bisect_right(self.starts, start) - 1)
        for i in range(first, len(self.pieces)):
            low, high = max(start, self.starts[i]), min(stop, self.starts[i + 1])
            if low >= stop:
                return
            at = self.starts[i]
            yield self.pieces[i], slice(low - start, high - start), slice(low - at, high - at)

    def _take(self, rows: IntArray) -> Rows:
        of = np.searchsorted(self.starts, rows, side="right") - 1
        used = np.unique(of).tolist()
        parts = [take_rows(self.pieces[p], rows[of == p] - self.starts[p]) for p in used]
        back = np.argsort(np.argsort(of, kind="stable"))
        return take_rows(joined(parts or [self.pieces[0][0:0]]), back)

    def whole(self) -> Rows:
        """Return all pieces as one, copied."""
        return self[:]


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
    if not first:
        return piece
    before = rows if isinstance(rows, Stack) else Stack([rows])
    stack = Stack.__new__(Stack)
    stack.pieces = (*before.pieces[:first], piece)
    stack.starts = [*before.starts[: first + 1], before.starts[first] + n_rows(piece)]
    return stack

"""Pieces of rows, read as if they were one."""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial, reduce
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.rows._containers import Index, Sliced, n_rows, take_rows
from simlabel._utils.rows._lazy import LazyRows, Result
from simlabel._utils.validation import Rows, check_finite


class Stack:
    """Pieces of rows, read as if they were one: a slice within a piece is no copy.

    Parameters
    ----------
    pieces : list of rows
        Arrays, CSR matrices, lists of objects, or whatever gives rows for a slice.

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
        """Of the pieces, which are alike."""
        return self.pieces[0].dtype

    @property
    def nnz(self) -> int:
        """Stored entries of sparse pieces."""
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
        """The pieces that a slice touches: each with where in the slice, and where in the piece it lies."""
        start, stop, _ = index.indices(len(self))
        first = max(0, bisect_right(self.starts, start) - 1)
        for i in range(first, len(self.pieces)):
            low, high = max(start, self.starts[i]), min(stop, self.starts[i + 1])
            if low >= stop:
                return
            at = self.starts[i]
            yield self.pieces[i], slice(low - start, high - start), slice(low - at, high - at)

    def _take(self, rows: npt.NDArray[np.int64]) -> Rows:
        of = np.searchsorted(self.starts, rows, side="right") - 1
        order = np.argsort(of, kind="stable")
        parts = [
            take_rows(self.pieces[p], rows[of == p] - self.starts[p]) for p in np.unique(of).tolist()
        ] or [self.pieces[0][0:0]]
        back = np.empty_like(order)
        back[order] = np.arange(len(order))
        return take_rows(joined(parts), back)

    def ending(self, first: int, piece: Rows) -> Stack:
        """The first pieces, and another one behind them: none of them is looked at."""
        made = Stack.__new__(Stack)
        made.pieces = (*self.pieces[:first], piece)
        made.starts = [*self.starts[: first + 1], self.starts[first] + n_rows(piece)]
        return made

    def whole(self) -> Rows:
        """All pieces as one: a copy."""
        return self[:]


def pieces(X: Rows) -> tuple[Rows, ...]:
    """The pieces of a stack, or the rows themselves as one."""
    return X.pieces if isinstance(X, Stack) else (X,)


def joined(parts: Sequence[Rows]) -> Rows:
    """Rows one after the other; one part is given back as it is."""
    if len(parts) == 1:
        return parts[0]
    if sp.issparse(parts[0]):
        return type(parts[0])(sp.vstack(parts, format="csr"))
    if isinstance(parts[0], list):
        return [row for part in parts for row in part]
    return np.concatenate(parts)


def stacked(parts: Sequence[Rows]) -> Rows:
    """Parts read as one; a single part as it is."""
    return parts[0] if len(parts) == 1 else Stack(parts)


def spliced(rows: Rows, first: int, piece: Rows) -> Rows:
    """The first pieces of rows, and another one behind them."""
    stack = rows if isinstance(rows, Stack) else Stack([rows])
    return stack.ending(first, piece) if first else piece


def by_parts(X: Rows, each: Callable[..., Result], *companions: Sliced) -> list[Result]:
    """Apply a function to parts of the rows and of their companions, where the rows are.

    What is in memory is one part.
    """
    asked = []
    for piece, others in _with_companions(X, companions):
        there = piece.asked if isinstance(piece, LazyRows) else partial(_apply, piece)
        asked.append(there(each, *others))
    return [result for results in asked for result in results()]


def fold(
    X: Rows, each: Callable[..., Result], merge: Callable[[Result, Result], Result], *companions: Sliced
) -> Result:
    """Apply a function to parts of the rows and of their companions, where the rows are, and merge.

    Examples
    --------
    >>> fold(np.ones((4, 2)), lambda X, w: w @ X, np.add, np.arange(4.0))
    array([6., 6.])
    """
    return reduce(
        merge,
        (
            piece.folded(each, merge, *others) if isinstance(piece, LazyRows) else each(piece, *others)
            for piece, others in _with_companions(X, companions)
        ),
    )


def _with_companions(X: Rows, companions: Sequence[Sliced]) -> Iterator[tuple[Rows, list[Any]]]:
    """Pieces of rows with the same part of the companions."""
    parts, at = pieces(X), 0
    if all(isinstance(piece, LazyRows) for piece in parts):
        parts = parts[0].together(parts)
    for piece in parts:
        n = n_rows(piece)
        yield piece, [other[at : at + n] for other in companions]
        at += n


def _apply(piece: Rows, each: Callable[..., Result], *companions: Sliced) -> Callable[[], list[Result]]:
    return lambda: [each(piece, *companions)]


def check_lazy(X: LazyRows) -> LazyRows:
    """Check rows that are read when needed, where they are: finite numbers; whole ones become float64."""
    if len(X) == 0:
        raise ValueError("Found array with 0 sample(s): X has no rows; at least one is required.")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X must hold numbers, got {X.dtype}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.mapped(_as_float64)
    fold(X, _check_part, lambda one, other: None, range(len(X)))
    return X


def _as_float64(X: Rows) -> Rows:
    return X.astype(np.float64)


def _check_part(X: Rows, numbers: range) -> None:
    check_finite(X, "X", numbers.start)

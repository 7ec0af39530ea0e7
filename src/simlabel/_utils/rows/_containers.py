"""What rows of any kind have in common: arrays, CSR matrices, lists of objects, stacks, rows to be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import Rows

Index = slice | npt.NDArray[np.integer[Any]] | tuple[slice, Any]  # rows; or, of all rows, columns


class Sliced(Protocol):
    """What goes along with rows, one for each: an array, a sparse matrix, a range."""

    def __getitem__(self, index: slice, /) -> Any: ...


class Source(Protocol):
    """A place that rows are read from."""

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> np.dtype[Any]: ...
    def __getitem__(self, index: Index, /) -> Rows: ...


def n_rows(X: Rows) -> int:
    """Number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def row_width(X: Rows) -> int:
    """Number of columns, 1 for objects."""
    shape: tuple[int, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) > 1 else 1


def take_rows(X: Rows, rows: npt.NDArray[np.integer[Any]]) -> Rows:
    """Some rows by their positions."""
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def dense_rows(X: Rows) -> Rows:
    """A block of rows as a dense array; lists of objects stay as they are. Never for a whole matrix."""
    return X.toarray() if sp.issparse(X) else X


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that cover range(n)."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))

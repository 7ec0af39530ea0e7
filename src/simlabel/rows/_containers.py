"""What rows of any kind have in common: arrays, CSR matrices, lists of objects, stacks, rows to be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.support.validation import Rows


def n_rows(X: Rows) -> int:
    """Number of rows."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def row_width(X: Rows) -> int:
    """Number of columns, 1 for objects."""
    shape: tuple[Any, ...] = getattr(X, "shape", ())
    return int(shape[1]) if len(shape) > 1 else 1


def take_rows(X: Rows, rows: npt.NDArray[np.integer]) -> Rows:
    """Some rows by their positions."""
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]


def dense_rows(X: Rows) -> Rows:
    """A block of rows as a dense array; lists of objects stay as they are. Never for a whole matrix."""
    return X.toarray() if sp.issparse(X) else X


def blocks(n: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that cover range(n)."""
    return (slice(start, min(start + size, n)) for start in range(0, n, size))

"""Rows, as a reader meets them, into X and Y; in machine numbers, so that no more memory is used."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from simlabel.datasets._columns import Columns, Place
from simlabel.datasets._errors import DatasetError

LARGEST_INDEX = 2**31 - 2  # so that the number of columns is a 32-bit integer too

_WIDE = 4  # columns for each attribute from which on X is sparse
_IMPLIED_ALWAYS = 1 << 22  # entries that a small file may imply without writing them


class Rows(Protocol):
    """Rows of a file: lists of texts or, if `sparse`, dicts of them by position; None is a missing value."""

    path: Path
    line: int
    size: int
    sparse: bool

    def __iter__(self) -> Iterator[Any]: ...


class SparseRows:
    """A CSR matrix that grows by rows; `with_values` is False for an indicator.

    Examples
    --------
    >>> rows = SparseRows(with_values=False)
    >>> rows.add([2, 0])
    >>> rows.add([])
    >>> rows.finish(3).toarray().tolist()
    [[1, 0, 1], [0, 0, 0]]
    """

    def __init__(self, *, with_values: bool) -> None:
        self._values = array("d") if with_values else None
        self._columns = array("i")
        self._bounds = array("q", [0])

    def __len__(self) -> int:
        return len(self._bounds) - 1

    def add(self, columns: Iterable[int], values: Iterable[float] = ()) -> None:
        """Add a row."""
        self._columns.extend(columns)
        if self._values is not None:
            self._values.extend(values)
        self._bounds.append(len(self._columns))

    def finish(self, n_columns: int, *, order: Sequence[int] | None = None, shift: int = 0) -> Any:
        """The matrix; `order` gives the final position of each column, `shift` is taken off it instead."""
        indices = np.frombuffer(self._columns, dtype=np.int32)
        indptr = np.frombuffer(self._bounds, dtype=np.int64)
        if len(indices) <= LARGEST_INDEX:
            indptr = indptr.astype(np.int32)
        if order is not None:
            indices = np.asarray(order, dtype=np.int32)[indices]
        if shift:
            indices -= np.int32(shift)
        if self._values is not None:
            data: Any = np.frombuffer(self._values, dtype=np.float64)
        else:
            data = np.ones(len(indices), dtype=np.int8)
        matrix = sp.csr_array((data, indices, indptr), shape=(len(self), n_columns))
        if self._values is None:
            matrix.sum_duplicates()
            matrix.data[:] = 1
        matrix.sort_indices()
        return matrix


def gather(rows: Rows, columns: Columns) -> tuple[Any, Any]:
    """Read all rows; X is sparse if they are, or if one-hot columns make it much wider than they are."""
    sparse = rows.sparse or columns.width > _WIDE * len(columns.convert)
    implied_left = max(_IMPLIED_ALWAYS, rows.size)
    values = array("d")
    X_rows, Y_rows = SparseRows(with_values=True), SparseRows(with_values=False)
    width = columns.width
    for row in rows:
        places = _places(row.items() if rows.sparse else enumerate(row), columns, rows.line)
        if rows.sparse and columns.implied:
            implied_left -= len(columns.implied)
            _check_implied(implied_left, rows)
            places += [(column, 1.0) for j, column in columns.implied.items() if j not in row]
        Y_rows.add([column - width for column, value in places if column >= width and value])
        if sparse:
            kept = [place for place in places if place[0] < width and place[1]]
            X_rows.add([column for column, _ in kept], [value for _, value in kept])
        else:
            dense = [0.0] * width
            for column, value in places:
                if column < width:
                    dense[column] = value
            values.extend(dense)
    Y = Y_rows.finish(len(columns.label_names))
    if sparse:
        return X_rows.finish(width), Y
    return np.frombuffer(values, dtype=np.float64).reshape(len(Y_rows), width), Y


def _places(items: Iterable[tuple[int, str]], columns: Columns, line: int) -> list[Place]:
    places = []
    convert = columns.convert
    for j, text in items:
        try:
            places.append(convert[j](text))
        except (ValueError, KeyError, TypeError):
            places.append(columns.explain(j, text, line))
    return places


def _check_implied(left: int, rows: Rows) -> None:
    """Refuse a small file of short rows whose nominal attributes make it a huge matrix."""
    if left < 0:
        raise DatasetError(
            "expected sparse rows; they leave out so many values of nominal attributes whose first value is not "
            "0 that the data set is far larger than the file. Declare 0 first",
            rows.path,
            rows.line,
        )

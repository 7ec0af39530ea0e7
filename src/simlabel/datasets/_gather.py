"""Rows, as a reader meets them, into X and Y; in machine numbers, so that no more memory is used."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import Rows
from simlabel.datasets._columns import TableColumns
from simlabel.datasets._errors import DatasetError

LARGEST_INDEX = 2**31 - 2  # so that the number of columns is a 32-bit integer too

WIDE = 4  # columns for each attribute from which on X is sparse
_IMPLIED_ALWAYS = 1 << 22  # entries that a small file may imply without writing them


class FileRows(Protocol):
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
        self._lengths = array("i")

    def __len__(self) -> int:
        return len(self._lengths)

    def add(self, columns: Iterable[int], values: Iterable[float] = ()) -> None:
        """Add a row."""
        before = len(self._columns)
        self._columns.extend(columns)
        if self._values is not None:
            self._values.extend(values)
        self._lengths.append(len(self._columns) - before)

    def finish(self, n_columns: int, *, order: Sequence[int] | None = None, shift: int = 0) -> sp.csr_array:
        """The matrix; `order` gives the final position of each column, `shift` is taken off it instead."""
        indices = np.frombuffer(self._columns, dtype=np.int32)
        indptr = np.zeros(len(self) + 1, dtype=np.int32 if len(indices) <= LARGEST_INDEX else np.int64)
        np.cumsum(np.frombuffer(self._lengths, dtype=np.int32), out=indptr[1:])
        if order is not None:
            indices = np.asarray(order, dtype=np.int32)[indices]
        if shift:
            indices -= np.int32(shift)
        if self._values is not None:
            data: npt.NDArray[np.generic] = np.frombuffer(self._values, dtype=np.float64)
        else:
            data = np.ones(len(indices), dtype=np.int8)
        matrix = sp.csr_array((data, indices, indptr), shape=(len(self), n_columns))
        if self._values is None:
            matrix.sum_duplicates()
            matrix.data[:] = 1
        matrix.sort_indices()
        return matrix


def gather(rows: FileRows, columns: TableColumns) -> tuple[Rows, sp.csr_array]:
    """Read all rows; X is sparse if they are, or if one-hot columns make it much wider than they are."""
    sparse = rows.sparse or columns.width > WIDE * len(columns.convert)
    implied_left = max(_IMPLIED_ALWAYS, rows.size)
    values = array("d")
    X_rows, Y_rows = SparseRows(with_values=True), SparseRows(with_values=False)
    width = columns.width
    for row in rows:
        labels, places, numbers = _convert(row.items() if rows.sparse else enumerate(row), columns, rows.line)
        if rows.sparse and columns.implied:
            implied_left -= len(columns.implied)
            _check_implied(implied_left, rows)
            implied = [column for j, column in columns.implied.items() if j not in row]
            labels += [column - width for column in implied if column >= width]
            places += [column for column in implied if column < width]
            numbers += [1.0] * (len(places) - len(numbers))
        Y_rows.add(labels)
        if sparse:
            X_rows.add(places, numbers)
        else:
            dense = [0.0] * width
            for column, number in zip(places, numbers, strict=True):
                dense[column] = number
            values.extend(dense)
    Y = Y_rows.finish(len(columns.label_names))
    if sparse:
        X = columns.without_identifiers(X_rows.finish(width))
        narrow = not rows.sparse and len(columns.feature_names) <= WIDE * len(columns.convert)
        return X.toarray() if narrow else X, Y
    dense_X = np.frombuffer(values, dtype=np.float64).reshape(len(Y_rows), width)
    return columns.without_identifiers(dense_X), Y


def _convert(
    items: Iterable[tuple[int, str]], columns: TableColumns, line: int
) -> tuple[list[int], list[int], list[float]]:
    """Labels of a row, and the columns and numbers of its features that are not 0."""
    labels: list[int] = []
    places: list[int] = []
    numbers: list[float] = []
    convert, width = columns.convert, columns.width
    for j, text in items:
        try:
            place = convert[j](text)
        except (ValueError, KeyError, TypeError):
            place = None
        column, number = place or columns.explain(j, text, line)
        if not number:
            continue
        if column >= width:
            labels.append(column - width)
        else:
            places.append(column)
            numbers.append(number)
    return labels, places, numbers


def _check_implied(left: int, rows: FileRows) -> None:
    """Refuse a small file of short rows whose nominal attributes make it a huge matrix."""
    if left < 0:
        raise DatasetError(
            "expected sparse rows; they leave out so many values of nominal attributes whose first value is "
            "not 0 that the data set is far larger than the file. Declare 0 first",
            rows.path,
            rows.line,
        )

"""A table of labeled rows while it is read: its columns, and its cells in blocks."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from simlabel._utils.validation import AnyArray, IntArray
from simlabel.datasets._errors import DatasetError

_BLOCK_CELLS = 1 << 18


class Attribute(NamedTuple):
    """One column of a table, with the declaration of an ARFF file: numeric, or with nominal values."""

    name: str
    values: tuple[str, ...] | None = None
    is_numeric: bool = False
    line: int | None = None


class CellBlock(NamedTuple):
    """Some rows of a table, column by column.

    Attributes
    ----------
    lines : sequence of int
        The line of each row, or its number.
    columns : iterable of (position, rows, values)
        The cells of a column: numbers, or objects with None for a missing value. A row that is not among the
        rows of a column is 0 there.
    """

    lines: Sequence[int]
    columns: Iterable[tuple[int, IntArray, AnyArray]]


@dataclass
class SourceTable:
    """A table of labeled rows while it is read.

    Attributes
    ----------
    path : Path
    attributes : sequence of Attribute
    blocks : callable
        From the positions of the columns that are needed, None for all, to an iterator of CellBlock.
    sparse : bool
        Whether rows leave out zeros.
    typed : bool
        Whether texts are texts, also those that look like numbers; in CSV they are numbers.
    in_lines : bool
        Whether a row has a line in the file, not only a number.
    """

    path: Path
    attributes: Sequence[Attribute]
    blocks: Callable[[Sequence[int] | None], Iterator[CellBlock]]
    sparse: bool = False
    typed: bool = True
    in_lines: bool = True

    @classmethod
    def of_frame(cls, frame: pd.DataFrame, path: Path, lines: Sequence[int] | None = None) -> SourceTable:
        """Return the table of a frame, whose rows begin at `lines` of a file if it has any."""
        rows = np.arange(len(frame))
        cells = (
            (j, rows, column.to_numpy(np.float64 if column.dtype.kind in "fiu" else object))
            for j, (_, column) in enumerate(frame.items())
        )
        attributes = [Attribute(str(name)) for name in frame.columns]
        block = CellBlock(range(1, len(frame) + 1) if lines is None else lines, cells)
        return cls(path, attributes, lambda _: iter([block]), in_lines=lines is not None)

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [attribute.name for attribute in self.attributes]

    def error(self, message: str, line: int) -> DatasetError:
        """Return an error about a row."""
        if self.in_lines:
            return DatasetError(message, self.path, line)
        return DatasetError(f"{message} in row {line}", self.path)


def cell_blocks(
    records: Iterable[tuple[int, Any]], width: int, rows: int | None = None
) -> Iterator[CellBlock]:
    """Collect rows, lists of cells or dicts of them by position, in blocks of `rows`."""
    lines, cells, size = array("q"), [], 0
    for line, record in records:
        lines.append(line)
        cells.append(record)
        size += len(record)
        if len(lines) == rows or (rows is None and size >= _BLOCK_CELLS):
            yield CellBlock(lines, _by_column(cells, width))
            lines, cells, size = array("q"), [], 0
    if cells:
        yield CellBlock(lines, _by_column(cells, width))


def _by_column(cells: list[Any], width: int) -> Iterator[tuple[int, IntArray, AnyArray]]:
    if isinstance(cells[0], list):
        rows, table = np.arange(len(cells)), np.array(cells, dtype=object)
        return ((j, rows, table[:, j]) for j in range(width))
    lengths = [len(row) for row in cells]
    columns = np.fromiter((j for row in cells for j in row), dtype=np.int64, count=sum(lengths))
    values = np.fromiter((value for row in cells for value in row.values()), dtype=object, count=sum(lengths))
    order = np.argsort(columns, kind="stable")
    found, starts = np.unique(columns[order], return_index=True)
    rows = np.repeat(np.arange(len(cells)), lengths)[order]
    parts = zip(np.split(rows, starts[1:]), np.split(values[order], starts[1:]), strict=True)
    return ((j, *part) for j, part in zip(found.tolist(), parts, strict=False))

"""A file -> a frame as the file has it, whole or a few rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import pandas as pd

from simlabel.datasets._csv import check_delimiter
from simlabel.datasets._errors import check_regular
from simlabel.datasets.tables._formats import find_table_format
from simlabel.datasets.tables._reading import Cell, TableProblem, TableReading
from simlabel.datasets.tables._values import plain_cell


@dataclass(frozen=True, eq=False)
class TableFile:
    """What `read_table` gives.

    Attributes
    ----------
    frame : DataFrame
        The cells: of text files texts or None, as objects; of others with the types of the file.
    path : Path
        The file.
    format : str
        The name of its format.
    notes : tuple of str
        What was found out about the file, for people: delimiter, encoding, sheet, names that were changed.
    problems : tuple of TableProblem
        The rows that were left out: the line, and what is wrong with it.
    lines : sequence of int
        The line of the file on which each row of the frame begins; of a sheet its row, of a JSON array and a
        Parquet file its number, from 1.
    """

    frame: pd.DataFrame
    path: Path
    format: str
    notes: tuple[str, ...]
    problems: tuple[TableProblem, ...]
    lines: Sequence[int]

    def records(self) -> Iterator[dict[str, Cell]]:
        """Rows as dicts that JSON can hold: cell by name of the column, None where nothing is."""
        names = [str(name) for name in self.frame.columns]
        for row in self.frame.itertuples(index=False, name=None):
            yield dict(zip(names, map(plain_cell, row), strict=True))


class TableChunks:
    """An iterator over the frames of a file; what `table_chunks` gives.

    Attributes
    ----------
    path : Path
        The file.
    format : str
        The name of its format.
    notes : tuple of str
    problems : tuple of TableProblem
    lines : sequence of int
        As of a `TableFile`, so far as the file has been read.
    """

    def __init__(self, reading: TableReading, format: str | None) -> None:
        found = find_table_format(reading.path, format, reading.max_gib)
        for option in ("delimiter", "encoding", "sheet"):
            if getattr(reading, option) is not None and option not in found.options:
                raise ValueError(f"{option} means nothing here: {reading.path.name} is {found.title}.")
        self._reading = reading
        self._frames = found.read(reading)
        self.path, self.format = reading.path, found.name

    @property
    def notes(self) -> tuple[str, ...]:
        return tuple(self._reading.notes)

    @property
    def problems(self) -> tuple[TableProblem, ...]:
        return tuple(self._reading.problems)

    @property
    def lines(self) -> Sequence[int]:
        return self._reading.lines

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> pd.DataFrame:
        return next(self._frames)


def read_table(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    max_gib: float | None = None,
    strict: bool = False,
) -> TableFile:
    """Read a table as it is: texts stay texts, and a cell with nothing in it is None.

    Parameters
    ----------
    path : path
        CSV, with commas, semicolons, tabs or bars, and JSON, both plain or gzip; Parquet; an Excel
        workbook (xlsx).
    format : str, optional
        One of `TABLE_FORMATS`; by default it is found out from what is in the file.
    delimiter : str, optional
        What stands between the cells of a CSV file; by default that of comma, semicolon, tab and bar which
        splits the first 100 rows most evenly.
    encoding : str, optional
        Of a text file, as Python calls it; by default UTF-8 or UTF-16, and Windows-1252 or Latin-1 where
        bytes are not UTF-8.
    sheet : str, optional
        Title of a sheet of a workbook; by default the first.
    max_gib : float, optional
        How many GiB of memory the file may ask for; by default that depends on its size.
    strict : bool, default=False
        Whether a row that cannot be read is an error. By default it is left out and is among the problems,
        unless no row can be read.

    Returns
    -------
    TableFile

    Raises
    ------
    DatasetError
        If the file is not there, damaged or empty.

    Notes
    -----
    Rows of a text file that have too few cells are filled up with None; rows with too many are problems. In
    JSON a list of texts stays one, and anything else that is nested is JSON as text. Dates in workbooks and
    Parquet files are ISO texts; whole numbers in Parquet files have those types of pandas that know missing
    ones.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "films.csv"
    >>> _ = path.write_text("title;price;tags\\n54;9,50;drama\\nSea, sun;;comedy|drama\\n")
    >>> films = read_table(path)
    >>> films.frame.to_numpy().tolist()
    [['54', '9,50', 'drama'], ['Sea, sun', None, 'comedy|drama']]
    >>> films.notes
    ('cells separated by semicolons', 'encoding: UTF-8')
    >>> next(films.records())
    {'title': '54', 'price': '9,50', 'tags': 'drama'}
    """
    options = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "max_gib": max_gib}
    chunks = _chunks(path, None, format, strict=strict, **options)
    frame = next(chunks)
    return TableFile(frame, chunks.path, chunks.format, chunks.notes, chunks.problems, chunks.lines)


def table_chunks(
    path: str | os.PathLike[str],
    rows: int,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    max_gib: float | None = None,
    strict: bool = False,
) -> TableChunks:
    """Read a table a few rows at a time: what `read_table` reads, with the same cells and types, in pieces.

    Parameters
    ----------
    path, format, delimiter, encoding, sheet, max_gib, strict
        As of `read_table`; `max_gib` bounds a piece.
    rows : int
        At most how many at a time.

    Returns
    -------
    TableChunks
        An iterator over frames, at least one, whose index goes on from one to the next.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "films.csv"
    >>> _ = path.write_text("title,year\\nSea,1999\\nSun,\\nSand,2003\\n")
    >>> [chunk["year"].tolist() for chunk in table_chunks(path, 2)]
    [['1999', None], ['2003']]
    """
    if rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}.")
    options = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "max_gib": max_gib}
    return _chunks(path, rows, format, strict=strict, **options)


def _chunks(
    path: str | os.PathLike[str], rows: int | None, format: str | None, **options: Any
) -> TableChunks:
    check_regular(path)
    check_delimiter(options["delimiter"])
    return TableChunks(TableReading(Path(path), rows, **options), format)

"""Raw tables: from files, with texts, categories and empty cells unchanged, and to files."""

from __future__ import annotations

import io
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pandas as pd

from simlabel._utils.text import for_spreadsheet
from simlabel.datasets import _csv, _excel, _json, _parquet
from simlabel.datasets._errors import DatasetError, check_regular
from simlabel.datasets._reading import RawCell, TableChunks, TableProblem, plain_cell
from simlabel.datasets._text import guess_encoding, open_bytes

_HEAD = 1 << 12  # bytes from which the format is detected
_WRITTEN = ("csv", "jsonl", "xlsx")
_PAGE = 500  # rows in a piece
RowCells = Iterable[Sequence[Any]]


@dataclass(frozen=True)
class TableFormat:
    """A format of raw tables.

    Attributes
    ----------
    name : str
        The name by which users choose it.
    title : str
        What it is.
    read : callable
        From `TableChunks` to its frames, at least one.
    start : str
        A pattern that matches the beginning of such a file.
    options : tuple of str
        The parameters of `read_table` that apply to it.
    """

    name: str
    title: str
    read: Callable[[TableChunks], Iterator[pd.DataFrame]]
    start: str = ""
    options: tuple[str, ...] = ()


#: by name, in the order in which they are tried: any other text is CSV
TABLE_FORMATS: dict[str, TableFormat] = {
    one.name: one
    for one in (
        TableFormat("parquet", "Parquet", _parquet.read_parquet_frames, "PAR1"),
        TableFormat("excel", "an Excel workbook (xlsx)", _excel.read_excel_frames, "PK\x03\x04", ("sheet",)),
        TableFormat(
            "jsonl", "JSON with an object on each line", _json.read_lines, r'\s*\{\s*["}]', ("encoding",)
        ),
        TableFormat("json", "a JSON array of objects", _json.read_array, r"\s*\[\s*[\]{]", ("encoding",)),
        TableFormat(
            "csv", "CSV with a line of names", _csv.read_csv_frames, options=("delimiter", "encoding")
        ),
    )
}

# other files that users pass as tables, and what to do with them
_OTHERS = {
    rb"\xd0\xcf\x11\xe0": "an Excel workbook of before 2007 (xls), or with a password; save it as plain xlsx",
    rb"(\xef\xbb\xbf)?\s*<": "XML or HTML; open it in a spreadsheet, and save it as xlsx or CSV",
    rb"(?i)\s*(%[^\n]*\n\s*)*@relation\b": "ARFF, which load_dataset reads",
    rb"\x93NUMPY": "a numpy array, which is not a table; models of matrices read it",
    rb"%PDF": "a PDF",
}


def _find_format(path: Path, name: str | None, max_gib: float | None) -> TableFormat:
    """Return the format that the user names, else the one that the content shows."""
    if name is not None:
        if name not in TABLE_FORMATS:
            raise ValueError(f"format must be one of {', '.join(map(repr, TABLE_FORMATS))}, got {name!r}.")
        return TABLE_FORMATS[name]
    with open_bytes(path, max_gib) as stream:
        head = stream.read(_HEAD)
    for pattern, what in _OTHERS.items():
        if re.match(pattern, head):
            raise DatasetError(f"expected a table ({', '.join(TABLE_FORMATS)}), found {what}", path)
    text = head.decode(guess_encoding(head)[0], "replace").removeprefix("\ufeff")
    return next(one for one in TABLE_FORMATS.values() if re.match(one.start, text))


@dataclass(frozen=True, eq=False)
class TableFile:
    """The result of `read_table`.

    Attributes
    ----------
    frame : DataFrame
        The cells: of text files texts or None, as objects; of others with the types of the file.
    path : Path
        The file.
    format : str
        The name of its format.
    notes : tuple of str
        What was found out about the file: delimiter, encoding, sheet, names that were changed.
    problems : tuple of TableProblem
        The rows that were skipped: the line, and what is wrong with it.
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

    def records(self) -> Iterator[dict[str, RawCell]]:
        """Yield rows as dicts that JSON can hold: cell by name of the column, None if it is missing."""
        names = [str(name) for name in self.frame.columns]
        for row in self.frame.itertuples(index=False, name=None):
            yield dict(zip(names, map(plain_cell, row), strict=True))


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
    """Read a table unchanged: texts stay texts, and an empty cell is None.

    Parameters
    ----------
    path : path
        CSV, with commas, semicolons, tabs or bars, and JSON, both plain or gzip; Parquet; an Excel
        workbook (xlsx).
    format : str, optional
        One of `TABLE_FORMATS`; by default it is detected from the content.
    delimiter : str, optional
        Separator between the cells of a CSV file; by default the one of comma, semicolon, tab and bar that
        splits the first 100 rows most evenly.
    encoding : str, optional
        Python name of the encoding of a text file; by default UTF-8 or UTF-16, and Windows-1252 or Latin-1
        for bytes that are not UTF-8.
    sheet : str, optional
        Title of a sheet of a workbook; by default the first.
    max_gib : float, optional
        How many GiB of memory the file may need; by default that depends on its size.
    strict : bool, default=False
        Whether a row that cannot be read is an error. By default it is skipped and listed in the problems,
        unless no row can be read.

    Returns
    -------
    TableFile

    Raises
    ------
    DatasetError
        If the file does not exist, is damaged or empty.

    Notes
    -----
    Rows of a text file that have too few cells are filled up with None; rows with too many are problems. In
    JSON a list of texts stays a list, and other nested values become JSON texts. Dates in workbooks and
    Parquet files are ISO texts; integers in Parquet files have pandas' nullable types.

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
    chunks = table_chunks(
        path,
        None,
        format=format,
        delimiter=delimiter,
        encoding=encoding,
        sheet=sheet,
        max_gib=max_gib,
        strict=strict,
    )
    frame = next(chunks)
    notes, problems = tuple(chunks.notes), tuple(chunks.problems)
    return TableFile(frame, chunks.path, chunks.format, notes, problems, chunks.lines)


def table_chunks(
    path: str | os.PathLike[str],
    rows: int | None,
    *,
    format: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    max_gib: float | None = None,
    strict: bool = False,
) -> TableChunks:
    """Read a table a few rows at a time, with the same cells and types as `read_table`.

    Parameters
    ----------
    path, format, delimiter, encoding, sheet, max_gib, strict
        As in `read_table`; `max_gib` applies to each chunk.
    rows : int or None
        The maximum number of rows in a chunk; None for all rows in one.

    Returns
    -------
    TableChunks
        An iterator over frames, at least one, with a continuous index.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "films.csv"
    >>> _ = path.write_text("title,year\\nSea,1999\\nSun,\\nSand,2003\\n")
    >>> [chunk["year"].tolist() for chunk in table_chunks(path, 2)]
    [['1999', None], ['2003']]
    """
    if rows is not None and rows < 1:
        raise ValueError(f"rows must be at least 1, got {rows}.")
    check_regular(path)
    _csv.check_delimiter(delimiter)
    chunks = TableChunks(Path(path), rows, delimiter, encoding, sheet, max_gib, strict)
    found = _find_format(chunks.path, format, max_gib)
    for option in ("delimiter", "encoding", "sheet"):
        if getattr(chunks, option) is not None and option not in found.options:
            raise ValueError(f"{option} must not be set: {chunks.path.name} is {found.title}.")
    chunks.format, chunks.source = found.name, found.read(chunks)
    return chunks


def table_pieces(
    names: Sequence[str], rows: RowCells, format: str = "csv", *, spreadsheet_safe: bool = True
) -> Iterator[bytes]:
    """Write a table as pieces of a file, one after the other; rows are consumed on demand.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    rows : iterable of sequences
        A cell for each name: a text, a number, a boolean, a list of texts, or None.
    format : {"csv", "jsonl", "xlsx"}
        In CSV and xlsx a list is written as texts with "; " between them; in JSON lines cells are unchanged,
        and may be nested. A workbook is one piece, and requires openpyxl.
    spreadsheet_safe : bool
        Whether texts in CSV and xlsx that a spreadsheet would take for a formula get a leading apostrophe.

    Examples
    --------
    >>> rows = [["Jaws", ["sea", "horror"]], ["=1+1", []]]
    >>> print(b"".join(table_pieces(["title", "tags"], rows)).decode(), end="")
    title,tags
    Jaws,sea; horror
    '=1+1,
    >>> print(b"".join(table_pieces(["title", "tags"], rows[:1], "jsonl")).decode(), end="")
    {"title": "Jaws", "tags": ["sea", "horror"]}
    """
    if format not in _WRITTEN:
        raise ValueError(f"format must be one of {', '.join(map(repr, _WRITTEN))}, got {format!r}.")
    if format == "jsonl":
        return _json_lines(names, rows)
    shown = for_spreadsheet if spreadsheet_safe else str
    return (_csv_pages if format == "csv" else _workbook)(_flat(row, shown) for row in chain([names], rows))


def _json_lines(names: Sequence[str], rows: RowCells) -> Iterator[bytes]:
    for page in _pages(rows):
        objects = (dict(zip(names, row, strict=True)) for row in page)
        yield "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects).encode()


def _csv_pages(rows: RowCells) -> Iterator[bytes]:
    for page in _pages(rows):
        stream = io.StringIO()
        records = _csv.CsvRecords(stream)
        for row in page:
            records.append(row)
        yield stream.getvalue().encode()


def _workbook(rows: RowCells) -> Iterator[bytes]:
    sheet, out = _excel.Sheet(), io.BytesIO()
    try:
        for row in rows:
            sheet.append(row)
    finally:
        sheet.save(out)  # also after an error: openpyxl then removes its temporary files
    return iter([out.getvalue()])


def _flat(row: Sequence[Any], shown: Callable[[str], str]) -> list[Any]:
    """Return cells without lists."""
    texts = ("; ".join(cell) if isinstance(cell, list) else cell for cell in row)
    return [shown(cell) if isinstance(cell, str) else cell for cell in texts]


def _pages(rows: RowCells) -> Iterator[list[Sequence[Any]]]:
    remaining = iter(rows)
    while page := list(islice(remaining, _PAGE)):
        yield page

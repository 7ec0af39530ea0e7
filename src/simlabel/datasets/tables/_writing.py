"""Tables that are written for others: pieces of a file, which need not all be in memory at once."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import IO, Any, TextIO

from simlabel._utils.text import for_spreadsheet

WRITTEN = ("csv", "jsonl", "xlsx")
_PAGE = 500  # rows in a piece
_MOST_ROWS, _MOST_COLUMNS = 1 << 20, 1 << 14  # of a sheet, by the format
_LONGEST = 32_767  # characters of a cell, by the format
_EXACT = 1 << 53  # numbers of a sheet are floats: larger whole numbers are written as texts
Rows = Iterable[Sequence[Any]]


def table_pieces(
    names: Sequence[str], rows: Rows, format: str = "csv", *, spreadsheet_safe: bool = True
) -> Iterator[bytes]:
    """A table as pieces of a file, one after the other; what rows are asked for is asked for as it goes.

    Parameters
    ----------
    names : sequence of str
        Of the columns.
    rows : iterable of sequences
        A cell for each name: a text, a number, a truth, a list of texts, or None where nothing is.
    format : {"csv", "jsonl", "xlsx"}
        In CSV and xlsx a list is its texts with "; " between them; in JSON lines cells are as they are, and
        may be nested. A workbook is one piece, and needs openpyxl.
    spreadsheet_safe : bool
        Whether in CSV and xlsx an apostrophe stands before what a spreadsheet would take for a formula.

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
    if format not in WRITTEN:
        raise ValueError(f"format must be one of {', '.join(map(repr, WRITTEN))}, got {format!r}.")
    if format == "jsonl":
        return _json_lines(names, rows)
    shown = for_spreadsheet if spreadsheet_safe else str
    return (_csv if format == "csv" else _excel)(_flat(row, shown) for row in chain([names], rows))


def _json_lines(names: Sequence[str], rows: Rows) -> Iterator[bytes]:
    for page in _pages(rows):
        objects = (dict(zip(names, row, strict=True)) for row in page)
        yield "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in objects).encode()


def _csv(rows: Rows) -> Iterator[bytes]:
    for page in _pages(rows):
        stream = io.StringIO()
        records = CsvRecords(stream)
        for row in page:
            records.append(row)
        yield stream.getvalue().encode()


def _excel(rows: Rows) -> Iterator[bytes]:
    sheet, out = Sheet(), io.BytesIO()
    try:
        for row in rows:
            sheet.append(row)
    finally:
        sheet.save(out)  # after an error too: openpyxl then removes its temporary files
    return iter([out.getvalue()])


class CsvRecords:
    r"""Records of CSV that are written to a stream of text, each with a line feed at its end.

    Python's `csv` quotes only those line ends that it writes itself: a carriage return would stay bare, and
    ends a record for most readers. So it is given both, and a record loses the carriage return at its end.

    Examples
    --------
    >>> stream = io.StringIO()
    >>> CsvRecords(stream).append(["sea\r=1", "a;b", None])
    >>> stream.getvalue()
    '"sea\r=1",a;b,\n'
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._writer = csv.writer(self, lineterminator="\r\n")

    def write(self, record: str) -> None:
        """Take a record from the writer."""
        self._stream.write(record[:-2] + "\n")

    def append(self, cells: Sequence[Any]) -> None:
        """Add a record."""
        self._writer.writerow(cells)


class Sheet:
    """An Excel workbook (xlsx) with one sheet, which is written row by row; it needs openpyxl.

    Examples
    --------
    >>> import io
    >>> sheet, file = Sheet(), io.BytesIO()
    >>> sheet.append(["title", "year"])
    >>> sheet.append(["=1+1", 1975])  # a text, not a formula
    >>> sheet.save(file)
    >>> file.getvalue()[:2]
    b'PK'
    """

    def __init__(self) -> None:
        try:
            from openpyxl import Workbook
        except ImportError:
            raise ImportError(
                "xlsx needs openpyxl: pip install 'simlabel[excel]'; or write CSV, JSON lines or Parquet."
            ) from None
        self._book = Workbook(write_only=True)
        self._sheet = self._book.create_sheet("items")
        self._rows = 0

    def append(self, row: Sequence[Any]) -> None:
        """Add a row of texts, numbers, truths and None."""
        self._rows += 1
        if self._rows > _MOST_ROWS or len(row) > _MOST_COLUMNS:
            found = f"{self._rows:,} rows" if self._rows > _MOST_ROWS else f"{len(row):,} columns"
            raise ValueError(
                f"a sheet of an xlsx file holds at most {_MOST_ROWS:,} rows, its line of names among them, "
                f"and {_MOST_COLUMNS:,} columns, got {found}; write CSV, JSON lines or Parquet."
            )
        self._sheet.append([self._made(cell, column) for column, cell in enumerate(row, start=1)])

    def _made(self, cell: Any, column: int) -> Any:
        if isinstance(cell, int) and abs(cell) > _EXACT:
            cell = str(cell)
        if not isinstance(cell, str):
            return cell
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL
        from openpyxl.cell.cell import WriteOnlyCell
        from openpyxl.utils import get_column_letter

        if len(cell) > _LONGEST:
            raise ValueError(
                f"the text for cell {get_column_letter(column)}{self._rows} has {len(cell):,} characters, "
                f"and a cell of an xlsx file holds {_LONGEST:,}; write CSV, JSON lines or Parquet."
            )
        text = WriteOnlyCell(self._sheet, ILLEGAL.sub("", cell))
        text.data_type = "s"  # whatever it begins with: "#N/A" is no error here, nor "=1" a formula
        return text

    def save(self, file: IO[bytes]) -> None:
        """Write the workbook."""
        self._book.save(file)


def _flat(row: Sequence[Any], shown: Callable[[str], str]) -> list[Any]:
    """Cells that hold one thing each."""
    texts = ("; ".join(cell) if isinstance(cell, list) else cell for cell in row)
    return [shown(cell) if isinstance(cell, str) else cell for cell in texts]


def _pages(rows: Rows) -> Iterator[list[Sequence[Any]]]:
    left = iter(rows)
    while page := list(islice(left, _PAGE)):
        yield page

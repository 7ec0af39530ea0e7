"""Tables that are written for others: pieces of a file, which need not all be in memory at once."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain, islice
from typing import Any

from simlabel.support.text import for_spreadsheet

WRITTEN = ("csv", "jsonl", "xlsx")
_PAGE = 500  # rows in a piece
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
        csv.writer(stream, lineterminator="\n").writerows(page)
        yield stream.getvalue().encode()


def _excel(rows: Rows) -> Iterator[bytes]:
    try:
        from openpyxl import Workbook
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL
        from openpyxl.cell.cell import WriteOnlyCell
    except ImportError:
        raise ImportError("xlsx needs openpyxl: pip install 'simlabel[excel]'") from None
    book, out = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("items")

    def made(cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        text = WriteOnlyCell(sheet, ILLEGAL.sub("", cell))
        text.data_type = "s"  # whatever it begins with: "#N/A" is no error here, nor "=1" a formula
        return text

    for row in rows:
        sheet.append([made(cell) for cell in row])
    book.save(out)
    return iter([out.getvalue()])


def _flat(row: Sequence[Any], shown: Callable[[str], str]) -> list[Any]:
    """Cells that hold one thing each."""
    texts = ("; ".join(cell) if isinstance(cell, list) else cell for cell in row)
    return [shown(cell) if isinstance(cell, str) else cell for cell in texts]


def _pages(rows: Rows) -> Iterator[list[Sequence[Any]]]:
    left = iter(rows)
    while page := list(islice(left, _PAGE)):
        yield page

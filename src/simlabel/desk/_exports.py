"""Items and tags that go out: CSV, JSON Lines and xlsx, a few rows at a time where the format allows it."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from typing import Any

from simlabel.desk._problems import DeskError
from simlabel.desk._store import DeskStore
from simlabel.support.text import for_spreadsheet

FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_PAGE = 500
_OWN = ("name", "status", "tags", "rejected")


def exported(store: DeskStore, format: str) -> Iterator[bytes]:
    """Pieces of a file with all items; nothing in it is a formula to a spreadsheet."""
    if format == "jsonl":
        return (
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in page).encode()
            for page in _pages(store)
        )
    return _csv(_table(store)) if format == "csv" else iter([_xlsx(_table(store))])


def _pages(store: DeskStore) -> Iterator[list[dict[str, Any]]]:
    named = "SELECT json_group_array(name) FROM (SELECT l.name FROM tags t JOIN labels l ON l.id = t.label "
    named += "WHERE t.item = items.id AND t.state = '{}' ORDER BY l.name)"
    query = (
        f"SELECT id, name, status, ({named.format('present')}) AS tags, "
        f"({named.format('rejected')}) AS rejected, content FROM items "
        "WHERE id > ? AND status <> 'removed' ORDER BY id LIMIT ?"
    )
    last = 0
    while rows := store.rows(query, last, _PAGE):
        last = rows[-1]["id"]
        yield [
            {name: row[name] for name in ("name", "status")}
            | {name: json.loads(row[name]) for name in ("tags", "rejected", "content")}
            for row in rows
        ]


def _table(store: DeskStore) -> Iterator[list[list[Any]]]:
    """Headings, then pages of rows, as a spreadsheet may have them."""
    query = "SELECT DISTINCT j.key FROM items, json_each(items.content) j WHERE status <> 'removed'"
    columns = [row["key"] for row in store.rows(query)]
    yield [[_cell(name) for name in (*_OWN, *columns)]]
    for page in _pages(store):
        cells = [
            [row[name] for name in _OWN] + [row["content"].get(name) for name in columns] for row in page
        ]
        yield [[_cell(value) for value in row] for row in cells]


def _cell(value: Any) -> Any:
    text = "; ".join(value) if isinstance(value, list) else value
    return for_spreadsheet(text) if isinstance(text, str) else text


def _csv(table: Iterator[list[list[Any]]]) -> Iterator[bytes]:
    for page in table:
        stream = io.StringIO()
        csv.writer(stream, lineterminator="\n").writerows(page)
        yield stream.getvalue().encode()


def _xlsx(table: Iterator[list[list[Any]]]) -> bytes:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError:
        raise DeskError("xlsx needs openpyxl: pip install 'simlabel[excel]'; or take CSV.") from None
    book = Workbook(write_only=True)
    sheet = book.create_sheet("items")

    def cell(value: Any) -> Any:
        try:
            made = WriteOnlyCell(sheet, value)
        except IllegalCharacterError:
            made = WriteOnlyCell(sheet, "".join(c for c in value if c.isprintable()))
        if isinstance(made.value, str):
            made.data_type = "s"  # a text, whatever it begins with
        return made

    for page in table:
        for row in page:
            sheet.append([cell(value) for value in row])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()

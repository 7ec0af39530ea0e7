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
        for page in _pages(store):
            yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in page).encode()
    elif format == "csv":
        yield from _csv(store)
    else:
        yield _xlsx(store)


def _columns(store: DeskStore) -> list[str]:
    rows = store.rows(
        "SELECT DISTINCT j.key FROM items, json_each(items.content) j WHERE status <> 'removed'"
    )
    return [row["key"] for row in rows]


def _pages(store: DeskStore) -> Iterator[list[dict[str, Any]]]:
    last = 0
    while True:
        with store.reading() as db:
            rows = db.execute(
                "SELECT id, name, content, status FROM items WHERE id > ? AND status <> 'removed' "
                "ORDER BY id LIMIT ?",
                (last, _PAGE),
            ).fetchall()
            if not rows:
                return
            tags: dict[tuple[int, str], list[str]] = {}
            for item, state, name in db.execute(
                "SELECT t.item, t.state, l.name FROM tags t JOIN labels l ON l.id = t.label "
                "WHERE t.item BETWEEN ? AND ? ORDER BY l.name",
                (rows[0]["id"], rows[-1]["id"]),
            ):
                tags.setdefault((item, state), []).append(name)
        last = rows[-1]["id"]
        yield [
            {
                "name": row["name"],
                "status": row["status"],
                "tags": tags.get((row["id"], "present"), []),
                "rejected": tags.get((row["id"], "rejected"), []),
                "content": json.loads(row["content"]),
            }
            for row in rows
        ]


def _cells(row: dict[str, Any], columns: list[str]) -> list[Any]:
    own = [row["name"], row["status"], "; ".join(row["tags"]), "; ".join(row["rejected"])]
    values = own + [row["content"].get(name) for name in columns]
    texts = ["; ".join(value) if isinstance(value, list) else value for value in values]
    return [for_spreadsheet(value) if isinstance(value, str) else value for value in texts]


def _headings(columns: list[str]) -> list[str]:
    return [for_spreadsheet(name) for name in (*_OWN, *columns)]


def _csv(store: DeskStore) -> Iterator[bytes]:
    columns, stream = _columns(store), io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(_headings(columns))
    for page in _pages(store):
        writer.writerows(_cells(row, columns) for row in page)
        yield stream.getvalue().encode()
        stream.seek(0)
        stream.truncate()
    yield stream.getvalue().encode()


def _xlsx(store: DeskStore) -> bytes:
    try:
        from openpyxl import Workbook
        from openpyxl.cell import WriteOnlyCell
        from openpyxl.utils.exceptions import IllegalCharacterError
    except ImportError:
        raise DeskError("xlsx needs openpyxl: pip install 'simlabel[excel]'; or take CSV.") from None
    book, columns = Workbook(write_only=True), _columns(store)
    sheet = book.create_sheet("items")

    def cell(value: Any) -> Any:
        try:
            made = WriteOnlyCell(sheet, value)
        except IllegalCharacterError:
            made = WriteOnlyCell(sheet, "".join(c for c in value if c.isprintable()))
        if isinstance(made.value, str):
            made.data_type = "s"  # a text, whatever it begins with
        return made

    sheet.append([cell(name) for name in _headings(columns)])
    for page in _pages(store):
        for row in page:
            sheet.append([cell(value) for value in _cells(row, columns)])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()

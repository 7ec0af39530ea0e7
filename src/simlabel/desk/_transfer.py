"""Tables that come in, in the background and after a crash from where it was; and items that go out."""

from __future__ import annotations

import csv
import io
import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from simlabel.desk._changes import NewItem, add_items, checked_name
from simlabel.desk._journal import By
from simlabel.desk._problems import DeskError, NotFound
from simlabel.desk._store import DeskStore
from simlabel.support.text import for_spreadsheet

FORMATS = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_CHUNK = 100  # rows in one transaction: others wait no longer than that takes
_MOST_PROBLEMS = 100
_PAGE = 500  # items that are read at once
_OWN = ("name", "status", "tags", "rejected")
_Text = Annotated[str, Field(min_length=1, max_length=300)]


class ImportOptions(BaseModel):
    """How a table is read."""

    name: Annotated[_Text, Field(description="The file's.")] = "table"
    label_column: Annotated[_Text | None, Field(description="The column of tags.")] = None
    separator: Annotated[_Text | None, Field(description="Stands between tags; else found out.")] = None
    id_column: Annotated[_Text | None, Field(description="The column of items' names.")] = None
    done: Annotated[bool, Field(description="Whether tags that a row with tags lacks are absent.")] = True


class Imports:
    """Import jobs, one after the other."""

    def __init__(self, store: DeskStore, applied: Callable[[], None]) -> None:
        self._store, self._applied = store, applied
        self._incoming = store.places.incoming
        self._wake, self._closed = threading.Event(), False
        self._thread = threading.Thread(target=self._work, name="imports", daemon=True)

    def start(self) -> None:
        """Go on with what a crash has interrupted, then with what comes."""
        if not self._store.read_only:
            self._incoming.mkdir(parents=True, exist_ok=True)
            waiting = self._store.rows("SELECT id FROM jobs WHERE state = 'waiting'")
            for left in {path.name for path in self._incoming.iterdir()} - {
                str(row["id"]) for row in waiting
            }:
                (self._incoming / left).unlink()  # came in by half
            self._thread.start()
            self._wake.set()

    def place(self) -> Path:
        """Where a file is written while it comes in."""
        self._incoming.mkdir(parents=True, exist_ok=True)
        return self._incoming / f"half-{secrets.token_hex(8)}"

    def add(self, actor: str, file: Path, options: ImportOptions) -> int:
        """Take a file that is whole; the number of the job."""
        data = {"options": options.model_dump(), "updated": 0, "problems": [], "total": None}
        values = (actor, self._store.clock(), json.dumps(data))

        def work(db: sqlite3.Connection) -> int:
            query = "INSERT INTO jobs (state, actor, at, data) VALUES ('waiting', ?, ?, ?) RETURNING id"
            (number,) = db.execute(query, values).fetchone()
            file.rename(self._incoming / str(number))
            return int(number)

        number = self._store.wrote(work)
        self._wake.set()
        return number

    def close(self) -> None:
        """Stop after the present chunk; the rest is done when the desk is opened again."""
        self._closed = True
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def _work(self) -> None:
        query = "SELECT id, actor, done, data FROM jobs WHERE state = 'waiting' ORDER BY id LIMIT 1"
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            while not self._closed and (rows := self._store.rows(query)):
                number, actor, done, data = rows[0]
                self._run(number, actor, done, json.loads(data))

    def _run(self, number: int, actor: str, done: int, data: dict[str, Any]) -> None:
        file, state = self._incoming / str(number), "done"

        def take(db: sqlite3.Connection, state: str, new: list[NewItem], upto: int) -> None:
            """Some rows, and the note that they are in: both or neither."""
            data["updated"] += add_items(By(db, actor, self._store.clock()), new).updated
            values = (upto, json.dumps(data), state, number)
            db.execute("UPDATE jobs SET done = ?, data = ?, state = ? WHERE id = ?", values)

        upto = 0
        try:
            for rows, problems, total in _chunks(file, ImportOptions(**data["options"])):
                if self._closed:
                    return  # the rest when the desk is opened again
                start, upto = upto, upto + len(rows)
                if upto > done or not rows:
                    data["total"], data["problems"] = total, (data["problems"] + problems)[:_MOST_PROBLEMS]
                    new = [row for row in rows[max(0, done - start) :] if row is not None]
                    self._store.wrote(partial(take, state="waiting", new=new, upto=upto))
                    self._applied()
        except Exception as error:
            if self._closed:
                return
            state = "failed"
            said = "The file is gone; import it again." if not file.exists() else str(error)[:300]
            data["problems"].append({"row": None, "problem": said})
        file.unlink(missing_ok=True)
        self._store.wrote(partial(take, state=state, new=[], upto=max(done, upto)))
        self._applied()


def _chunks(
    file: Path, options: ImportOptions
) -> Iterator[tuple[list[NewItem | None], list[dict[str, Any]], int]]:
    """Rows of a file as items, None where one cannot be taken; what is wrong; how many there are."""
    from simlabel.datasets import read_table
    from simlabel.tables import label_sets, separator_for

    table = read_table(file)
    frame, names = table.frame, [str(name) for name in table.frame.columns]
    for what in ("label_column", "id_column"):
        if (name := getattr(options, what)) is not None and name not in names:
            raise NotFound(f"{what}: there is no column {name!r}; there are {', '.join(map(repr, names))}.")
    given: list[Any] = [None] * len(frame)
    tags = given
    if options.label_column is not None:
        given = frame[options.label_column].tolist()
        tags = label_sets(given, separator_for(given, options.separator or "auto"))
    problems = [{"row": problem.line, "problem": problem.what} for problem in table.problems]
    rows = enumerate(zip(frame.itertuples(index=False, name=None), given, tags, strict=True), start=1)
    for _ in range(0, max(1, len(frame)), _CHUNK):
        made: list[NewItem | None] = []
        for place, (cells, told, labels) in islice(rows, _CHUNK):
            row, done = dict(zip(names, cells, strict=True)), options.done and told is not None
            try:
                made.append(_item(row, options, sorted(labels or ()), done, place))
            except DeskError as error:
                made.append(None)
                problems.append({"row": place, "problem": str(error)})
        yield made, problems, len(frame)
        problems = []


def _item(row: dict[str, Any], options: ImportOptions, tags: list[str], done: bool, place: int) -> NewItem:
    row.pop(options.label_column or "", None)
    name = row.get(options.id_column or "")
    name = f"{options.name}, row {place}" if name is None else str(name)
    tags = [checked_name(tag, "label") for tag in tags]
    content = {column: plain_cell(value) for column, value in row.items()}
    return NewItem(content, checked_name(name, "name"), tags, done)


def plain_cell(value: Any) -> Any:
    """A cell as JSON can hold it; None for what is not a number."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, list | tuple):
        return [str(part) for part in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, int | float):
        return value if abs(value) < float("inf") else None
    return None if value != value else str(value)


def exported(store: DeskStore, format: str) -> Iterator[bytes]:
    """Pieces of a file with all items; nothing in it is a formula to a spreadsheet."""
    if format == "jsonl":
        lines = (
            "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in page) for page in _pages(store)
        )
        return (text.encode() for text in lines)
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
        own = ([row[name] for name in _OWN] for row in page)
        content = ([row["content"].get(name) for name in columns] for row in page)
        yield [[_cell(value) for value in (*a, *b)] for a, b in zip(own, content, strict=True)]


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
        from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE as ILLEGAL
        from openpyxl.cell.cell import WriteOnlyCell
    except ImportError:
        raise DeskError("xlsx needs openpyxl: pip install 'simlabel[excel]'; or take CSV.") from None
    book, out = Workbook(write_only=True), io.BytesIO()
    sheet = book.create_sheet("items")

    def made(cell: Any) -> Any:
        if not isinstance(cell, str):
            return cell
        text = WriteOnlyCell(sheet, ILLEGAL.sub("", cell))
        text.data_type = "s"  # whatever it begins with: "#N/A" is no error here, nor "=1" a formula
        return text

    for row in chain.from_iterable(table):
        sheet.append([made(cell) for cell in row])
    book.save(out)
    return out.getvalue()

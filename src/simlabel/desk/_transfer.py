"""Tables that come in, in the background and after a crash from where it was; and items that go out."""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

from simlabel.desk._changes import NewItem, add_items, checked_name
from simlabel.desk._journal import By
from simlabel.desk._problems import DeskError, NotFound, StoreError, Unwritable
from simlabel.desk._schema import files_in
from simlabel.desk._store import DeskStore, Together

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
        self._closed = False
        self._jobs: Together[int, None] = Together("imports", 1, self._run)

    def start(self) -> None:
        """Go on with what a crash has interrupted, then with what comes."""
        if self._store.read_only:
            return
        self._incoming.mkdir(parents=True, exist_ok=True)
        waiting = [row["id"] for row in self._store.rows("SELECT id FROM jobs WHERE state = 'waiting'")]
        for file in files_in(self._incoming):
            if file.name not in map(str, waiting) or file.is_symlink():
                file.unlink(missing_ok=True)  # came in by half, or is none of ours
        for number in waiting:
            self._jobs.ask(number)

    def place(self) -> Path:
        """Where a file is written while it comes in."""
        self._incoming.mkdir(parents=True, exist_ok=True)
        return self._incoming / f"half-{secrets.token_hex(8)}"

    def take(self, by: By, file: Path, options: ImportOptions) -> int:
        """Take a file that is whole, as part of a change; the number of the job."""
        data = {"options": options.model_dump(), "updated": 0, "problems": [], "total": None}
        query = "INSERT INTO jobs (state, actor, at, data) VALUES ('waiting', ?, ?, ?) RETURNING id"
        number = int(by.one(query, by.actor, by.at, json.dumps(data))[0])
        file.rename(self._incoming / str(number))
        return number

    def begin(self, number: int) -> Future[None]:
        """Have a job run, unless it has; the future ends with it."""
        return self._jobs.ask(number)

    def close(self) -> None:
        """Stop after the present chunk; the rest is done when the desk is opened again."""
        self._closed = True
        self._jobs.close()

    def _run(self, asked: list[int]) -> list[Exception | None]:
        query = "SELECT id, actor, done, data FROM jobs WHERE id = ? AND state = 'waiting'"
        try:
            for number, actor, done, data in [] if self._closed else self._store.rows(query, *asked):
                self._import(number, actor, done, json.loads(data))
        except DeskError as error:  # as on a full disk: the rest when the desk is opened again
            return [error]
        return [None]

    def _import(self, number: int, actor: str, done: int, data: dict[str, Any]) -> None:
        file, state = self._incoming / str(number), "done"

        def take(db: sqlite3.Connection, state: str, new: list[NewItem], upto: int) -> None:
            """Some rows, and the note that they are in: both or neither."""
            data["updated"] += add_items(By(db, actor, self._store.clock(), leases=False), new).updated
            values = (upto, json.dumps(data), state, number)
            db.execute("UPDATE jobs SET done = ?, data = ?, state = ? WHERE id = ?", values)

        upto = 0
        try:
            for upto, new, problems, total in _chunks(file, ImportOptions(**data["options"])):
                if self._closed:
                    return  # the rest when the desk is opened again
                if upto > done or not total:
                    data["total"], data["problems"] = total, (data["problems"] + problems)[:_MOST_PROBLEMS]
                    self._store.wrote(partial(take, state="waiting", new=new, upto=upto))
                    self._applied()
        except (StoreError, Unwritable):
            raise  # nothing can be noted now: the file stays
        except Exception as error:
            if self._closed:
                return
            state = "failed"
            said = "The file is gone; import it again." if not file.exists() else str(error)[:300]
            data["problems"].append({"row": None, "problem": said})
        self._store.wrote(partial(take, state=state, new=[], upto=max(done, upto)))
        file.unlink(missing_ok=True)
        self._applied()


def _chunks(
    file: Path, options: ImportOptions
) -> Iterator[tuple[int, list[NewItem], list[dict[str, Any]], int]]:
    """The rows of a file some at a time: up to which, as items, what cannot be taken, and how many in all."""
    from simlabel.datasets import read_table
    from simlabel.tables import label_sets, separator_for

    table = read_table(file)
    frame, names = table.frame, table.frame.columns.tolist()
    for what in ("label_column", "id_column"):
        if (name := getattr(options, what)) is not None and name not in names:
            raise NotFound(f"{what}: there is no column {name!r}; there are {', '.join(map(repr, names))}.")
    given = tags = [None] * len(frame)
    if options.label_column is not None:
        given = [_told(cell) for cell in frame[options.label_column].tolist()]
        tags = label_sets(given, separator_for(given, options.separator or "auto"))
    problems = [{"row": problem.line, "problem": problem.what} for problem in table.problems]
    rows = enumerate(zip(table.records(), given, tags, strict=True), start=1)
    for start in range(0, max(1, len(frame)), _CHUNK):
        made: list[NewItem] = []
        for place, (row, told, labels) in islice(rows, _CHUNK):
            try:
                made.append(_item(row, options, labels or (), told is not None, place))
            except DeskError as error:
                problems.append({"row": place, "problem": str(error)})
        yield min(start + _CHUNK, len(frame)), made, problems, len(frame)
        problems = []


def _told(cell: Any) -> Any:
    """What a row says of its labels: None for nothing, a number as its digits."""
    if isinstance(cell, float):
        return None if cell != cell else f"{cell:.15g}"
    return str(cell) if isinstance(cell, int) else cell


def _item(
    row: dict[str, Any], options: ImportOptions, tags: Iterable[str], told: bool, place: int
) -> NewItem:
    row.pop(options.label_column or "", None)
    name = row.get(options.id_column or "")
    name = f"{options.name}, row {place}" if name is None else str(name)
    tags = [checked_name(tag, "label") for tag in sorted(tags)]
    return NewItem(row, checked_name(name, "name"), tags, options.done and told)


def exported(store: DeskStore, format: str) -> Iterator[bytes]:
    """Pieces of a file with all items; nothing in it is a formula to a spreadsheet."""
    from simlabel.datasets import table_pieces

    if format == "jsonl":
        return table_pieces([*_OWN, "content"], _rows(store), format)
    query = "SELECT DISTINCT j.key FROM items, json_each(items.content) j WHERE status <> 'removed'"
    columns = [row["key"] for row in store.rows(query)]
    rows = ([*own, *map(content.get, columns)] for *own, content in _rows(store))
    try:
        return table_pieces([*_OWN, *columns], rows, format)
    except ImportError as error:
        raise DeskError(f"{error}; or take CSV.") from None


def _rows(store: DeskStore) -> Iterator[list[Any]]:
    """What `_OWN` names, and the content, of all items."""
    named = "SELECT json_group_array(name) FROM (SELECT l.name FROM tags t JOIN labels l ON l.id = t.label "
    named += "WHERE t.item = items.id AND t.state = '{}' ORDER BY l.name)"
    query = f"SELECT id, name, status, ({named.format('present')}), ({named.format('rejected')}), content "
    query += "FROM items WHERE id > ? AND status <> 'removed' ORDER BY id LIMIT ?"
    last = 0
    while page := store.rows(query, last, _PAGE):
        last = page[-1]["id"]
        for _, name, status, *texts in page:
            yield [name, status, *map(json.loads, texts)]

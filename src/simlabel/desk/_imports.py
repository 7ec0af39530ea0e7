"""Tables that come in: in the background, a few rows at a time, and after a crash from where it was."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

from simlabel.desk._changes import NewItem, add_items, checked_name
from simlabel.desk._journal import By
from simlabel.desk._problems import DeskError, NotFound
from simlabel.desk._store import DeskStore

_CHUNK = 100  # rows in one transaction: others wait no longer than that takes
_MOST_PROBLEMS = 100


@dataclass(frozen=True)
class ImportOptions:
    """How a table is read.

    Attributes
    ----------
    name : str
        The file's.
    label_column, id_column : str or None
        The columns of tags, and of what items are called; None where there are none.
    separator : str or None
        What stands between tags; None to find out.
    done : bool
        Whether items with tags are done, so that tags they lack are absent.
    """

    name: str
    label_column: str | None = None
    separator: str | None = None
    id_column: str | None = None
    done: bool = True


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
            known = {
                str(row["id"]) for row in self._store.rows("SELECT id FROM jobs WHERE state = 'waiting'")
            }
            for left in self._incoming.iterdir():
                if left.name not in known:
                    left.unlink()  # came in by half
            self._thread.start()
            self._wake.set()

    def place(self) -> Path:
        """Where a file is written while it comes in."""
        self._incoming.mkdir(parents=True, exist_ok=True)
        return self._incoming / f"half-{secrets.token_hex(8)}"

    def add(self, actor: str, file: Path, options: ImportOptions) -> int:
        """Take a file that is whole; the number of the job."""
        data = {"options": asdict(options), "updated": 0, "problems": [], "total": None}
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
                self._run(_Job(number, actor, done, json.loads(data)), self._incoming / str(number))

    def _run(self, job: _Job, file: Path) -> None:
        state = "done"
        try:
            if not file.exists():
                raise DeskError("The file is gone; import it again.")
            self._take(job, file)
        except Exception as error:
            state = "failed"
            job.data["problems"].append({"row": None, "problem": str(error)[:300]})
        if self._closed:
            return  # the rest when the desk is opened again
        file.unlink(missing_ok=True)
        self._store.wrote(lambda db: job.save(db, state))
        self._applied()

    def _take(self, job: _Job, file: Path) -> None:
        upto = 0
        for rows, problems, total in _chunks(file, ImportOptions(**job.data["options"])):
            start, upto = upto, upto + len(rows)
            if self._closed:
                return
            if upto <= job.done and rows:
                continue
            job.data["total"] = total
            job.data["problems"] = (job.data["problems"] + problems)[:_MOST_PROBLEMS]
            new = [row for row in rows[max(0, job.done - start) :] if row is not None]
            self._store.wrote(partial(job.take, at=self._store.clock(), new=new, upto=upto))
            self._applied()


@dataclass
class _Job:
    """An import as it stands: `done` rows are in."""

    number: int
    actor: str
    done: int
    data: dict[str, Any]

    def save(self, db: sqlite3.Connection, state: str = "waiting") -> None:
        """Write how far it is."""
        values = (self.done, json.dumps(self.data), state, self.number)
        db.execute("UPDATE jobs SET done = ?, data = ?, state = ? WHERE id = ?", values)

    def take(self, db: sqlite3.Connection, at: float, new: list[NewItem], upto: int) -> None:
        """Some rows, and the note that they are in: both or neither."""
        self.data["updated"] += add_items(By(db, self.actor, at), new).updated
        self.done = upto
        self.save(db)


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
    rows = frame.itertuples(index=False, name=None)
    for start in range(0, max(1, len(frame)), _CHUNK):
        made: list[NewItem | None] = []
        for place in range(start, min(start + _CHUNK, len(frame))):
            row = dict(zip(names, next(rows), strict=True))
            done = options.done and given[place] is not None
            try:
                made.append(_item(row, options, sorted(tags[place] or ()), done, place))
            except DeskError as error:
                made.append(None)
                problems.append({"row": place + 1, "problem": str(error)})
        yield made, problems, len(frame)
        problems = []


def _item(row: dict[str, Any], options: ImportOptions, tags: list[str], done: bool, place: int) -> NewItem:
    row.pop(options.label_column or "", None)
    name = row.get(options.id_column or "")
    name = f"{options.name}, row {place + 1}" if name is None else str(name)
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

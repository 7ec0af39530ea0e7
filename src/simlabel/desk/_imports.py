"""Tables that come in: in the background, a few rows at a time, and after a crash from where it was."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from simlabel.desk._changes import NewItem, Who, add_items, checked_name
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
    label_column : str or None
        The column of tags; None where there are none.
    separator : str or None
        What stands between tags; None to find out.
    id_column : str or None
        The column by which items are called; None for the file's name and the row.
    done : bool
        Whether items with tags are done, so that tags they lack are absent.
    """

    name: str
    label_column: str | None = None
    separator: str | None = None
    id_column: str | None = None
    done: bool = True


@dataclass
class _Job:
    """An import as it stands: `done` rows are in."""

    number: int
    actor: str
    done: int
    data: dict[str, Any]
    file: Path | None

    def saved(self, db: sqlite3.Connection, state: str = "waiting") -> None:
        """Write how far it is."""
        values = (self.done, json.dumps(self.data), state, self.number)
        db.execute("UPDATE jobs SET done = ?, data = ?, state = ? WHERE id = ?", values)


class Imports:
    """Import jobs, one after the other."""

    def __init__(self, store: DeskStore, applied: Callable[[], None]) -> None:
        self._store, self._applied = store, applied
        self._wake = threading.Event()
        self._closed = False
        self._thread = threading.Thread(target=self._work, name="imports", daemon=True)

    def start(self) -> None:
        """Go on with what a crash has interrupted, then with what comes."""
        if not self._store.read_only:
            self._store.places.incoming.mkdir(parents=True, exist_ok=True)
            known = {row["id"] for row in self._store.rows("SELECT id FROM jobs WHERE state = 'waiting'")}
            for left in self._store.places.incoming.iterdir():
                if left.name not in map(str, known):
                    left.unlink()  # came in by half
            self._thread.start()
            self._wake.set()

    def place(self) -> Path:
        """Where a file is written while it comes in."""
        return self._store.places.incoming / f"half-{secrets.token_hex(8)}"

    def add(self, actor: str, file: Path, options: ImportOptions) -> int:
        """Take a file that is whole; the number of the job."""
        at = self._store.clock()
        data = json.dumps({"options": asdict(options), "updated": 0, "problems": [], "total": None})

        def work(db: sqlite3.Connection) -> int:
            found = db.execute(
                "INSERT INTO jobs (kind, state, actor, at, data) VALUES ('import', 'waiting', ?, ?, ?)",
                (actor, at, data),
            )
            number = found.lastrowid
            assert number is not None
            file.rename(self._store.places.incoming / str(number))
            return number

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
        while not self._closed:
            self._wake.wait()
            self._wake.clear()
            while not self._closed and (job := self._next()) is not None:
                self._run(job)

    def _next(self) -> _Job | None:
        rows = self._store.rows(
            "SELECT id, actor, done, data FROM jobs WHERE state = 'waiting' ORDER BY id LIMIT 1"
        )
        if not rows:
            return None
        file = self._store.places.incoming / str(rows[0]["id"])
        number, actor, done, data = rows[0]
        return _Job(number, actor, done, json.loads(data), file if file.exists() else None)

    def _run(self, job: _Job) -> None:
        state = "done"
        try:
            if job.file is None:
                raise DeskError("The file is gone; import it again.")
            self._rows(job, job.file)
        except Exception as error:
            state = "failed"
            job.data["problems"].append({"row": None, "problem": str(error)[:300]})
        if self._closed:
            return  # the rest when the desk is opened again
        if job.file is not None:
            job.file.unlink(missing_ok=True)
        self._store.wrote(lambda db: job.saved(db, state))
        self._applied()

    def _rows(self, job: _Job, file: Path) -> None:
        options = ImportOptions(**job.data["options"])
        start = 0
        for rows, problems, total in _chunks(file, options):
            start, stop = start + len(rows), start
            if self._closed:
                return
            if start <= job.done and rows:
                continue
            job.data["total"] = total
            job.data["problems"] = (job.data["problems"] + problems)[:_MOST_PROBLEMS]
            self._store.wrote(_Chunk(job, rows[max(0, job.done - stop) :], start, self._store.clock()))
            self._applied()


@dataclass(frozen=True)
class _Chunk:
    """Some rows of a job, and the note that they are in: both or neither."""

    job: _Job
    rows: list[NewItem | None]
    upto: int
    at: float

    def __call__(self, db: sqlite3.Connection) -> None:
        items = [item for item in self.rows if item is not None]
        self.job.data["updated"] += add_items(db, Who(self.job.actor, self.at), items).updated
        self.job.done = self.upto
        self.job.saved(db)


def _chunks(
    file: Path, options: ImportOptions
) -> Iterator[tuple[list[NewItem | None], list[dict[str, Any]], int]]:
    """Rows of a file as items, None where one cannot be taken; what is wrong; how many there are."""
    from simlabel.datasets import read_table
    from simlabel.tables import label_sets, separator_for

    table = read_table(file)
    frame = table.frame
    names = [str(name) for name in frame.columns]
    _check_columns(names, options)
    tags: list[Any] = [None] * len(frame)
    given = tags
    if options.label_column is not None:
        given = frame[options.label_column].tolist()
        tags = label_sets(given, separator_for(given, options.separator or "auto"))
    problems = [{"row": problem.line, "problem": problem.what} for problem in table.problems]
    rows = frame.itertuples(index=False, name=None)
    for start in range(0, max(1, len(frame)), _CHUNK):
        made: list[NewItem | None] = []
        for place in range(start, min(start + _CHUNK, len(frame))):
            try:
                row = dict(zip(names, next(rows), strict=True))
                done = options.done and given[place] is not None
                made.append(_item(row, options, sorted(tags[place] or ()), done, place))
            except DeskError as error:
                made.append(None)
                problems.append({"row": place + 1, "problem": str(error)})
        yield made, problems, len(frame)
        problems = []


def _check_columns(columns: list[str], options: ImportOptions) -> None:
    for what, name in (("label_column", options.label_column), ("id_column", options.id_column)):
        if name is not None and name not in columns:
            raise NotFound(f"{what}: there is no column {name!r}; there are {', '.join(map(repr, columns))}.")


def _item(row: dict[str, Any], options: ImportOptions, tags: list[str], done: bool, place: int) -> NewItem:
    if options.label_column is not None:
        del row[options.label_column]
    name = None if options.id_column is None else row.get(options.id_column)
    name = f"{options.name}, row {place + 1}" if name is None else str(name)
    for tag in tags:
        checked_name(tag, "label")
    content = {column: plain_cell(value) for column, value in row.items()}
    return NewItem(content, checked_name(name, "name"), tags, done)


def plain_cell(value: Any) -> Any:
    """A cell as JSON can hold it; None for what is not a number."""
    if value is None or value is True or value is False or isinstance(value, str):
        return value
    if isinstance(value, list | tuple):
        return [str(part) for part in value]
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, int | float):
        return value if value == value and abs(value) != float("inf") else None
    return None if value != value else str(value)

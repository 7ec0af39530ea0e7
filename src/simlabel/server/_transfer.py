"""Import of tables in the background, which continues after a crash, and export of items."""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from simlabel.server._changes import NewItem, add_items
from simlabel.server._journal import ChangeContext
from simlabel.server._parsing import ImportedRow, ImportOptions, Part, ReaderCrashed, TableReader
from simlabel.server._schema import files_in
from simlabel.server._store import BatchWorker, ServerStore
from simlabel.server._types import Conflict, ReadOnlyError, ServerError, StoreError

MEDIA_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}
_MAX_PROBLEMS = 100
_ATTEMPTS = 2  # times that a file is read without a new row
_RETRY_SECONDS = 10.0  # until a failed write is repeated
_PAGE = 500  # items that are read at once
_OWN = ("name", "status", "tags", "rejected")


class _Canceled(ServerError, status=409):
    """The import was canceled meanwhile."""


class Imports:
    """Import jobs, which run one after the other."""

    def __init__(self, store: ServerStore, applied: Callable[[], None]) -> None:
        self._store, self._applied = store, applied
        self._incoming = store.places.incoming
        self._closed = threading.Event()
        self._reading: tuple[int, TableReader] | None = None
        self._jobs: BatchWorker[int, None] = BatchWorker("imports", 1, self._run)

    def start(self) -> None:
        """Resume the imports that were interrupted."""
        if self._store.read_only:
            return
        self._incoming.mkdir(parents=True, exist_ok=True)
        waiting = [row["id"] for row in self._store.rows("SELECT id FROM jobs WHERE state = 'waiting'")]
        for file in files_in(self._incoming):
            if file.name not in map(str, waiting) or file.is_symlink():
                file.unlink(missing_ok=True)  # an incomplete upload, or a foreign file
        for number in waiting:
            self._jobs.ask(number)

    def place(self) -> Path:
        """Return a path for a file that is being uploaded."""
        self._incoming.mkdir(parents=True, exist_ok=True)
        return self._incoming / f"half-{secrets.token_hex(8)}"

    def cancel(self, number: int) -> None:
        """Cancel an import; its stored rows stay."""

        def work(db: sqlite3.Connection) -> None:
            query = "UPDATE jobs SET state = 'canceled' WHERE id = ? AND state = 'waiting'"
            if not db.execute(query, (number,)).rowcount:
                raise Conflict(f"Import {number} has ended or does not exist.")

        self._store.write_and_wait(work)
        reading = self._reading
        if reading is not None and reading[0] == number:
            reading[1].stop()
        (self._incoming / str(number)).unlink(missing_ok=True)

    def take(self, by: ChangeContext, file: Path, options: ImportOptions) -> int:
        """Add a job for an uploaded file, as part of a change; return its id."""
        data: dict[str, Any] = dict.fromkeys(("new", "updated", "unchanged", "attempts"), 0)
        data |= {"options": options.model_dump(), "problems": [], "total": None}
        query = "INSERT INTO jobs (state, actor, at, data) VALUES ('waiting', ?, ?, ?) RETURNING id"
        number = int(by.one(query, by.actor, by.at, json.dumps(data))[0])
        file.rename(self._incoming / str(number))
        return number

    def begin(self, number: int) -> Future[None]:
        """Queue a job; the future ends with it."""
        return self._jobs.ask(number)

    def close(self) -> None:
        """Stop after the current part; the import continues when the store is opened again."""
        self._closed.set()
        reading = self._reading
        if reading is not None:
            reading[1].stop()
        self._jobs.close()

    def _run(self, asked: list[int]) -> list[Exception | None]:
        (number,), stuck = asked, False
        while not self._closed.is_set():
            try:
                self._import(number, stuck)
            except (StoreError, ReadOnlyError):  # for example a full disk: the job cannot be updated yet
                stuck = True
                self._closed.wait(_RETRY_SECONDS)
            except _Canceled:
                break
            else:
                break
        return [None]

    def _import(self, number: int, stuck: bool) -> None:
        """Run an import to its end; if writing had failed, earlier attempts do not count."""
        query = "SELECT actor, done, data FROM jobs WHERE id = ? AND state = 'waiting'"
        for actor, done, text in self._store.rows(query, number):
            job = _Job(self._store, number, actor, done, json.loads(text))
            if stuck:
                job.update(attempts=0)
            file = self._incoming / str(number)
            problem = self._read(job, file)
            if self._closed.is_set():
                job.update(attempts=0)
                return  # the import continues when the store is opened again
            job.end(problem)
            file.unlink(missing_ok=True)
            self._applied()

    def _read(self, job: _Job, file: Path) -> str | None:
        """Import the rows of a file; return the problem if it fails."""
        problem = "The server ended while it read the file."
        while job.data["attempts"] < _ATTEMPTS and not self._closed.is_set():
            try:
                with TableReader(file, ImportOptions(**job.data["options"])) as reader:
                    self._reading = job.number, reader  # from here on `close` and `cancel` can stop it
                    job.update(attempts=job.data["attempts"] + 1)
                    for part in () if self._closed.is_set() else reader:
                        if self._closed.is_set():
                            return None
                        job.take(part)
                        self._applied()
                return None
            except ReaderCrashed as error:
                problem = str(error)
            except (StoreError, ReadOnlyError, _Canceled):
                raise
            except Exception as error:
                return str(error)[:300] if file.exists() else "The file does not exist: import it again."
            finally:
                self._reading = None
        return problem


@dataclass
class _Job:
    """A running import. Every write raises `_Canceled` once the import is canceled."""

    store: ServerStore
    number: int
    actor: str
    done: int
    data: dict[str, Any]

    def update(self, **known: Any) -> None:
        """Store some fields of the job's data."""
        self.data |= known
        self.store.write_and_wait(partial(self._write, "waiting", self.done, self.data))

    def take(self, part: Part) -> None:
        """Store some rows and the progress of the job in one transaction."""
        if part.upto <= self.done and part.total:
            return

        def work(db: sqlite3.Connection) -> dict[str, Any]:
            by = ChangeContext(db, self.actor, self.store.clock(), leases=False)
            self._check(db)
            added = add_items(by, [_new_item(by, row) for row in part.rows])
            data = self.data | {"attempts": 0, "total": part.total}
            data["updated"] += added.updated
            data["unchanged"] += added.unchanged
            data["new"] += len(added.ids) - added.updated - added.unchanged
            data["problems"] = [*data["problems"], *part.problems][:_MAX_PROBLEMS]
            self._write("waiting", part.upto, data, db)
            return data

        self.data = self.store.write_and_wait(work)
        self.done = part.upto

    def end(self, problem: str | None) -> None:
        """Store the final state."""
        problems = self.data["problems"] + ([] if problem is None else [{"row": None, "problem": problem}])
        state = "done" if problem is None else "failed"
        self.store.write_and_wait(partial(self._write, state, self.done, self.data | {"problems": problems}))

    def _check(self, db: sqlite3.Connection) -> None:
        found = db.execute("SELECT 1 FROM jobs WHERE id = ? AND state = 'waiting'", (self.number,))
        if found.fetchone() is None:
            raise _Canceled(f"Import {self.number} was canceled.")

    def _write(self, state: str, done: int, data: dict[str, Any], db: sqlite3.Connection) -> None:
        self._check(db)
        values = (state, done, json.dumps(data), self.number)
        db.execute("UPDATE jobs SET state = ?, done = ?, data = ? WHERE id = ?", values)


def _new_item(by: ChangeContext, row: ImportedRow) -> NewItem:
    """Return a row as an item; an existing item that was named by its content keeps its edited content."""
    content = row.content
    if row.by_content:
        known = by.one("SELECT content FROM items WHERE name = ?", row.name)
        content = content if known is None else json.loads(known["content"])
    return NewItem(content, row.name, row.tags, row.done)


def summary(job: dict[str, Any]) -> str:
    """Return the result of an import in one line."""
    rows = f"{job['new']:,} new, {job['updated']:,} updated, {job['unchanged']:,} unchanged"
    problems = f"; {len(job['problems']):,} problems, listed on the page" if job["problems"] else ""
    return f"import of {job['name']}, {job['state']}: {rows}{problems}"


def export_items(store: ServerStore, format: str) -> Iterator[bytes]:
    """Return the pieces of a file with all items; no cell of it is a formula."""
    from simlabel.datasets import table_pieces

    if format == "jsonl":
        return table_pieces([*_OWN, "content"], _rows(store), format)
    query = "SELECT DISTINCT j.key FROM items, json_each(items.content) j WHERE status <> 'removed'"
    columns = [row["key"] for row in store.rows(query)]
    rows = ([*own, *map(content.get, columns)] for *own, content in _rows(store))
    try:
        return table_pieces([*_OWN, *columns], rows, format)
    except (ImportError, ValueError) as error:
        raise ServerError(f"{error} Or use CSV.") from None


def _rows(store: ServerStore) -> Iterator[list[Any]]:
    """Yield the columns `_OWN` and the content of all items."""
    labels = (
        "SELECT json_group_array(name) FROM (SELECT l.name FROM tags t JOIN labels l ON l.id = t.label "
        "WHERE t.item = items.id AND t.state = '{}' ORDER BY l.name)"
    )
    query = (
        f"SELECT id, name, status, ({labels.format('present')}), ({labels.format('rejected')}), content "
        "FROM items WHERE id > ? AND status <> 'removed' ORDER BY id LIMIT ?"
    )
    last = 0
    while page := store.rows(query, last, _PAGE):
        last = page[-1]["id"]
        for _, name, status, *texts in page:
            yield [name, status, *map(json.loads, texts)]

"""One writer, many readers: changes go through a queue to one thread, and are answered when on disk."""

from __future__ import annotations

import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from simlabel.desk._problems import DeskError, DiskFull, StoreError, Unwritable
from simlabel.desk._schema import Places, open_store, read_connection

T = TypeVar("T")
_TOGETHER = 32  # writes that share one transaction, and so one wait for the disk
_READERS = 4


class Clock:
    """Time that never goes back: what the store has last seen, and from then on seconds that passed."""

    def __init__(self, last: float) -> None:
        now = time.time()
        self.behind = max(0.0, last - now)  # how far the machine's clock is behind the journal
        self._start, self._at = max(now, last), time.monotonic()

    def __call__(self) -> float:
        return self._start + time.monotonic() - self._at


@dataclass(frozen=True)
class _Asked:
    """A change that waits for the writer; `alone` where it cannot be within a transaction."""

    change: Callable[[sqlite3.Connection], Any]
    alone: bool
    answer: Future[Any] = field(default_factory=Future)


class DeskStore:
    """The SQLite file of a desk.

    Attributes
    ----------
    read_only : bool
        Whether nothing can be written where it lies.
    clock : Clock
    """

    def __init__(self, places: Places) -> None:
        self.places = places
        self._writer, self.read_only = open_store(places.store)
        (last,) = self._writer.execute("SELECT coalesce(max(at), 0) FROM journal").fetchone()
        self.clock = Clock(last)
        self._waiting: queue.SimpleQueue[_Asked | None] = queue.SimpleQueue()
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        for _ in range(_READERS):
            self._readers.put(read_connection(places.store))
        self._thread = threading.Thread(target=self._work, name="writer", daemon=True)
        self._thread.start()
        self._closed = False

    def write(self, change: Callable[[sqlite3.Connection], T]) -> Future[T]:
        """Have a function make changes; the future has its answer when they are on disk, all or none."""
        return self._put(change, alone=False)

    def _put(self, change: Callable[[sqlite3.Connection], T], alone: bool) -> Future[T]:
        asked = _Asked(change, alone)
        if self._closed:
            asked.answer.set_exception(Unwritable("The desk is closing; ask again when it is back."))
        else:
            self._waiting.put(asked)
        return asked.answer

    def wrote(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """As `write`, waited for."""
        return self.write(change).result()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection within one read: what it sees does not change meanwhile."""
        reader = self._readers.get(timeout=60)
        try:
            reader.execute("BEGIN")
            yield reader
        except sqlite3.DatabaseError as error:
            raise _told(error) from None
        finally:
            if reader.in_transaction:
                reader.execute("ROLLBACK")
            self._readers.put(reader)

    def rows(self, query: str, values: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """The rows of one question."""
        with self.reading() as db:
            return db.execute(query, values).fetchall()

    def shrink(self) -> None:
        """Write the file anew without what was deleted, and empty the log of writes beside it."""

        def work(db: sqlite3.Connection) -> None:
            db.execute("VACUUM")
            for _ in range(200):  # readers that are at it end soon
                busy, *_ = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not busy:
                    return
                time.sleep(0.05)
            raise StoreError("The log of writes could not be emptied: a reader holds it. Ask again.")

        self._put(work, alone=True).result()

    def close(self) -> None:
        """Finish what waits, and leave one file."""
        if self._closed:
            return
        self._closed = True
        self._waiting.put(None)
        self._thread.join()
        while not self._readers.empty():
            self._readers.get().close()
        self._writer.close()

    def _work(self) -> None:
        asked = self._waiting.get()
        while asked is not None:
            batch, asked = self._batch(asked)
            self._together(batch)
            asked = asked or self._waiting.get()

    def _batch(self, first: _Asked) -> tuple[list[_Asked], _Asked | None]:
        """What shares a transaction with the first that waits, and who did not fit in."""
        batch = [first]
        while not first.alone and len(batch) < _TOGETHER and not self._waiting.empty():
            asked = self._waiting.get()
            if asked is None:
                self._waiting.put(None)  # the end is for the next turn
                break
            if asked.alone:
                return batch, asked
            batch.append(asked)
        return batch, None

    def _together(self, batch: list[_Asked]) -> None:
        db = self._writer
        answers: list[tuple[Any, Exception | None]] = []
        try:
            if self.read_only:
                raise sqlite3.OperationalError("attempt to write a readonly database")
            if batch[0].alone:
                answers.append((batch[0].change(db), None))
            else:
                db.execute("BEGIN IMMEDIATE")
                answers = [_one(db, asked.change) for asked in batch]
                db.execute("COMMIT")
        except BaseException as error:
            if db.in_transaction:
                db.execute("ROLLBACK")
            answers = [(None, _told(error))] * len(batch)
        for asked, (answer, problem) in zip(batch, answers, strict=True):
            if problem is None:
                asked.answer.set_result(answer)
            else:
                asked.answer.set_exception(problem)


def _one(db: sqlite3.Connection, change: Callable[[sqlite3.Connection], Any]) -> tuple[Any, Exception | None]:
    """One change by itself: where it fails, the others of the transaction hold."""
    db.execute("SAVEPOINT one")
    try:
        answer = change(db)
    except Exception as error:
        if isinstance(error, sqlite3.OperationalError):
            raise  # the whole transaction is lost, as on a full disk
        db.execute("ROLLBACK TO one")
        db.execute("RELEASE one")
        return None, _told(error)
    db.execute("RELEASE one")
    return answer, None


def _told(error: BaseException) -> Exception:
    """An error of the store in words that say what to do."""
    text = str(error)
    if isinstance(error, DeskError):
        return error
    if isinstance(error, sqlite3.OperationalError) and "full" in text:
        return DiskFull("Nothing was changed. Free some room on the disk, and ask again.")
    if isinstance(error, sqlite3.OperationalError) and "readonly" in text:
        return Unwritable("Nothing was changed: the store lies where this server may only read.")
    if isinstance(error, sqlite3.IntegrityError):
        return error
    if isinstance(error, sqlite3.DatabaseError):
        return StoreError(f"Nothing was changed ({text}). If it happens again, open the last backup.")
    return error if isinstance(error, Exception) else RuntimeError(repr(error))

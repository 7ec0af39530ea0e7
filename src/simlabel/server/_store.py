"""One writer, many readers: changes go through a queue to one thread, and are answered when on disk."""

from __future__ import annotations

import os
import queue
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from simlabel.server._problems import DeskError, DiskFull, NotYet, StoreError, Unwritable
from simlabel.server._schema import VERSION, Places, open_store, read_connection, writable

A = TypeVar("A")
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
_TOGETHER = 32  # writes that share one transaction, and so one wait for the disk
_READERS = 4
_ROOM = 16 << 20  # bytes: with less the disk counts as full, before a change finds out


class Clock:
    """Time that never goes back: what the store has last seen, and from then on seconds that passed."""

    def __init__(self, last: float) -> None:
        now = time.time()
        self.behind = max(0.0, last - now)  # how far the machine's clock is behind the journal
        self._start, self._at = max(now, last), time.monotonic()

    def __call__(self) -> float:
        return self._start + time.monotonic() - self._at


class Together(Generic[A, T]):
    """A thread that takes what waits, up to so many at once, and answers each; an error is an answer too."""

    def __init__(self, name: str, most: int, answer: Callable[[list[A]], Sequence[T | Exception]]) -> None:
        self._waiting: queue.SimpleQueue[tuple[A, Future[T]] | None] = queue.SimpleQueue()
        self._most, self._answer = most, answer
        self._closing, self._closed = threading.Lock(), False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def ask(self, asked: A) -> Future[T]:
        """Have something answered."""
        answer: Future[T] = Future()
        with self._closing:
            if self._closed:
                answer.set_exception(Unwritable("The desk is closing; ask again when it is back."))
            else:
                self._waiting.put((asked, answer))
        return answer

    def close(self) -> None:
        """Answer what waits, and end."""
        with self._closing:
            if not self._closed:
                self._waiting.put(None)
            self._closed = True
        self._thread.join()

    def _work(self) -> None:
        ends = False
        while not ends:
            batch = [self._waiting.get()]
            while batch[-1] is not None and len(batch) < self._most and not self._waiting.empty():
                batch.append(self._waiting.get())
            ends = batch[-1] is None
            # who has gone meanwhile is not answered, and cannot go from here on
            asked = [one for one in batch if one is not None and one[1].set_running_or_notify_cancel()]
            for (_, future), answer in zip(asked, self._answered(asked), strict=True):
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _answered(self, asked: list[tuple[A, Future[T]]]) -> Sequence[T | Exception]:
        try:
            return self._answer([what for what, _ in asked]) if asked else ()
        except Exception as error:  # the thread goes on for those who come later
            return [error] * len(asked)


class DeskStore:
    """The SQLite file of a desk; `read_only` where nothing can be written where it lies."""

    def __init__(self, places: Places) -> None:
        self.places = places
        self._writer, self.read_only = open_store(places.store)
        (last,) = self._writer.execute("SELECT coalesce(max(at), 0) FROM journal").fetchone()
        self.clock = Clock(last)
        self._readers: queue.LifoQueue[sqlite3.Connection] = queue.LifoQueue()
        for _ in range(_READERS):
            self._readers.put(read_connection(places.store))
        self._version, self._known = 0, dict[Any, tuple[int, Any]]()
        self._turn = threading.Lock()
        self._failed: Exception | None = None  # why the last change could not be stored
        self._changes: Together[Work[Any], Any] = Together("writer", _TOGETHER, self._made)

    def write(self, change: Work[T]) -> Future[T]:
        """Have a function make changes; the future has its answer when they are on disk, all or none."""
        return self._changes.ask(change)

    def wrote(self, change: Work[T]) -> T:
        """As `write`, waited for."""
        return self.write(change).result()

    def execute(self, statement: str, *values: Any) -> None:
        """One statement by itself, waited for."""
        self.wrote(lambda db: db.execute(statement, values).rowcount)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection within one read: what it sees does not change meanwhile."""
        try:
            reader = self._readers.get(timeout=60)
        except queue.Empty:
            raise NotYet("The store is busy with other requests; try again.") from None
        try:
            reader.execute("BEGIN")
            yield reader
        except sqlite3.DatabaseError as error:
            raise _told(error) from None
        finally:
            if reader.in_transaction:
                reader.execute("ROLLBACK")
            self._readers.put(reader)

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """The rows of one question."""
        with self.reading() as db:
            return db.execute(query, values).fetchall()

    def read(self, ask: Callable[..., T], *given: Any, **named: Any) -> T:
        """What a function finds in the store."""
        with self.reading() as db:
            return ask(db, *given, **named)

    def remembered(self, ask: Work[T]) -> T:
        """What a function finds in the store; asked again only when something was written since."""
        version, found = self._known.get(ask, (-1, None))
        if version != self._version:
            version = self._version  # before it is asked: what is written meanwhile is asked for again
            found = self.read(ask)
            self._known[ask] = version, found
        return found

    def shrink(self) -> None:
        """Write the file anew without what was deleted, and empty the log of writes beside it."""
        with self._turn:
            self._writer.execute("VACUUM")
            for _ in range(200):  # readers that are at it end soon
                busy, *_ = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not busy:
                    return
                time.sleep(0.05)
        raise StoreError("The log of writes could not be emptied: a reader holds it. Ask again.")

    def problems(self) -> list[str]:
        """What is wrong with the store now: it is looked at, and not only what went wrong before."""
        try:
            self.rows("SELECT 1 FROM journal LIMIT 1")
        except DeskError as error:
            return [str(error)]
        if self.read_only or not writable(self.places.store):
            return ["The store can only be read."]
        if hasattr(os, "statvfs"):
            found = os.statvfs(self.places.store)
            room = found.f_bavail * found.f_frsize
            if room < _ROOM:
                return [f"The disk is full: {room:,} bytes are left."]
        return [f"The last change could not be stored: {self._failed}"] if self._failed else []

    def try_again(self) -> None:
        """After a change that could not be stored, see whether one can be by now."""
        if self._failed is not None:
            self.wrote(lambda db: db.execute(f"PRAGMA user_version = {VERSION}").rowcount)

    def close(self) -> None:
        """Finish what waits, and leave one file."""
        self._changes.close()
        while not self._readers.empty():
            self._readers.get().close()
        self._writer.close()

    def _made(self, batch: list[Work[Any]]) -> list[Any]:
        """The answers of changes that share a transaction."""
        db = self._writer
        with self._turn:
            try:
                if self.read_only:
                    raise sqlite3.OperationalError("attempt to write a readonly database")
                db.execute("BEGIN IMMEDIATE")
                answers = [_one(db, change) for change in batch]
                db.execute("COMMIT")
                self._failed = None
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._failed = _told(error)
                answers = [self._failed] * len(batch)
            self._version += 1
        return answers


def _one(db: sqlite3.Connection, change: Work[Any]) -> Any:
    """The answer to one change, or its error: where it fails, the others of the transaction hold."""
    db.execute("SAVEPOINT one")
    try:
        answer = change(db)
    except sqlite3.OperationalError:
        raise  # the whole transaction is lost, as on a full disk
    except Exception as error:
        db.execute("ROLLBACK TO one")
        answer = _told(error)
    db.execute("RELEASE one")
    return answer


def _told(error: BaseException) -> Exception:
    """An error of the store in words that say what to do."""
    text = str(error)
    if isinstance(error, sqlite3.OperationalError) and "full" in text:
        return DiskFull("Nothing was changed. Free some room on the disk, and ask again.")
    if isinstance(error, sqlite3.OperationalError) and "readonly" in text:
        return Unwritable("Nothing was changed: the store lies where this server may only read.")
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.IntegrityError):
        return StoreError(f"Nothing was changed ({text}). If it happens again, open the last backup.")
    return error if isinstance(error, Exception) else RuntimeError(repr(error))

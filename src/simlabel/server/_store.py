"""The store: one writer thread that groups changes into transactions, and a pool of read connections."""

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

from simlabel.server._schema import VERSION, StorePaths, open_store, read_connection, writable
from simlabel.server._types import DiskFull, NotReady, ReadOnlyError, ServerError, StoreError

A = TypeVar("A")
T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]
_MAX_BATCH = 32  # writes that share one transaction, and so one disk synchronization
_READERS = 4
_ROOM = 16 << 20  # free bytes below which the disk is reported as full


class Clock:
    """A clock that never runs backwards: if the system clock is behind the journal, it starts there."""

    def __init__(self, last: float) -> None:
        now = time.time()
        self.behind = max(0.0, last - now)  # seconds that the system clock is behind the journal
        self._start, self._at = max(now, last), time.monotonic()

    def __call__(self) -> float:
        return self._start + time.monotonic() - self._at


class BatchWorker(Generic[A, T]):
    """A thread that answers waiting requests in batches; exceptions are answers too.

    Parameters
    ----------
    name : str
        The name of the thread.
    most : int
        The maximum size of a batch.
    answer : callable
        Returns one answer for each request of a batch.
    """

    def __init__(self, name: str, most: int, answer: Callable[[list[A]], Sequence[T | Exception]]) -> None:
        self._waiting: queue.SimpleQueue[tuple[A, Future[T]] | None] = queue.SimpleQueue()
        self._most, self._answer = most, answer
        self._closing, self._closed = threading.Lock(), False
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def ask(self, asked: A) -> Future[T]:
        """Submit a request."""
        answer: Future[T] = Future()
        with self._closing:
            if self._closed:
                answer.set_exception(ReadOnlyError("The server is closing: repeat the request later."))
            else:
                self._waiting.put((asked, answer))
        return answer

    def close(self) -> None:
        """Answer the waiting requests and end the thread."""
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
            # requests that were canceled meanwhile are skipped; from here on they cannot be canceled
            asked = [one for one in batch if one is not None and one[1].set_running_or_notify_cancel()]
            for (_, future), answer in zip(asked, self._answers(asked), strict=True):
                if isinstance(answer, Exception):
                    future.set_exception(answer)
                else:
                    future.set_result(answer)

    def _answers(self, asked: list[tuple[A, Future[T]]]) -> Sequence[T | Exception]:
        try:
            return self._answer([what for what, _ in asked]) if asked else ()
        except Exception as error:  # the thread continues with later requests
            return [error] * len(asked)


class ServerStore:
    """The SQLite file of a server; `read_only` if the file or its folder is not writable."""

    def __init__(self, places: StorePaths) -> None:
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
        self._changes: BatchWorker[Work[Any], Any] = BatchWorker("writer", _MAX_BATCH, self._run_batch)

    def write(self, change: Work[T]) -> Future[T]:
        """Run a function that makes changes; the future has its result once all of them are on disk."""
        return self._changes.ask(change)

    def write_and_wait(self, change: Work[T]) -> T:
        """Run a function that makes changes, and wait for its result."""
        return self.write(change).result()

    def execute(self, statement: str, *values: Any) -> None:
        """Execute one statement that makes changes, and wait for it."""
        self.write_and_wait(lambda db: db.execute(statement, values).rowcount)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Provide a connection within a read transaction, which sees one state of the store."""
        try:
            reader = self._readers.get(timeout=60)
        except queue.Empty:
            raise NotReady("The store is busy with other requests: try again.") from None
        try:
            reader.execute("BEGIN")
            yield reader
        except sqlite3.DatabaseError as error:
            raise _with_advice(error) from None
        finally:
            if reader.in_transaction:
                reader.execute("ROLLBACK")
            self._readers.put(reader)

    def rows(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """Return the rows of a query."""
        with self.reading() as db:
            return db.execute(query, values).fetchall()

    def read(self, ask: Callable[..., T], *given: Any, **named: Any) -> T:
        """Return the result of a function that reads the store."""
        with self.reading() as db:
            return ask(db, *given, **named)

    def cached_query(self, ask: Work[T]) -> T:
        """Return the result of a function that reads the store, cached until the next write."""
        version, found = self._known.get(ask, (-1, None))
        if version != self._version:
            version = self._version  # read first: a write during the query makes the result stale
            found = self.read(ask)
            self._known[ask] = version, found
        return found

    def shrink(self) -> None:
        """Rewrite the file without deleted content, and empty the write-ahead log."""
        with self._turn:
            self._writer.execute("VACUUM")
            for _ in range(200):  # until the current readers have finished
                busy, *_ = self._writer.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if not busy:
                    return
                time.sleep(0.05)
        raise StoreError("The write-ahead log could not be emptied, because a reader uses it: try again.")

    def problems(self) -> list[str]:
        """Return the problems of the store. It is checked now; earlier failures alone do not count."""
        try:
            self.rows("SELECT 1 FROM journal LIMIT 1")
        except ServerError as error:
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
        """After a failed write, test whether writing works again."""
        if self._failed is not None:
            self.execute(f"PRAGMA user_version = {VERSION}")

    def close(self) -> None:
        """Finish the waiting changes and close all connections, which leaves a single file."""
        self._changes.close()
        while not self._readers.empty():
            self._readers.get().close()
        self._writer.close()

    def _run_batch(self, batch: list[Work[Any]]) -> list[Any]:
        """Run changes in one transaction; return their results."""
        db = self._writer
        with self._turn:
            try:
                if self.read_only:
                    raise sqlite3.OperationalError("attempt to write a readonly database")
                db.execute("BEGIN IMMEDIATE")
                answers = [_run_one(db, change) for change in batch]
                db.execute("COMMIT")
                self._failed = None
            except BaseException as error:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                self._failed = _with_advice(error)
                answers = [self._failed] * len(batch)
            self._version += 1
        return answers


def _run_one(db: sqlite3.Connection, change: Work[Any]) -> Any:
    """Return the result of one change or its exception; if it fails, the others of the batch stay."""
    db.execute("SAVEPOINT one")
    try:
        answer = change(db)
    except sqlite3.OperationalError:
        raise  # the whole transaction fails, for example if the disk is full
    except Exception as error:
        db.execute("ROLLBACK TO one")
        answer = _with_advice(error)
    db.execute("RELEASE one")
    return answer


def _with_advice(error: BaseException) -> Exception:
    """Return the error of the server that corresponds to an error of SQLite."""
    text = str(error)
    if isinstance(error, sqlite3.OperationalError) and "full" in text:
        return DiskFull("Nothing was changed, because the disk is full. Free some room and try again.")
    if isinstance(error, sqlite3.OperationalError) and "readonly" in text:
        return ReadOnlyError("Nothing was changed: the store's folder is read-only for this server.")
    if isinstance(error, sqlite3.DatabaseError) and not isinstance(error, sqlite3.IntegrityError):
        return StoreError(f"Nothing was changed ({text}). If this happens again, open the last backup.")
    return error if isinstance(error, Exception) else RuntimeError(repr(error))

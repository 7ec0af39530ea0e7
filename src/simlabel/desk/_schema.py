"""The folder of a desk: the tables of its SQLite file, how that is opened and copied, and that one has it."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import tempfile
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path

from simlabel.desk._problems import DeskError, StoreError
from simlabel.support.replacing import replacing

if sys.platform != "win32":
    import fcntl

VERSION = 1  # of the tables below
_APPLICATION = 0x736C6162  # "slab": so that another program's file is not taken for ours

_TABLES = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
-- the truth: what changed, from what to what; everything below up to `tokens` follows from it
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, actor TEXT NOT NULL, kind TEXT NOT NULL,
    changes TEXT NOT NULL, undoes INTEGER, undone_by INTEGER);
CREATE TABLE touched (item INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (item, seq)) WITHOUT ROWID;
CREATE TABLE items (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, content TEXT NOT NULL, status TEXT NOT NULL,
    actor TEXT NOT NULL, at REAL NOT NULL, revision INTEGER NOT NULL, automatic INTEGER NOT NULL DEFAULT 0);
CREATE INDEX items_by_status ON items (status, id);
CREATE INDEX items_by_revision ON items (revision);
CREATE TABLE tags (
    item INTEGER NOT NULL, label INTEGER NOT NULL, state TEXT NOT NULL, source TEXT NOT NULL,
    actor TEXT NOT NULL, at REAL NOT NULL, probability REAL, PRIMARY KEY (item, label)) WITHOUT ROWID;
CREATE INDEX tags_by_label ON tags (label, state, item);
CREATE TABLE labels (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, description TEXT NOT NULL, deleted INTEGER NOT NULL);
CREATE UNIQUE INDEX labels_by_name ON labels (name) WHERE NOT deleted;
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL,
    revoked INTEGER NOT NULL);
-- what was asked to be forgotten: ids alone, and whether every trace is gone
CREATE TABLE forgotten (item INTEGER PRIMARY KEY, seq INTEGER NOT NULL, erased INTEGER NOT NULL DEFAULT 0);
CREATE TABLE leases (item INTEGER PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL);
CREATE TABLE sessions (
    hash TEXT PRIMARY KEY, token INTEGER, csrf TEXT NOT NULL, until REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE answers (
    actor TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL, body TEXT NOT NULL, at REAL NOT NULL,
    PRIMARY KEY (actor, key)) WITHOUT ROWID;
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY, state TEXT NOT NULL, actor TEXT NOT NULL, at REAL NOT NULL,
    done INTEGER NOT NULL DEFAULT 0, data TEXT NOT NULL);
CREATE TABLE quality (at REAL PRIMARY KEY, position INTEGER NOT NULL, data TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE carried (name TEXT PRIMARY KEY, model BLOB NOT NULL);
"""


@dataclass(frozen=True)
class Places:
    """Where a desk keeps what: a folder, or a backup that is opened where it lies."""

    store: Path
    models: Path
    incoming: Path
    lock: Path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Places:
        """A folder that is there or is to be made; of a backup, folders beside it."""
        at = Path(path)
        if at.is_file():
            beside = at.with_name(at.name + ".desk")
            return cls(at, beside / "models", beside / "incoming", beside / "lock")
        return cls(at / "desk.sqlite", at / "models", at / "incoming", at / "lock")


def locked(path: Path) -> ExitStack:
    """What keeps other servers off until it is closed, or the process ends, however it does."""
    lock = ExitStack()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError:
        return lock  # where nothing can be written, two servers do no harm
    lock.callback(os.close, handle)
    try:
        if sys.platform != "win32":
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        with lock:
            holder = os.read(handle, 20).decode("ascii", "replace").strip() or "?"
        told = f"{path.parent} is open in another server (process {holder}). End that one first, or use it."
        raise StoreError(told) from None
    os.ftruncate(handle, 0)
    os.pwrite(handle, str(os.getpid()).encode(), 0)
    return lock


def connect(store: Path, mode: str) -> sqlite3.Connection:
    """A connection that is set up as all of ours are."""
    uri = f"{store.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=30.0, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    connection.execute("PRAGMA temp_store=MEMORY")  # no content in files that nobody looks after
    if mode == "rw":
        for setting in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
            connection.execute(f"PRAGMA {setting}")
    return connection


def read_connection(store: Path) -> sqlite3.Connection:
    """A connection that only reads, also where nothing beside the file can be written."""
    try:
        connection = connect(store, "ro")
        connection.execute("SELECT 1 FROM journal LIMIT 1")
        return connection
    except sqlite3.OperationalError:
        return connect(store, "ro&immutable=1")


def open_store(store: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection to write with, and whether it can only read; a new store is made where there is none.

    Raises
    ------
    StoreError
        Where the file is damaged, of a newer version, or not a desk's.
    """
    if not store.exists():
        create(store)
    try:
        connection, read_only = _opened(store)
        _check(connection, store)
    except sqlite3.DatabaseError as error:
        raise StoreError(
            f"{store} is damaged or no store of a desk ({error}). Keep the folder, and open the last "
            f"backup: simlabel serve BACKUP-FILE."
        ) from None
    return connection, read_only


def create(store: Path) -> None:
    """Make a store, which appears whole: what a kill leaves half made is not taken for one."""
    store.parent.mkdir(parents=True, exist_ok=True)
    made = store.with_name(store.name + ".new")
    made.unlink(missing_ok=True)
    connection = sqlite3.connect(made)
    connection.executescript(
        f"PRAGMA application_id={_APPLICATION}; PRAGMA user_version={VERSION}; BEGIN; {_TABLES} COMMIT;"
    )
    connection.close()
    os.replace(made, store)


def _opened(store: Path) -> tuple[sqlite3.Connection, bool]:
    try:
        connection = connect(store, "rw")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("ROLLBACK")
        return connection, False
    except sqlite3.OperationalError as error:
        if "readonly" not in str(error) and "unable to open" not in str(error):
            raise
    if not os.access(store, os.R_OK):
        raise StoreError(f"{store} cannot be read: its owner must allow it.")
    return read_connection(store), True


def _check(connection: sqlite3.Connection, store: Path) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise StoreError(f"{store} is a database of another program; name a folder of its own.")
    if version > VERSION:
        raise StoreError(
            f"{store} is of a newer simlabel (tables {version}, this one knows {VERSION}); nothing was "
            f"changed. Install the newer one: pip install --upgrade 'simlabel[serve]'."
        )
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(str(found).replace("\n", " ")[:200])


def backup(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Write a desk to one file, the model included; `simlabel serve FILE` opens it. Its size in bytes."""
    places, target = Places.of(path), Path(target)
    if not places.store.exists():
        raise DeskError(f"There is no desk in {path}.")
    if target.is_dir():
        raise DeskError(f"{target} is a folder; name a file.")
    with tempfile.TemporaryDirectory(dir=target.absolute().parent) as beside:
        copy = Path(beside) / "desk.sqlite"
        try:
            _copy(places, copy)
        except sqlite3.DatabaseError as error:
            raise StoreError(f"The desk could not be copied: {error}.") from None
        with copy.open("rb") as source, replacing(target) as file:
            shutil.copyfileobj(source, file)
    return target.stat().st_size


def _copy(places: Places, target: Path) -> None:
    """A store that needs nothing beside it: without who is at what, with the model that counts."""
    with closing(read_connection(places.store)) as source:
        source.execute("VACUUM INTO ?", (str(target),))
    with closing(sqlite3.connect(target, isolation_level=None)) as copy:
        copy.execute("DELETE FROM sessions")
        copy.execute("DELETE FROM leases")
        for (snapshot,) in copy.execute("SELECT value FROM meta WHERE name = 'snapshot'").fetchall():
            name = json.loads(snapshot)["file"]
            try:
                copy.execute(
                    "REPLACE INTO carried VALUES (?, ?)", (name, (places.models / name).read_bytes())
                )
            except FileNotFoundError:  # a newer one took its place meanwhile: it is learnt again
                copy.execute("DELETE FROM meta WHERE name = 'snapshot'")

"""The folder of a tagging server: its paths, the tables of its SQLite file, opening, locking and backups.

Stores, backups and snapshots may come from untrusted sources. All path components are checked in this module.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from simlabel._utils.files import replacing, replacing_path
from simlabel.server._types import ServerError, StoreError

if sys.platform != "win32":
    import fcntl

VERSION = 1  # version of the tables below
_APPLICATION = 0x736C6162  # "slab": identifies files of this program
_STORE = "desk.sqlite"
_SNAPSHOT = re.compile(r"[0-9a-f]{16}\.simlabel")
_MAGIC = b"SQLite format 3\0"
_DAMAGE = (sqlite3.DatabaseError, UnicodeDecodeError)  # the latter if SQLite quotes damaged text
_HEADER = 72  # bytes; they include the format (18, 19), the version (60 to 64) and the application (68 to 72)

_TABLES = """
-- the source of truth: all changes; the tables up to `tokens` are derived from it
CREATE TABLE journal (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, actor TEXT NOT NULL, kind TEXT NOT NULL,
    changes TEXT NOT NULL, undoes INTEGER, undone_by INTEGER) STRICT;
CREATE TABLE touched (
    item INTEGER NOT NULL, seq INTEGER NOT NULL, PRIMARY KEY (item, seq)) STRICT, WITHOUT ROWID;
-- AUTOINCREMENT: ids are never reused, otherwise an old change could refer to another label
CREATE TABLE items (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL UNIQUE,
    content TEXT NOT NULL,
    status TEXT NOT NULL CHECK (status IN ('waiting', 'done', 'removed')),
    actor TEXT NOT NULL, at REAL NOT NULL, revision INTEGER NOT NULL,
    automatic INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE INDEX items_by_status ON items (status, id);
CREATE INDEX items_by_revision ON items (revision);
CREATE TABLE tags (
    item INTEGER NOT NULL, label INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('present', 'rejected')),
    source TEXT NOT NULL, actor TEXT NOT NULL, at REAL NOT NULL, probability REAL,
    PRIMARY KEY (item, label)) STRICT, WITHOUT ROWID;
CREATE INDEX tags_by_label ON tags (label, state, item);
CREATE TABLE labels (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, description TEXT NOT NULL,
    deleted INTEGER NOT NULL) STRICT;
CREATE UNIQUE INDEX labels_by_name ON labels (name) WHERE NOT deleted;
CREATE TABLE label_names (
    label INTEGER NOT NULL, seq INTEGER NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY (label, seq)) STRICT, WITHOUT ROWID;
CREATE TABLE tokens (
    id INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT NOT NULL, role TEXT NOT NULL, hash TEXT NOT NULL,
    revoked INTEGER NOT NULL) STRICT;
-- forgotten items: what is only erased by the next fit (`remains`), and whether everything is erased
CREATE TABLE forgotten (
    item INTEGER PRIMARY KEY, seq INTEGER NOT NULL, remains TEXT NOT NULL,
    erased INTEGER NOT NULL DEFAULT 0) STRICT;
CREATE TABLE leases (item INTEGER PRIMARY KEY, holder TEXT NOT NULL, until REAL NOT NULL) STRICT;
CREATE TABLE sessions (
    hash TEXT PRIMARY KEY, token INTEGER, csrf TEXT NOT NULL, until REAL NOT NULL) STRICT, WITHOUT ROWID;
-- responses to requests with an idempotency key, and the items that they refer to
CREATE TABLE answers (
    id INTEGER PRIMARY KEY, actor TEXT NOT NULL, key TEXT NOT NULL, digest TEXT,
    body TEXT, at REAL NOT NULL, UNIQUE (actor, key)) STRICT;
CREATE TABLE answered (
    item INTEGER NOT NULL, answer INTEGER NOT NULL, PRIMARY KEY (item, answer)) STRICT, WITHOUT ROWID;
CREATE TABLE jobs (
    id INTEGER PRIMARY KEY AUTOINCREMENT, state TEXT NOT NULL, actor TEXT NOT NULL, at REAL NOT NULL,
    done INTEGER NOT NULL DEFAULT 0, data TEXT NOT NULL) STRICT;
CREATE TABLE quality (
    at REAL PRIMARY KEY, position INTEGER NOT NULL, data TEXT NOT NULL
    ) STRICT, WITHOUT ROWID;
-- the last model: the position that it is trained to and that it was fitted at; in a backup its file content
CREATE TABLE snapshot (
    id INTEGER PRIMARY KEY CHECK (id = 1), file TEXT NOT NULL, position INTEGER NOT NULL,
    fitted INTEGER NOT NULL, model BLOB) STRICT;
"""


@dataclass(frozen=True)
class StorePaths:
    """The paths of a tagging server: in a folder, or next to a backup file that is opened in place."""

    store: Path
    models: Path
    incoming: Path

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> StorePaths:
        """Return the paths of a folder, which need not exist, or of a backup file."""
        at = Path(path).resolve()
        if at.is_file() and at.name != _STORE:
            folder = at.with_name(at.name + ".desk")
            return cls(at, folder / "models", folder / "incoming")
        folder = at.parent if at.is_file() else at
        return cls(folder / _STORE, folder / "models", folder / "incoming")

    def make(self) -> None:
        """Create the folders; raise `StoreError` if one is a symbolic link, which could lead anywhere."""
        for folder in (self.models, self.incoming):
            if folder.resolve() != folder:
                raise StoreError(f"{folder} is a link to {folder.resolve()}: remove the link.")
            folder.mkdir(parents=True, exist_ok=True)

    def snapshot(self, name: str) -> Path:
        """Return the path of a model file; raise `StoreError` if this program never writes such a name."""
        file = self.models / name
        if _SNAPSHOT.fullmatch(name) is None or file.resolve() != file:
            raise StoreError(f"The store names a model file {name[:60]!r}, which this program never writes.")
        return file


def files_in(folder: Path) -> Iterator[Path]:
    """Yield the files and links in a folder; subfolders are skipped."""
    if folder.is_dir():
        for entry in os.scandir(folder):
            if not entry.is_dir(follow_symlinks=False):
                yield Path(entry.path)


_locked: set[tuple[int, int]] = set()  # device and inode of the files that this process has locked


def locked(store: Path) -> ExitStack:
    """Lock the file of a store until the returned stack is closed; create the file if it does not exist.

    Raises
    ------
    StoreError
        If another server has locked it by any path, or it is not a store.
    """
    lock, known = ExitStack(), _identity(store)
    busy = StoreError(f"{store} is open in another server: use that one, or stop it first.")
    if known in _locked:  # do not open it: closing it would release the locks that SQLite has in this process
        raise busy
    try:
        create_store(store)
        handle = os.open(store, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    except OSError as error:
        raise StoreError(f"{store} cannot be read ({error.strerror}): its owner must allow it.") from None
    lock.callback(os.close, handle)
    with lock:
        if sys.platform != "win32":
            _flock(handle, busy)
        _check_header(store, os.read(handle, _HEADER))
        identity = _identity(store)
        if identity is not None:
            _locked.add(identity)
            lock.callback(_locked.discard, identity)
        return lock.pop_all()


def _identity(store: Path) -> tuple[int, int] | None:
    try:
        found = os.lstat(store)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise StoreError(f"{store} is not a regular file: remove it, or choose another folder.")
    return found.st_dev, found.st_ino


def _flock(handle: int, busy: StoreError) -> None:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise busy from None
    except OSError:
        pass  # a file system without locks


def _check_header(store: Path, header: bytes) -> None:
    """Refuse foreign files before SQLite opens them, which may change them and files next to them."""
    if header[:16] != _MAGIC:
        raise _damaged(store, "wrong file header")
    version, application = (int.from_bytes(header[at : at + 4]) for at in (60, 68))
    if application != _APPLICATION:
        raise StoreError(f"{store} is a database of another program: choose another folder.")
    if version > VERSION:
        raise StoreError(
            f"{store} was written by a newer simlabel (format {version}, this one reads {VERSION}). Nothing "
            f"was changed. Upgrade: pip install --upgrade 'simlabel[serve]'."
        )
    journal = store.with_name(store.name + "-journal")
    if os.path.lexists(journal):  # SQLite would open files that it names
        raise StoreError(f"{journal} was not written by simlabel: remove it, or open the last backup.")


def _damaged(store: Path, why: str) -> StoreError:
    return StoreError(
        f"{store} is damaged or not a store ({why}). Keep the folder, and open the last backup: "
        f"simlabel serve BACKUP-FILE."
    )


def connect(store: Path, mode: str) -> sqlite3.Connection:
    """Open a connection that does not trust the file's schema and writes no temporary files."""
    uri = f"{store.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=30.0, isolation_level=None, check_same_thread=False)
    connection.row_factory = sqlite3.Row
    for setting in ("trusted_schema=OFF", "cell_size_check=ON", "temp_store=MEMORY"):
        connection.execute(f"PRAGMA {setting}")
    return connection


def read_connection(store: Path) -> sqlite3.Connection:
    """Open a read-only connection, also if the folder is not writable."""
    connection = connect(store, "ro")
    try:
        connection.execute("SELECT 1 FROM journal LIMIT 1")
        return connection
    except sqlite3.OperationalError:
        connection.close()
    log = store.with_name(store.name + "-wal")
    if log.exists() and log.stat().st_size:
        raise StoreError(f"{log} cannot be read in a folder that is read-only: copy the folder elsewhere.")
    return connect(store, "ro&immutable=1")


def writable(store: Path) -> bool:
    """Return whether a store and its folder are writable; SQLite itself notices only at the first write."""
    effective = os.access in os.supports_effective_ids
    return all(os.access(path, os.W_OK, effective_ids=effective) for path in (store, store.parent))


def open_store(store: Path) -> tuple[sqlite3.Connection, bool]:
    """Open the connection that writes; return it, and whether the store is read-only.

    Raises
    ------
    StoreError
        If the file is damaged, or its schema differs from `_TABLES`.
    """
    create_store(store)
    read_only = not writable(store)
    with ExitStack() as opened:
        try:
            connection = read_connection(store) if read_only else connect(store, "rw")
            opened.callback(connection.close)
            _check(connection)
            if not read_only:
                for setting in ("journal_mode=WAL", "synchronous=FULL", "secure_delete=ON"):
                    connection.execute(f"PRAGMA {setting}")
        except _DAMAGE as error:
            raise _damaged(store, str(error)) from None
        opened.pop_all()
    return connection, read_only


@cache
def _empty() -> tuple[bytes, list[tuple[object, ...]]]:
    """Return the bytes of an empty store, and its schema."""
    with closing(sqlite3.connect(":memory:")) as created:
        created.executescript(
            f"PRAGMA application_id={_APPLICATION}; PRAGMA user_version={VERSION}; BEGIN; {_TABLES} COMMIT;"
        )
        return _with_log(created.serialize()), created.execute(_SCHEMA).fetchall()


def _with_log(header: bytes) -> bytes:
    """Mark a file as using the write-ahead log (WAL), so that it never has a rollback journal."""
    return header[:18] + b"\2\2" + header[20:]


_JSON = {
    ("journal", "changes"): "array",
    ("items", "content"): "object",
    ("forgotten", "remains"): "array",
    ("jobs", "data"): "object",
    ("quality", "data"): "object",
}
_SCHEMA = "SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name"


def create_store(store: Path) -> None:
    """Create a store if there is none, atomically; if two processes try, one of them does it."""
    if os.path.lexists(store):
        return
    store.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as turn:
        if sys.platform != "win32":
            folder = os.open(store.parent, os.O_RDONLY)
            turn.callback(os.close, folder)
            fcntl.flock(folder, fcntl.LOCK_EX)
        if not os.path.lexists(store):
            with replacing(store) as file:
                file.write(_empty()[0])


def _check(connection: sqlite3.Connection) -> None:
    """Raise `sqlite3.DatabaseError` if the schema differs from `_TABLES` or rows violate it."""
    if list(map(tuple, connection.execute(_SCHEMA))) != _empty()[1]:
        raise sqlite3.DatabaseError("its tables differ from those of a store")
    (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(str(found).replace("\n", " ")[:200])
    if connection.execute("SELECT 1 FROM journal WHERE at NOT BETWEEN 0 AND 1e11 LIMIT 1").fetchone():
        raise sqlite3.DatabaseError("a change has an invalid time")  # the clock continues from the last one
    for (table, column), kind in _JSON.items():
        other = f"CASE WHEN json_valid({column}) THEN json_type({column}) END IS NOT ?"
        if connection.execute(f"SELECT 1 FROM {table} WHERE {other} LIMIT 1", (kind,)).fetchone():
            raise sqlite3.DatabaseError(f"{table}.{column} contains a value that is not a JSON {kind}")


def backup(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Write a store with its model to one file for `simlabel serve FILE`; return its size in bytes."""
    places, target = StorePaths.of(path), Path(target)
    if not places.store.exists():
        raise ServerError(f"There is no store in {path}.")
    if target.exists() and not target.is_file():
        raise ServerError(f"{target} is not a file: choose a file name.")
    try:
        with replacing_path(target) as copy:
            _copy(places, copy)
    except _DAMAGE as error:
        raise StoreError(f"The store could not be copied: {error}.") from None
    return target.stat().st_size


def _copy(places: StorePaths, target: Path) -> None:
    """Copy a store to one file: without sessions and leases, with the last model."""
    with closing(read_connection(places.store)) as source:
        _check(source)
        source.execute("VACUUM INTO ?", (str(target),))
    with closing(sqlite3.connect(target, isolation_level=None)) as copy:
        for statement in ("PRAGMA journal_mode=MEMORY", "PRAGMA secure_delete=ON"):
            copy.execute(statement)
        copy.execute("DELETE FROM sessions")
        copy.execute("DELETE FROM leases")
        for (name,) in copy.execute("SELECT file FROM snapshot").fetchall():
            try:
                copy.execute("UPDATE snapshot SET model = ?", (places.snapshot(name).read_bytes(),))
            except OSError:  # replaced meanwhile by a newer one: the copy trains its model again
                copy.execute("DELETE FROM snapshot")
    with target.open("r+b") as file:
        header = _with_log(file.read(_HEADER))
        file.seek(0)
        file.write(header)

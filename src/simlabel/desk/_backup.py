"""`simlabel backup`: one file with all that a desk knows, taken while it runs."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path

from simlabel.desk._problems import DeskError, StoreError
from simlabel.desk._schema import Places, read_connection
from simlabel.support.replacing import replacing


def backup(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> int:
    """Write a desk to one file, the model included; `simlabel serve FILE` opens it. Its size in bytes."""
    places, target = Places.of(path), Path(target)
    if not places.store.exists():
        raise DeskError(f"There is no desk in {path}.")
    if target.is_dir():
        raise DeskError(f"{target} is a folder; name a file.")
    beside = target.with_name(target.name + ".part")
    try:
        _copy(places, beside)
        with replacing(target) as file:
            file.write(beside.read_bytes())
    except sqlite3.DatabaseError as error:
        raise StoreError(f"The desk could not be copied: {error}.") from None
    finally:
        for ending in ("", "-journal", "-wal", "-shm"):
            Path(str(beside) + ending).unlink(missing_ok=True)
    return target.stat().st_size


def _copy(places: Places, target: Path) -> None:
    target.unlink(missing_ok=True)
    source, copy = read_connection(places.store), sqlite3.connect(target, isolation_level=None)
    try:
        source.backup(copy)
        copy.execute("PRAGMA journal_mode=DELETE")  # one file
        copy.execute("DELETE FROM sessions")
        copy.execute("DELETE FROM leases")
        row = copy.execute("SELECT value FROM meta WHERE name = 'snapshot'").fetchone()
        if row is not None:
            name = json.loads(row[0])["file"]
            try:
                model = (places.models / name).read_bytes()
            except FileNotFoundError:  # a newer one took its place meanwhile: it is learnt again
                copy.execute("DELETE FROM meta WHERE name = 'snapshot'")
            else:
                copy.execute("REPLACE INTO carried VALUES (?, ?)", (name, model))
    finally:
        source.close()
        copy.close()

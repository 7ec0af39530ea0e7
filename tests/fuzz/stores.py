"""Stores and backups that were changed: bytes flipped, rows and tables edited, links in place of files.

Whatever is done to them, they are opened or refused, and nothing outside their folder is read or written.
"""

from __future__ import annotations

import os
import random
import shutil
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import numpy as np
from desk_support import bytes_of, made_row

from simlabel import Tagger
from simlabel.server import (
    ServerError,
    ServerStore,
    TaggingServer,
    User,
    backup,
    changes,
    export_items,
    undo,
    views,
)

SECONDS = 30.0
SECRET = "a secret of somebody else"
ADA = User("Ada", "administration")
ODD: list[Any] = [
    None,
    -1,
    0,
    2**62,
    1e300,
    "",
    "x" * 300,
    "/etc/hostname",
    "../../others/new",
    "../others/secret",
]
ODD += ["[]", "{}", '[["item", 1]]', '{"a": {"b": 1}}', "x\0y", b"\xff\xfe", "done", "present", float("inf")]
HOSTILE = (
    "CREATE TRIGGER t AFTER INSERT ON journal BEGIN DELETE FROM items; END",
    "CREATE VIEW more AS SELECT * FROM tokens",
    "CREATE TABLE more (a)",
    "DROP TABLE leases",
    "ALTER TABLE labels ADD COLUMN more TEXT",
    "CREATE INDEX more ON items (upper(name))",
    "DELETE FROM sqlite_sequence",
)


def warm() -> dict[str, bytes]:
    """A folder with a model, and a backup of it, as bytes; made without the processes that learn."""
    folder = Path.cwd() / "made"
    desk = TaggingServer(folder)
    rows = [made_row(random.Random(i)) for i in range(12)]
    new = [changes.NewItem(content, None, tags, i % 4 > 0) for i, (content, tags) in enumerate(rows)]
    desk.change(ADA, lambda by: changes.add_items(by, new)).result()
    name = "0123456789abcdef.simlabel"
    (folder / "models").mkdir(exist_ok=True)
    Tagger().fit([content for content, _ in rows], [set(tags) for _, tags in rows]).save(
        folder / "models" / name
    )
    position = desk.status()["position"]
    desk.store.execute("REPLACE INTO snapshot VALUES (1, ?, ?, ?, NULL)", name, position, position)
    data = '{"options": {"name": "t.csv"}, "problems": [], "total": 1, "updated": 0}'
    desk.store.execute("INSERT INTO jobs (state, actor, at, data) VALUES ('done', 'Ada', 1.0, ?)", data)
    b"".join(export_items(desk.store, "jsonl"))  # what that imports is imported once
    desk.close()
    backup(folder, Path.cwd() / "copy.slb")
    files = {
        f"desk/{path.relative_to(folder)}": path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    return files | {"copy.slb": (Path.cwd() / "copy.slb").read_bytes()}


def case(material: dict[str, bytes], seed: int) -> None:
    """A changed store, what people do with it, and a look at what lies next to it."""
    rng, here = np.random.default_rng(seed), Path.cwd()
    for name, data in material.items():
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_bytes(data)
    (here / "others").mkdir()
    (here / "others" / "secret").write_text(SECRET)
    store, path = [("desk/desk.sqlite", "desk"), ("copy.slb", "copy.slb")][int(rng.integers(2))]
    for _ in range(int(rng.integers(1, 4))):
        (_flip, _edit, _edit, _hostile, _link)[int(rng.integers(5))](rng, here, here / store)
    with suppress(ServerError):
        backup(path, here / "taken.slb")
    _used(here / path, rng)
    assert bytes_of(here / "others") == {str(here / "others" / "secret"): SECRET.encode()}, "written outside"
    shutil.rmtree(here / "others")
    assert not any(SECRET.encode() in data for data in bytes_of(here).values()), "read from outside"
    strange = {path.name for path in here.iterdir()} - {"desk", "taken.slb", "copy.slb", "copy.slb.desk"}
    assert all(name.startswith(("copy.slb-", "copy.slb.new")) for name in strange), strange


def _flip(rng: np.random.Generator, here: Path, store: Path) -> None:
    data = bytearray(store.read_bytes())
    for at in rng.integers(len(data), size=int(rng.integers(1, 8))):
        data[at] = int(rng.integers(256))
    store.write_bytes(data[: int(rng.integers(len(data)))] if rng.random() < 0.1 else data)


def _edit(rng: np.random.Generator, here: Path, store: Path) -> None:
    """Any value in any column of any table."""
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(sqlite3.connect(store, timeout=0)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        tables = [name for (name,) in db.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        table = tables[int(rng.integers(len(tables)))] if rng.random() < 0.7 else "snapshot"
        columns = [row[1] for row in db.execute(f"PRAGMA table_info({table})")]
        column = columns[int(rng.integers(len(columns)))]
        one = f"{columns[0]} = (SELECT {columns[0]} FROM {table} ORDER BY random() LIMIT 1)"
        db.execute(f"UPDATE {table} SET {column} = ? WHERE {one}", (ODD[int(rng.integers(len(ODD)))],))
        db.commit()


def _hostile(rng: np.random.Generator, here: Path, store: Path) -> None:
    with suppress(sqlite3.Error, UnicodeDecodeError), closing(sqlite3.connect(store, timeout=0)) as db:
        db.execute(HOSTILE[int(rng.integers(len(HOSTILE)))])
        db.commit()


def _link(rng: np.random.Generator, here: Path, store: Path) -> None:
    """A link to what is somebody else's, in place of a file or folder of ours."""
    folder = here / "desk" if store.parent.name == "desk" else here / "copy.slb.desk"
    folder.mkdir(exist_ok=True)
    places = [folder / name for name in ("models", "incoming", "lock")]
    places += [store.with_name(store.name + end) for end in ("-wal", "-shm", "-journal", ".new")]
    places += [path for path in (folder / "models").glob("*") if not (folder / "models").is_symlink()]
    place = places[int(rng.integers(len(places)))]
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    place.unlink(missing_ok=True)
    os.symlink(here / "others" / ("" if place.name in ("models", "incoming") else "secret"), place)


def _used(path: Path, rng: np.random.Generator) -> None:
    """Open it, take over its model, read all of it and change something, as far as that goes."""
    try:
        desk = TaggingServer(path)
    except ServerError:
        return
    try:
        desk.updater._open_snapshot()  # not started: the processes that learn take too long for this
        desk.predictor.notice()
        for look in (
            views.jobs,
            views.tokens,
            views.journal,
            views.label_names,
            views.find_items,
            views.text_column,
        ):
            _tried(desk.store, look)
        with suppress(*_BROKEN):
            b"".join(export_items(desk.store, "jsonl"))
        for make in (
            lambda by: changes.add_items(by, [changes.NewItem({"a": "b"}, None, ["new one"])]),
            lambda by: undo(by, int(rng.integers(1, 20))),
            lambda by: changes.forget_item(by, int(rng.integers(1, 13))),
        ):
            with suppress(*_BROKEN):
                desk.change(ADA, make).result()
        desk.imports.start()
        desk.problems()
    finally:
        desk.close()
    TaggingServer(path).close()  # what was taken over once is taken over again


# a row that is well formed and makes no sense may fail a request, in the server's own words or not
_BROKEN = (
    ServerError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    sqlite3.Error,
    OverflowError,
)


def _tried(store: ServerStore, look: Any) -> None:
    with suppress(*_BROKEN):
        store.read(look)

"""The journal: every change as what was before and what is after, which can be made, undone and erased.

A change is ``[what, key, before, after]``, where `what` is "item", "tag", "label" or "token", and before and
after are the fields that differ, None where there is nothing. An entry of the journal is a list of them that
holds whole or not at all. The tables are what one gets by making all changes in order (`replay`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from simlabel.desk._problems import Conflict, NotFound

Fields = dict[str, Any] | None
Change = tuple[str, Any, Fields, Fields]
LASTING = ("forget", "token")  # kinds that cannot be undone

_COLUMNS = {
    "item": ("name", "content", "status", "actor", "at"),
    "tag": ("state", "source", "actor", "at", "probability"),
    "label": ("name", "description", "deleted"),
    "token": ("name", "role", "hash", "revoked"),
}
_KEYS = {"item": ("id",), "tag": ("item", "label"), "label": ("id",), "token": ("id",)}


def append(
    db: sqlite3.Connection,
    at: float,
    actor: str,
    kind: str,
    changes: Iterable[Change],
    undoes: int | None = None,
) -> int:
    """Write an entry and make its changes; the number of the entry."""
    changes = list(changes)
    text = json.dumps(changes, ensure_ascii=False, separators=(",", ":"))
    values = (at, actor, kind, text, undoes)
    found = db.execute(
        "INSERT INTO journal (at, actor, kind, changes, undoes) VALUES (?, ?, ?, ?, ?)", values
    )
    seq = found.lastrowid
    assert seq is not None
    make(db, seq, kind, changes, undoes)
    return seq


def make(db: sqlite3.Connection, seq: int, kind: str, changes: Iterable[Change], undoes: int | None) -> None:
    """Make the changes of an entry in the tables."""
    items: set[int] = set()
    for what, key, _, after in changes:
        _write(db, what, key, after)
        if what in ("item", "tag"):
            items.add(key if what == "item" else key[0])
    named = [(item, seq) for item in items]
    db.executemany("INSERT OR IGNORE INTO touched (item, seq) VALUES (?, ?)", named)
    db.executemany("UPDATE items SET revision = ?2 WHERE id = ?1", named)
    if kind == "automatic":
        db.executemany("UPDATE items SET automatic = 1 WHERE id = ?", [(item,) for item in items])
    if undoes is not None:
        db.execute("UPDATE journal SET undone_by = ? WHERE seq = ?", (seq, undoes))


def _write(db: sqlite3.Connection, what: str, key: Any, after: Fields) -> None:
    names, keys = _KEYS[what], (tuple(key) if what == "tag" else (key,))
    where = " AND ".join(f"{name} = ?" for name in names)
    if after is None:
        db.execute(f"DELETE FROM {what}s WHERE {where}", keys)
        return
    fields = {name: after[name] for name in _COLUMNS[what] if name in after}
    if "content" in fields:
        fields["content"] = json.dumps(fields["content"], ensure_ascii=False, separators=(",", ":"))
    given = ", ".join(f"{name} = ?" for name in fields)
    if db.execute(f"UPDATE {what}s SET {given} WHERE {where}", (*fields.values(), *keys)).rowcount:
        return
    if what == "item":
        fields["revision"] = 0
    columns = (*names, *fields)
    marks = ", ".join("?" * len(columns))
    db.execute(f"INSERT INTO {what}s ({', '.join(columns)}) VALUES ({marks})", (*keys, *fields.values()))


def current(db: sqlite3.Connection, what: str, key: Any) -> Fields:
    """The fields of a thing as they are now, as a change has them; None where there is none."""
    where = " AND ".join(f"{name} = ?" for name in _KEYS[what])
    keys = tuple(key) if what == "tag" else (key,)
    row = db.execute(f"SELECT {', '.join(_COLUMNS[what])} FROM {what}s WHERE {where}", keys).fetchone()
    if row is None:
        return None
    fields = dict(row)
    if "content" in fields:
        fields["content"] = json.loads(fields["content"])
    return fields


def undo(db: sqlite3.Connection, at: float, actor: str, seq: int) -> int:
    """Write the inverse of an entry; refused where something of it has changed since."""
    row = db.execute("SELECT kind, changes, undone_by FROM journal WHERE seq = ?", (seq,)).fetchone()
    if row is None:
        raise NotFound(f"There is no change {seq}.")
    if row["undone_by"] is not None:
        raise Conflict(f"Change {seq} is undone already, by change {row['undone_by']}.")
    changes = list(inverse(json.loads(row["changes"])))
    if row["kind"] in LASTING or not changes:
        raise Conflict(f"Change {seq} ({row['kind']}) cannot be undone.")
    for what, key, before, after in changes:
        now = current(db, what, key)
        if what == "label":
            _check_label(db, key, after)
        if (now is None) != (before is None) or (
            now is not None and before is not None and any(now[name] != before[name] for name in before)
        ):
            raise Conflict(f"What change {seq} did has been changed since; undo the later change first.")
    return append(db, at, actor, "undo", changes, seq)


def _check_label(db: sqlite3.Connection, key: int, after: Fields) -> None:
    """Refuse to take away a label that is in use, and to bring back one whose name is taken."""
    if after is None and db.execute("SELECT 1 FROM tags WHERE label = ?", (key,)).fetchone():
        raise Conflict(f"Label {key} is in use; delete it instead.")
    row = db.execute("SELECT name, deleted FROM labels WHERE id = ?", (key,)).fetchone()
    if after is None or row is None:
        return
    name, deleted = after.get("name", row["name"]), after.get("deleted", row["deleted"])
    taken = db.execute(
        "SELECT 1 FROM labels WHERE name = ? AND NOT deleted AND id <> ?", (name, key)
    ).fetchone()
    if taken and not deleted:
        raise Conflict(f"There is another label {name!r} by now; rename that one first.")


def inverse(changes: Iterable[Change]) -> Iterator[Change]:
    """What undoes some changes, the last first. An item that came is not deleted but put aside.

    Examples
    --------
    >>> list(inverse([("item", 3, {"status": "waiting"}, {"status": "done"})]))
    [('item', 3, {'status': 'done'}, {'status': 'waiting'})]
    """
    for what, key, before, after in reversed(list(changes)):
        if what == "item" and before is None:
            yield what, key, {"status": (after or {})["status"]}, {"status": "removed"}
        else:
            yield what, key, after, before


def erase(db: sqlite3.Connection, item: int) -> None:
    """Take an item out of the journal and the tables; what is left are numbers, names of people and times."""
    rows = db.execute(
        "SELECT seq, changes FROM journal WHERE seq IN (SELECT seq FROM touched WHERE item = ?)", (item,)
    ).fetchall()
    for seq, text in rows:
        kept = [change for change in json.loads(text) if not _concerns(change, item)]
        db.execute(
            "UPDATE journal SET changes = ? WHERE seq = ?", (json.dumps(kept, ensure_ascii=False), seq)
        )
    for table, column in (("items", "id"), ("tags", "item"), ("leases", "item")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (item,))


def _concerns(change: Any, item: int) -> bool:
    what, key = change[0], change[1]
    return bool((what == "item" and key == item) or (what == "tag" and key[0] == item))


def replay(journal: sqlite3.Connection, db: sqlite3.Connection) -> None:
    """Make the tables of an empty store from another one's journal: what `make` did, in order."""
    for row in journal.execute("SELECT seq, kind, changes, undoes FROM journal ORDER BY seq"):
        make(db, row["seq"], row["kind"], json.loads(row["changes"]), row["undoes"])

"""The journal: every change with its state before and after, so that it can be applied, undone and erased.

A change is ``[what, key, before, after]``, where `what` is "item", "tag", "label" or "token". `before` and
`after` hold the fields that differ, or None if the object does not exist. A journal entry is a list of
changes that is applied as a whole. Applying all entries in order (`apply_changes`) gives the tables.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from simlabel.server._types import ROLES, Conflict, Forbidden, NotFound, Role

Fields = dict[str, Any] | None
RecordChange = tuple[str, Any, Fields, Fields]
LASTING = ("forget", "token")  # kinds that cannot be undone
_COLUMNS = {
    "item": ("name", "content", "status", "actor", "at"),
    "tag": ("state", "source", "actor", "at", "probability"),
    "label": ("name", "description", "deleted"),
    "token": ("name", "role", "hash", "revoked"),
}


@dataclass(frozen=True)
class ChangeContext:
    """The author, time and role of a change, and the connection that it is written with.

    Attributes
    ----------
    leases : bool
        Whether leases of other users block the change; False for imported tables.
    items : set of int
        The items that the change refers to, whether they were modified or not.
    """

    db: sqlite3.Connection
    actor: str
    at: float
    role: Role = "tagging"
    leases: bool = True
    items: set[int] = field(default_factory=set)

    def one(self, query: str, *values: Any) -> Any:
        """Return the first row of a query, or None if there is none."""
        return self.db.execute(query, values).fetchone()

    def new_number(self, table: str) -> int:
        """Return an id that no row of a table has ever had, including deleted rows."""
        row = self.one("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        return int(row["seq"]) + 1 if row else 1

    def append(self, kind: str, changes: Iterable[RecordChange], undoes: int | None = None) -> int:
        """Write a journal entry, apply its changes, and return the number of the entry.

        The required role and the leases of other users are checked here, because every change passes here.
        """
        changes = list(changes)
        items = items_of(changes)
        # existing labels are shared by all users, and their changes apply to all items that have them
        shared = any(what == "label" and before and after for what, _, before, after in changes)
        shared = shared or kind in LASTING
        self.check_role("administration" if shared else "tagging")
        self.items.update(items)
        for item in () if shared else items:
            self.check_lease(item)
        found = self.db.execute(
            "INSERT INTO journal (at, actor, kind, changes, undoes) VALUES (?, ?, ?, ?, ?)",
            (self.at, self.actor, kind, json_text(changes), undoes),
        )
        assert found.lastrowid is not None
        apply_changes(self.db, found.lastrowid, kind, changes, undoes)
        return found.lastrowid

    def check_role(self, needed: Role) -> None:
        """Raise `Forbidden` if the author's role does not include the needed one."""
        if ROLES.index(self.role) < ROLES.index(needed):
            raise Forbidden(f"This needs the role {needed}, but {self.actor} has the role {self.role}.")

    def check_lease(self, item: int) -> None:
        """Raise `Conflict` if another user has a lease on an item."""
        row = self.one("SELECT holder, until FROM leases WHERE item = ?", item) if self.leases else None
        if row and row["until"] > self.at and row["holder"] != self.actor:
            minutes = max(1, round((row["until"] - self.at) / 60))
            raise Conflict(
                f"Item {item} is being edited by {row['holder']} (for at most {minutes} more minutes): "
                f"try again later."
            )

    def changed(self, kind: str, changes: list[RecordChange]) -> int | None:
        """Write a journal entry as `append` does; return None if there are no changes."""
        return self.append(kind, changes) if changes else None


def json_text(value: Any) -> str:
    """Return the JSON text of a value as it is stored."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def position_of(db: sqlite3.Connection) -> int:
    """Return the number of the last journal entry."""
    (position,) = db.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()
    return int(position)


def items_of(changes: Iterable[RecordChange]) -> set[int]:
    """Return the ids of the items that changes refer to."""
    return {key if what == "item" else key[0] for what, key, *_ in changes if what in ("item", "tag")}


def apply_changes(
    db: sqlite3.Connection, seq: int, kind: str, changes: Iterable[RecordChange], undoes: int | None
) -> None:
    """Apply the changes of a journal entry to the tables."""
    changes = list(changes)
    for what, key, _, after in changes:
        _write(db, what, key, after)
        if what == "label" and after and "name" in after:
            db.execute(
                "REPLACE INTO label_names (label, seq, name) VALUES (?, ?, ?)", (key, seq, after["name"])
            )
    rows = [(item, seq) for item in items_of(changes)]
    db.executemany("INSERT OR IGNORE INTO touched (item, seq) VALUES (?, ?)", rows)
    db.executemany("UPDATE items SET revision = ?2 WHERE id = ?1", rows)
    if kind == "automatic":
        db.executemany("UPDATE items SET automatic = 1 WHERE id = ?", [row[:1] for row in rows])
    if undoes is not None:
        db.execute("UPDATE journal SET undone_by = ? WHERE seq = ?", (seq, undoes))


def _primary_key(what: str, key: Any) -> tuple[dict[str, int], str]:
    """Return the primary key columns of an object with their values, and the condition that selects it."""
    columns = {"item": key[0], "label": key[1]} if what == "tag" else {"id": key}
    return columns, " AND ".join(f"{name} = ?" for name in columns)


def _write(db: sqlite3.Connection, what: str, key: Any, after: Fields) -> None:
    columns, where = _primary_key(what, key)
    if after is None:
        db.execute(f"DELETE FROM {what}s WHERE {where}", (*columns.values(),))
        return
    fields = {name: after[name] for name in _COLUMNS[what] if name in after}
    if "content" in fields:
        fields["content"] = json_text(fields["content"])
    assignments = ", ".join(f"{name} = ?" for name in fields)
    update = f"UPDATE {what}s SET {assignments} WHERE {where}"
    if not db.execute(update, (*fields.values(), *columns.values())).rowcount:
        row = columns | fields | ({"revision": 0} if what == "item" else {})
        marks = ", ".join("?" * len(row))
        db.execute(f"INSERT INTO {what}s ({', '.join(row)}) VALUES ({marks})", (*row.values(),))


def current(db: sqlite3.Connection, what: str, key: Any) -> Fields:
    """Return the current fields of an object in the form that changes use, or None if it does not exist."""
    columns, where = _primary_key(what, key)
    query = f"SELECT {', '.join(_COLUMNS[what])} FROM {what}s WHERE {where}"
    row = db.execute(query, (*columns.values(),)).fetchone()
    if row is None:
        return None
    return {name: json.loads(row[name]) if name == "content" else row[name] for name in _COLUMNS[what]}


def known(by: ChangeContext, what: str, key: Any) -> dict[str, Any]:
    """Return the current fields of an object; raise `NotFound` if it does not exist or was removed."""
    found = current(by.db, what, key)
    if not found or found.get("deleted") or found.get("revoked") or found.get("status") == "removed":
        raise NotFound(f"There is no {what} {key}.")
    return found


def differing(what: str, key: Any, before: Fields, after: dict[str, Any]) -> list[RecordChange]:
    """Return the change of the fields that differ, or no change if all are equal."""
    if before is None:
        return [(what, key, None, after)]
    names = [name for name in after if after[name] != before[name]]
    pair = {name: before[name] for name in names}, {name: after[name] for name in names}
    return [(what, key, *pair)] if names else []


def undo(by: ChangeContext, number: int) -> int:
    """Undo a change. Raise `Conflict` if one of its fields has been changed since."""
    row = by.one("SELECT kind, changes, undone_by FROM journal WHERE seq = ?", number)
    if row is None:
        raise NotFound(f"There is no change {number}.")
    if row["undone_by"] is not None:
        raise Conflict(f"Change {number} was already undone, by change {row['undone_by']}.")
    changes = list(inverse(json.loads(row["changes"])))
    if row["kind"] in LASTING or not changes:
        raise Conflict(f"Change {number} ({row['kind']}) cannot be undone.")
    gone = {tuple(key) for what, key, _, after in changes if what == "tag" and after is None}
    for what, key, before, after in changes:
        now = current(by.db, what, key)
        if what == "label":
            _check_label(by, key, after, gone)
        same = now == before if now is None or before is None else before.items() <= now.items()
        if not same:
            raise Conflict(f"The result of change {number} was changed since: undo the later change first.")
    _check_tags(by, number, changes)
    return by.append("undo", changes, number)


def _check_tags(by: ChangeContext, number: int, changes: list[RecordChange]) -> None:
    """Refuse to restore tags whose label does not exist and is not restored with them."""
    restored = {key for what, key, _, after in changes if what == "label" and after}
    tags = [key for what, key, _, after in changes if what == "tag" and after]
    for label in {label for _, label in tags} - restored:
        if by.one("SELECT 1 FROM labels WHERE id = ? AND NOT deleted", label) is None:
            raise Conflict(f"The label of change {number} was deleted since: undo the deletion first.")


def _check_label(by: ChangeContext, key: int, after: Fields, gone: set[tuple[int, ...]]) -> None:
    """Refuse to remove a label with tags that stay, and to restore one whose name is taken."""
    if after is None or after.get("deleted"):
        items = by.db.execute("SELECT item FROM tags WHERE label = ?", (key,))
        if any((item, key) not in gone for (item,) in items):
            raise Conflict(f"Label {key} is in use: delete it instead.")
    row = by.one("SELECT name, deleted FROM labels WHERE id = ?", key)
    if after is None or (row is None and not {"name", "deleted"} <= after.keys()):
        return
    fields = dict(row or {}) | after
    name, deleted = fields["name"], fields["deleted"]
    if not deleted and by.one("SELECT 1 FROM labels WHERE name = ? AND NOT deleted AND id <> ?", name, key):
        raise Conflict(f"The name {name!r} is now used by another label: rename that label first.")


def inverse(changes: Iterable[RecordChange]) -> Iterator[RecordChange]:
    """Yield the inverse changes in reverse order. A new item is marked as removed, not deleted.

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


def erase(db: sqlite3.Connection, item: int) -> list[dict[str, Any]]:
    """Erase an item from the journal and the tables; only ids, user names and times remain.

    Returns
    -------
    list of dict
        The fields that the item had, from its first change to the last.
    """
    states: list[dict[str, Any]] = []
    query = "SELECT seq, changes FROM journal WHERE seq IN (SELECT seq FROM touched WHERE item = ?)"
    for seq, text in db.execute(query, (item,)).fetchall():
        changes = json.loads(text)
        others = [change for change in changes if items_of([change]) != {item}]
        states += [after for what, key, _, after in changes if what == "item" and key == item and after]
        db.execute("UPDATE journal SET changes = ? WHERE seq = ?", (json_text(others), seq))
    for table, column in (("items", "id"), ("tags", "item"), ("leases", "item")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (item,))
    return states

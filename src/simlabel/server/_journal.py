"""The journal: every change as what was before and what is after, which can be made, undone and erased.

A change is ``[what, key, before, after]``, where `what` is "item", "tag", "label" or "token", and before and
after are the fields that differ, None where there is nothing. An entry of the journal is a list of them that
holds whole or not at all. The tables are what one gets by making all changes in order (`make`).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from simlabel.server._kinds import ROLES, Role
from simlabel.server._problems import Conflict, NotAllowed, NotFound

Fields = dict[str, Any] | None
Change = tuple[str, Any, Fields, Fields]
LASTING = ("forget", "token")  # kinds that cannot be undone
_COLUMNS = {
    "item": ("name", "content", "status", "actor", "at"),
    "tag": ("state", "source", "actor", "at", "probability"),
    "label": ("name", "description", "deleted"),
    "token": ("name", "role", "hash", "revoked"),
}


@dataclass(frozen=True)
class By:
    """Who changes something, when, with which right, and the connection that it is written with.

    Attributes
    ----------
    leases : bool
        Whether a lease of somebody else is in the way: not for a table that is imported.
    items : set of int
        The items that it was about, whether they changed or not.
    """

    db: sqlite3.Connection
    actor: str
    at: float
    role: Role = "tagging"
    leases: bool = True
    items: set[int] = field(default_factory=set)

    def one(self, query: str, *values: Any) -> Any:
        """The first row of a question; None where there is none."""
        return self.db.execute(query, values).fetchone()

    def new_number(self, table: str) -> int:
        """A number that nothing in a table has had, what was deleted included."""
        row = self.one("SELECT seq FROM sqlite_sequence WHERE name = ?", table)
        return int(row["seq"]) + 1 if row else 1

    def append(self, kind: str, changes: Iterable[Change], undoes: int | None = None) -> int:
        """Write an entry and make its changes; the number of the entry.

        The right to them, and the leases of others, are checked here: no way to a change leads past it.
        """
        changes = list(changes)
        self._check(kind, changes)
        found = self.db.execute(
            "INSERT INTO journal (at, actor, kind, changes, undoes) VALUES (?, ?, ?, ?, ?)",
            (self.at, self.actor, kind, as_json(changes), undoes),
        )
        assert found.lastrowid is not None
        make(self.db, found.lastrowid, kind, changes, undoes)
        return found.lastrowid

    def _check(self, kind: str, changes: list[Change]) -> None:
        needed = needed_role(kind, changes)
        self.check_role(needed)
        items = items_of(changes)
        self.items.update(items)
        if needed != "administration":  # what is done to a label is done to all its items
            for item in items:
                self.check_lease(item)

    def check_role(self, needed: Role) -> None:
        """Refuse who has a lesser right than is needed."""
        if ROLES.index(self.role) < ROLES.index(needed):
            raise NotAllowed(f"This needs the right of {needed}; {self.actor} has that of {self.role}.")

    def check_lease(self, item: int) -> None:
        """Refuse to change what somebody else is at."""
        row = self.one("SELECT holder, until FROM leases WHERE item = ?", item) if self.leases else None
        if row and row["until"] > self.at and row["holder"] != self.actor:
            minutes = max(1, round((row["until"] - self.at) / 60))
            raise Conflict(f"{row['holder']} is at item {item}, for {minutes} more minutes at most.")

    def changed(self, kind: str, changes: list[Change]) -> int | None:
        """As `append`; None where there are no changes."""
        return self.append(kind, changes) if changes else None


def as_json(value: Any) -> str:
    """As it is stored."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def needed_role(kind: str, changes: Iterable[Change]) -> Role:
    """The right that changes need, and to undo them: labels belong to everybody, once they are made."""
    shared = any(what == "label" and before and after for what, _, before, after in changes)
    return "administration" if shared or kind in LASTING else "tagging"


def items_of(changes: Iterable[Change]) -> set[int]:
    """The items that changes are about."""
    return {key if what == "item" else key[0] for what, key, *_ in changes if what in ("item", "tag")}


def make(db: sqlite3.Connection, seq: int, kind: str, changes: Iterable[Change], undoes: int | None) -> None:
    """Make the changes of an entry in the tables."""
    changes = list(changes)
    for what, key, _, after in changes:
        _write(db, what, key, after)
        if what == "label" and after and "name" in after:
            db.execute(
                "REPLACE INTO label_names (label, seq, name) VALUES (?, ?, ?)", (key, seq, after["name"])
            )
    items = items_of(changes)
    named = [(item, seq) for item in items]
    db.executemany("INSERT OR IGNORE INTO touched (item, seq) VALUES (?, ?)", named)
    db.executemany("UPDATE items SET revision = ?2 WHERE id = ?1", named)
    if kind == "automatic":
        db.executemany("UPDATE items SET automatic = 1 WHERE id = ?", [(item,) for item in items])
    if undoes is not None:
        db.execute("UPDATE journal SET undone_by = ? WHERE seq = ?", (seq, undoes))


def _place(what: str, key: Any) -> dict[str, int]:
    return {"item": key[0], "label": key[1]} if what == "tag" else {"id": key}


def _write(db: sqlite3.Connection, what: str, key: Any, after: Fields) -> None:
    place = _place(what, key)
    where = " AND ".join(f"{name} = ?" for name in place)
    if after is None:
        db.execute(f"DELETE FROM {what}s WHERE {where}", (*place.values(),))
        return
    fields = {name: after[name] for name in _COLUMNS[what] if name in after}
    if "content" in fields:
        fields["content"] = as_json(fields["content"])
    given = ", ".join(f"{name} = ?" for name in fields)
    if db.execute(f"UPDATE {what}s SET {given} WHERE {where}", (*fields.values(), *place.values())).rowcount:
        return
    row = place | fields | ({"revision": 0} if what == "item" else {})
    marks = ", ".join("?" * len(row))
    db.execute(f"INSERT INTO {what}s ({', '.join(row)}) VALUES ({marks})", (*row.values(),))


def current(db: sqlite3.Connection, what: str, key: Any) -> Fields:
    """The fields of a thing as they are now, as a change has them; None where there is none."""
    place = _place(what, key)
    where = " AND ".join(f"{name} = ?" for name in place)
    query = f"SELECT {', '.join(_COLUMNS[what])} FROM {what}s WHERE {where}"
    row = db.execute(query, (*place.values(),)).fetchone()
    if row is None:
        return None
    return {name: json.loads(row[name]) if name == "content" else row[name] for name in _COLUMNS[what]}


def known(by: By, what: str, key: Any) -> dict[str, Any]:
    """The same of what is there, and was not taken away."""
    found = current(by.db, what, key)
    if not found or found.get("deleted") or found.get("revoked") or found.get("status") == "removed":
        raise NotFound(f"There is no {what} {key}.")
    return found


def differing(what: str, key: Any, before: Fields, after: dict[str, Any]) -> list[Change]:
    """The change of the fields that differ; none where all are as they were."""
    if before is None:
        return [(what, key, None, after)]
    names = [name for name in after if after[name] != before[name]]
    pair = {name: before[name] for name in names}, {name: after[name] for name in names}
    return [(what, key, *pair)] if names else []


def undo(by: By, number: int) -> int:
    """Write the inverse of an entry; refused where something of it has changed since."""
    row = by.one("SELECT kind, changes, undone_by FROM journal WHERE seq = ?", number)
    if row is None:
        raise NotFound(f"There is no change {number}.")
    if row["undone_by"] is not None:
        raise Conflict(f"Change {number} is undone already, by change {row['undone_by']}.")
    changes = list(inverse(json.loads(row["changes"])))
    if row["kind"] in LASTING or not changes:
        raise Conflict(f"Change {number} ({row['kind']}) cannot be undone.")
    for what, key, before, after in changes:
        now = current(by.db, what, key)
        if what == "label":
            _check_label(by, key, after)
        same = now == before if now is None or before is None else before.items() <= now.items()
        if not same:
            raise Conflict(f"What change {number} did has been changed since; undo the later change first.")
    _check_tags(by, number, changes)
    return by.append("undo", changes, number)


def _check_tags(by: By, number: int, changes: list[Change]) -> None:
    """Refuse to bring back tags whose label is not there, nor brought back with them."""
    back = {key for what, key, _, after in changes if what == "label" and after}
    tags = [key for what, key, _, after in changes if what == "tag" and after]
    for label in {label for _, label in tags} - back:
        if by.one("SELECT 1 FROM labels WHERE id = ? AND NOT deleted", label) is None:
            raise Conflict(f"The label of change {number} was deleted since; undo that first.")


def _check_label(by: By, key: int, after: Fields) -> None:
    """Refuse to take away a label that is in use, and to bring back one whose name is taken."""
    if after is None and by.one("SELECT 1 FROM tags WHERE label = ?", key):
        raise Conflict(f"Label {key} is in use; delete it instead.")
    row = by.one("SELECT name, deleted FROM labels WHERE id = ?", key)
    if after is None or (row is None and not {"name", "deleted"} <= after.keys()):
        return
    fields = after if row is None else {"name": row["name"], "deleted": row["deleted"], **after}
    name, deleted = fields["name"], fields["deleted"]
    if not deleted and by.one("SELECT 1 FROM labels WHERE name = ? AND NOT deleted AND id <> ?", name, key):
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


def erase(db: sqlite3.Connection, item: int) -> list[dict[str, Any]]:
    """Take an item out of the journal and the tables; what is left are numbers, names of people and times.

    What was known of it is returned, from the first change to the last.
    """
    states: list[dict[str, Any]] = []
    query = "SELECT seq, changes FROM journal WHERE seq IN (SELECT seq FROM touched WHERE item = ?)"
    for seq, text in db.execute(query, (item,)).fetchall():
        changes = json.loads(text)
        kept = [change for change in changes if items_of([change]) != {item}]
        states += [after for what, key, _, after in changes if what == "item" and key == item and after]
        db.execute("UPDATE journal SET changes = ? WHERE seq = ?", (as_json(kept), seq))
    for table, column in (("items", "id"), ("tags", "item"), ("leases", "item")):
        db.execute(f"DELETE FROM {table} WHERE {column} = ?", (item,))
    return states

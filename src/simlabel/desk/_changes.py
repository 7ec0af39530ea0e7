"""What people do at a desk, as entries of the journal. Each function runs within the writer's transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simlabel.desk._journal import Change, append, current, erase
from simlabel.desk._problems import Conflict, DeskError, NotFound

Cell = str | int | float | bool | list[str] | None
Content = dict[str, Cell]
SOURCES = ("person", "import", "accepted", "automatic")
LEASE_SECONDS = 600.0
MOST_NAMED = 200  # characters of a label or an item's name


@dataclass(frozen=True)
class Who:
    """Who changes something, and when."""

    actor: str
    at: float


@dataclass(frozen=True)
class NewItem:
    """An item that comes from outside."""

    content: Content
    name: str | None = None
    tags: Sequence[str] = ()
    done: bool = False
    source: str = "import"


@dataclass
class Added:
    """What became of items that came: numbers of the items, in order, and how many were there already."""

    ids: list[int] = field(default_factory=list)
    updated: int = 0


def label_id(db: sqlite3.Connection, who: Who, name: str) -> int:
    """The number of a label, which is made where there is none of that name."""
    name = checked_name(name, "label")
    row = db.execute("SELECT id FROM labels WHERE name = ? AND NOT deleted", (name,)).fetchone()
    return int(row["id"]) if row else add_label(db, who, name)


def add_label(db: sqlite3.Connection, who: Who, name: str, description: str = "") -> int:
    """A new label."""
    name = checked_name(name, "label")
    _check_free(db, name)
    (number,) = db.execute("SELECT coalesce(max(id), 0) + 1 FROM labels").fetchone()
    fields = {"name": name, "description": description, "deleted": 0}
    append(db, who.at, who.actor, "label", [("label", number, None, fields)])
    return int(number)


def _check_free(db: sqlite3.Connection, name: str) -> None:
    if db.execute("SELECT 1 FROM labels WHERE name = ? AND NOT deleted", (name,)).fetchone():
        raise Conflict(f"There is a label {name!r} already; merge the two instead.")


def checked_name(name: str, what: str) -> str:
    """A name without spaces around it; an empty or overlong one is refused."""
    name = " ".join(name.split())
    if not name or len(name) > MOST_NAMED:
        raise DeskError(f"A {what} has 1 to {MOST_NAMED} characters; this one has {len(name)}.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise DeskError(f"The {what} holds half a character, which cannot be stored.") from None
    return name


def known_label(db: sqlite3.Connection, number: int) -> dict[str, Any]:
    """A label that is there."""
    found = current(db, "label", number)
    if found is None or found["deleted"]:
        raise NotFound(f"There is no label {number}.")
    return found


def known_item(db: sqlite3.Connection, number: int) -> dict[str, Any]:
    """An item that is there."""
    found = current(db, "item", number)
    if found is None or found["status"] == "removed":
        raise NotFound(f"There is no item {number}.")
    return found


def add_items(db: sqlite3.Connection, who: Who, items: Sequence[NewItem]) -> Added:
    """New items; one whose name is known gets the content, and those tags that nobody touched."""
    added = Added()
    for item in items:
        name = None if item.name is None else checked_name(item.name, "name")
        row = name and db.execute("SELECT id FROM items WHERE name = ?", (name,)).fetchone()
        if row:
            _update(db, who, int(row["id"]), item)
            added.ids.append(int(row["id"]))
            added.updated += 1
        else:
            added.ids.append(_add(db, who, name, item))
    return added


def _add(db: sqlite3.Connection, who: Who, name: str | None, item: NewItem) -> int:
    labels = [label_id(db, who, tag) for tag in dict.fromkeys(item.tags)]
    # a number is never given twice: that of a forgotten item stays its own
    (number,) = db.execute(
        "SELECT 1 + max("
        "(SELECT coalesce(max(id), 0) FROM items), (SELECT coalesce(max(item), 0) FROM touched))"
    ).fetchone()
    status = "done" if item.done else "waiting"
    fields = {"name": name or f"item-{number}", "content": item.content, "status": status}
    changes: list[Change] = [("item", number, None, {**fields, "actor": who.actor, "at": who.at})]
    changes += [
        ("tag", [number, label], None, _tag(who, "present", item.source)) for label in dict.fromkeys(labels)
    ]
    append(db, who.at, who.actor, "add", changes)
    return int(number)


def _update(db: sqlite3.Connection, who: Who, number: int, item: NewItem) -> None:
    labels = [label_id(db, who, tag) for tag in dict.fromkeys(item.tags)]
    before = current(db, "item", number)
    assert before is not None
    after = {"content": item.content, "status": before["status"]}
    if before["status"] == "removed" or (item.done and before["status"] == "waiting"):
        after |= {"status": "done" if item.done else "waiting", "actor": who.actor, "at": who.at}
    changes = _field_changes("item", number, before, after)
    for label in dict.fromkeys(labels):
        if current(db, "tag", [number, label]) is None:  # what a person rejected does not come back
            changes.append(("tag", [number, label], None, _tag(who, "present", item.source)))
    if changes:
        append(db, who.at, who.actor, "add", changes)


def _tag(who: Who, state: str, source: str, probability: float | None = None) -> dict[str, Any]:
    return {"state": state, "source": source, "actor": who.actor, "at": who.at, "probability": probability}


def _field_changes(what: str, key: int, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    differs = [name for name in after if after[name] != before[name]]
    if not differs:
        return []
    return [(what, key, {name: before[name] for name in differs}, {name: after[name] for name in differs})]


def edit_item(db: sqlite3.Connection, who: Who, number: int, content: Content) -> int | None:
    """Other content for an item; the number of the entry, None where nothing differs."""
    before = known_item(db, number)
    changes = _field_changes("item", number, before, {"content": content})
    return append(db, who.at, who.actor, "edit", changes) if changes else None


def set_status(db: sqlite3.Connection, who: Who, number: int, status: str) -> int | None:
    """Waiting, done or removed; done ends a lease."""
    before = known_item(db, number)
    check_lease(db, who, number)
    if before["status"] == status:
        return None
    after = {"status": status, "actor": who.actor, "at": who.at}
    kind = {"waiting": "reopen", "done": "done", "removed": "remove"}[status]
    seq = append(db, who.at, who.actor, kind, _field_changes("item", number, before, after))
    db.execute("DELETE FROM leases WHERE item = ?", (number,))
    return seq


def set_tag(
    db: sqlite3.Connection,
    who: Who,
    number: int,
    label: str,
    state: str | None,
    source: str = "person",
    probability: float | None = None,
) -> int | None:
    """Say that an item has a label ("present"), has it not ("rejected"), or that nothing is said (None)."""
    known_item(db, number)
    check_lease(db, who, number)
    if (
        state is None
        and not db.execute(
            "SELECT 1 FROM labels WHERE name = ? AND NOT deleted", (" ".join(label.split()),)
        ).fetchone()
    ):
        return None
    key = [number, label_id(db, who, label)]
    before = current(db, "tag", key)
    if (before and before["state"]) == state:
        return None
    after = None if state is None else _tag(who, state, source, probability)
    kind = {"present": "tag", "rejected": "reject", None: "clear"}[state]
    return append(
        db, who.at, who.actor, "automatic" if source == "automatic" else kind, [("tag", key, before, after)]
    )


def change_label(
    db: sqlite3.Connection, who: Who, number: int, name: str | None, description: str | None
) -> int | None:
    """Another name or description."""
    before = known_label(db, number)
    after = dict(before)
    if name is not None:
        after["name"] = checked_name(name, "label")
        if after["name"] != before["name"]:
            _check_free(db, after["name"])
    if description is not None:
        after["description"] = description
    changes = _field_changes("label", number, before, after)
    kind = "rename" if after["name"] != before["name"] else "describe"
    return append(db, who.at, who.actor, kind, changes) if changes else None


def merge_labels(db: sqlite3.Connection, who: Who, number: int, into: int) -> int:
    """All that is tagged with one label gets another; a tag beats a rejection."""
    known_label(db, number)
    known_label(db, into)
    if number == into:
        raise DeskError("A label cannot be merged with itself.")
    changes: list[Change] = []
    for (item,) in db.execute("SELECT item FROM tags WHERE label = ?", (number,)).fetchall():
        own, other = current(db, "tag", [item, number]), current(db, "tag", [item, into])
        changes.append(("tag", [item, number], own, None))
        assert own is not None
        if other is None or (other["state"] == "rejected" and own["state"] == "present"):
            changes.append(("tag", [item, into], other, own))
    changes.append(("label", number, {"deleted": 0}, {"deleted": 1}))
    return append(db, who.at, who.actor, "merge", changes)


def delete_label(db: sqlite3.Connection, who: Who, number: int) -> int:
    """A label and all its tags go; `undo` brings both back."""
    known_label(db, number)
    changes: list[Change] = [
        ("tag", [item, number], current(db, "tag", [item, number]), None)
        for (item,) in db.execute("SELECT item FROM tags WHERE label = ?", (number,)).fetchall()
    ]
    changes.append(("label", number, {"deleted": 0}, {"deleted": 1}))
    return append(db, who.at, who.actor, "delete", changes)


def forget_item(db: sqlite3.Connection, who: Who, number: int) -> int:
    """Erase an item from journal and tables, and note that snapshots and file have still to follow."""
    if current(db, "item", number) is None:
        raise NotFound(f"There is no item {number}.")
    seq = append(db, who.at, who.actor, "forget", [])
    db.execute("INSERT INTO touched (item, seq) VALUES (?, ?)", (number, seq))
    erase(db, number)
    db.execute("INSERT INTO forgotten (item, seq) VALUES (?, ?)", (number, seq))
    db.execute("DELETE FROM answers")  # digests of what was sent
    return seq


def check_lease(db: sqlite3.Connection, who: Who, number: int) -> None:
    """Refuse where somebody else is at the item."""
    row = db.execute("SELECT holder, until FROM leases WHERE item = ?", (number,)).fetchone()
    if row and row["until"] > who.at and row["holder"] != who.actor:
        minutes = max(1, round((row["until"] - who.at) / 60))
        raise Conflict(f"{row['holder']} is at this item, for {minutes} more minutes at most.")


def lease(db: sqlite3.Connection, who: Who, number: int) -> float:
    """Keep others off an item for ten minutes; until when."""
    known_item(db, number)
    check_lease(db, who, number)
    until = who.at + LEASE_SECONDS
    db.execute(
        "INSERT OR REPLACE INTO leases (item, holder, until) VALUES (?, ?, ?)", (number, who.actor, until)
    )
    return until


def lease_first(db: sqlite3.Connection, who: Who, order: Sequence[int], skip: Sequence[int]) -> int | None:
    """Lease the first waiting item of an order that nobody is at; those the order lacks come last."""
    free = (
        "SELECT id FROM items WHERE status = 'waiting' AND {} AND id NOT IN "
        "(SELECT item FROM leases WHERE until > ? AND holder <> ?) {}"
    )
    held = (who.at, who.actor)
    for number in order:
        if number not in skip and db.execute(free.format("id = ?", ""), (number, *held)).fetchone():
            lease(db, who, number)
            return number
    marks = ", ".join("?" * len(skip))
    row = db.execute(free.format(f"id NOT IN ({marks})", "ORDER BY id LIMIT 1"), (*skip, *held)).fetchone()
    if row:
        lease(db, who, int(row["id"]))
    return int(row["id"]) if row else None


def release(db: sqlite3.Connection, who: Who, number: int) -> None:
    """Give an item back."""
    check_lease(db, who, number)
    db.execute("DELETE FROM leases WHERE item = ?", (number,))

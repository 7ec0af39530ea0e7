"""The changes that users make, as journal entries. Each function runs in the writer's transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from simlabel.server._journal import (
    ChangeContext,
    RecordChange,
    current,
    differing,
    erase,
    json_text,
    known,
    position_of,
    undo,
)
from simlabel.server._types import (
    MAX_NAMED,
    MAX_ROWS,
    Conflict,
    Content,
    DescriptionText,
    Name,
    NotFound,
    Number,
    Probability,
    ServerError,
)

LEASE_SECONDS = 600.0
_STATUS_KINDS = {"waiting": "reopen", "done": "done", "removed": "remove"}
_NUMBER = re.compile(r"[\s\d.,:/%+TZUCeE-]*")  # matches texts that are numbers or dates, and some others
_TAG_KINDS = {"present": "tag", "rejected": "reject", None: "clear"}


@dataclass(frozen=True)
class NewItem:
    """An item to add; `done` if its tags are complete."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    content: Content
    name: Name | None = None
    tags: Annotated[Sequence[Name], Field(max_length=200)] = ()
    done: bool = False


NewItems = Annotated[Sequence[NewItem], Field(min_length=1, max_length=MAX_ROWS)]


@dataclass
class AddedItems:
    """The result of adding items: their ids, in order, and the number of the last change.

    Among the items that existed before, `updated` counts those that were changed and `unchanged` the others.
    """

    ids: list[int] = field(default_factory=list)
    updated: int = 0
    unchanged: int = 0
    position: int = 0


def checked_name(name: str, what: str) -> str:
    """Return a name with normalized white space; raise `ServerError` if it is empty or too long."""
    name = " ".join(name.split())
    if not name or len(name) > MAX_NAMED:
        raise ServerError(f"A {what} has 1 to {MAX_NAMED} characters; this one has {len(name)}.")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise ServerError(f"The {what} contains an unpaired surrogate, which cannot be stored.") from None
    return name


def known_item(by: ChangeContext, number: int) -> dict[str, Any]:
    """Return an existing item; raise `Conflict` if another user has a lease on it."""
    found = known(by, "item", number)
    by.check_lease(number)
    by.items.add(number)
    return found


def _find_label(by: ChangeContext, name: str) -> int | None:
    row = by.one("SELECT id FROM labels WHERE name = ? AND NOT deleted", name)
    return int(row["id"]) if row else None


def label_id(by: ChangeContext, name: str) -> int:
    """Return the id of a label; add the label if there is none with that name."""
    name = checked_name(name, "label")
    return _find_label(by, name) or add_label(by, name)


def add_label(by: ChangeContext, name: Name, description: DescriptionText = "") -> int:
    """Add a label."""
    fields = {"name": _unused_name(by, name), "description": description, "deleted": 0}
    number = by.new_number("labels")
    by.append("label", [("label", number, None, fields)])
    return number


def _unused_name(by: ChangeContext, name: str) -> str:
    name = checked_name(name, "label")
    if _find_label(by, name):
        raise Conflict(f"There is already a label {name!r}: merge the two labels instead.")
    return name


def add_items(by: ChangeContext, items: NewItems, source: str = "import") -> AddedItems:
    """Add items. An item whose name exists is updated, and gets the tags that no user has changed."""
    added, tag = AddedItems(), _tag(by, "present", source)
    for item in items:
        name = None if item.name is None else checked_name(item.name, "name")
        labels = {label_id(by, label) for label in item.tags}
        row = name and by.one("SELECT id FROM items WHERE name = ?", name)
        number = row["id"] if row else by.new_number("items")
        before = current(by.db, "item", number)
        after: dict[str, Any] = {"content": item.content}
        if before is None:
            after["name"] = name or f"item-{number}"
        if before is None or before["status"] == "removed" or (item.done and before["status"] == "waiting"):
            after |= {"status": "done" if item.done else "waiting", "actor": by.actor, "at": by.at}
        keys = [[number, label] for label in sorted(labels)]
        untouched = [key for key in keys if current(by.db, "tag", key) is None]  # neither given nor rejected
        changes = [("tag", key, None, tag) for key in untouched]
        seq = by.changed("add", [*differing("item", number, before, after), *changes])
        added.ids.append(number)
        added.updated += before is not None and seq is not None
        added.unchanged += seq is None
        by.items.add(number)
    added.position = position_of(by.db)
    return added


def _tag(by: ChangeContext, state: str, source: str, probability: float | None = None) -> dict[str, Any]:
    return {"state": state, "source": source, "actor": by.actor, "at": by.at, "probability": probability}


def edit_item(by: ChangeContext, number: int, content: Content) -> int | None:
    """Replace the content of an item."""
    return by.changed("edit", differing("item", number, known_item(by, number), {"content": content}))


def set_status(by: ChangeContext, number: int, status: str) -> int | None:
    """Set the status of an item to "waiting", "done" or "removed", and end its lease."""
    before = known_item(by, number)
    if before["status"] == status:
        return None
    after = {"status": status, "actor": by.actor, "at": by.at}
    seq = by.append(_STATUS_KINDS[status], differing("item", number, before, after))
    by.db.execute("DELETE FROM leases WHERE item = ?", (number,))
    return seq


def set_tag(
    by: ChangeContext, number: int, label: Name, state: str | None, probability: Probability | None = None
) -> int | None:
    """Set whether an item has a label ("present"), does not have it ("rejected"), or is undecided (None).

    A probability means that the user has accepted a suggestion.
    """
    known_item(by, number)
    if state is None and _find_label(by, " ".join(label.split())) is None:
        return None
    key = [number, label_id(by, label)]
    before = current(by.db, "tag", key)
    if (before and before["state"]) == state:
        return None
    source = "user" if probability is None else "accepted"
    after = None if state is None else _tag(by, state, source, probability)
    return by.append(_TAG_KINDS[state], [("tag", key, before, after)])


def accept(by: ChangeContext, number: int, sure: Sequence[tuple[str, float]]) -> None:
    """Add automatic tags to a waiting item, except for tags that a user has set and leased items."""
    free = (
        "SELECT 1 FROM items WHERE id = ? AND status = 'waiting' AND NOT EXISTS "
        "(SELECT 1 FROM leases WHERE item = items.id AND until > ?)"
    )
    for label, probability in sure if by.one(free, number, by.at) else ():
        key = [number, label_id(by, label)]
        if current(by.db, "tag", key) is None:
            tag = _tag(by, "present", "automatic", probability)
            by.append("automatic", [("tag", key, None, tag)])


def change_label(
    by: ChangeContext, number: int, name: Name | None = None, description: DescriptionText | None = None
) -> int | None:
    """Change the name or the description of a label."""
    before = known(by, "label", number)
    after = dict(before)
    if name is not None and checked_name(name, "label") != before["name"]:
        after["name"] = _unused_name(by, name)
    if description is not None:
        after["description"] = description
    kind = "rename" if after["name"] != before["name"] else "describe"
    return by.changed(kind, differing("label", number, before, after))


def merge_labels(by: ChangeContext, number: int, into: Number) -> int:
    """Merge a label into another one: move its tags, then delete it.

    If an item has one of the two labels and the other one is rejected, the item keeps the tag.
    """
    known(by, "label", into)
    if number == into:
        raise ServerError("A label cannot be merged with itself.")
    changes = _without_label(by, number)
    for _, (item, _), own, _ in [change for change in changes if change[0] == "tag"]:
        other = current(by.db, "tag", [item, into])
        if other is None or (other["state"] == "rejected" and own and own["state"] == "present"):
            changes.append(("tag", [item, into], other, own))
    return by.append("merge", changes)


def delete_label(by: ChangeContext, number: int) -> int:
    """Delete a label and all its tags; undoing the change restores both."""
    return by.append("delete", _without_label(by, number))


def _without_label(by: ChangeContext, number: int) -> list[RecordChange]:
    known(by, "label", number)
    keys = [[item, number] for (item,) in by.db.execute("SELECT item FROM tags WHERE label = ?", (number,))]
    removed: list[RecordChange] = [("tag", key, current(by.db, "tag", key), None) for key in keys]
    return [*removed, ("label", number, {"deleted": 0}, {"deleted": 1})]


def undo_last(by: ChangeContext) -> int:
    """Undo the user's last change that is not undone yet."""
    row = by.one(
        "SELECT seq FROM journal WHERE actor = ? AND undone_by IS NULL AND changes <> '[]' "
        "AND kind NOT IN ('undo', 'forget', 'token') ORDER BY seq DESC LIMIT 1",
        by.actor,
    )
    if row is None:
        raise Conflict("You have made no change that can be undone.")
    return undo(by, row["seq"])


def forget_item(by: ChangeContext, number: int) -> int:
    """Erase an item from journal and tables; model snapshots and deleted bytes are erased later.

    Forgetting the same item again returns the same change.
    """
    by.check_role("administration")
    if row := by.one("SELECT seq FROM forgotten WHERE item = ?", number):
        return int(row["seq"])
    if current(by.db, "item", number) is None:
        raise NotFound(f"There is no item {number}.")
    seq = by.append("forget", [])
    by.db.execute("INSERT INTO touched (item, seq) VALUES (?, ?)", (number, seq))
    values = number, seq, json_text(list(_remains(by, erase(by.db, number))))
    by.db.execute("INSERT INTO forgotten (item, seq, remains) VALUES (?, ?, ?)", values)
    # digests of requests are erased; the rows stay, because otherwise a repeated request would be done again
    answers = "SELECT answer FROM answered WHERE item = ?"
    by.db.execute(f"UPDATE answers SET digest = NULL, body = NULL WHERE id IN ({answers})", (number,))
    by.db.execute("DELETE FROM answered WHERE item = ?", (number,))
    by.db.execute("UPDATE answers SET digest = NULL WHERE id NOT IN (SELECT answer FROM answered)")  # files
    return seq


def _remains(by: ChangeContext, states: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield what a model that has learned an item keeps of it until the next model is fitted."""
    if not any(state.get("status") == "done" for state in states):
        return
    cells = [cell for state in states for cell in state.get("content", {}).items() if cell[1] is not None]
    others = (
        "SELECT 1 FROM items, json_each(content) AS cell WHERE status = 'done' AND key = ? "
        "AND type <> 'null' LIMIT 1"
    )
    if any(_is_number(cell) for _, cell in cells):
        yield "numbers and dates"
    if any(by.one(others, name) is None for name in {name for name, _ in cells}):
        yield "names of columns"


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return _NUMBER.fullmatch(cell) is not None and any(map(str.isdigit, cell))
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def lease(by: ChangeContext, number: int) -> float:
    """Reserve an item for the user for ten minutes; return the end of the lease."""
    known_item(by, number)
    until = by.at + LEASE_SECONDS
    by.db.execute("REPLACE INTO leases (item, holder, until) VALUES (?, ?, ?)", (number, by.actor, until))
    return until


def lease_first(by: ChangeContext, order: Sequence[int], skip: Sequence[int]) -> int | None:
    """Lease the first free waiting item of an order; items that the order lacks come last."""
    free = (
        "SELECT id FROM items WHERE status = 'waiting' AND id NOT IN "
        "(SELECT item FROM leases WHERE until > ? AND holder <> ?) AND "
    )
    held = (by.at, by.actor)
    ordered = (by.one(free + "id = ?", *held, number) for number in order if number not in skip)
    marks = ", ".join("?" * len(skip))
    rest = f"{free} id NOT IN ({marks}) ORDER BY id LIMIT 1"
    row = next((row for row in ordered if row), None) or by.one(rest, *held, *skip)
    if row is None:
        return None
    lease(by, row["id"])
    return int(row["id"])


def release(by: ChangeContext, number: int) -> None:
    """End the lease of an item."""
    known_item(by, number)
    by.db.execute("DELETE FROM leases WHERE item = ?", (number,))

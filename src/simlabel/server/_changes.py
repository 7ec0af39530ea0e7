"""What people do at a desk, as entries of the journal. Each function runs within the writer's transaction."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import ConfigDict, Field

from simlabel.server._journal import By, Change, as_json, current, differing, erase, known, undo
from simlabel.server._kinds import MOST_NAMED, MOST_ROWS, Content, Described, Name, Number, Probability
from simlabel.server._problems import Conflict, DeskError, NotFound
from simlabel.server._teaching import position_of

LEASE_SECONDS = 600.0
_STATUS_KINDS = {"waiting": "reopen", "done": "done", "removed": "remove"}
_NUMBER = re.compile(r"[\s\d.,:/%+TZUCeE-]*")  # of texts, those that are numbers or dates; some others too
_TAG_KINDS = {"present": "tag", "rejected": "reject", None: "clear"}


@dataclass(frozen=True)
class NewItem:
    """An item that comes from outside; `done` where it has all its labels."""

    __pydantic_config__ = ConfigDict(extra="forbid")

    content: Content
    name: Name | None = None
    tags: Annotated[Sequence[Name], Field(max_length=200)] = ()
    done: bool = False


NewItems = Annotated[Sequence[NewItem], Field(min_length=1, max_length=MOST_ROWS)]


@dataclass
class Added:
    """What became of items that came: their numbers, in order, and the last change.

    Of those that were there, `updated` counts the ones that differ now, `unchanged` the others.
    """

    ids: list[int] = field(default_factory=list)
    updated: int = 0
    unchanged: int = 0
    position: int = 0


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


def known_item(by: By, number: int) -> dict[str, Any]:
    """An item that is there, and that nobody else is at."""
    found = known(by, "item", number)
    by.check_lease(number)
    by.items.add(number)
    return found


def _label_named(by: By, name: str) -> int | None:
    row = by.one("SELECT id FROM labels WHERE name = ? AND NOT deleted", name)
    return int(row["id"]) if row else None


def label_id(by: By, name: str) -> int:
    """The number of a label, which is made where there is none of that name."""
    name = checked_name(name, "label")
    return _label_named(by, name) or add_label(by, name)


def add_label(by: By, name: Name, description: Described = "") -> int:
    """A new label."""
    name = _free(by, name)
    number = by.new_number("labels")
    fields = {"name": name, "description": description, "deleted": 0}
    by.append("label", [("label", number, None, fields)])
    return number


def _free(by: By, name: str) -> str:
    name = checked_name(name, "label")
    if _label_named(by, name):
        raise Conflict(f"There is a label {name!r} already; merge the two instead.")
    return name


def add_items(by: By, items: NewItems, source: str = "import") -> Added:
    """New items; one whose name is known gets the content, and those tags that nobody touched."""
    added, tag = Added(), _tag(by, "present", source)
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
        untouched = [key for key in keys if current(by.db, "tag", key) is None]  # nor rejected by somebody
        changes = [("tag", key, None, tag) for key in untouched]
        seq = by.changed("add", [*differing("item", number, before, after), *changes])
        added.ids.append(number)
        added.updated += before is not None and seq is not None
        added.unchanged += seq is None
        by.items.add(number)
    added.position = position_of(by.db)
    return added


def _tag(by: By, state: str, source: str, probability: float | None = None) -> dict[str, Any]:
    return {"state": state, "source": source, "actor": by.actor, "at": by.at, "probability": probability}


def edit_item(by: By, number: int, content: Content) -> int | None:
    """Other content for an item; the number of the entry, None where nothing differs."""
    return by.changed("edit", differing("item", number, known_item(by, number), {"content": content}))


def set_status(by: By, number: int, status: str) -> int | None:
    """Waiting, done or removed; done ends a lease."""
    before = known_item(by, number)
    if before["status"] == status:
        return None
    after = {"status": status, "actor": by.actor, "at": by.at}
    seq = by.append(_STATUS_KINDS[status], differing("item", number, before, after))
    by.db.execute("DELETE FROM leases WHERE item = ?", (number,))
    return seq


def set_tag(
    by: By, number: int, label: Name, state: str | None, probability: Probability | None = None
) -> int | None:
    """Say that an item has a label ("present"), has it not ("rejected"), or that nothing is said (None).

    With a probability, it was a suggestion that somebody accepted.
    """
    known_item(by, number)
    if state is None and _label_named(by, " ".join(label.split())) is None:
        return None
    key = [number, label_id(by, label)]
    before = current(by.db, "tag", key)
    if (before and before["state"]) == state:
        return None
    source = "person" if probability is None else "accepted"
    after = None if state is None else _tag(by, state, source, probability)
    return by.append(_TAG_KINDS[state], [("tag", key, before, after)])


def accept(by: By, number: int, sure: Sequence[tuple[str, float]]) -> None:
    """Give an item tags by itself, unless somebody has touched them or the item, or is at it."""
    free = "SELECT 1 FROM items WHERE id = ? AND status = 'waiting' AND NOT EXISTS "
    free += "(SELECT 1 FROM leases WHERE item = items.id AND until > ?)"
    for label, probability in sure if by.one(free, number, by.at) else ():
        key = [number, label_id(by, label)]
        if current(by.db, "tag", key) is None:
            tag = _tag(by, "present", "automatic", probability)
            by.append("automatic", [("tag", key, None, tag)])


def change_label(
    by: By, number: int, name: Name | None = None, description: Described | None = None
) -> int | None:
    """Another name or description."""
    before = known(by, "label", number)
    after = dict(before)
    if name is not None and checked_name(name, "label") != before["name"]:
        after["name"] = _free(by, name)
    if description is not None:
        after["description"] = description
    kind = "rename" if after["name"] != before["name"] else "describe"
    return by.changed(kind, differing("label", number, before, after))


def merge_labels(by: By, number: int, into: Number) -> int:
    """All that is tagged with one label gets another; a tag beats a rejection."""
    known(by, "label", into)
    if number == into:
        raise DeskError("A label cannot be merged with itself.")
    changes = _without(by, number)
    for _, (item, _), own, _ in [change for change in changes if change[0] == "tag"]:
        other = current(by.db, "tag", [item, into])
        if other is None or (other["state"] == "rejected" and own and own["state"] == "present"):
            changes.append(("tag", [item, into], other, own))
    return by.append("merge", changes)


def delete_label(by: By, number: int) -> int:
    """A label and all its tags go; `undo` brings both back."""
    return by.append("delete", _without(by, number))


def _without(by: By, number: int) -> list[Change]:
    known(by, "label", number)
    keys = [[item, number] for (item,) in by.db.execute("SELECT item FROM tags WHERE label = ?", (number,))]
    gone: list[Change] = [("tag", key, current(by.db, "tag", key), None) for key in keys]
    return [*gone, ("label", number, {"deleted": 0}, {"deleted": 1})]


def undo_last(by: By) -> int:
    """Undo what this person did last and has not undone."""
    query = "SELECT seq FROM journal WHERE actor = ? AND undone_by IS NULL AND changes <> '[]' "
    query += "AND kind NOT IN ('undo', 'forget', 'token') ORDER BY seq DESC LIMIT 1"
    row = by.one(query, by.actor)
    if row is None:
        raise Conflict("There is nothing of yours to undo.")
    return undo(by, row["seq"])


def forget_item(by: By, number: int) -> int:
    """Erase an item from journal and tables, and note that snapshots and file have still to follow.

    Asked again, it is the same change.
    """
    by.check_role("administration")
    if row := by.one("SELECT seq FROM forgotten WHERE item = ?", number):
        return int(row["seq"])
    if current(by.db, "item", number) is None:
        raise NotFound(f"There is no item {number}.")
    seq = by.append("forget", [])
    by.db.execute("INSERT INTO touched (item, seq) VALUES (?, ?)", (number, seq))
    remains = list(_remains(by, erase(by.db, number)))
    values = number, seq, as_json(remains)
    by.db.execute("INSERT INTO forgotten (item, seq, remains) VALUES (?, ?, ?)", values)
    # digests of what was sent; that there was an answer stays, or the request would be done again
    about = "SELECT answer FROM answered WHERE item = ?"
    by.db.execute(f"UPDATE answers SET digest = NULL, body = NULL WHERE id IN ({about})", (number,))
    by.db.execute("DELETE FROM answered WHERE item = ?", (number,))
    by.db.execute(
        "UPDATE answers SET digest = NULL WHERE id NOT IN (SELECT answer FROM answered)"
    )  # of files
    return seq


def _remains(by: By, states: Sequence[dict[str, Any]]) -> Iterator[str]:
    """What a model that has learnt an item keeps without its row, until another is fitted."""
    if not any(state.get("status") == "done" for state in states):
        return
    contents = [state["content"] for state in states if "content" in state]
    cells = {name: cell for content in contents for name, cell in content.items() if cell is not None}
    others = "SELECT 1 FROM items, json_each(content) AS cell WHERE status = 'done' AND key = ? "
    others += "AND type <> 'null' LIMIT 1"
    if any(map(_is_number, (cell for content in contents for cell in content.values()))):
        yield "numbers and dates"
    if any(by.one(others, name) is None for name in cells):
        yield "names of columns"


def _is_number(cell: Any) -> bool:
    if isinstance(cell, str):
        return _NUMBER.fullmatch(cell) is not None and any(map(str.isdigit, cell))
    return isinstance(cell, int | float) and not isinstance(cell, bool)


def lease(by: By, number: int) -> float:
    """Keep others off an item for ten minutes; until when."""
    known_item(by, number)
    until = by.at + LEASE_SECONDS
    by.db.execute("REPLACE INTO leases (item, holder, until) VALUES (?, ?, ?)", (number, by.actor, until))
    return until


def lease_first(by: By, order: Sequence[int], skip: Sequence[int]) -> int | None:
    """Lease the first waiting item of an order that nobody is at; those the order lacks come last."""
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


def release(by: By, number: int) -> None:
    """Give an item back."""
    known_item(by, number)
    by.db.execute("DELETE FROM leases WHERE item = ?", (number,))

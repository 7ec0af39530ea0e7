"""Queries of the store: items with their tags, labels with their counts, the journal."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from simlabel.server._journal import items_of, position_of
from simlabel.server._model import FEWEST
from simlabel.server._types import Before, Filter, Limit, NotFound, Status, View

_TITLES = ("title", "name", "subject", "headline")  # columns that serve as the title of an item
_LONGEST = 80
_FAR = 2**62  # larger than every id
_ITEM = (
    "SELECT i.id, i.name, i.content, i.status, i.actor, i.at, i.revision, l.holder, l.until "
    "FROM items i LEFT JOIN leases l ON l.item = i.id WHERE i.id = ? AND i.status <> 'removed'"
)
_TAGS = (
    "SELECT l.name AS label, t.state, t.source, t.actor, t.at, t.probability FROM tags t "
    "JOIN labels l ON l.id = t.label WHERE t.item = ? AND NOT l.deleted ORDER BY l.name"
)


def item_views(db: sqlite3.Connection, ids: Sequence[int]) -> list[View]:
    """Return items with their tags, in the order of the given ids."""
    rows = [row for number in ids if (row := db.execute(_ITEM, (number,)).fetchone())]
    return [_item(dict(row), [dict(tag) for tag in db.execute(_TAGS, (row["id"],))]) for row in rows]


def _item(view: View, tags: list[View]) -> View:
    holder, until, content = view.pop("holder"), view.pop("until"), json.loads(view["content"])
    lease = None if holder is None else {"holder": holder, "until": until}
    title = title_of(view["name"], content)
    return view | {"content": content, "title": title, "lease": lease, "tags": tags}


def item_view(db: sqlite3.Connection, number: int) -> View:
    """Return one item."""
    for view in item_views(db, [number]):
        return view
    raise NotFound(f"There is no item {number}.")


def title_of(name: str, content: dict[str, Any]) -> str:
    """Return the title of an item: its column "title" or similar, else its shortest text, else its name."""
    texts = {key.lower(): text for key, text in content.items() if isinstance(text, str) and text.strip()}
    named = [texts[key] for key in _TITLES if key in texts]
    longer = [text for text in texts.values() if " " in text.strip()]
    shown = named[0] if named else min(longer, key=len) if longer else name
    shown = " ".join(shown.split())
    return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1].rstrip() + "…"


def find_items(
    db: sqlite3.Connection,
    status: Status | None = None,
    text: Filter = None,
    label: Filter = None,
    before: Before = 0,
    limit: Limit = 50,
) -> list[View]:
    """Return items, the newest first. For the next page, set `before` to the id of the last item received."""
    like = (text or "").replace("!", "!!").replace("%", "!%").replace("_", "!_")
    rows = db.execute(
        "SELECT id FROM items WHERE id < :before AND status <> 'removed' "
        "AND (:status IS NULL OR status = :status) "
        "AND (:like = '%%' OR content LIKE :like ESCAPE '!' OR name LIKE :like ESCAPE '!') "
        "AND (:label IS NULL OR id IN (SELECT t.item FROM tags t JOIN labels l ON l.id = t.label "
        "WHERE t.state = 'present' AND l.name = :label AND NOT l.deleted)) ORDER BY id DESC LIMIT :limit",
        {"before": before or _FAR, "status": status, "like": f"%{like}%", "label": label, "limit": limit},
    )
    return item_views(db, [row["id"] for row in rows])


def waiting_items(db: sqlite3.Connection, order: Sequence[int], limit: int) -> list[View]:
    """Return the waiting items: first those of an order, then the others by id."""
    rows = db.execute(
        "SELECT i.id FROM items i LEFT JOIN json_each(?) o ON o.value = i.id WHERE i.status = 'waiting' "
        "ORDER BY o.key IS NULL, o.key, i.id LIMIT ?",
        (json.dumps(order), limit),
    )
    return item_views(db, [row["id"] for row in rows])


def label_views(db: sqlite3.Connection, by_label: dict[str, float]) -> list[View]:
    """Return the labels, the most frequent first, each with its leave-one-out F1 if that is known."""
    rows = db.execute(
        "SELECT l.id, l.name, l.description, count(t.item) AS items FROM labels l "
        "LEFT JOIN tags t ON t.label = l.id AND t.state = 'present' "
        "AND t.item IN (SELECT id FROM items WHERE status <> 'removed') "
        "WHERE NOT l.deleted GROUP BY l.id ORDER BY items DESC, l.name"
    )
    return [{**dict(row), "f1": by_label.get(str(row["id"]))} for row in rows]


def label_names(db: sqlite3.Connection) -> dict[int, str]:
    """Return the names of the labels by id."""
    return {row["id"]: row["name"] for row in db.execute("SELECT id, name FROM labels WHERE NOT deleted")}


def text_column(db: sqlite3.Connection) -> str:
    """Return the column that a text without a column belongs to: the one with the longest texts."""
    row = db.execute(
        "SELECT j.key FROM (SELECT content FROM items WHERE status <> 'removed' ORDER BY id DESC LIMIT 50) i"
        ", json_each(i.content) j WHERE j.type = 'text' "
        "GROUP BY j.key ORDER BY sum(length(j.value)) DESC LIMIT 1"
    ).fetchone()
    return str(row["key"]) if row else "text"


def journal(
    db: sqlite3.Connection, number: int | None = None, before: Before = 0, limit: Limit = 50
) -> list[View]:
    """Return the changes, of one item or all, the newest first: ids and names, never content."""
    of_item = "" if number is None else "AND seq IN (SELECT seq FROM touched WHERE item = :item)"
    rows = db.execute(
        "SELECT seq, at, actor, kind, undoes, undone_by, changes FROM journal "
        f"WHERE seq < :before {of_item} ORDER BY seq DESC LIMIT :limit",
        {"before": before or _FAR, "item": number, "limit": limit},
    ).fetchall()
    return [_entry(db, dict(row)) for row in rows]


def _entry(db: sqlite3.Connection, entry: View) -> View:
    """Return a journal entry with its label names at that time."""
    query = "SELECT name FROM label_names WHERE label = ? AND seq <= ? ORDER BY seq DESC LIMIT 1"
    changes = json.loads(entry.pop("changes"))
    items = items_of(changes)
    labels: set[str] = set()
    for what, key, _, _ in changes:
        if what in ("label", "tag"):
            label = key if what == "label" else key[1]
            row = db.execute(query, (label, entry["seq"])).fetchone()
            labels.add(row["name"] if row else f"label {label}")
    return {**entry, "items": sorted(items)[:20], "labels": sorted(labels)[:20], "n_items": len(items)}


def counts(db: sqlite3.Connection) -> dict[str, int]:
    """Return the number of items by status."""
    rows = db.execute("SELECT status, count(*) FROM items WHERE status <> 'removed' GROUP BY status")
    return {"waiting": 0, "done": 0} | dict(rows.fetchall())


def week(db: sqlite3.Connection, now: float) -> View:
    """Return the number of changes of the last seven days by kind, and the quality before them."""
    since = now - 7 * 86400
    kinds = db.execute(
        "SELECT kind, count(*) FROM journal WHERE at >= ? GROUP BY kind ORDER BY kind", (since,)
    )
    then = db.execute("SELECT data FROM quality ORDER BY at < ? DESC, abs(at - ?) LIMIT 1", (since, since))
    before = [json.loads(row["data"]) for row in then]
    return {"changes": dict(kinds.fetchall()), "quality_before": before[0] if before else None}


def quality_over_time(db: sqlite3.Connection, limit: int) -> list[View]:
    """Return the metrics that were measured, the newest first."""
    rows = db.execute("SELECT at, position, data FROM quality ORDER BY at DESC LIMIT ?", (limit,))
    names = ("rows", "f1_micro", "f1_macro", "average_precision")
    found = [(row["at"], row["position"], json.loads(row["data"])) for row in rows]
    return [{"at": at, "position": p, **{name: d.get(name) for name in names}} for at, p, d in found]


def jobs(db: sqlite3.Connection, number: int | None = None) -> list[View]:
    """Return the imports, the newest first."""
    query = "SELECT id, state, actor, at, done, data FROM jobs WHERE ?1 IS NULL OR id = ?1"
    rows = db.execute(f"{query} ORDER BY id DESC LIMIT 50", (number,)).fetchall()
    views = [dict(row) | json.loads(row["data"]) for row in rows]
    return [view | {"name": view["options"]["name"]} for view in views]


def job(db: sqlite3.Connection, number: int) -> View:
    """Return the progress of an import."""
    for view in jobs(db, number):
        return view
    raise NotFound(f"There is no job {number}.")


def tokens(db: sqlite3.Connection) -> list[View]:
    """Return the tokens without their secrets."""
    return [dict(row) for row in db.execute("SELECT id, name, role, revoked FROM tokens")]


def prospects(db: sqlite3.Connection) -> tuple[int, bool, bool]:
    """Return the last journal position, whether imports are running, and whether a model can be fitted."""
    (imports,) = db.execute("SELECT EXISTS (SELECT 1 FROM jobs WHERE state = 'waiting')").fetchone()
    (n_done,) = db.execute("SELECT count(*) FROM items WHERE status = 'done'").fetchone()
    (tagged,) = db.execute(
        "SELECT EXISTS (SELECT 1 FROM tags t JOIN items i ON i.id = t.item WHERE i.status = 'done' "
        "AND t.state = 'present')"
    ).fetchone()
    return position_of(db), bool(imports), bool(tagged) and n_done >= FEWEST

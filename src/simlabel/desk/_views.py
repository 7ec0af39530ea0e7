"""What the store is asked for: items with their tags, labels with their counts, the journal."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Any

from simlabel.desk._problems import NotFound

View = dict[str, Any]
_TITLES = ("title", "name", "subject", "headline")  # columns by which an item is shown, if it has one
_LONGEST = 80


def item_views(db: sqlite3.Connection, ids: Sequence[int]) -> list[View]:
    """Items with all that is known of them, in the order of their numbers given."""
    found: dict[int, View] = {}
    for number in ids:
        row = db.execute(
            "SELECT i.id, i.name, i.content, i.status, i.actor, i.at, i.revision, l.holder, l.until "
            "FROM items i LEFT JOIN leases l ON l.item = i.id WHERE i.id = ? AND i.status <> 'removed'",
            (number,),
        ).fetchone()
        if row is None:
            continue
        view = dict(row)
        view["content"] = json.loads(view["content"])
        view["title"] = title_of(view["name"], view["content"])
        holder, until = view.pop("holder"), view.pop("until")
        view["lease"] = None if holder is None else {"holder": holder, "until": until}
        view["tags"] = [
            dict(tag)
            for tag in db.execute(
                "SELECT l.name AS label, t.state, t.source, t.actor, t.at, t.probability FROM tags t "
                "JOIN labels l ON l.id = t.label WHERE t.item = ? AND NOT l.deleted ORDER BY l.name",
                (number,),
            )
        ]
        found[number] = view
    return [found[number] for number in ids if number in found]


def item_view(db: sqlite3.Connection, number: int) -> View:
    """One item."""
    views = item_views(db, [number])
    if not views:
        raise NotFound(f"There is no item {number}.")
    return views[0]


def title_of(name: str, content: dict[str, Any]) -> str:
    """By what an item is shown: a column called title or so, else its shortest text, else its name."""
    by_name = {key.lower(): value for key, value in content.items()}
    for key in _TITLES:
        if isinstance(by_name.get(key), str) and by_name[key].strip():
            return cut(by_name[key])
    texts = [value for value in content.values() if isinstance(value, str) and " " in value.strip()]
    return cut(min(texts, key=len)) if texts else cut(name)


def cut(text: str) -> str:
    """A text short enough for one line."""
    text = " ".join(text.split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1].rstrip() + "…"


def find_items(
    db: sqlite3.Connection, status: str | None, text: str | None, label: str | None, after: int, limit: int
) -> list[int]:
    """Numbers of items, the last first, below a number."""
    where, values = ["i.id < ?", "i.status <> 'removed'"], [after or 2**62]
    given: list[Any] = [*values]
    if status is not None:
        where.append("i.status = ?")
        given.append(status)
    if text:
        where.append("(i.content LIKE ? ESCAPE '!' OR i.name LIKE ? ESCAPE '!')")
        like = text.replace("!", "!!").replace("%", "!%").replace("_", "!_")
        given += [f"%{like}%"] * 2
    if label is not None:
        where.append(
            "i.id IN (SELECT t.item FROM tags t JOIN labels l ON l.id = t.label "
            "WHERE t.state = 'present' AND l.name = ? AND NOT l.deleted)"
        )
        given.append(label)
    rows = db.execute(
        f"SELECT i.id FROM items i WHERE {' AND '.join(where)} ORDER BY i.id DESC LIMIT ?", (*given, limit)
    )
    return [row["id"] for row in rows]


def waiting_items(db: sqlite3.Connection, order: Sequence[int], limit: int) -> list[int]:
    """The inbox: items in the order that the model gave, then the others as they came."""
    marks = ", ".join("?" * len(order))
    known = {
        row["id"]
        for row in db.execute(
            f"SELECT id FROM items WHERE status = 'waiting' AND id IN ({marks})", tuple(order)
        )
    }
    first = [number for number in order if number in known][:limit]
    rest = db.execute(
        f"SELECT id FROM items WHERE status = 'waiting' AND id NOT IN ({marks}) ORDER BY id LIMIT ?",
        (*order, limit - len(first)),
    )
    return first + [row["id"] for row in rest]


def label_views(db: sqlite3.Connection, by_label: dict[str, float]) -> list[View]:
    """Labels, the most frequent first, each with its leave-one-out F1 where that is known."""
    rows = db.execute(
        "SELECT l.id, l.name, l.description, count(t.item) AS items FROM labels l "
        "LEFT JOIN tags t ON t.label = l.id AND t.state = 'present' "
        "AND t.item IN (SELECT id FROM items WHERE status <> 'removed') "
        "WHERE NOT l.deleted GROUP BY l.id ORDER BY items DESC, l.name"
    )
    return [{**dict(row), "f1": by_label.get(str(row["id"]))} for row in rows]


def label_names(db: sqlite3.Connection) -> dict[int, str]:
    """Names by numbers, of labels that are there."""
    return {row["id"]: row["name"] for row in db.execute("SELECT id, name FROM labels WHERE NOT deleted")}


def journal_views(db: sqlite3.Connection, item: int | None, before: int | None, limit: int) -> list[View]:
    """Who changed what and when, the last first: numbers and names, never content."""
    where, values = ["j.seq < ?"], [before or 2**62]
    if item is not None:
        where.append("j.seq IN (SELECT seq FROM touched WHERE item = ?)")
        values.append(item)
    rows = db.execute(
        "SELECT j.seq, j.at, j.actor, j.kind, j.undoes, j.undone_by, j.changes FROM journal j "
        f"WHERE {' AND '.join(where)} ORDER BY j.seq DESC LIMIT ?",
        (*values, limit),
    ).fetchall()
    names = label_names(db)
    return [_entry(row, names) for row in rows]


def _entry(row: sqlite3.Row, names: dict[int, str]) -> View:
    entry = {name: row[name] for name in ("seq", "at", "actor", "kind", "undoes", "undone_by")}
    items: set[int] = set()
    labels: set[str] = set()
    for what, key, _, _ in json.loads(row["changes"]):
        if what == "item":
            items.add(key)
        elif what == "tag":
            items.add(key[0])
            labels.add(names.get(key[1], f"label {key[1]}"))
        elif what == "label":
            labels.add(names.get(key, f"label {key}"))
    return {**entry, "items": sorted(items)[:20], "labels": sorted(labels)[:20], "n_items": len(items)}


def counts(db: sqlite3.Connection) -> dict[str, int]:
    """Items by status."""
    found = {"waiting": 0, "done": 0}
    found |= {
        row["status"]: row["n"]
        for row in db.execute("SELECT status, count(*) AS n FROM items GROUP BY status")
    }
    found.pop("removed", None)
    return found


def week(db: sqlite3.Connection, now: float) -> View:
    """What changed in seven days: entries by kind, and quality then and now."""
    since = now - 7 * 86400
    kinds = db.execute(
        "SELECT kind, count(*) AS n FROM journal WHERE at >= ? GROUP BY kind ORDER BY kind", (since,)
    )
    then = db.execute("SELECT data FROM quality WHERE at < ? ORDER BY at DESC LIMIT 1", (since,)).fetchone()
    then = then or db.execute("SELECT data FROM quality ORDER BY at LIMIT 1").fetchone()
    return {
        "changes": {row["kind"]: row["n"] for row in kinds},
        "quality_before": None if then is None else json.loads(then["data"]),
    }


def quality_over_time(db: sqlite3.Connection, limit: int) -> list[View]:
    """The figures that were measured, the last first."""
    rows = db.execute("SELECT at, position, data FROM quality ORDER BY at DESC LIMIT ?", (limit,))
    wanted = ("rows", "f1_micro", "f1_macro", "average_precision")
    return [
        {
            "at": row["at"],
            "position": row["position"],
            **{name: json.loads(row["data"]).get(name) for name in wanted},
        }
        for row in rows
    ]


def job_views(db: sqlite3.Connection, number: int | None = None) -> list[View]:
    """Imports, the last first."""
    where, values = ("WHERE id = ?", (number,)) if number is not None else ("", ())
    rows = db.execute(
        f"SELECT id, state, actor, at, done, data FROM jobs {where} ORDER BY id DESC LIMIT 50", values
    )
    views = []
    for row in rows:
        data = json.loads(row["data"])
        views.append(
            {
                **{name: row[name] for name in ("id", "state", "actor", "at", "done")},
                "name": data["options"]["name"],
                **{name: data[name] for name in ("total", "updated", "problems")},
            }
        )
    return views

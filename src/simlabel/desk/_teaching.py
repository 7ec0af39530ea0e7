"""From the store to a model: which items it is taught, and how it follows what changed.

The library is called as anybody would. Labels go by their numbers, so that a new name costs nothing.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from simlabel import Tagger

FEWEST = 2  # taught items: below there is nothing to compare

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Lesson:
    """An item that a model is taught: its content, and the numbers of its labels."""

    item: int
    content: dict[str, Any]
    labels: frozenset[str]


@dataclass(frozen=True)
class Changes:
    """What a model has to follow: up to where, which items were touched, and what they teach now."""

    position: int
    touched: frozenset[int]
    lessons: tuple[Lesson, ...]


def position_of(db: sqlite3.Connection) -> int:
    """The number of the last entry."""
    (position,) = db.execute("SELECT coalesce(max(seq), 0) FROM journal").fetchone()
    return int(position)


def changes_since(db: sqlite3.Connection, position: int) -> Changes:
    """What the journal has after a position; all of it after -1. Only items that are done are taught."""
    db.execute("BEGIN")
    try:
        now = position_of(db)
        gone = {item for (item,) in db.execute("SELECT item FROM forgotten WHERE seq > ?", (position,))}
        rows = db.execute("SELECT id, content, status FROM items WHERE revision > ?", (position,)).fetchall()
        labels: dict[int, set[str]] = {}
        for item, label in db.execute(
            "SELECT t.item, t.label FROM tags t JOIN items i ON i.id = t.item "
            "WHERE i.revision > ? AND t.state = 'present'",
            (position,),
        ):
            labels.setdefault(item, set()).add(str(label))
    finally:
        db.execute("ROLLBACK")
    lessons = [
        Lesson(item, json.loads(content), frozenset(labels.get(item, ())))
        for item, content, status in rows
        if status == "done"
    ]
    return Changes(now, frozenset(gone | {row["id"] for row in rows}), tuple(lessons))


def columns_of(lessons: Sequence[Lesson]) -> list[str]:
    """Names of columns in the order in which they come up."""
    return list(dict.fromkeys(name for lesson in lessons for name in lesson.content))


def as_rows(contents: Sequence[dict[str, Any]], columns: Sequence[str]) -> Rows:
    """Contents as rows of a table, with a cell for each column."""
    return [{name: content.get(name) for name in columns} for content in contents]


def fitted(lessons: Sequence[Lesson]) -> Tagger | None:
    """A model of its own choosing; None where there is too little to learn from."""
    if len(lessons) < FEWEST or not any(lesson.labels for lesson in lessons):
        return None
    from simlabel import Tagger  # here: the server starts without it

    columns = columns_of(lessons)
    if not columns:
        return None
    rows = as_rows([lesson.content for lesson in lessons], columns)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Tagger(n_jobs=1).fit(
            rows, [set(lesson.labels) for lesson in lessons], ids=[lesson.item for lesson in lessons]
        )


def followed(model: Tagger, changes: Changes) -> Tagger | None:
    """Bring a model up to date, its resolved values held; None where nothing of it would stay."""
    known = set(model.ids_.tolist())
    gone = sorted(known & changes.touched)
    if len(gone) == len(known):
        return None
    columns = model.feature_names_in_.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if gone:
            model.forget(gone)
        if changes.lessons:
            model.partial_fit(
                as_rows([lesson.content for lesson in changes.lessons], columns),
                [set(lesson.labels) for lesson in changes.lessons],
                ids=[lesson.item for lesson in changes.lessons],
            )
    return model

"""From the store to a model: which items it is taught, and how it follows what changed.

The library is called as anybody would. Labels go by their numbers, so that a new name costs nothing.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlabel.server._problems import StoreError

if TYPE_CHECKING:
    from simlabel import Tagger

FEWEST = 2  # taught items: below there is nothing to compare
_TAGS = "SELECT t.item, t.label, t.state FROM tags t JOIN items i ON i.id = t.item WHERE "


@dataclass(frozen=True)
class Lesson:
    """An item: its content, the numbers of labels that it has and has not, and whether that is all.

    Of an item that is not `done`, labels in neither are unknown.
    """

    item: int
    revision: int
    content: dict[str, Any]
    labels: frozenset[str]
    rejected: frozenset[str]
    done: bool


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


def lessons_where(db: sqlite3.Connection, where: str, *values: int) -> list[Lesson]:
    """What items `i` that something holds for say, those that were put away apart."""
    tags: dict[int, dict[str, set[str]]] = {}
    for item, label, state in db.execute(_TAGS + where, values):
        tags.setdefault(item, {"present": set(), "rejected": set()})[state].add(str(label))
    query = "SELECT i.id, i.revision, i.content, i.status FROM items i WHERE i.status <> 'removed' AND "
    found = []
    for item, revision, content, status in db.execute(query + where, values):
        said = tags.get(item, {"present": (), "rejected": ()})
        pair = frozenset(said["present"]), frozenset(said["rejected"])
        found.append(Lesson(item, revision, json.loads(content), *pair, status == "done"))
    return found


def changes_since(db: sqlite3.Connection, position: int) -> Changes:
    """What the journal has after a position; all of it after -1. Learnt are items that are done.

    What is known of the others is not all of their labels, and learned influence mixes labels by what goes
    with what: they count in plain sums until they are done (`_beside`).
    """
    db.execute("BEGIN")
    try:
        now = position_of(db)
        gone = "SELECT item FROM forgotten WHERE seq > ?1 UNION SELECT id FROM items WHERE revision > ?1"
        touched = frozenset(item for (item,) in db.execute(gone, (position,)))
        lessons = lessons_where(db, "i.status = 'done' AND i.revision > ?", position)
    finally:
        db.execute("ROLLBACK")
    return Changes(now, touched, tuple(lessons))


def as_rows(contents: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Contents as rows of a table, with a cell for each column."""
    return [{name: content.get(name) for name in columns} for content in contents]


def _taught(lessons: Sequence[Lesson], columns: Sequence[str]) -> dict[str, Any]:
    rows = as_rows([lesson.content for lesson in lessons], columns)
    return {"X": rows, "y": [set(one.labels) for one in lessons], "ids": [one.item for one in lessons]}


def opened(file: Path) -> Tagger:
    """A model that was saved by a server, and not another that reads more than its file."""
    from simlabel import Tagger, load
    from simlabel.tables import EmbeddedColumn, Embedding

    model = load(file)
    if not isinstance(model, Tagger):
        raise StoreError(f"{file.name} is a {type(model).__name__}, which no server saves.")
    encoder = model.encoder_
    if encoder is None:
        raise StoreError(f"{file.name} is a model of numbers, which no server saves.")
    given = [*(model.columns or {}).values(), *(encoder.columns or {}).values(), *encoder.fitted_]
    if any(isinstance(one, Embedding | EmbeddedColumn) for one in given):
        raise StoreError(f"{file.name} names an embedding, which would be read from another folder.")
    return model


def fitted(lessons: Sequence[Lesson]) -> Tagger | None:
    """A model of its own choosing; None where there is too little to learn from."""
    columns = list(dict.fromkeys(name for lesson in lessons for name in lesson.content))
    if len(lessons) < FEWEST or not columns or not any(lesson.labels for lesson in lessons):
        return None
    from simlabel import Tagger  # here: the server starts without it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Tagger(n_jobs=1).fit(**_taught(lessons, columns))


def followed(model: Tagger, changes: Changes) -> Tagger | None:
    """Bring a model up to date, its resolved values held; None where nothing of it would stay."""
    known = set(model.ids_.tolist())
    gone = sorted(known & changes.touched)
    if len(gone) == len(known):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not changes.lessons:
            return model.forget(gone) if gone else model
        return model.exchange(gone, **_taught(changes.lessons, model.feature_names_in_.tolist()))

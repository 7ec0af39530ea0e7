"""All calls of the library: training rows from the store, fitting, updating, pending updates, insights.

Models use label ids as names, so that renaming a label does not change a model.
"""

from __future__ import annotations

import json
import sqlite3
import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from simlabel.server._journal import position_of
from simlabel.server._store import ServerStore
from simlabel.server._types import StoreError

if TYPE_CHECKING:
    from simlabel import Tagger
    from simlabel.model import Outputs, PendingRows

FEWEST = 2  # done items that a model needs
_NEW, _MAX = 32, 256  # pending items that are added at once, and in total: the newest
_PART = "i.id IN (SELECT id FROM items WHERE {} ORDER BY revision DESC LIMIT ?)"
_NOT_DONE = "status = 'waiting' AND EXISTS (SELECT 1 FROM tags WHERE item = items.id)"
_TOUCHED = "SELECT id FROM items WHERE revision > ?1 UNION SELECT item FROM forgotten WHERE seq > ?1"

_POOL = 2000  # waiting items that are candidates for the queue: the oldest
_PICKED = 100  # of which so many are ranked
_PAIRS = 20_000_000  # items x labels up to which quality is measured
_DOUBTFUL = 200
_ITEMS, _WORDS = 5, 8  # in an explanation


@dataclass(frozen=True)
class LabeledItem:
    """An item as a training row; if it is not `done`, its labels that are in neither set are unknown."""

    item: int
    revision: int
    content: dict[str, Any]
    labels: frozenset[str]
    rejected: frozenset[str]
    done: bool


@dataclass(frozen=True)
class Changes:
    """The journal position to update to, the items that changed, and those of them that are done."""

    position: int
    touched: frozenset[int]
    labeled_items: tuple[LabeledItem, ...]


def lessons_where(db: sqlite3.Connection, where: str, *values: int) -> list[LabeledItem]:
    """Return the items `i` that satisfy a condition and are not removed."""
    states: dict[int, dict[str, set[str]]] = {}
    tags = "SELECT t.item, t.label, t.state FROM tags t JOIN items i ON i.id = t.item WHERE "
    for item, label, state in db.execute(tags + where, values):
        states.setdefault(item, {"present": set(), "rejected": set()})[state].add(str(label))
    query = "SELECT i.id, i.revision, i.content, i.status FROM items i WHERE i.status <> 'removed' AND "
    found = []
    for item, revision, content, status in db.execute(query + where, values):
        sets = states.get(item, {"present": (), "rejected": ()})
        pair = frozenset(sets["present"]), frozenset(sets["rejected"])
        found.append(LabeledItem(item, revision, json.loads(content), *pair, status == "done"))
    return found


def changes_since(db: sqlite3.Connection, position: int) -> Changes:
    """Return the changes after a journal position (all for -1). Only done items are training rows.

    The tags of waiting items are incomplete, and learned influence uses dependencies between labels: waiting
    items count as pending updates until they are done (`PendingUpdates`).
    """
    db.execute("BEGIN")
    try:
        now = position_of(db)
        touched = frozenset(item for (item,) in db.execute(_TOUCHED, (position,)))
        labeled_items = lessons_where(db, "i.status = 'done' AND i.revision > ?", position)
    finally:
        db.execute("ROLLBACK")
    return Changes(now, touched, tuple(labeled_items))


def table_rows(contents: Sequence[dict[str, Any]], columns: Sequence[str]) -> list[dict[str, Any]]:
    """Return contents as rows of a table with the given columns."""
    return [{name: content.get(name) for name in columns} for content in contents]


def _training_data(labeled_items: Sequence[LabeledItem], columns: Sequence[str]) -> dict[str, Any]:
    rows = table_rows([labeled_item.content for labeled_item in labeled_items], columns)
    return {
        "X": rows,
        "y": [set(one.labels) for one in labeled_items],
        "ids": [one.item for one in labeled_items],
    }


def load_model(file: Path) -> Tagger:
    """Load a model file; raise `StoreError` if it is not one that a server saves and reads no other file."""
    from simlabel import Tagger, load
    from simlabel.tables import EmbeddedColumn, Embedding

    model = load(file)
    if not isinstance(model, Tagger):
        raise StoreError(f"{file.name} contains a {type(model).__name__}, which a server never saves.")
    encoder = model.encoder_
    if encoder is None:
        raise StoreError(f"{file.name} contains a model of numbers, which a server never saves.")
    given = [*(model.columns or {}).values(), *(encoder.columns or {}).values(), *encoder.fitted_]
    if any(isinstance(one, Embedding | EmbeddedColumn) for one in given):
        raise StoreError(f"{file.name} names an embedding, which would be read from another folder.")
    return model


def fit_model(labeled_items: Sequence[LabeledItem]) -> Tagger | None:
    """Fit a model with automatic parameters; return None if there are too few items."""
    columns = list(dict.fromkeys(name for labeled_item in labeled_items for name in labeled_item.content))
    if (
        len(labeled_items) < FEWEST
        or not columns
        or not any(labeled_item.labels for labeled_item in labeled_items)
    ):
        return None
    from simlabel import Tagger  # here: the server starts without it

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Tagger(n_jobs=1).fit(**_training_data(labeled_items, columns))


def update_model(model: Tagger, changes: Changes) -> Tagger | None:
    """Update a model with its parameters fixed; return None if none of its rows would remain."""
    known = set(model.ids_.tolist())
    removed = sorted(known & changes.touched)
    if len(removed) == len(known):
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if not changes.labeled_items:
            return model.forget(removed) if removed else model
        return model.replace_rows(
            removed, **_training_data(changes.labeled_items, model.feature_names_in_.tolist())
        )


class PendingUpdates:
    """The pending updates of a model: items that changed since it was trained, and items that are not done.

    Parameters
    ----------
    position : int
        The journal position up to which the model is trained. The attribute of the same name is the last
        change that the pending updates include.
    """

    def __init__(self, store: ServerStore, model: Tagger, position: int) -> None:
        self._store, self._model, self.position = store, model, position
        self._columns: list[str] = model.feature_names_in_.tolist()
        self._items: list[tuple[int, int]] = []  # revisions and ids of the pending items, in rising order
        self._notes: PendingRows | None = None
        self._add(store.read(lessons_where, _PART.format(_NOT_DONE), _MAX))

    def refresh(self) -> None:
        """Add the items that were changed in the store since the last call."""
        now = self._store.cached_query(position_of)
        if now == self.position:
            return
        with self._store.reading() as db:
            removed = [item for (item,) in db.execute(_TOUCHED, (self.position,))]
            new = lessons_where(db, _PART.format("revision > ?"), self.position, _NEW)
        self._add(new, removed)
        self.position = now

    def warm(self) -> None:
        """Precompute what the first pending item needs."""
        items, pending = self._items, self._notes
        self._add([LabeledItem(0, 0, {}, frozenset(), frozenset(), True)])
        self.outputs([{}])
        self._items, self._notes = items, pending

    def outputs(self, contents: Sequence[dict[str, Any]]) -> Outputs:
        """Return the model's outputs for contents, with the pending updates."""
        return self._model.outputs(table_rows(contents, self._columns), self._notes)

    def _add(self, labeled_items: Sequence[LabeledItem], removed: Collection[int] = ()) -> None:
        """Add items, replacing their earlier versions, and remove those that are gone."""
        import numpy as np

        from simlabel.labels import PartialLabels

        new = [one for one in labeled_items if one.done or one.labels or one.rejected]
        replaced = {*removed, *(one.item for one in new)}
        remaining = [at for at, (_, item) in enumerate(self._items) if item not in replaced]
        if not new and len(remaining) == len(self._items):
            return
        items = [self._items[at] for at in remaining] + [(one.revision, one.item) for one in new]
        pending = self._notes.part(np.array(remaining)) if self._notes is not None and remaining else None
        if new:
            rows = table_rows([one.content for one in new], self._columns)
            y = [set(one.labels) if one.done else PartialLabels(one.labels, one.rejected) for one in new]
            more = self._model.pending_rows(rows, y)
            pending = more if pending is None else pending + more
        newest = sorted(range(len(items)), key=items.__getitem__)[-_MAX:]
        self._items = [items[at] for at in newest]
        self._notes = None if pending is None else pending.part(np.array(newest))


def why(model: Tagger, content: dict[str, Any], label: int) -> dict[str, Any] | None:
    """Return the items and words for and against a label, or None if the model does not know the label."""
    known = model.classes_.tolist()
    if str(label) not in known:
        return None
    explanation = model.explain(table_rows([content], model.feature_names_in_.tolist()), top=_ITEMS)
    column, words = known.index(str(label)), []
    if explanation.has_words:
        frame = explanation.words(0, str(label)).head(_WORDS).round({"contribution": 6})
        words = frame[["column", "term", "contribution"]].to_dict("records")
    return {
        "probability": round(float(explanation.probabilities[0, column]), 4),
        "usual": round(float(explanation.base_rate[column]), 4),
        "items": [
            {"item": int(item), "contribution": round(float(value), 6)}
            for item, value in explanation.contributors(0, column)
        ],
        "words": words,
    }


def insights(db: sqlite3.Connection, model: Tagger, *, quality: bool) -> dict[str, Any]:
    """Return the order of the waiting items and, with `quality`, leave-one-out metrics and doubtful tags."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: dict[str, Any] = {"order": _order(db, model)}
        if quality:
            found["quality"], found["suspicious"] = _quality(db, model)
    return found


def _order(db: sqlite3.Connection, model: Tagger) -> list[int]:
    """Return ids of waiting items by active learning: uncertain and diverse items come first."""
    query = "SELECT id, content FROM items WHERE status = 'waiting' ORDER BY id LIMIT ?"
    rows = db.execute(query, (_POOL,)).fetchall()
    if not rows:
        return []
    pool = table_rows([json.loads(row["content"]) for row in rows], model.feature_names_in_.tolist())
    return [int(rows[place]["id"]) for place in model.suggest(pool, n=min(_PICKED, len(rows))).tolist()]


def _quality(db: sqlite3.Connection, model: Tagger) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Return leave-one-out metrics, overall and per label, and the tags that contradict them."""
    from simlabel.model.inspection import loo_quality

    n_pairs = model.n_references_ * len(model.classes_)
    if n_pairs > _PAIRS or model.n_references_ < 3:
        reason = "too few items" if n_pairs <= _PAIRS else f"more than {_PAIRS:,} pairs of item and label"
        return {"rows": model.n_references_, "why_not": reason}, []
    deleted = {str(label) for (label,) in db.execute("SELECT id FROM labels WHERE deleted")}
    rejected = set(map(tuple, db.execute("SELECT item, label FROM tags WHERE state = 'rejected'")))
    frame = model.suspicious_labels(top=None)
    frame = frame[~frame["label"].isin(deleted)]
    doubtful: list[dict[str, Any]] = []
    columns = frame[["id", "label", "given", "probability", "suspicion"]]
    for item, label, given, probability, suspicion in columns.itertuples(index=False, name=None):
        if len(doubtful) == _DOUBTFUL or suspicion <= 0.5:
            break
        if (int(item), int(label)) not in rejected:
            pair = {"item": int(item), "label": int(label)}
            doubtful.append(pair | {"given": bool(given), "probability": probability})
    found = vars(loo_quality(frame))
    by_label = {label: round(value, 4) for label, value in found["by_label"].items()}
    return found | {"rows": model.n_references_, "by_label": by_label}, doubtful

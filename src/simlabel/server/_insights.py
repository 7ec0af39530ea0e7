"""What a model says: which items first, why a label, how good it is, and what is doubtful."""

from __future__ import annotations

import json
import sqlite3
import warnings
from typing import TYPE_CHECKING, Any

from simlabel.server._teaching import as_rows

if TYPE_CHECKING:
    from simlabel import Tagger

_POOL = 2000  # waiting items that are looked at; those that came first
_PICKED = 100  # of these are put in order
_PAIRS = 20_000_000  # items x labels up to which quality is measured
_DOUBTFUL = 200
_ITEMS, _WORDS = 5, 8  # of a reason


def why(model: Tagger, content: dict[str, Any], label: int) -> dict[str, Any] | None:
    """Items and words for and against a label; None where the model does not know it."""
    known = model.classes_.tolist()
    if str(label) not in known:
        return None
    told = model.explain(as_rows([content], model.feature_names_in_.tolist()), top=_ITEMS)
    column, words = known.index(str(label)), []
    if told.has_words:
        frame = told.words(0, str(label)).head(_WORDS).round({"contribution": 6})
        words = frame[["column", "term", "contribution"]].to_dict("records")
    return {
        "probability": round(float(told.probabilities[0, column]), 4),
        "usual": round(float(told.usual[column]), 4),
        "items": [
            {"item": int(item), "contribution": round(float(value), 6)}
            for item, value in told.contributors(0, column)
        ],
        "words": words,
    }


def insights(db: sqlite3.Connection, model: Tagger, *, quality: bool) -> dict[str, Any]:
    """The order of waiting items; with `quality`, leave-one-out figures and doubtful tags as well."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found: dict[str, Any] = {"order": _order(db, model)}
        if quality:
            found["quality"], found["suspicious"] = _quality(db, model)
    return found


def _order(db: sqlite3.Connection, model: Tagger) -> list[int]:
    """Waiting items, most useful first: uncertain and unlike each other."""
    query = "SELECT id, content FROM items WHERE status = 'waiting' ORDER BY id LIMIT ?"
    rows = db.execute(query, (_POOL,)).fetchall()
    if not rows:
        return []
    pool = as_rows([json.loads(row["content"]) for row in rows], model.feature_names_in_.tolist())
    return [int(rows[place]["id"]) for place in model.suggest(pool, n=min(_PICKED, len(rows))).tolist()]


def _quality(db: sqlite3.Connection, model: Tagger) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Figures for the whole and for each label, and labels that the others contradict."""
    from simlabel.model.inspection import left_out_quality

    n_pairs = model.n_references_ * len(model.classes_)
    if n_pairs > _PAIRS or model.n_references_ < 3:
        why_not = "too few items" if n_pairs <= _PAIRS else f"more than {_PAIRS:,} pairs of item and label"
        return {"rows": model.n_references_, "why_not": why_not}, []
    deleted = {str(label) for (label,) in db.execute("SELECT id FROM labels WHERE deleted")}
    # what a person said no to is settled
    settled = set(map(tuple, db.execute("SELECT item, label FROM tags WHERE state = 'rejected'")))
    frame = model.suspicious_labels(top=None)
    frame = frame[~frame["label"].isin(deleted)]
    doubtful: list[dict[str, Any]] = []
    columns = frame[["id", "label", "given", "probability", "suspicion"]]
    for item, label, given, probability, suspicion in columns.itertuples(index=False, name=None):
        if len(doubtful) == _DOUBTFUL or suspicion <= 0.5:
            break
        pair = {"item": int(item), "label": int(label)}
        if tuple(pair.values()) not in settled:
            doubtful.append(pair | {"given": bool(given), "probability": probability})
    found = vars(left_out_quality(frame))
    by_label = {label: round(value, 4) for label, value in found["by_label"].items()}
    return found | {"rows": model.n_references_, "by_label": by_label}, doubtful

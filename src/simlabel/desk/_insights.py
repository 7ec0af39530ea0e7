"""What a model says: which items first, why a label, how good it is, and what is doubtful."""

from __future__ import annotations

import json
import re
import sqlite3
import warnings
from typing import TYPE_CHECKING, Any

from simlabel.desk._teaching import as_rows

if TYPE_CHECKING:
    import pandas as pd

    from simlabel import Tagger

_POOL = 2000  # waiting items that are looked at; those that came first
_PICKED = 100  # of these are put in order
_PAIRS = 20_000_000  # items x labels up to which quality is measured
_DOUBTFUL = 200
_BINS = 10
_ITEMS, _WORDS, _SHARED = 5, 8, 6  # of a reason
_WORD = re.compile(r"\w{3,}")


def why(model: Tagger, content: dict[str, Any], label: int) -> dict[str, Any] | None:
    """Items and words for and against a label; None where the model does not know it."""
    known = model.classes_.tolist()
    if str(label) not in known:
        return None
    told = model.explain(as_rows([content], model.feature_names_in_.tolist()), top=_ITEMS)
    column, words = known.index(str(label)), []
    if told.evidence.has_words:
        names = ["column", "term", "contribution"]
        frame = told.words(0, str(label)).head(_WORDS)[names].round({"contribution": 6})
        words = [dict(zip(names, row, strict=True)) for row in frame.to_numpy().tolist()]
    return {
        "probability": round(float(told.probabilities[0, column]), 4),
        "usual": round(float(told.usual[column]), 4),
        "items": [
            {"item": int(item), "contribution": round(float(value), 6)}
            for item, value in told.contributors(0, column)
        ],
        "words": words,
    }


def shared_words(one: dict[str, Any], other: dict[str, Any], telling: list[str]) -> list[str]:
    """Words that two contents have in common, those that speak for the label first.

    Examples
    --------
    >>> shared_words({"plot": "a shark at the beach"}, {"plot": "the white shark"}, ["shark"])
    ['shark', 'the']
    """
    common = _words(one) & _words(other)
    first = [word for term in telling for word in _WORD.findall(term.lower()) if word in common]
    rest = sorted(common - set(first), key=lambda word: (-len(word), word))
    return list(dict.fromkeys(first + rest))[:_SHARED]


def _words(content: dict[str, Any]) -> set[str]:
    texts = [" ".join(value) if isinstance(value, list) else value for value in content.values()]
    return {word for text in texts if isinstance(text, str) for word in _WORD.findall(text.lower())}


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
    columns = frame[["id", "label", "given", "probability"]]
    for item, label, given, probability in columns.itertuples(index=False, name=None):
        if len(doubtful) == _DOUBTFUL or abs(probability - given) < 0.5:
            break
        pair = {"item": int(item), "label": int(label)}
        if tuple(pair.values()) not in settled:
            doubtful.append(pair | {"given": bool(given), "probability": probability})
    return _figures(model, frame), doubtful


def _figures(model: Tagger, frame: pd.DataFrame) -> dict[str, Any]:
    import numpy as np

    from simlabel.metrics import average_precision

    wide = frame.pivot(index="id", columns="label", values=["given", "probability"])
    given = wide["given"].to_numpy(dtype=bool)
    probable = wide["probability"].to_numpy(dtype=float)
    labels, said = wide["given"].columns.tolist(), probable >= 0.5
    right, told, true = (given & said).sum(axis=0), said.sum(axis=0), given.sum(axis=0)
    f1 = 2 * right / np.maximum(told + true, 1)
    used, some = true > 0, given.any(axis=1) & ~given.all(axis=1)
    cells = np.minimum((probable * _BINS).astype(int), _BINS - 1)
    bins = [cells == cell for cell in range(_BINS)]
    return {
        "rows": model.n_references_,
        "labels": int(used.sum()),
        "f1_micro": float(2 * right.sum() / max(1, told.sum() + true.sum())),
        "f1_macro": float(f1[used].mean()) if used.any() else 0.0,
        "average_precision": float(average_precision(given[some], probable[some])) if some.any() else None,
        "by_label": {label: round(float(value), 4) for label, value in zip(labels, f1, strict=True)},
        "calibration": [
            {"said": float(probable[at].mean()), "true": float(given[at].mean()), "n": int(at.sum())}
            for at in bins
            if at.any()
        ],
    }

"""What a model says of the items that wait (which first), and of itself (how good, what is doubtful)."""

from __future__ import annotations

import json
import sqlite3
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from simlabel import Tagger
from simlabel.desk._teaching import as_rows
from simlabel.metrics import average_precision

if TYPE_CHECKING:
    import pandas as pd

_POOL = 2000  # waiting items that are looked at; those that came first
_PICKED = 100  # of these are put in order
_PAIRS = 20_000_000  # items x labels up to which quality is measured
_DOUBTFUL = 200
_BINS = 10


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
    rows = db.execute(
        "SELECT id, content FROM items WHERE status = 'waiting' ORDER BY id LIMIT ?", (_POOL,)
    ).fetchall()
    if not rows:
        return []
    contents = [json.loads(row["content"]) for row in rows]
    pool = as_rows(contents, model.feature_names_in_.tolist())
    picked = model.suggest(pool, n=min(_PICKED, len(rows))).tolist()
    return [int(rows[place]["id"]) for place in picked]


def _quality(db: sqlite3.Connection, model: Tagger) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Figures for the whole and for each label, and labels that the others contradict."""
    n_pairs = model.n_references_ * len(model.classes_)
    if n_pairs > _PAIRS or model.n_references_ < 3:
        why = "too few items" if n_pairs <= _PAIRS else f"more than {_PAIRS:,} pairs of item and label"
        return {"rows": model.n_references_, "why_not": why}, []
    frame = model.suspicious_labels(top=None)
    deleted = {str(label) for (label,) in db.execute("SELECT id FROM labels WHERE deleted")}
    if deleted:
        frame = frame[~frame["label"].isin(deleted)]
    settled = _settled(db)
    doubtful: list[dict[str, Any]] = []
    for item, label, given, probability in frame[["id", "label", "given", "probability"]].itertuples(
        index=False
    ):
        if len(doubtful) == _DOUBTFUL or abs(probability - given) < 0.5:
            break
        if (int(item), label) not in settled:
            doubtful.append(
                {"item": int(item), "label": int(label), "given": bool(given), "probability": probability}
            )
    return _figures(model, frame), doubtful


def _settled(db: sqlite3.Connection) -> set[tuple[int, str]]:
    """What a person said no to is settled."""
    rows = db.execute("SELECT item, label FROM tags WHERE state = 'rejected'")
    return {(item, str(label)) for item, label in rows}


def _figures(model: Tagger, frame: pd.DataFrame) -> dict[str, Any]:
    wide = frame.pivot(index="id", columns="label", values=["given", "probability"])
    given = wide["given"].to_numpy(dtype=bool)
    probable = wide["probability"].to_numpy(dtype=float)
    labels, said = wide["given"].columns.tolist(), probable >= 0.5
    right, told, true = (given & said).sum(axis=0), said.sum(axis=0), given.sum(axis=0)
    f1 = 2 * right / np.maximum(told + true, 1)
    used = true > 0
    cells = np.minimum((probable * _BINS).astype(int), _BINS - 1)
    calibration = [
        {
            "said": float(probable[cells == cell].mean()),
            "true": float(given[cells == cell].mean()),
            "n": int((cells == cell).sum()),
        }
        for cell in range(_BINS)
        if (cells == cell).any()
    ]
    some = given.any(axis=1) & ~given.all(axis=1)
    return {
        "rows": model.n_references_,
        "labels": int(used.sum()),
        "f1_micro": float(2 * right.sum() / max(1, told.sum() + true.sum())),
        "f1_macro": float(f1[used].mean()) if used.any() else 0.0,
        "average_precision": float(average_precision(given[some], probable[some])) if some.any() else None,
        "by_label": {label: round(float(value), 4) for label, value in zip(labels, f1, strict=True)},
        "calibration": calibration,
    }

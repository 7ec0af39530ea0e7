"""Any table can be fitted and predicted, or raises a clear error."""

from __future__ import annotations

import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

import simlabel
from simlabel import Tagger

TEXTS = st.text("ab c,|;.海ä\ud800", max_size=12) | st.text(max_size=8)
MOMENTS = st.dates() | st.datetimes() | st.times() | st.timedeltas()
NUMBERS = st.integers() | st.floats() | st.decimals() | st.fractions() | st.complex_numbers()
LISTS = st.lists(TEXTS, max_size=3) | st.frozensets(TEXTS, max_size=3) | st.tuples(NUMBERS, TEXTS)
WRITTEN = ["54", "83,0", "1e999", "yes", "no", "n/a", "http://a.b/c", "2024-05-01", "31.12.9999", "1/2/0001"]
MISSING = [pd.NA, pd.NaT, np.datetime64("NaT")]
SPECIAL = st.sampled_from(
    [*WRITTEN, *MISSING, np.float32(1.5), np.array(3), b"\xff", {"a": [1]}, {(1, 2): 3}]
)
CELLS = st.none() | st.booleans() | TEXTS | NUMBERS | MOMENTS | LISTS | SPECIAL
KINDS = [st.booleans(), TEXTS, st.integers(), st.floats(), st.dates(), LISTS, SPECIAL, st.none(), CELLS]
LABELS = st.none() | st.sampled_from(["p", "p, q", "q|r", "", "\ud800"])


@st.composite
def columns(draw, rows):
    """Draw column names, some of them twice, and cells of one kind or of all."""
    names = draw(st.lists(st.sampled_from(["a", "b", "id", "\ud800", "\udfff", 1, "1"]) | TEXTS, max_size=4))
    names = names if draw(st.integers(0, 4)) == 0 else list(dict.fromkeys(names))
    cells = [draw(st.sampled_from(KINDS)) for _ in names]
    return names, [draw(st.lists(st.none() | kind, min_size=rows, max_size=rows)) for kind in cells]


@st.composite
def tables(draw, rows):
    names, values = draw(columns(rows))
    form = draw(st.sampled_from(["frame", "dicts", "texts", "columns"]))
    if form == "texts":
        return draw(st.lists(CELLS, min_size=rows, max_size=rows))
    if form == "frame":
        frame = pd.concat([pd.Series(v, dtype=object) for v in values], axis=1) if values else pd.DataFrame()
        frame.columns = pd.Index(names, dtype=object)
        return frame
    if form == "columns":
        return dict(zip(names, values, strict=True))
    return [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]


def answered(call):
    """Return the result of a call, or None if this library (not a dependency) raises an error."""
    try:
        return call()
    except (ValueError, TypeError) as error:
        refused = error
    last = traceback.extract_tb(refused.__traceback__)[-1]
    assert Path(simlabel.__file__).parent in Path(last.filename).parents, refused
    assert len(str(refused)) > 20
    return None


@given(st.data())
@settings(max_examples=60)
def test_any_table_is_answered_or_refused(data):
    rows = data.draw(st.integers(1, 8))
    X = data.draw(tables(rows))
    y = data.draw(st.lists(LABELS, min_size=rows, max_size=rows))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tagger = answered(lambda: Tagger(n_jobs=1, calibration=None, empty="none").fit(X, y))
        if tagger is None:
            return
        other = data.draw(tables(2))
        for asked in (X, other):
            outputs = answered(lambda asked=asked: tagger.outputs(asked))
            assert outputs is not None or asked is other
            assert outputs is None or np.isfinite(outputs.weights).all()
        taught = answered(lambda: tagger.partial_fit(other, ["new", None]))
        if taught is not None:
            assert len(taught.forget([rows]).predict(X)) == rows

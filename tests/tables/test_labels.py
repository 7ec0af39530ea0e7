"""Labels in tables, and columns that contain them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

from simlabel.labels import LabelSpace
from simlabel.tables import TableEncoder, label_sets, leaking_columns, separator_for, table_cells

NAN = float("nan")


@pytest.mark.parametrize("make", [list, pd.Series, pl.Series, lambda y: np.array(y, dtype=object)])
@pytest.mark.parametrize(
    ("y", "separator", "sets"),
    [
        (["sea|sun", "sun", None], "|", [{"sea", "sun"}, {"sun"}, set()]),
        (["sea; sun", "sun", ""], ";", [{"sea", "sun"}, {"sun"}, set()]),
        (["sea,sun,", "sun", " "], ",", [{"sea", "sun"}, {"sun"}, set()]),
        (["New York", "Rome"], None, [{"New York"}, {"Rome"}]),
        ([["sea", "sun"], [], None], None, [{"sea", "sun"}, set(), set()]),
        ([None, None], None, [set(), set()]),
    ],
)
def test_separators_and_empty_cells(make, y, separator, sets):
    y = make(y)
    assert separator_for(y, "auto") == separator
    assert label_sets(y, separator) == sets


@pytest.mark.parametrize(
    "y",
    [
        np.array([[1, 0], [0, 1]]),
        [[1, 0], [0, 1]],
        [[1], [0]],
        sp.csr_array([[1, 0]]),
        pd.DataFrame({"sea": [1, 0]}),
        pl.DataFrame({"sea": [1, 0]}),
        [3, 4],
        [1, None],
        ["a", 3],
        "sea",
        [],
    ],
    ids=lambda y: f"{type(y).__name__}: {y}",
)
def test_other_forms_of_y_are_unchanged(y):
    assert separator_for(y, "auto") is None
    assert label_sets(y, None) is y


@pytest.mark.parametrize(("wanted", "found"), [("/", "/"), (None, None), ("auto", ";")])
def test_given_separator_is_used(wanted, found):
    assert separator_for(["a/b;c", "c"], wanted) == found


@pytest.mark.parametrize("wrong", ["", 3, ["|"]])
def test_invalid_separators(wrong):
    with pytest.raises(ValueError, match="label_separator must be a text, None or 'auto', got"):
        separator_for(["a"], wrong)


def leaks(table, y, columns=None):
    space, Y = LabelSpace.learn(y)
    cells = table_cells(table)
    return leaking_columns(cells, TableEncoder(columns).fit(cells), space.classes, Y)


def test_leaking_column():
    y = [{"sea"}, {"sea", "sun"}, {"wood"}, {"sun"}, set()] * 4
    table = {
        "listed": ["; ".join(sorted(labels)).upper() for labels in y],
        "lists": [[*labels, "more"] for labels in y],
        "text": ["a day at the sea with much sun and wood"] * 19 + ["no"],
        "left out": ["; ".join(sorted(labels)) for labels in y],
        "number": list(range(20)),
    }
    assert leaks(table, y, {"left out": "ignore"}) == ["listed", "lists"]
    assert leaks(table, [{"sea"}] * 20) == []  # nothing to give away
    assert leaks(table, [set()] * 20) == []
    table["listed"][:3] = ["x", "y", "z"]  # of fewer than nine in ten rows
    assert leaks(table, y, {"left out": "ignore", "lists": "ignore"}) == []

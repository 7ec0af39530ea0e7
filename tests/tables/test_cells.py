"""Tables of any type become names and plain cells, or an error names the place."""

from __future__ import annotations

from datetime import date, datetime, time
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from simlabel.tables import Cells, table_cells

ROWS = [("Jaws", 1975, 8.1), ("54", None, None), ("Alien", 1979, 8.5)]
TABLE = Cells(("title", "year", "mark"), ROWS)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (" \t", None),
        (float("inf"), None),
        (pd.NA, None),
        (pd.NaT, None),
        (np.datetime64("NaT"), None),
        (np.timedelta64("NaT"), None),
        (Decimal("NaN"), None),
        (Decimal("1.5"), 1.5),
        (Fraction(1, 4), 0.25),
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.array(3), 3),
        (np.array("sea"), "sea"),
        (2**53, 2**53),
        (2**53 + 1, "9007199254740993"),
        (np.bool_(False), "False"),
        (b"caf\xc3\xa9", "café"),
        ("a\ud800b", "a?b"),
        (datetime(2024, 5, 1, 14, 30), "2024-05-01T14:30:00"),
        (time(14, 30), "14:30:00"),
        (np.datetime64("2024-05-01"), "2024-05-01"),
        (np.timedelta64(5, "D"), "5 days"),
        (1j, "1j"),
        ([], None),
        ([None, float("nan"), " "], None),
        ({"b", "a"}, ("a", "b")),
        (np.array([1, 2]), ("1", "2")),
        ([["a", "b"], date(2024, 5, 1)], ("a b", "2024-05-01")),
        ({"x": [1, "ä"]}, '{"x": [1, "ä"]}'),
    ],
)
def test_values_become_plain_cells(value, expected):
    ((found, _),) = table_cells([{"x": value, "y": 1}]).rows
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    "make",
    [
        lambda columns: pd.DataFrame(columns),
        lambda columns: pd.DataFrame(columns, dtype=object, index=list("xyz")),
        lambda columns: pl.DataFrame(columns),
        lambda columns: pl.LazyFrame(columns),
        lambda columns: columns,
        lambda columns: [{k: v[i] for k, v in columns.items() if v[i] is not None} for i in range(3)],
        lambda columns: pd.Series([{k: v[i] for k, v in columns.items()} for i in range(3)]),
        lambda columns: TABLE,
    ],
    ids=["pandas", "objects", "polars", "lazy", "columns", "dicts", "series of dicts", "cells"],
)
def test_all_table_types_give_the_same_cells(make):
    columns = {name: [row[k] for row in ROWS] for k, name in enumerate(TABLE.names)}
    assert table_cells(make(columns)) == TABLE


@pytest.mark.parametrize("make", [list, tuple, np.array, pd.Series, pl.Series, iter])
def test_texts_become_one_column(make):
    assert table_cells(make(["a shark", "an alien"])) == Cells(("text",), [("a shark",), ("an alien",)])


class Unreadable:
    def __str__(self):
        raise RuntimeError("not today")


HOLDS_ITSELF: list = []
HOLDS_ITSELF.append(HOLDS_ITSELF)


@pytest.mark.parametrize(
    "value",
    [Unreadable(), HOLDS_ITSELF, {(1, 2): 3}, Decimal("sNaN"), Fraction(10**400), 10**5000],
    ids=["no text", "holds itself", "keys", "signalling", "fraction", "digits"],
)
def test_unreadable_cell_error_names_column_and_row(value):
    with pytest.raises(ValueError, match=rf"column 'b', row 1: a cell of type {type(value).__name__} cannot"):
        table_cells([{"b": "whole"}, {"b": value}])


@pytest.mark.parametrize(
    ("X", "error", "message"),
    [
        ("a text", TypeError, "got 'a text'"),
        (None, TypeError, "got None"),
        (3, TypeError, "got 3"),
        ([["a", "b"], ["c", "d"]], TypeError, "row 0 is"),
        ([{"a": 1}, None], TypeError, "row 1 is None"),
        ([{"a": 1}, "b"], TypeError, "row 1 is 'b'"),
        (np.zeros((2, 2, 2)), TypeError, "row 0 is"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), ValueError, "two columns called 'a'"),
        ([{1: "a", "1": "b"}], ValueError, "two columns called '1'"),
        ([dict.fromkeys(["\ud800", "\udfff"])], ValueError, r"two columns called '\?'"),
        ({"a": [1], "b": [1, 2]}, ValueError, r"different lengths: \[1, 2\]"),
        (pd.DataFrame(index=range(3)), ValueError, "at least one column"),
        ([{}, {}], ValueError, "at least one column"),
    ],
    ids=str,
)
def test_invalid_tables(X, error, message):
    with pytest.raises(error, match=message):
        table_cells(X)

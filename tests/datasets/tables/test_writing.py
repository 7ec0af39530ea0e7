"""Written tables can be read back, and contain no formulas."""

from __future__ import annotations

import csv
import io
import json
import re

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel.datasets import read_table, table_pieces

NAMES = ["title", "year", "tags"]
ROWS = [["Jaws", 1975, ["sea", "horror"]], ["=1+1", None, []], ["@sum", 2.5, ["=x"]], ["#N/A", True, []]]


def test_csv_has_no_formula_and_comes_in_pieces():
    rows = [[f"row {i}", i, []] for i in range(1201)]
    pieces = list(table_pieces(NAMES, iter(rows)))
    assert len(pieces) == 3
    assert list(csv.reader(io.StringIO(b"".join(pieces).decode())))[1:] == [
        [a, str(i), ""] for a, i, _ in rows
    ]
    table = list(csv.reader(io.StringIO(b"".join(table_pieces(NAMES, ROWS)).decode())))
    assert table[1:] == [
        ["Jaws", "1975", "sea; horror"],
        ["'=1+1", "", ""],
        ["'@sum", "2.5", "'=x"],
        ["#N/A", "True", ""],
    ]
    plain = b"".join(table_pieces(NAMES, ROWS, spreadsheet_safe=False)).decode()
    assert "\n=1+1," in plain


def test_json_lines_are_unchanged(tmp_path):
    data = b"".join(table_pieces(NAMES, ROWS, "jsonl"))
    assert [list(json.loads(line).values()) for line in data.splitlines()] == ROWS
    (tmp_path / "t.jsonl").write_bytes(data)
    assert read_table(tmp_path / "t.jsonl").frame["title"].tolist() == [row[0] for row in ROWS]


def test_a_workbook_has_texts_and_numbers_alone(tmp_path):
    openpyxl = pytest.importorskip("openpyxl")
    (tmp_path / "t.xlsx").write_bytes(b"".join(table_pieces(NAMES, [*ROWS, ["bell\x07", 1, []]], "xlsx")))
    sheet = openpyxl.load_workbook(tmp_path / "t.xlsx").active
    kinds = {cell.data_type for row in sheet.iter_rows() for cell in row if cell.value is not None}
    assert kinds <= {"s", "n", "b"}
    assert [row[0].value for row in sheet.iter_rows()] == ["title", "Jaws", "'=1+1", "'@sum", "#N/A", "bell"]


def test_an_unknown_format_is_refused():
    with pytest.raises(ValueError, match="'csv', 'jsonl', 'xlsx', got 'pdf'"):
        table_pieces(NAMES, ROWS, "pdf")


def test_records_are_what_json_can_hold(tmp_path):
    frame = pd.DataFrame({"n": pd.array([1, None], "Int64"), "x": [float("inf"), 2.0], "t": ["a", None]})
    frame.to_parquet(tmp_path / "t.parquet")
    found = list(read_table(tmp_path / "t.parquet").records())
    assert found == [{"n": 1, "x": None, "t": "a"}, {"n": None, "x": 2.0, "t": None}]
    json.dumps(found, allow_nan=False)


# what tears cells apart, and what makes a formula of the pieces
CELLS = st.text(st.sampled_from("a=+-@;,\t\r\n\"' |\uff1d"), max_size=6)
TABLES = st.lists(st.tuples(CELLS, CELLS, st.lists(CELLS, max_size=3)), min_size=1, max_size=4)


def _read(data, delimiter=","):
    return list(csv.reader(io.StringIO(data, newline=""), delimiter=delimiter))


@given(TABLES)
@settings(deadline=None, max_examples=150, database=None)
def test_csv_reads_back_as_it_was(rows):
    data = b"".join(table_pieces(NAMES, rows, spreadsheet_safe=False)).decode()
    wanted = [[title, year, "; ".join(tags)] for title, year, tags in rows]
    assert _read(data) == [NAMES, *wanted]
    frame = pd.read_csv(io.BytesIO(data.encode()), dtype=str, na_filter=False)
    assert frame.to_numpy().tolist() == wanted


@given(TABLES)
@settings(deadline=None, max_examples=150, database=None)
def test_no_piece_of_a_cell_is_a_formula(rows):
    """To a spreadsheet that expects semicolons or tabs too, which knows no quotes within a cell."""
    data = b"".join(table_pieces(NAMES, rows)).decode()
    read = _read(data)
    assert len(read) == len(rows) + 1
    pieces = [piece for row in read for cell in row for piece in re.split(r"[;\t\r\n]", cell)]
    assert [piece for piece in pieces if piece.lstrip(" ").startswith(tuple("=+-@\uff1d"))] == []
    frame = pd.read_csv(io.BytesIO(data.encode()), dtype=str, na_filter=False)
    assert frame.to_numpy().tolist() == read[1:]


def test_what_a_sheet_cannot_hold_is_refused_or_a_text():
    openpyxl = pytest.importorskip("openpyxl")
    rows = [[10**400, 2**53 + 1, -1]]
    book = b"".join(table_pieces(["a", "b", "c"], rows, "xlsx"))
    cells = next(openpyxl.load_workbook(io.BytesIO(book)).active.iter_rows(min_row=2, values_only=True))
    assert cells == (str(10**400), str(2**53 + 1), -1)
    with pytest.raises(ValueError, match=r"cell B3 has 32,768 characters.* holds 32,767"):
        table_pieces(["a", "b"], [["x", "y"], ["x", "y" * 32_768]], "xlsx")

"""Typed tables: JSON, Parquet, Excel."""

import io
import re
import sys
import zipfile
from datetime import date, datetime, time
from decimal import Decimal
from functools import partial

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from simlabel.datasets import DatasetError, load_dataset, read_table, table_chunks


def test_json_lines(tmp_path):
    path = tmp_path / "films.jsonl"
    path.write_text(
        '{"title": "Sea", "tags": ["a", "b"], "size": {"w": 1, "é": [2, null]}}\n\n'
        '{"year": 1999, "title": " ", "tags": [], "size": [1, 2]}\r\n'
        '{"title": "54", "year": NaN, "good": true, "tags": null}\n',
        encoding="utf-8",
    )
    table = read_table(path)
    assert table.format == "jsonl"
    assert table.frame.to_dict("list") == {
        "title": ["Sea", None, "54"],
        "tags": [["a", "b"], [], None],
        "size": ['{"w":1,"é":[2,null]}', "[1,2]", None],
        "year": [None, 1999, None],
        "good": [None, None, True],
    }
    for rows in (1, 2, 3):
        pd.testing.assert_frame_equal(pd.concat(list(table_chunks(path, rows))), table.frame)


def test_bad_lines_of_json(tmp_path):
    path = tmp_path / "films.jsonl"
    deep = '{"a":' + "[" * 100_000 + "]" * 100_000 + "}"
    path.write_text('{"a": 1}\n{"a": \n[3]\n{"a": "\\ud800"}\n' + deep + '\n{"a": "\\ud83d\\ude00"}\n')
    table = read_table(path)
    assert table.frame["a"].tolist() == [1, "\U0001f600"]
    assert [problem.line for problem in table.problems] == [2, 3, 4, 5]
    messages = [problem.what for problem in table.problems]
    assert "found '[3]'" in messages[1]
    assert "surrogate" in messages[2]
    assert "nested too deeply" in messages[3]
    with pytest.raises(DatasetError, match=r"films\.jsonl, line 2: expected a JSON object"):
        read_table(path, strict=True)
    path.write_text('{"a"\n{"a"\n')
    with pytest.raises(DatasetError, match=r"line 1: expected a JSON object"):
        read_table(path)
    path.write_text("{}\n")
    with pytest.raises(DatasetError, match="expected JSON objects with names and values, found none"):
        read_table(path)


def test_json_array(tmp_path):
    path = tmp_path / "films.json"
    path.write_text('[\n {"a": 1, "b": "x"},\n 7,\n {"b": ["y"]}\n]', encoding="utf-16")
    table = read_table(path)
    assert (table.format, table.problems) == ("json", ((2, "expected a JSON object, found '7'"),))
    assert table.frame.to_numpy().tolist() == [[1, "x"], [None, ["y"]]]
    path.write_text('[{"a": 1},\n{"a": ]')
    with pytest.raises(DatasetError, match=r"films\.json, line 2: expected a JSON array of objects"):
        read_table(path)
    path.write_text("[]")
    assert read_table(path).frame.shape == (0, 0)
    path.write_text('{"a": 1}')
    with pytest.raises(DatasetError, match="expected a JSON array of objects, found"):
        read_table(path, format="json")


def test_many_names_in_few_bytes(tmp_path):
    path = tmp_path / "wide.jsonl"
    path.write_text("".join(f'{{"k{k}":1}}\n' for k in range(6000)))
    with pytest.raises(DatasetError, match=r"as a table it asks for .* max_gib="):
        read_table(path)


@pytest.fixture
def parquet(tmp_path):
    columns = {
        "text": pa.array(["54", None, " ", "x"]),
        "word": pa.array(["a", "b", None, "a"]).dictionary_encode(),
        "whole": pa.array([2**60 + 1, None, 3, 4]),
        "small": pa.array([1, 2, 3, None], pa.uint8()),
        "real": pa.array([0.5, None, float("nan"), 2.0]),
        "half": pa.array([0.5, None, 1.0, 2.0]).cast(pa.float16()),
        "price": pa.array([Decimal("9.50"), None, Decimal("1.25"), Decimal("0")]),
        "good": pa.array([True, None, False, True]),
        "day": pa.array([date(2024, 1, 5), None, date(1999, 12, 31), None]),
        "moment": pa.array([datetime(2024, 1, 5, 12, 30), None, datetime(2024, 1, 5), None]),
        "tags": pa.array([["a", "b"], [], None, ["c"]]),
        "nested": pa.array([{"w": 1}, None, {"w": None}, {"w": 4}]),
        "none": pa.nulls(4),
        "raw": pa.array([b"\xff", b"", None, b"x"]),
    }
    path = tmp_path / "films.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=3)
    return path


def test_parquet(parquet):
    table = read_table(parquet)
    frame = table.frame
    assert table.format == "parquet"
    assert "columns of bytes were left out: 'raw'" in table.notes
    kinds = {"whole": "Int64", "small": "UInt8", "real": "float64", "half": "float64", "price": "float64"}
    assert frame.dtypes.astype(str).to_dict() == dict.fromkeys(frame, "object") | kinds | {"good": "boolean"}
    objects = {name: frame[name].tolist() for name in frame if frame[name].dtype == object}
    assert objects == {
        "text": ["54", None, None, "x"],
        "word": ["a", "b", None, "a"],
        "day": ["2024-01-05", None, "1999-12-31", None],
        "moment": ["2024-01-05T12:30:00", None, "2024-01-05", None],
        "tags": [["a", "b"], [], None, ["c"]],
        "nested": ['{"w":1}', None, '{"w":null}', '{"w":4}'],
        "none": [None] * 4,
    }
    assert frame["whole"].tolist() == [2**60 + 1, pd.NA, 3, 4]
    assert frame["price"].dropna().tolist() == [9.5, 1.25, 0.0]


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 100])
def test_types_of_parquet_do_not_depend_on_the_chunk(parquet, rows):
    whole = read_table(parquet).frame
    chunks = list(table_chunks(parquet, rows))
    assert all((chunk.dtypes == whole.dtypes).all() for chunk in chunks)
    assert max(map(len, chunks)) <= rows
    pd.testing.assert_frame_equal(pd.concat(chunks), whole)


def test_parquet_without_rows_or_columns_or_whole(parquet, tmp_path):
    empty = tmp_path / "empty.parquet"
    pq.write_table(pa.table({"a": pa.array([], pa.int64()), "b": pa.array([], pa.string())}), empty)
    assert read_table(empty).frame.shape == (0, 2)
    assert [chunk.shape for chunk in table_chunks(empty, 3)] == [(0, 2)]
    pq.write_table(pa.table({}), empty)
    with pytest.raises(DatasetError, match="expected at least one column"):
        read_table(empty)
    parquet.write_bytes(parquet.read_bytes()[:-30])
    with pytest.raises(DatasetError, match="expected a Parquet file, and it is damaged"):
        read_table(parquet)


def test_a_parquet_file_that_unpacks_to_far_more(tmp_path):
    path = tmp_path / "bomb.parquet"
    pq.write_table(pa.table({"a": pa.array(["x" * 1000]).take(pa.array([0] * 200_000))}), path)
    with pytest.raises(DatasetError, match=r"asks for .* max_gib="):
        read_table(path)


def _workbook(path):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.title = "films"
    sheet.append([])
    sheet.append(["title", None, "day", "good", "title", "when"])
    sheet.append(["Sea", 1.5, datetime(2024, 1, 5), True, "x", time(12, 30)])
    sheet.append([])
    sheet.append([54, 3, datetime(2024, 1, 5, 12, 30), None, " ", "#N/A"])
    sheet.append(["=1+1", None, None, None, None, None, "too many"])
    book.create_sheet("more").append(["a"])
    book.create_sheet("nothing")
    book.save(path)


def test_excel(tmp_path):
    path = tmp_path / "films.xlsx"
    _workbook(path)
    table = read_table(path)
    assert table.format == "excel"
    assert list(table.frame.columns) == ["title", "column 2", "day", "good", "title (2)", "when"]
    assert table.frame.to_numpy().tolist() == [
        ["Sea", 1.5, "2024-01-05", True, "x", "12:30:00"],
        [54, 3, "2024-01-05T12:30:00", None, None, None],
    ]
    assert "sheet 'films' of 3" in table.notes
    assert table.problems == ((6, "expected 6 cells, found 7"),)
    pd.testing.assert_frame_equal(pd.concat(list(table_chunks(path, 1))), table.frame)
    assert read_table(path, sheet="more").frame.shape == (0, 1)
    with pytest.raises(DatasetError, match="expected a sheet 'less', found 'films, more, nothing'"):
        read_table(path, sheet="less")
    with pytest.raises(DatasetError, match="names of the columns in sheet 'nothing', found none"):
        read_table(path, sheet="nothing")


def test_formulas_have_their_stored_values(tmp_path):
    path = tmp_path / "films.xlsx"
    _workbook(path)
    whole = zipfile.ZipFile(path)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as changed:
        for name in whole.namelist():
            part = whole.read(name).replace(b"too many", b" ")
            # openpyxl writes formulas, and works none out
            changed.writestr(name, re.sub(rb"<f>1\+1</f><v ?/?>(</v>)?", b"<f>1+1</f><v>2</v>", part))
    path.write_bytes(stream.getvalue())
    assert read_table(path).frame["title"].tolist() == ["Sea", 54, 2]


def test_excel_damaged_and_other_archives(tmp_path):
    path = tmp_path / "films.xlsx"
    _workbook(path)
    data = path.read_bytes()
    other = io.BytesIO()
    with zipfile.ZipFile(other, "w") as archive:
        archive.writestr("X.npy", b"")
    for hurt in (data[:-40], data[:300] + bytes(60) + data[360:], other.getvalue()):
        path.write_bytes(hurt)
        with pytest.raises(DatasetError, match="expected an Excel workbook, and it is damaged"):
            read_table(path)


def test_excel_without_openpyxl(tmp_path, monkeypatch):
    path = tmp_path / "films.xlsx"
    path.write_bytes(b"PK\x03\x04")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(DatasetError, match=r"pip install simlabel\[excel\]"):
        read_table(path)


@pytest.mark.parametrize("kind", ["text", "large", "list", "categories"])
def test_parquet_with_text_that_is_not_utf_8(tmp_path, kind):
    text = pa.array([b"\xff\xfe", b"ab"]).view(pa.string())
    column = {
        "text": text,
        "large": pa.array([b"\xff\xfe", b"ab"], pa.large_binary()).view(pa.large_string()),
        "list": pa.ListArray.from_arrays([0, 1, 2], text),
        "categories": pa.DictionaryArray.from_arrays(pa.array([0, 1], pa.int32()), text),
    }[kind]
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"t": column, "l1": [0, 1]}), path)
    for read in (
        read_table,
        partial(load_dataset, label_prefix="l"),
        lambda path: list(table_chunks(path, 1)),
    ):
        with pytest.raises(DatasetError, match=r"t\.parquet: .*UTF8"):
            read(path)


@pytest.mark.parametrize("last", ["", "<v>1</v>"], ids=["empty", "too wide"])
def test_a_sheet_whose_rows_reach_to_the_last_column(tmp_path, last):
    """A cell there makes a row of 16,384 cells: these 30,000 rows would be hundreds of millions."""
    openpyxl = pytest.importorskip("openpyxl")
    openpyxl.Workbook().save(tmp_path / "empty.xlsx")
    rows = '<row r="1"><c r="A1"><v>1</v></c></row>'
    rows += "".join(
        f'<row r="{n}"><c r="A{n}"><v>1</v></c><c r="XFD{n}">{last}</c></row>' for n in range(2, 30_002)
    )
    kind = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    sheet = f'<worksheet xmlns="{kind}"><sheetData>{rows}</sheetData></worksheet>'
    path = tmp_path / "t.xlsx"
    with (
        zipfile.ZipFile(tmp_path / "empty.xlsx") as old,
        zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            new.writestr(name, sheet if "sheet1" in name else old.read(name))
    with pytest.raises(DatasetError, match="as a table it asks for"):
        read_table(path)

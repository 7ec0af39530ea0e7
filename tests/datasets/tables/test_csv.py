"""CSV as users write it, read as a table of texts."""

import csv
import gzip
import io
import tracemalloc

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel.datasets import DatasetError, read_table, table_chunks


@pytest.fixture
def write(tmp_path):
    def written(content, name="films.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return written


def cells(table):
    return table.frame.to_numpy().tolist()


def test_cells_are_unchanged(write):
    table = read_table(write("title,year\n54,1999\n  Sea  , nan\nNA,None\nnull,\n,  \t \n"))
    assert list(table.frame.columns) == ["title", "year"]
    assert cells(table) == [["54", "1999"], ["  Sea  ", " nan"], ["NA", "None"], ["null", None], [None, None]]
    assert set(map(str, table.frame.dtypes)) == {"object"}
    assert (table.format, table.problems) == ("csv", ())


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("a;b\n1,5;2\n2,5;3,25\n", "semicolons"),
        ("a\tb\nx, y\tz\nx\t1;2\n", "tabs"),
        ("a|b\nx,y|1;2\nx|z,z\n", "bars"),
        ("a,b\nx;y;z,1\nx;y,2\n", "commas"),
        # the first line alone shows more commas than semicolons
        ('"last, first, other";b\n"Dee, A, B";1\nEe;2\nFf;3\n', "semicolons"),
        ('a,b\n"1;2;3\n4;5;6",7\n', "commas"),
        # rows that leave out their last cells
        ("a,b,c\nx,y\nz,w\n", "commas"),
    ],
)
def test_the_delimiter_is_found(write, text, note):
    assert f"cells separated by {note}" in read_table(write(text)).notes


def test_a_delimiter_that_only_some_rows_have_is_none(write):
    table = read_table(write('title\n"Sun"\nSea, and more\nx;y|z\n'))
    assert cells(table) == [["Sun"], ["Sea, and more"], ["x;y|z"]]
    assert "one column" in table.notes
    table = read_table(write("a title, or a name\nSun\nSea\n"))
    assert table.frame["a title, or a name"].tolist() == ["Sun", "Sea"]


def test_a_given_delimiter(write):
    path = write("a;b\n1:2;3\n")
    assert list(read_table(write("a:b\n1;2:3\n"), delimiter=":").frame.columns) == ["a", "b"]
    for wrong in ("", "ab", "\n", '"', "\0"):
        with pytest.raises(ValueError, match="delimiter must be one character"):
            read_table(path, delimiter=wrong)


def test_quotes_hold_delimiters_and_line_ends(write):
    table = read_table(write('a,b\r\n"x\r\ny, ""z""",1\r\n"\n",2\r\n'))
    assert cells(table) == [['x\r\ny, "z"', "1"], [None, "2"]]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_blank_lines(write, end):
    table = read_table(write(end.join(["", "a,b", "1,2", "", "   ", "3,4"])))
    assert cells(table) == [["1", "2"], ["3", "4"]]


def test_repeated_names_become_unique(write):
    table = read_table(write("a, a ,,a (2),a,column 3\n1,2,3,4,5,6\n"))
    assert list(table.frame.columns) == ["a", "a (3)", "column 3 (2)", "a (2)", "a (4)", "column 3"]
    assert cells(table) == [["1", "2", "3", "4", "5", "6"]]
    assert any("a (3), column 3 (2), a (4)" in note for note in table.notes)
    assert list(read_table(write("a,b,\n1,2,3\n")).frame.columns) == ["a", "b", "column 3"]


def test_ragged_rows(write):
    path = write('a,b,c\n1\n1,2,3,4\n"x\ny",2,3\n1,2,3,, \n1,2,3,,5\n')
    table = read_table(path)
    assert cells(table) == [["1", None, None], ["x\ny", "2", "3"], ["1", "2", "3"]]
    assert table.problems == ((3, "expected 3 cells, found 4"), (7, "expected 3 cells, found 5"))
    assert table.frame.index.tolist() == [0, 1, 2]
    with pytest.raises(DatasetError, match=r"films\.csv, line 3: expected 3 cells, found 4"):
        read_table(path, strict=True)
    with pytest.raises(DatasetError, match=r"line 2: .*no row of it can be read; .*2 cells, found 3"):
        read_table(write("a,b\n1,2,3\n1,2,3\n"))


def test_a_row_with_a_stray_quote_is_left_out(write):
    path = write('a,b\n1,2\n"x"y,3\n4,5\n')
    table = read_table(path)
    assert cells(table) == [["1", "2"], ["4", "5"]]
    assert [problem.line for problem in table.problems] == [3]
    with pytest.raises(DatasetError, match="line 3: expected cells as CSV has them"):
        read_table(path, strict=True)


def test_an_unclosed_quote_is_reported_at_its_line(write):
    # to leave the row out would be to leave out all that follow
    with pytest.raises(DatasetError, match=r"line 3: expected cells .* with quotes in pairs"):
        read_table(write('a,b\n1,2\n"x,3\n4,5\n6,7\n'))


def test_long_cells_and_the_bound_of_the_csv_module(write):
    before = csv.field_size_limit()
    long = "x" * 300_000
    chunks = table_chunks(write(f"a,b\n{long},1\n2,3\n"), 1)
    assert next(chunks)["a"].tolist() == [long]
    assert csv.field_size_limit() == before  # also between two chunks
    assert next(chunks)["a"].tolist() == ["2"]
    with pytest.raises(DatasetError, match=r"line 2: .*field limit"):
        read_table(write("a,b\n" + "x" * (1 << 24) + "x,1\n"))
    assert csv.field_size_limit() == before


def test_only_a_line_of_names(write):
    for text in ("a,b", "a,b\n", "a,b\n\n\n"):
        table = read_table(write(text))
        assert table.frame.shape == (0, 2)
        assert [chunk.shape for chunk in table_chunks(write(text), 5)] == [(0, 2)]


@pytest.mark.parametrize("text", ["", "\n\n", "\ufeff"])
def test_an_empty_file(write, text):
    with pytest.raises(DatasetError, match="expected a line with the names of the columns, found none"):
        read_table(write(text))


def test_zero_bytes_are_refused_by_line(write):
    with pytest.raises(DatasetError, match="line 3: expected text, found a zero byte"):
        read_table(write("a,b\r1,2\r3,\x004\r"))


def test_other_files_are_recognized(write):
    found = {
        b"<html><table>": "found XML or HTML",
        b"\xd0\xcf\x11\xe0\xa1\xb1": "before 2007",
        b"% x\n@RELATION x\n": "found ARFF",
        b"\x93NUMPY\x01": "found a numpy array",
        b"%PDF-1.4": "found a PDF",
    }
    for data, what in found.items():
        with pytest.raises(DatasetError, match=what):
            read_table(write(data))


def test_paths_formats_and_options(write, tmp_path):
    with pytest.raises(DatasetError, match="there is no such file"):
        read_table(tmp_path / "nothing.csv")
    with pytest.raises(DatasetError, match="found a folder"):
        read_table(tmp_path)
    path = write("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"format must be one of 'parquet', .* got 'xls'"):
        read_table(path, format="xls")
    with pytest.raises(ValueError, match=r"sheet must not be set: films\.csv is CSV"):
        read_table(path, sheet="one")
    with pytest.raises(ValueError, match=r"encoding must be one that Python knows, .* got 'klingon'"):
        read_table(path, encoding="klingon")
    with pytest.raises(ValueError, match="rows must be at least 1, got 0"):
        table_chunks(path, 0)
    # a file that begins like JSON can be read as CSV if the format is given
    assert cells(read_table(write('{"a"},b\n1,2\n'), format="csv")) == [["1", "2"]]


def test_gzip_whole_and_damaged(write):
    packed = gzip.compress(b"a,b\n" + b"1,2\n" * 5000)
    assert read_table(write(packed, "films.csv.gz")).frame.shape == (5000, 2)
    for hurt in (packed[:-9], packed[:30] + b"\xff\xff\xff" + packed[33:]):
        with pytest.raises(DatasetError, match="expected a gzip file, and it is damaged"):
            read_table(write(hurt, "films.csv.gz"))


def test_memory_is_bounded(write):
    bomb = write(gzip.compress(b"a,b\n" + b"1,2\n" * (16 << 20)), "bomb.csv.gz")
    wide = write("x," * 50_000 + "x\n" + "1,2\n" * 50_000)  # rows that are filled up, to 20 GB
    tracemalloc.start()
    try:
        with pytest.raises(DatasetError, match=r"unpacked, it asks for .* max_gib="):
            read_table(bomb)
        with pytest.raises(DatasetError, match=r"as a table it asks for .* max_gib="):
            read_table(wide)
        assert tracemalloc.get_traced_memory()[1] < 200 << 20
    finally:
        tracemalloc.stop()
    with pytest.raises(DatasetError, match=r"as a table it asks for .* max_gib="):
        read_table(write("x," * (1 << 18)))
    small = write("a,b\n" + "1,2\n" * 1000)
    with pytest.raises(DatasetError, match="as max_gib says"):
        read_table(small, max_gib=1e-5)
    # a piece at a time it may
    assert sum(map(len, table_chunks(small, 10, max_gib=1e-5))) == 1000


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
TABLES = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(TEXTS, min_size=width, max_size=width), min_size=1, max_size=6)
)


@settings(deadline=None, max_examples=150)
@given(TABLES, st.sampled_from(",;\t|"), st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]), st.integers(1, 7))
def test_round_trip(tmp_path_factory, rows, delimiter, encoding, size):
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter=delimiter)
    writer.writerow([f"c{j}" for j in range(len(rows[0]))])
    writer.writerows(rows)
    path = tmp_path_factory.mktemp("round") / "trip.csv"
    path.write_bytes(stream.getvalue().encode(encoding))
    expected = [[cell if cell.strip() else None for cell in row] for row in rows]
    # with one column there is nothing to find a delimiter by, and nothing that needs one
    message = {"delimiter": delimiter} if len(rows[0]) > 1 else {}
    table = read_table(path, format="csv", **message)
    assert cells(table) == expected
    assert table.problems == ()
    chunks = list(table_chunks(path, size, format="csv", **message))
    assert [len(chunk) for chunk in chunks[:-1]] == [size] * (len(chunks) - 1)
    pd.testing.assert_frame_equal(pd.concat(chunks), table.frame)

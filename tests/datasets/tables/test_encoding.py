"""Encodings of tables."""

import pytest

from simlabel.datasets import DatasetError, read_table

TEXT = "title,tags\nplage,été\nЁж,日本\n"
WESTERN = "title,tags\nplage,x\ncafé,été\n"


def read(tmp_path, data, **options):
    path = tmp_path / "films.csv"
    path.write_bytes(data)
    return read_table(path, **options)


@pytest.mark.parametrize(
    ("encoding", "mark", "note"),
    [
        ("utf-8", b"", "encoding: UTF-8"),
        ("utf-8", b"\xef\xbb\xbf", "encoding: UTF-8 with a byte order mark"),
        ("utf-16-le", b"\xff\xfe", "encoding: UTF-16-LE with a byte order mark"),
        ("utf-16-be", b"\xfe\xff", "encoding: UTF-16-BE with a byte order mark"),
        ("utf-16-le", b"", "encoding: UTF-16-LE by its zero bytes"),
        ("utf-16-be", b"", "encoding: UTF-16-BE by its zero bytes"),
    ],
)
def test_unicode(tmp_path, encoding, mark, note):
    table = read(tmp_path, mark + TEXT.encode(encoding))
    assert table.frame.to_dict("list") == {"title": ["plage", "Ёж"], "tags": ["été", "日本"]}
    assert note in table.notes


def test_latin_1(tmp_path):
    table = read(tmp_path, WESTERN.encode("latin-1"))
    assert table.frame["tags"].tolist() == ["x", "été"]
    assert "read as Latin-1: byte 0xe9 on line 3 is not UTF-8" in table.notes


def test_windows_1252(tmp_path):
    table = read(tmp_path, (WESTERN + "5 €,“x”\n").encode("cp1252"))
    assert table.frame.to_numpy().tolist()[1:] == [["café", "été"], ["5 €", "“x”"]]
    assert "read as Windows-1252: byte 0xe9 on line 3 is not UTF-8" in table.notes


def test_a_byte_that_windows_lacks(tmp_path):
    table = read(tmp_path, b"a,b\nx\x81,y\n")
    assert table.frame["a"].tolist() == ["x\x81"]
    assert "read as Latin-1: byte 0x81 on line 2 is not UTF-8" in table.notes


def test_one_foreign_byte_does_not_change_other_letters(tmp_path):
    table = read(tmp_path, TEXT.encode() + b"caf\xe9,x\n")
    assert table.frame["title"].tolist() == ["plage", "Ёж", "café"]
    assert "read as Latin-1: byte 0xe9 on line 4 is not UTF-8" in table.notes


def test_a_given_encoding(tmp_path):
    table = read(tmp_path, TEXT.replace("日本", "x").replace("é", "e").encode("cp1251"), encoding="cp1251")
    assert table.frame["title"].tolist() == ["plage", "Ёж"]
    with pytest.raises(DatasetError, match=r"line 3: expected text in utf-8, found byte 0xe9"):
        read(tmp_path, WESTERN.encode("latin-1"), encoding="utf-8")


def test_halves_of_surrogate_pairs(tmp_path):
    with pytest.raises(DatasetError, match="line 2: expected text in utf-16-le"):
        read(tmp_path, "a,b\nx".encode("utf-16") + b"\x00\xd8" + ",y\n".encode("utf-16-le"))
    with pytest.raises(DatasetError, match="expected text in utf-7, found half of a surrogate pair"):
        read(tmp_path, b"a,b\n+2AA-,y\n", encoding="utf-7")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_lines_are_counted_in_long_files(tmp_path, end):
    rows = "title,tags\n" + "plage,x\n" * 400_000  # several MiB: blocks end within rows and line ends
    data = (rows + "café,été\n").replace("\n", end).encode("latin-1")
    assert "byte 0xe9 on line 400002" in " ".join(read(tmp_path, data).notes)

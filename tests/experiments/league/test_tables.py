"""Files of users: which of them are raw tables, which are matrices, and how their labels are read."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest

from simlabel.experiments import FixedSplit
from simlabel.experiments.league import RIVALS, league_sets

FILMS = [("sea and waves", "1990", "sea, sun"), ("a tree, a leaf", "", "wood"), ("sun", "2001", "sun")] * 8


@pytest.fixture
def films():
    """A frame with texts, an empty cell and a column of labels."""
    return pd.DataFrame(FILMS, columns=["title", "year", "tags"])


def only(folder, **options):
    sets, left_out = league_sets(folder=folder, **{"label_column": "tags", **options})
    assert not left_out
    (one,) = sets
    return one


def to_jsonl(frame, path):
    frame.assign(tags=frame.tags.str.split(", ")).to_json(path, orient="records", lines=True)


@pytest.mark.parametrize(
    ("ending", "write"),
    [
        ("csv", lambda frame, path: frame.to_csv(path, index=False)),
        ("tsv", lambda frame, path: frame.to_csv(path, sep="\t", index=False)),
        ("xlsx", lambda frame, path: frame.to_excel(path, index=False)),
        ("json", lambda frame, path: frame.to_json(path, orient="records")),
        ("jsonl", to_jsonl),
        ("parquet", lambda frame, path: frame.to_parquet(path)),
        ("csv.gz", lambda frame, path: path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))),
        ("csv", lambda frame, path: frame.to_csv(path, index=False, encoding="utf-16")),
    ],
)
def test_texts_in_a_file_with_labels_are_a_raw_table(tmp_path, films, ending, write):
    write(films, tmp_path / f"films.{ending}")
    one = only(tmp_path)
    assert (one.name, one.kind) == ("films", "raw table")
    assert one.data.label_names == ("sea", "sun", "wood")
    assert one.data.Y.toarray()[:3].tolist() == [[1, 1, 0], [0, 0, 1], [0, 1, 0]]
    assert one.data.X.iloc[1].tolist() == ["a tree, a leaf", ""]
    assert RIVALS["tagger"].sits_out(one.data) is None


def test_an_empty_cell_among_numbers_makes_a_raw_table_and_numbers_alone_a_matrix(tmp_path):
    lines = ["x,y,tags", *["0.5,1,a;b", "0.1,2,a"] * 12]
    path = tmp_path / "one.csv"
    path.write_text("\n".join(lines))
    one = only(tmp_path)
    assert one.kind == "dense"
    assert isinstance(one.data.X, np.ndarray)
    path.write_text("\n".join([*lines, ",3,b"]))
    one = only(tmp_path)
    assert one.kind == "raw table"
    assert one.data.label_names == ("a", "b")
    assert one.data.X.x.tolist()[-2:] == ["0.1", ""]


def test_numbers_of_a_workbook_are_a_matrix(tmp_path):
    pd.DataFrame({"x": [0.5, 1.5] * 10, "y": [1, 2] * 10, "tags": ["a|b", "b"] * 10}).to_excel(
        tmp_path / "one.xlsx", index=False
    )
    one = only(tmp_path)
    assert one.kind == "dense"
    assert one.data.X[:2].tolist() == [[0.5, 1.0], [1.5, 2.0]]
    assert one.data.label_names == ("a", "b")


def test_the_separator_that_is_given_is_taken(tmp_path, films):
    films.assign(tags=films.tags.str.replace(", ", "#")).to_csv(tmp_path / "films.csv", sep=";", index=False)
    assert only(tmp_path, separator="#", delimiter=";").data.label_names == ("sea", "sun", "wood")


def test_what_is_wrong_with_a_table_is_said_and_the_others_are_read(tmp_path, films):
    films.to_csv(tmp_path / "films.csv", index=False)
    films.drop(columns="tags").to_json(tmp_path / "bare.json", orient="records")
    films.assign(tags="").to_csv(tmp_path / "empty.csv", index=False)
    films[:2].to_csv(tmp_path / "short.csv", index=False)
    films[["tags"]].to_csv(tmp_path / "alone.csv", index=False)
    sets, left_out = league_sets(folder=tmp_path, label_column="tags")
    assert [one.name for one in sets] == ["films"]
    said = dict(line.split(":", 1) for line in left_out)
    assert "no column 'tags' of labels; there are 'title', 'year'" in said["bare"]
    assert "no row has a label" in said["empty"]
    assert "need at least 5 rows" in said["short"]
    assert "nothing to learn from" in said["alone"]


def test_parts_of_a_raw_table_are_one_set(tmp_path, films):
    films[:18].to_csv(tmp_path / "films-train.csv", index=False)
    films[18:].to_csv(tmp_path / "films-test.csv", index=False)
    one = only(tmp_path, fixed=True)
    assert isinstance(one.protocol, FixedSplit)
    assert np.bincount(one.data.split).tolist() == [18, 0, 6]
    assert one.data.X.title.tolist() == films.title.tolist()


def test_rows_that_cannot_be_read_are_counted(tmp_path, films):
    path = tmp_path / "films.csv"
    films.to_csv(path, index=False)
    path.write_text(path.read_text() + "one,two,three,four\n")
    assert only(tmp_path).what.endswith("; 1 row could not be read")


def test_a_file_is_a_set_like_one_of_a_folder(tmp_path, films, monkeypatch):
    monkeypatch.delenv("SIMLABEL_DATA", raising=False)
    path = tmp_path / "films.csv"
    films.to_csv(path, index=False)
    sets, left_out = league_sets([str(path), "made_noisy", "made_noisy"], label_column="tags")
    assert not left_out
    assert [(one.name, one.kind) for one in sets] == [("films", "raw table"), ("made_noisy", "made")]
    films.to_json(tmp_path / "films.json", orient="records")
    with pytest.raises(ValueError, match="two of the sets are called 'films'"):
        league_sets([str(path), str(tmp_path / "films.json")], label_column="tags")
    with pytest.raises(ValueError, match=r"no file .*other\.csv"):
        league_sets([str(tmp_path / "other.csv")])


def test_an_unknown_set_points_to_the_folder_of_sets(tmp_path, monkeypatch):
    monkeypatch.delenv("SIMLABEL_DATA", raising=False)
    with pytest.raises(ValueError, match=r"SIMLABEL_DATA, .* is not set"):
        league_sets(["yeast"])
    monkeypatch.setenv("SIMLABEL_DATA", str(tmp_path))
    with pytest.raises(ValueError, match="no set 'yeast'") as raised:
        league_sets(["yeast"])
    assert "SIMLABEL_DATA" not in str(raised.value)


def test_the_seed_reaches_the_folds(tmp_path, films):
    films.to_csv(tmp_path / "films.csv", index=False)

    def parts(seed):
        one = only(tmp_path, seed=seed)
        return [split.test.tolist() for split in one.protocol.splits(one.data)]

    assert parts(0) == parts(0)
    assert parts(0) != parts(1)

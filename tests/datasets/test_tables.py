import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from simlabel import SimlabelWarning
from simlabel.datasets import DatasetError, load_dataset

FRAME = pd.DataFrame(
    {
        "a": [0.5, 1.5, -2.0],
        "color": ["red", "blue", "red"],
        "on": [True, False, True],
        "l_sea": [1, 0, 1],
        "l_sunset": [0, 0, 1],
        "tags": ["sea", "", "sunset; sea"],
    }
)


@pytest.fixture(params=["csv", "parquet", "csv.gz"])
def stored(request, tmp_path):
    """Write a frame in each format, with an ending that no format has."""

    def store(frame):
        path = tmp_path / "table.data"
        if request.param == "parquet":
            frame.to_parquet(path, index=False)
        else:
            text = frame.to_csv(index=False).encode()
            path.write_bytes(gzip.compress(text) if request.param == "csv.gz" else text)
        return path

    return store


EXPECTED = [[0.5, 0, 1, 1], [1.5, 1, 0, 0], [-2, 0, 1, 1]]


@pytest.mark.parametrize("options", [{"labels": ["l_sunset", "l_sea"]}, {"label_prefix": "l_"}])
def test_labels_in_columns(stored, options):
    dataset = load_dataset(stored(FRAME.drop(columns="tags")), **options)
    assert dataset.feature_names == ("a", "color=blue", "color=red", "on")
    assert dataset.X.tolist() == EXPECTED
    assert dataset.label_names == ("l_sea", "l_sunset")
    assert dataset.Y.toarray().tolist() == [[1, 0], [0, 0], [1, 1]]
    assert dataset.n_attributes == 3


@pytest.mark.parametrize("separator", [";", "|", ", "])
def test_labels_in_one_column_of_lists(stored, separator):
    frame = FRAME.drop(columns=["l_sea", "l_sunset"])
    frame["tags"] = frame["tags"].str.replace("; ", separator)
    dataset = load_dataset(stored(frame), label_column="tags", separator=separator)
    assert dataset.label_names == ("sea", "sunset")
    assert dataset.Y.toarray().tolist() == [[1, 0], [0, 0], [1, 1]]
    assert dataset.X.tolist() == EXPECTED


@pytest.mark.parametrize("cells", [['["sea"]', "[]", "['sunset', 'sea']"], ["#sea", "", "#sunset #sea"]])
def test_lists_and_hashtags_in_one_column(stored, cells):
    dataset = load_dataset(stored(FRAME[["a"]].assign(tags=cells)), label_column="tags")
    assert dataset.label_names == ("sea", "sunset")
    assert dataset.Y.toarray().tolist() == [[1, 0], [0, 0], [1, 1]]


def test_empty_label_cells_are_counted(stored):
    with pytest.warns(SimlabelWarning, match="1 of 3 rows have an empty cell in 'tags'"):
        load_dataset(stored(FRAME[["a", "tags"]]), label_column="tags")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load_dataset(stored(FRAME[["a"]].assign(tags=["[]", '["sea"]', "[]"])), label_column="tags")


def test_parquet_column_of_lists(tmp_path):
    frame = FRAME[["a"]].assign(tags=[["sea"], [], ["sunset", "sea"]])
    frame.to_parquet(tmp_path / "t.parquet")
    assert load_dataset(tmp_path / "t.parquet", label_column="tags").Y.toarray().tolist() == [
        [1, 0],
        [0, 0],
        [1, 1],
    ]


def test_error_without_labels_lists_the_options(stored):
    path = stored(FRAME)
    for options in ({}, {"labels": ["l_sea"], "label_prefix": "l_"}):
        with pytest.raises(DatasetError, match=r"labels=.*label_prefix=.*label_column=.*l_sunset"):
            load_dataset(path, **options)
    with pytest.raises(DatasetError, match="expected label columns 'moon', found"):
        load_dataset(path, labels=["moon"])
    with pytest.raises(DatasetError, match="begin with 'm_'"):
        load_dataset(path, label_prefix="m_")


def test_missing(stored):
    path = stored(FRAME.assign(a=[1.0, None, 3.0], color=["red", None, "red"]).drop(columns="tags"))
    with pytest.raises(DatasetError, match="expected a value for 'a', found a missing one"):
        load_dataset(path, label_prefix="l_")
    assert load_dataset(path, label_prefix="l_", missing="mean").X.tolist() == [
        [1, 1, 1],
        [2, 0, 0],
        [3, 1, 1],
    ]


def test_labels_must_be_zero_and_one(stored):
    with pytest.raises(DatasetError, match=r"expected 0 or 1 for .*'l_sea', found '2'"):
        load_dataset(stored(FRAME.assign(l_sea=[1, 2, 0])), label_prefix="l_")
    with pytest.raises(DatasetError, match="expected 0 or 1 for the label 'l_sea'"):
        load_dataset(stored(FRAME.assign(l_sea=[1, None, 0])), label_prefix="l_")


def test_labels_as_true_and_false(stored):
    dataset = load_dataset(stored(FRAME.assign(l_sea=[True, False, True])[["a", "l_sea"]]), labels=["l_sea"])
    assert dataset.Y.toarray().ravel().tolist() == [1, 0, 1]


def test_texts_with_very_many_values_stay_sparse(stored):
    frame = pd.DataFrame({"id": [f"row {k % 40}" for k in range(60)], "l": [0, 1] * 30})
    dataset = load_dataset(stored(frame), labels=["l"])
    assert isinstance(dataset.X, sp.csr_array)
    assert dataset.X.shape == (60, 40)
    assert np.array_equal(dataset.X.sum(axis=1), np.ones(60))


@pytest.mark.filterwarnings("always::simlabel._utils.advice.DataWarning")
@pytest.mark.parametrize("values", [40, 8])
def test_texts_of_which_every_row_has_its_own(stored, recwarn, values):
    frame = pd.DataFrame({"size": range(40), "street": [f"street {i % values}" for i in range(40)]})
    frame = frame.assign(open=["yes", "no"] * 20, red=[i % 2 for i in range(40)])
    shops = load_dataset(stored(frame), labels=["red"])
    streets = [] if values == 40 else [f"street=street {k}" for k in range(8)]
    assert shops.feature_names == ("size", *streets, "open")
    assert shops.n_attributes == len(frame.columns) - 1 - (values == 40)
    np.testing.assert_array_equal(shops.X[:, [0, -1]], frame[["size"]].assign(open=[1, 0] * 20))
    message = [str(each.message) for each in recwarn]
    if values == 8:  # which recur: they are categories
        assert message == []
    else:
        assert len(message) == 1
        assert message[0].startswith("column 'street' is left out: 40 different texts in 40 rows")


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_csv_delimiters(tmp_path, delimiter):
    path = tmp_path / "a.csv"
    path.write_text(delimiter.join(["a", '"b b"', "l"]) + "\r\n" + delimiter.join(["1", "2", "1"]) + "\r\n")
    for options in ({}, {"delimiter": delimiter}):
        dataset = load_dataset(path, labels=["l"], **options)
        assert dataset.feature_names == ("a", "b b")
        assert dataset.X.tolist() == [[1, 2]]


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("a,b,l\n1,2,1\n1,2\n", 3, "expected 3 cells, found 2"),
        ("a,b,l\n1,2,1,4\n", 2, "expected 3 cells, found 4"),
        ("a,b,l\n1,2,1\n\n1,x,0\n", 4, "a finite number for 'b', as on line 2, found 'x'"),
        ("a,b,l\n1,x,1\n1,2,0\n", 3, "a text for 'b', as on line 2, found '2'"),
        ("a,b,l\n1,2,1\n1,inf,0\n", 3, "a finite number for 'b'"),
        ("a,a,l\n1,2,1\n", 1, "found one twice"),
        (",b,l\n1,2,1\n", 1, "a name for column 1"),
        ('a,b,l\n1,"2"x,1\n', 2, "expected cells"),
        ('a,b,l\n1,"2\n3",1\n1,,1\n', 4, "missing"),
        ("a,b,l\n1,2,?\n", 2, "every row needs known labels"),
        ("a,b,l\n", None, "at least one row"),
        ("l\n1\n", None, "at least one feature"),
    ],
)
def test_malformed_csv_is_named_with_its_line(tmp_path, text, line, expected):
    path = tmp_path / "a.csv"
    path.write_text(text)
    with pytest.raises(DatasetError, match=expected) as caught:
        load_dataset(path, labels=["l"])
    assert caught.value.line == line


def test_parquet_lists_in_several_row_groups(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "tags": [["sea"], [], ["sun", "sea"]]})
    frame.to_parquet(tmp_path / "t.parquet", row_group_size=2)
    read = load_dataset(tmp_path / "t.parquet", label_column="tags")
    assert read.label_names == ("sea", "sun")
    assert read.Y.toarray().tolist() == [[1, 0], [0, 0], [1, 1]]


def test_parquet_types_that_are_no_features(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"when": pd.to_datetime(["2020-01-01"]), "l": [1]}).to_parquet(path)
    with pytest.raises(DatasetError, match="expected numbers, booleans or texts in 'when', found datetime"):
        load_dataset(path, labels=["l"])
    pd.DataFrame({"x": [float("inf")], "l": [1]}).to_parquet(path)
    with pytest.raises(DatasetError, match="expected a finite number for 'x', found 'inf'"):
        load_dataset(path, labels=["l"])


def test_damaged_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    FRAME.to_parquet(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DatasetError, match="damaged"):
        load_dataset(path, label_prefix="l_")


def test_parquet_that_unpacks_to_far_too_much(tmp_path):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": np.zeros(5_000_000), "l": np.ones(5_000_000, dtype=np.int8)}).to_parquet(path)
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DatasetError, match=r"asks for 0\.0745 GiB of memory"):
        load_dataset(path, labels=["l"])

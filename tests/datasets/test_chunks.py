"""A file read in chunks equals the file read whole, for every format and any chunk size."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from simlabel.datasets import DatasetError, FeatureChunks, load_dataset

ROWS = [
    {"size": 1.5, "hue": "red", "ripe": "yes", "tags": "a;b"},
    {"size": -2.0, "hue": "blue", "ripe": "no", "tags": "b"},
    {"size": 0.0, "hue": "red", "ripe": "no", "tags": ""},
    {"size": 4.25, "hue": "green", "ripe": "yes", "tags": "a"},
    {"size": 7.0, "hue": "blue", "ripe": "yes", "tags": "a;b"},
]
ARFF_HEAD = (
    "@relation r\n@attribute size numeric\n@attribute hue {red,blue,green}\n@attribute ripe {no,yes}\n"
)
ARFF_HEAD += "@attribute a {0,1}\n@attribute b {0,1}\n@data\n"


def write(folder, kind):
    frame = pd.DataFrame(ROWS)
    path = folder / f"fruit.{kind.removeprefix('sparse-')}"
    if kind == "csv":
        frame.to_csv(path, index=False)
        return path, {"label_column": "tags"}
    if kind == "parquet":
        frame.to_parquet(path)
        return path, {"label_column": "tags"}
    lines = []
    for row in ROWS:
        cells = [row["size"], row["hue"], row["ripe"], int("a" in row["tags"]), int("b" in row["tags"])]
        if kind == "arff":
            lines.append(",".join(map(str, cells)))
        else:  # the first value of a nominal attribute is left out, as 0 is
            implied = [0.0, "red", "no", 0, 0]
            written = [f"{j} {cell}" for j, cell in enumerate(cells) if cell != implied[j]]
            lines.append("{" + ", ".join(written) + "}")
    path.write_text(ARFF_HEAD + "\n".join(lines) + "\n")
    return path, {"labels": ["a", "b"]}


def whole(chunks):
    parts = [part.toarray() if sp.issparse(part) else part for part in chunks]
    return np.vstack(parts)


@pytest.mark.parametrize("rows", [1, 2, 3, 100])
@pytest.mark.parametrize("kind", ["csv", "parquet", "arff", "sparse-arff"])
def test_named_columns(tmp_path, kind, rows):
    path, options = write(tmp_path, kind)
    data = load_dataset(path, **options)
    expected = data.X.toarray() if sp.issparse(data.X) else data.X
    chunks = FeatureChunks(path, data.feature_names, rows)
    parts = list(chunks)
    assert [part.shape[0] for part in parts] == [min(rows, 5 - start) for start in range(0, 5, rows)]
    np.testing.assert_array_equal(whole(parts), expected)
    assert chunks.unknown == 0


@pytest.mark.parametrize("rows", [1, 2, 100])
def test_numbered_columns(tmp_path, rows):
    one = tmp_path / "one.svm"
    one.write_text("# first\n0,2 1:0.5 3:2\n1 2:1\n 3:4 # last\n")
    data = load_dataset(one)
    np.testing.assert_array_equal(whole(FeatureChunks(one, 3, rows)), data.X.toarray())
    xmc = tmp_path / "two.txt"
    xmc.write_text("3 4 2\n0 0:1 3:2\n1,0 1:1\n 2:5\n")
    np.testing.assert_array_equal(whole(FeatureChunks(xmc, 4, rows)), load_dataset(xmc).X.toarray())
    npz = tmp_path / "three.npz"
    np.savez(npz, X=np.arange(10.0).reshape(5, 2))
    np.testing.assert_array_equal(whole(FeatureChunks(npz, 2, rows)), np.arange(10.0).reshape(5, 2))


@given(st.permutations(["size", "hue", "ripe", "note"]), st.integers(1, 7))
def test_order_extra_columns_and_chunk_size_do_not_matter(tmp_path_factory, order, rows):
    folder = tmp_path_factory.mktemp("order")
    path, options = write(folder, "csv")
    data = load_dataset(path, **options)
    frame = pd.DataFrame(ROWS).assign(note="x")[order]
    other = folder / "other.csv"
    frame.to_csv(other, index=False)
    np.testing.assert_array_equal(whole(FeatureChunks(other, data.feature_names, rows)), data.X)


def test_categories_come_from_the_model(tmp_path):
    path, options = write(tmp_path, "csv")
    features = load_dataset(path, **options).feature_names
    other = tmp_path / "other.csv"
    other.write_text("hue,size,ripe\nblue,1,no\npurple,2,true\n")
    chunks = FeatureChunks(other, features, 1)
    names = list(features)
    found = whole(chunks)
    assert found[0, names.index("hue=blue")] == 1
    assert found[1, [j for j, name in enumerate(names) if name.startswith("hue=")]].sum() == 0
    assert found[1, names.index("ripe")] == 1
    assert chunks.unknown == 1


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.csv", "hue,ripe\nred,yes\n", "'size' not found among 'hue, ripe'"),
        (
            "a.csv",
            "hue,ripe,size\nred,yes,4\nred,no,big\n",
            "line 3: expected a finite number for 'size', found 'big'",
        ),
        ("a.csv", "hue,ripe,size\nred,yes,\n", "line 2: expected a value for 'size', found a missing one"),
        ("a.csv", "hue,ripe,size\nred,yes\n", "line 2: expected 3 cells, found 2"),
        ("a.svm", "0 9:1 0:1\n", "expected a feature of the model from 0 to 4, found 9"),
        ("a.svm", "0 2:1\n", "numbered from 0 or from 1"),
        ("a.txt", "1 7 2\n0 1:1\n", "expected 5 features, as the model has, found 7"),
    ],
)
def test_errors_name_the_place(tmp_path, name, text, message):
    path, options = write(tmp_path, "csv")
    features = load_dataset(path, **options).feature_names
    other = tmp_path / name
    other.write_text(text)
    with pytest.raises(DatasetError) as caught:
        list(FeatureChunks(other, features, 2))
    assert message in str(caught.value)


def test_a_model_without_names_takes_no_table(tmp_path):
    path, _ = write(tmp_path, "csv")
    with pytest.raises(DatasetError, match="the model knows only that it has 5 features"):
        list(FeatureChunks(path, 5, 2))
    with pytest.raises(DatasetError, match="no such file"):
        FeatureChunks(tmp_path / "none.csv", 5, 2)

"""Whole sets by name: a made-up one in every format and layout, and the published ones that are there."""

import os

import numpy as np
import pytest
import scipy.sparse as sp

from simlabel.datasets import list_datasets, load_dataset
from support import require_data
from written_sets import FLAVOURS, N_TRAIN, flavour, whole, write_sets

# rows, features, labels, labels per row, rows of the training, development and test parts
PUBLISHED = {
    "yeast": (2417, 103, 14, 4.237, None),
    "image": (2000, 294, 5, 1.236, (1501, 0, 499)),
    "scene": (2407, 294, 6, 1.074, (1211, 0, 1196)),
    "emotions": (593, 72, 6, 1.869, None),
    "flags": (194, 19, 7, 3.392, None),
    "medical": (978, 1449, 45, 1.245, None),
    "bibtex": (7395, 1836, 159, 2.402, (4880, 0, 2515)),
    "delicious": (16105, 500, 983, 19.02, (12920, 0, 3185)),
    "goemotions_svd120": (54263, 120, 28, 1.176, (43410, 5426, 5427)),
    "debdeps_bookworm": (51725, 11765, 6892, 4.417, None),
}
#: as Mulan publishes them
DISTINCT = {"yeast": 198, "emotions": 27, "scene": 15, "flags": 54, "bibtex": 2856}
SPARSE = {"medical", "bibtex", "delicious", "debdeps_bookworm", "sparse", "svmlight", "xmc", "npz_sparse"}

X, Y, FEATURES, LABELS = whole()
PARTS = (N_TRAIN, 0, len(X) - N_TRAIN)
ALL = (len(X), len(FEATURES), len(LABELS), sum(map(sum, Y.tolist())) / len(X))
MADE = {
    "mulan": (*ALL, None),
    "nominal": (ALL[0], ALL[1] + 1, *ALL[2:], None),
    "parts": (*ALL, PARTS),
    "sparse": (*ALL, PARTS),
    "meka": (*ALL, None),
    "meka_last": (*ALL, None),
    "svmlight": (*ALL, PARTS),
    "xmc": (*ALL, None),
    "npz": (*ALL, PARTS),
    "npz_sparse": (*ALL, PARTS),
}
COUNTS = MADE | PUBLISHED
DISTINCT |= dict.fromkeys(MADE, len({tuple(row) for row in Y.tolist()}))


def here(names, carried=("yeast",)):
    """Of some sets the made ones and those that a package carries; with a folder of data, all."""
    return [name for name in names if name in (*MADE, *carried) or os.environ.get("SIMLABEL_DATA")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("sets")
    write_sets(path)
    return path


@pytest.fixture
def load(folder, monkeypatch):
    def load(name):
        if name in MADE:
            monkeypatch.setenv("SIMLABEL_DATA", str(folder))
            return load_dataset(name)
        return require_data(name)

    return load


def dense(rows):
    return rows.toarray() if sp.issparse(rows) else rows


@pytest.mark.parametrize("name", here(COUNTS))
def test_counts(load, name):
    dataset = load(name)
    rows, features, labels, cardinality, parts = COUNTS[name]
    assert (dataset.n_rows, dataset.n_attributes, dataset.n_labels) == (rows, features, labels)
    assert dataset.cardinality == pytest.approx(cardinality, abs=1e-3)
    assert sp.issparse(dataset.X) == (name in SPARSE)
    assert isinstance(dataset.Y, sp.csr_array)
    assert dataset.Y.dtype == np.int8
    assert set(np.unique(dataset.Y.data)) == {1}
    assert dataset.X.dtype in (np.float64, np.float32)
    if parts is None:
        assert dataset.split is None
    else:
        assert tuple(np.bincount(dataset.split, minlength=3)) == parts


@pytest.mark.parametrize("name", here(DISTINCT))
def test_distinct_label_sets(load, name):
    assert load(name).distinct_label_sets == DISTINCT[name]


@pytest.mark.parametrize("name", MADE)
def test_every_format_gives_the_rows_that_were_written(load, name):
    dataset = load(name)
    columns = [list(dataset.feature_names).index(f) for f in FEATURES] if name == "nominal" else slice(None)
    np.testing.assert_array_equal(dense(dataset.X)[:, columns], X)
    np.testing.assert_array_equal(dataset.Y.toarray(), Y)
    if name not in ("svmlight", "xmc"):  # which have no names
        assert tuple(dataset.feature_names[columns] if name != "nominal" else FEATURES) == FEATURES
        assert dataset.label_names == LABELS


@pytest.mark.parametrize("table", ["csv.csv", "parquet.parquet"])
def test_tables_require_the_label_columns(folder, table):
    dataset = load_dataset(folder / table, label_prefix="label ")
    np.testing.assert_array_equal(dataset.X, X)
    np.testing.assert_array_equal(dataset.Y.toarray(), Y)
    assert (dataset.feature_names, dataset.label_names) == (FEATURES, LABELS)


@pytest.mark.parametrize("name", here(["mulan", "nominal", "yeast", "emotions", "flags"], carried=()))
def test_parts_hold_the_rows_of_the_whole(load, name):
    dataset = load(name)
    parts = [load_dataset(f"{name}-{part}") for part in ("train", "test")]
    assert sum(part.n_rows for part in parts) == dataset.n_rows
    assert all(part.label_names == dataset.label_names for part in parts)
    together = np.vstack([np.hstack([part.X, part.Y.toarray()]) for part in parts])
    expected = np.hstack([dataset.X, dataset.Y.toarray()])
    assert np.array_equal(np.sort(together, axis=0), np.sort(expected, axis=0))


def test_labels_are_in_the_order_of_the_file(load):
    assert load("yeast").label_names == tuple(f"Class{k}" for k in range(1, 15))


def test_a_nominal_feature_is_a_column_for_each_value(load):
    dataset = load("nominal")
    columns = {name: dataset.X[:, j].tolist() for j, name in enumerate(dataset.feature_names)}
    assert set(columns) == {*FEATURES, *(f"flavour={name}" for name in FLAVOURS)}
    for name in FLAVOURS:
        assert columns[f"flavour={name}"] == [float(flavour(i) == name) for i in range(len(X))]


NOMINAL = {"nominal": ("flavour", 3, "a"), "flags": ("landmass", 6, "crescent")}


@pytest.mark.parametrize("name", here(NOMINAL))
def test_nominal_features_are_one_hot(load, name):
    feature, values, numeric = NOMINAL[name]
    dataset = load(name)
    columns = [j for j, column in enumerate(dataset.feature_names) if column.startswith(f"{feature}=")]
    assert len(columns) == values
    assert np.array_equal(dataset.X[:, columns].sum(axis=1), np.ones(dataset.n_rows))
    assert numeric in dataset.feature_names  # of flags: its values are 0 and 1


@pytest.mark.parametrize("sets", here(["mulan", "flags"]))
def test_list_shows_every_set_with_its_counts(load, sets):
    load(sets)
    table = list_datasets()
    for name, (rows, features, labels, cardinality, _) in (MADE if sets in MADE else PUBLISHED).items():
        row = table.loc[name]
        assert (row["rows"], row["features"], row["labels"]) == (rows, features, labels)
        assert row["cardinality"] == pytest.approx(cardinality, abs=1e-3)
        assert row["density"] == pytest.approx(cardinality / labels, abs=1e-3)
        assert row["problem"] == ""
        assert row["distinct_label_sets"] == DISTINCT.get(name, row["distinct_label_sets"])
    assert not {f"{name}-train" for name in COUNTS} & set(table.index)
    if sets in MADE:
        assert "label_prefix=" in table.loc["csv", "problem"]
        assert "label_prefix=" in table.loc["parquet", "problem"]

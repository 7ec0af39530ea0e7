"""The real sets load with the counts that are published for them."""

import numpy as np
import pytest
import scipy.sparse as sp

from simlabel.datasets import list_datasets, load_dataset
from support import require_data

# rows, features, labels, labels per row, rows of the training, development and test parts
COUNTS = {
    "yeast": (2417, 103, 14, 4.237, None),
    "image": (2000, 294, 5, 1.236, (1501, 0, 499)),
    "scene": (2407, 294, 6, 1.074, (1211, 0, 1196)),
    "emotions": (593, 72, 6, 1.869, None),
    "flags": (194, 19, 7, 3.392, None),
    "bibtex": (7395, 1836, 159, 2.402, (4880, 0, 2515)),
    "delicious": (16105, 500, 983, 19.02, (12920, 0, 3185)),
    "goemotions_svd120": (54263, 120, 28, 1.176, (43410, 5426, 5427)),
    "debdeps_bookworm": (51725, 11765, 6892, 4.417, None),
}
SPARSE = {"bibtex", "delicious", "debdeps_bookworm"}


@pytest.mark.parametrize("name", COUNTS)
def test_counts(name):
    dataset = require_data(name)
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


@pytest.mark.parametrize(
    ("name", "sets"), [("yeast", 198), ("emotions", 27), ("scene", 15), ("flags", 54), ("bibtex", 2856)]
)
def test_distinct_label_sets_are_those_that_mulan_publishes(name, sets):
    assert require_data(name).distinct_label_sets == sets


@pytest.mark.parametrize("name", ["yeast", "emotions", "flags"])
def test_parts_hold_the_rows_of_the_whole(name):
    whole = require_data(name)
    parts = [load_dataset(f"{name}-{part}") for part in ("train", "test")]
    assert sum(part.n_rows for part in parts) == whole.n_rows
    assert all(part.label_names == whole.label_names for part in parts)
    together = np.vstack([np.hstack([part.X, part.Y.toarray()]) for part in parts])
    expected = np.hstack([whole.X, whole.Y.toarray()])
    assert np.array_equal(np.sort(together, axis=0), np.sort(expected, axis=0))


def test_labels_are_in_the_order_of_the_file():
    assert require_data("yeast").label_names == tuple(f"Class{k}" for k in range(1, 15))


def test_nominal_features_of_flags_are_one_hot():
    flags = require_data("flags")
    landmass = [j for j, name in enumerate(flags.feature_names) if name.startswith("landmass=")]
    assert len(landmass) == 6
    assert np.array_equal(flags.X[:, landmass].sum(axis=1), np.ones(194))
    assert "crescent" in flags.feature_names  # its values are 0 and 1


def test_list_shows_every_set_with_its_counts():
    require_data("flags")
    table = list_datasets()
    for name, (rows, features, labels, cardinality, _) in COUNTS.items():
        row = table.loc[name]
        assert (row["rows"], row["features"], row["labels"]) == (rows, features, labels)
        assert row["cardinality"] == pytest.approx(cardinality, abs=1e-3)
        assert row["density"] == pytest.approx(cardinality / labels, abs=1e-3)
        assert row["problem"] == ""
    assert table.loc["yeast", "distinct_label_sets"] == 198
    assert "yeast-train" not in table.index

"""A folder of numpy arrays with a file of labels."""

import numpy as np
import pytest

from damaged_files import npz_bytes
from simlabel.datasets import DatasetError, load_dataset

PARTS = {0: 2, 1: 1, 2: 1, 10: 1}  # rows of x0.npy, x1.npy, ...
SETS = [["sea"], [], ["sea", "sun"], ["sun"], []]
Y = np.array([[1, 0], [0, 0], [1, 1], [0, 1], [0, 0]])


@pytest.fixture
def folder(tmp_path):
    start = 0
    for number, rows in PARTS.items():
        part = np.arange(start, start + rows, dtype=np.float32)[:, None] * [1, 10]
        np.save(tmp_path / f"x{number}.npy", part.astype(np.float32))
        start += rows
    return tmp_path


LABELS = {
    "labels.txt": "sea\n\nsea; sun\nsun\n\n",
    "labels.csv": 'tags\nsea\n""\nsea;sun\nsun\n" "\n',
    "labels.jsonl": "".join(f'{{"tags": {labels}}}\n'.replace("'", '"') for labels in SETS),
}


@pytest.mark.parametrize("name", LABELS)
def test_parts_in_natural_order_with_lists_of_labels(folder, name):
    (folder / name).write_text(LABELS[name])
    data = load_dataset(folder)
    assert data.X[:, 0].tolist() == [0, 1, 2, 3, 4]
    assert data.X.dtype == np.float32
    assert data.Y.toarray().tolist() == Y.tolist()
    assert data.label_names == ("sea", "sun")
    assert (data.name, data.source) == (folder.name, str(folder))


def test_a_matrix_of_labels(folder):
    np.save(folder / "Y.npy", Y)
    assert load_dataset(str(folder)).Y.toarray().tolist() == Y.tolist()
    (folder / "Y.npy").unlink()
    (folder / "Y.npz").write_bytes(npz_bytes(Y=Y, label_names=np.array(["sea", "sun"])))
    assert load_dataset(folder).label_names == ("sea", "sun")
    (folder / "Y.npz").unlink()
    (folder / "labels.csv").write_text("sea,sun\n" + "".join(f"{a},{b}\n" for a, b in Y))
    data = load_dataset(folder)
    assert (data.label_names, data.Y.toarray().tolist()) == (("sea", "sun"), Y.tolist())


def test_another_separator(folder):
    (folder / "labels.txt").write_text("sea\n\nsea|sun\nsun\n\n")
    assert load_dataset(folder, separator="|").label_names == ("sea", "sun")
    with pytest.raises(TypeError, match="is a folder of arrays, which takes no option 'missing'"):
        load_dataset(folder, missing="mean")


def test_what_does_not_fit(folder):
    def refused(what):
        with pytest.raises(DatasetError, match=what):
            load_dataset(folder)

    refused(r"labels in one of labels\.txt, .*, found none")
    (folder / "labels.txt").write_text("sea\n")
    refused("expected labels for 5 rows, found 1")
    (folder / "labels.csv").write_text("a\n")
    refused(r"found labels\.txt, labels\.csv")
    (folder / "labels.txt").unlink()
    (folder / "labels.csv").write_text("sea,sun\n1,0\n1,0,1\n")
    refused(r"labels\.csv, line 3: expected 2 cells, found 3")
    (folder / "labels.csv").unlink()
    np.save(folder / "Y.npy", 2 * Y)
    refused(r"Y\.npy: expected 0 and 1 in Y, found 2")
    np.save(folder / "Y.npy", Y[:, 0])
    refused("expected a matrix of 0 and 1, found int64")
    (folder / "Y.npy").write_bytes(b"\x93NUMPY\x01")
    refused(r"Y\.npy: expected an array of 0 and 1, as numpy saves it")
    np.save(folder / "Y.npy", Y)
    np.save(folder / "x3.npy", np.ones((1, 3), dtype=np.float32))
    refused(r"the same width and type.*x3\.npy has float32 of shape \(1, 3\)")
    np.save(folder / "x3.npy", np.full((1, 2), np.nan, dtype=np.float32))
    refused("expected finite numbers in the arrays, found NaN or infinity")
    np.save(folder / "x3.npy", np.array([[{}, 1]], dtype=object), allow_pickle=True)
    refused("the same width and type, as numpy saves them")
    (folder / "x3.npy").write_bytes((folder / "x1.npy").read_bytes()[:-3])
    refused("the same width and type, as numpy saves them")


def test_a_folder_without_arrays_is_none(tmp_path, monkeypatch):
    with pytest.raises(DatasetError, match="expected a regular file, found a folder"):
        load_dataset(tmp_path)
    # nor does one that has the name of a set stand in its way
    (tmp_path / "small").mkdir()
    (tmp_path / "small.txt").write_text("2 3 2\n0,1 0:1\n0 1:1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SIMLABEL_DATA", str(tmp_path))
    assert load_dataset("small").n_rows == 2

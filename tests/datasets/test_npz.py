import numpy as np
import pytest
import scipy.sparse as sp

from simlabel.datasets import DatasetError, load_dataset

X = np.array([[0.5, 0, 1], [0, 2, 0]], dtype=np.float32)
Y = np.array([[1, 0], [1, 1]], dtype=np.int8)
NAMES = np.array(["sea", "sun set"])


def _csr(key, dense):
    matrix = sp.csr_array(dense)
    return {
        f"{key}_data": matrix.data,
        f"{key}_indices": matrix.indices,
        f"{key}_indptr": matrix.indptr,
        f"{key}_shape": np.array(matrix.shape),
    }


DENSE = {"X": X, "Y": Y}
SPARSE = {**_csr("X", X), **_csr("Y", Y)}


@pytest.fixture
def store(tmp_path):
    def store(arrays, **changes):
        path = tmp_path / "a.npz"
        arrays = {key: value for key, value in {**arrays, **changes}.items() if value is not None}
        np.savez_compressed(path, **arrays)
        return path

    return store


@pytest.mark.parametrize("layout", [DENSE, SPARSE])
def test_both_layouts(store, layout):
    dataset = load_dataset(
        store(layout, split=np.array([0, 2]), label_names=NAMES, rows=np.array(["r", "s"]))
    )
    assert sp.issparse(dataset.X) == (layout is SPARSE)
    values = dataset.X.toarray() if layout is SPARSE else dataset.X
    assert np.array_equal(values, X)
    assert values.dtype == np.float32
    assert np.array_equal(dataset.Y.toarray(), Y)
    assert dataset.label_names == ("sea", "sun set")
    assert dataset.split.tolist() == [0, 2]


def test_names_and_split_may_be_absent(store):
    dataset = load_dataset(store(DENSE))
    assert tuple(dataset.label_names) == ("0", "1")
    assert tuple(dataset.feature_names) == ("0", "1", "2")
    assert dataset.split is None


def test_whole_numbers_become_floats_and_booleans_labels(store):
    dataset = load_dataset(
        store(DENSE, X=X.astype(int), Y=Y.astype(bool), feature_names=np.array(["a", "b", "c"]))
    )
    assert dataset.X.dtype == np.float64
    assert dataset.Y.dtype == np.int8
    assert dataset.feature_names == ("a", "b", "c")


@pytest.mark.parametrize(
    ("layout", "changes", "expected"),
    [
        (DENSE, {"Y": None}, "expected the array Y"),
        (DENSE, {"X": None}, "expected the array X"),
        (DENSE, {"Y": Y[:1]}, "as many rows in Y as in X"),
        (DENSE, {"Y": Y * 2}, "expected 0 and 1 in Y, found 2"),
        (DENSE, {"X": X * np.nan}, "finite numbers in X"),
        (DENSE, {"X": X[0]}, "X with 2 axes"),
        (DENSE, {"X": X.astype(complex)}, "of kind 'biuf', found complex"),
        (DENSE, {"label_names": NAMES.astype(object)}, "damaged: Object arrays cannot be loaded"),
        (DENSE, {"label_names": NAMES[:1]}, "2 label_names, found 1"),
        (DENSE, {"split": np.array([0, 3])}, "in split"),
        (DENSE, {"split": np.array([0])}, "in split"),
        (DENSE, {"X": X[:0], "Y": Y[:0]}, "at least one row and column in X"),
        (DENSE, {"Y": Y[:, :0]}, "at least one row and column in Y"),
        (DENSE, {"X": X[:, :0]}, "at least one row and column in X"),
        (SPARSE, {"X_indices": None}, "expected the array X_indices"),
        (SPARSE, {"X_indices": np.array([0, 3, 1])}, "X_indices, X_indptr.*indices must be < 3"),
        (SPARSE, {"X_indices": np.array([0, -1, 1])}, "X_indices, X_indptr.*indices must be >= 0"),
        (SPARSE, {"X_indices": np.array([0, 1])}, "indices and data should have the same size"),
        (SPARSE, {"X_indptr": np.array([0, 4, 3])}, "indptr must be a non-decreasing"),
        (SPARSE, {"X_indptr": np.array([0, 3])}, "index pointer size 2 should be 3"),
        (SPARSE, {"X_shape": np.array([10**12, 3])}, "index pointer size 3 should be"),
        (SPARSE, {"X_shape": np.array([2, 10**12])}, "in X_shape"),
        (SPARSE, {"X_shape": np.array([2])}, "in X_shape"),
    ],
)
def test_malformed(store, layout, changes, expected):
    with pytest.raises(DatasetError, match=expected) as caught:
        load_dataset(store(layout, **changes))
    assert caught.value.path.endswith("a.npz")


def test_archive_that_unpacks_to_far_too_much(store):
    path = store(DENSE, X=np.zeros((2, 20_000_000)))
    assert path.stat().st_size < 1 << 20
    with pytest.raises(DatasetError, match=r"asks for 0\.298 GiB of memory"):
        load_dataset(path)


def test_pickles_are_never_opened(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("a pickle was opened",))

    path = tmp_path / "a.npz"
    np.savez(path, X=X, Y=np.array([[Trap()], [Trap()]], dtype=object))
    with pytest.raises(DatasetError, match="Object arrays cannot be loaded"):
        load_dataset(path)


def test_zip_that_is_no_numpy_archive(tmp_path):
    import zipfile

    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", b"no array")
        archive.writestr("Y.npy", b"no array")
    with pytest.raises(DatasetError, match="damaged"):
        load_dataset(path)

"""Rows on a disk give the same results as in memory, and are read once for all queries."""

from __future__ import annotations

import pickle
import threading

import numpy as np
import pandas as pd
import pytest
import zarr

from simlabel import SMLClassifier
from simlabel._utils.rows import DiskRows, as_rows
from simlabel.datasets import open_rows
from simlabel.normalizers import MinMax, ZScore
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Cosine, Laplacian, OnColumns
from simlabel.sums import CustomWeighting, Exact, TopK, UniformSampler
from simlabel.tuning import LeaveOneOut, Validation

N, D, K = 90, 5, 4


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D)).astype(np.float32) * [1, 2, 3, 4, 5] + 1
    Y = (rng.random((N, K)) < 0.4).astype(np.int8)
    return X.astype(np.float32), Y, rng.normal(size=(17, D)).astype(np.float32)


@pytest.fixture
def tiny_blocks(change_limits):
    """Seven rows at a time, so that small data show the seams."""
    change_limits(piece_rows=13, read_bytes=7 * 4 * D)


def stored(X, kind, folder):
    if kind == "memmap":
        path = folder / "X.npy"
        np.save(path, X)
        return open_rows(path)
    if kind == "npy folder":
        for i, part in enumerate(np.array_split(X, 3)):
            np.save(folder / f"part-{i}.npy", part)
        return open_rows(folder)
    if kind == "npz folder":
        np.savez(folder / "a.npz", X=X[:40], other=np.zeros(3))
        np.savez_compressed(folder / "b.npz", X[40:])
        return open_rows(folder)
    if kind == "parquet":
        frame = pd.DataFrame(X, columns=list("abcde"))
        frame[:50].assign(name="x").to_parquet(folder / "0.parquet", row_group_size=20)
        frame[50:].to_parquet(folder / "1.parquet", row_group_size=20)
        return open_rows(sorted(folder.iterdir()), columns=list("abcde"))
    array = zarr.create_array(str(folder / "X.zarr"), shape=X.shape, chunks=(16, D), dtype=X.dtype)
    array[:] = X
    return open_rows(folder / "X.zarr")


KINDS = ["memmap", "npy folder", "npz folder", "parquet", "zarr"]


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_read_as_they_are(kind, data, tmp_path):
    X = data[0]
    rows = stored(X, kind, tmp_path)
    assert rows.shape == X.shape
    assert rows.dtype == X.dtype
    some = np.array([80, 3, 41, 3])
    for read in (rows, pickle.loads(pickle.dumps(rows))):
        np.testing.assert_array_equal(read[:], X)
        np.testing.assert_array_equal(read[35:62], X[35:62])
        np.testing.assert_array_equal(read[some], X[some])
        np.testing.assert_array_equal(read.part(slice(20, 70))[some // 2], X[20:70][some // 2])


@pytest.mark.parametrize("kind", KINDS)
def test_predictions_are_those_of_rows_in_memory(kind, data, tmp_path, tiny_blocks):
    X, Y, Q = data
    here = SMLClassifier(RBF(1.5)).fit(X, Y)
    there = SMLClassifier(RBF(1.5)).fit(stored(X, kind, tmp_path), Y)
    np.testing.assert_allclose(there.label_weights(Q), here.label_weights(Q), rtol=1e-5)
    np.testing.assert_array_equal(there.predict(Q), here.predict(Q))
    assert there.label_weights(Q).dtype == np.float32


def flattened(S):
    """A weighting of whole rows: shares of a row's sum."""
    return S / S.sum(axis=1, keepdims=True)


CASES = {
    "tuned": {"similarity": "rbf"},
    "laplacian": {"similarity": "laplacian", "normalizer": "minmax"},
    "collapsed": {"similarity": Cosine(), "engine": "collapsed"},
    "chain": {"similarity": Laplacian(0.3), "normalizer": ["zscore", "l2"]},
    "top-k": {"similarity": RBF(1.0), "weighting": TopK(6)},
    "whole rows": {"similarity": RBF(1.0), "weighting": CustomWeighting(flattened, scope="row")},
    "label mean": {"similarity": RBF(1.0), "influence": "label_mean"},
    "ridge": {"similarity": RBF(1.0), "influence": Ridge(penalty=0.3)},
    "inducing": {"similarity": RBF(1.0), "influence": Ridge(penalty=0.3, inducing=20)},
    "threshold": {"similarity": RBF(1.0), "label_rule": "threshold"},
    "leave-one-out": {"similarity": "rbf", "tuning": "loo"},
    "columns": {
        "similarity": OnColumns(RBF(0.5), [0, 2], "zscore") + OnColumns(Laplacian(0.1), [1]),
        "normalizer": None,
    },
}


@pytest.mark.parametrize("name", CASES)
def test_every_stage(name, data, tmp_path, tiny_blocks):
    X, Y, Q = data
    X, Q = X.astype(np.float64), Q.astype(np.float64)
    weights = np.where(np.arange(N) % 7 == 0, 2.0, 1.0)
    np.save(tmp_path / "X.npy", X)
    models = [
        SMLClassifier(**CASES[name], random_state=0).fit(rows, Y, sample_weight=weights)
        for rows in (X, open_rows(tmp_path))
    ]
    here, there = models
    np.testing.assert_allclose(there.label_weights(Q), here.label_weights(Q), rtol=1e-8)
    np.testing.assert_allclose(there.leave_one_out(), here.leave_one_out(), rtol=1e-7)
    np.testing.assert_array_equal(there.predict(Q), here.predict(Q))


@pytest.mark.parametrize("normalizer", [ZScore(), MinMax()])
def test_what_a_normalizer_learns(normalizer, rng, tiny_blocks):
    X = np.column_stack([rng.normal(1e4, 2.0, size=50), np.full(50, 0.1), rng.normal(size=50)])
    here = type(normalizer)().fit(X)
    there = type(normalizer)().fit(DiskRows(X))
    np.testing.assert_allclose(there.shift_, here.shift_, rtol=1e-12)
    np.testing.assert_allclose(there.scale_, here.scale_, rtol=1e-9)


def test_learn_forget_and_retune(data, tmp_path, tiny_blocks):
    X, Y, Q = data
    np.save(tmp_path / "a.npy", X[:60])
    np.save(tmp_path / "b.npy", X[60:80])
    model = SMLClassifier(RBF(1.0)).fit(open_rows(tmp_path / "a.npy"), Y[:60])
    model.partial_fit(open_rows(tmp_path / "b.npy"), Y[60:80]).partial_fit(X[80:], Y[80:]).forget([3, 70, 85])
    left = np.setdiff1d(np.arange(N), [3, 70, 85])
    fresh = SMLClassifier(RBF(1.0)).fit(X[left], Y[left])
    np.testing.assert_allclose(model.label_weights(Q), fresh.label_weights(Q), rtol=1e-5)
    np.testing.assert_allclose(model.retune().label_weights(Q), fresh.label_weights(Q), rtol=1e-5)


class TermCounts:
    """Rows that say which of them are read."""

    def __init__(self, X):
        self.X, self.shape, self.dtype, self.supports = X, X.shape, X.dtype, []

    def __getitem__(self, index):
        self.supports.append(index)
        return self.X[index]


def test_each_block_is_read_once_for_all_queries(data, tiny_blocks):
    X, Y, _ = data
    source = TermCounts(X)
    model = SMLClassifier(RBF(1.0)).fit(DiskRows(source), Y)
    source.supports.clear()
    model.label_weights(np.tile(X, (20, 1)))
    rows = np.concatenate([np.arange(part.start, part.stop) for part in source.supports])
    np.testing.assert_array_equal(rows, np.arange(N))


def test_the_next_block_is_read_while_one_is_worked_on(data, tiny_blocks):
    X, Y, Q = data
    second = threading.Event()

    class Source(TermCounts):
        def __getitem__(self, index):
            if isinstance(index, slice) and index.start == 7:
                second.set()
            return super().__getitem__(index)

    seen = []

    def on_block(done, total):
        seen.append((done, total))
        assert second.wait(600), "the second block is not read before the first is done"

    model = SMLClassifier(RBF(1.0), normalizer=None, engine=Exact(on_block=on_block)).fit(
        DiskRows(Source(X)), Y
    )
    second.clear()
    model.label_weights(Q)
    assert seen[-1] == (N * len(Q), N * len(Q))


def test_a_large_map_is_not_copied(data, tmp_path, change_limits):
    X, Y, Q = data
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert isinstance(as_rows(mapped), np.memmap)
    change_limits(mapped_bytes=0)
    part = as_rows(mapped[10:])
    np.testing.assert_array_equal(part[3:5], X[13:15])
    assert as_rows(mapped.T) is not None
    assert isinstance(as_rows(mapped[:, :3]), np.memmap)
    model = SMLClassifier(RBF(1.0)).fit(mapped, Y)
    assert all(isinstance(chunk.X, DiskRows) for chunk in model._model.scorer.references.chunks)
    fresh = SMLClassifier(RBF(1.0)).fit(X, Y)
    np.testing.assert_allclose(model.label_weights(Q), fresh.label_weights(Q), rtol=1e-5)


def test_queries_on_a_disk(data, tmp_path):
    X, Y, Q = data
    np.save(tmp_path / "Q.npy", Q)
    model = SMLClassifier(RBF(1.0)).fit(X, Y)
    np.testing.assert_array_equal(model.predict(open_rows(tmp_path)), model.predict(Q))


def test_errors_name_the_row_or_the_file(data, tmp_path, tiny_blocks):
    X, Y, _ = data
    X[41, 3] = np.nan
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(ValueError, match="row 41, column 3"):
        SMLClassifier(RBF(1.0)).fit(open_rows(tmp_path), Y)
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match=r"holds no \.npy, \.npz, \.parquet files"):
        open_rows(tmp_path / "empty")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        open_rows(tmp_path / "nowhere.npy")
    np.save(tmp_path / "Y.npy", X[:, :2])
    with pytest.raises(ValueError, match="the same columns"):
        open_rows(tmp_path)
    np.savez(tmp_path / "two.npz", a=X, b=X)
    with pytest.raises(ValueError, match="holds the arrays a, b"):
        open_rows(tmp_path / "two.npz")
    pd.DataFrame({"a": ["x"]}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="not numbers"):
        open_rows(tmp_path / "t.parquet")
    with pytest.raises(ValueError, match="no column 'z'"):
        open_rows(tmp_path / "t.parquet", columns=["z"])


def test_a_transformer_that_needs_all_rows_is_refused(data, tmp_path):
    from sklearn.decomposition import PCA

    X, Y, _ = data
    np.save(tmp_path / "X.npy", X)
    with pytest.raises(TypeError, match="not in memory"):
        SMLClassifier(RBF(1.0), normalizer=PCA(2)).fit(open_rows(tmp_path), Y)


@pytest.mark.parametrize("kind", ["memmap", "npy folder", "parquet"])
@pytest.mark.parametrize(
    "stages",
    [
        {"tuning": LeaveOneOut(max_rows=40)},
        {"tuning": Validation(literal=True, share=0.4)},
        {"similarity": RBF(0.1), "influence": Ridge(0.5, inducing=30)},
        {"similarity": RBF(0.1), "sampler": UniformSampler(50)},
        {"similarity": RBF(0.1), "label_rule": "per_label"},
    ],
    ids=str,
)
def test_the_order_of_rows_on_a_disk_does_not_matter(data, tiny_blocks, tmp_path, rng, kind, stages):
    X, Y, Q = data
    order = rng.permutation(N)
    fitted = []
    for rows in (np.arange(N), order):
        folder = tmp_path / str(len(fitted))
        folder.mkdir()
        fitted.append(SMLClassifier(**stages, random_state=1).fit(stored(X[rows], kind, folder), Y[rows]))
    one, other = fitted
    assert other.tuning_.best == pytest.approx(one.tuning_.best, rel=1e-5)
    np.testing.assert_allclose(other.label_weights(Q), one.label_weights(Q), rtol=1e-4, atol=1e-6)
    np.testing.assert_array_equal(other.predict(Q), one.predict(Q))

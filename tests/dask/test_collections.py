"""Dask arrays and data frames as X and y."""

from __future__ import annotations

import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from simlabel import SMLClassifier
from simlabel._utils.rows import LazyRows
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, ChiSquare, Laplacian
from simlabel.sums import TopK
from simlabel.sums.dask import ClusterError, DaskEngine

N, D, K = 110, 6, 4


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D)) * [1, 2, 3, 1, 2, 3] + 2
    Y = (X[:, :K] + rng.normal(size=(N, K)) > 2).astype(np.int64)
    return X, Y, rng.normal(size=(23, D)) + 2


def chunked(X, rows=30):
    return da.from_array(X, chunks=(rows, 4))


CASES = {
    "plain": {"similarity": RBF(1.0)},
    "tuned by validation": {"similarity": "rbf", "normalizer": "zscore"},
    "tuned by leave-one-out": {"similarity": "rbf", "tuning": "loo", "normalizer": "minmax"},
    "label mean": {"similarity": Laplacian(0.3), "influence": "label_mean"},
    "ridge": {"similarity": RBF(1.0), "influence": Ridge(penalty=0.3)},
    "inducing": {"similarity": Laplacian(0.5), "influence": Ridge(penalty=0.3, inducing=30)},
    "top-k": {"similarity": RBF(1.0), "weighting": TopK(9)},
    "threshold": {"similarity": RBF(1.0), "label_rule": "threshold"},
}


QUICK = ("tuned by validation", "inducing", "top-k")


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in QUICK else pytest.mark.slow) for case in CASES]
)
def test_arrays_on_workers_give_what_arrays_here_give(client, data, case):
    X, Y, Q = data
    here = SMLClassifier(**CASES[case], random_state=0).fit(X, Y)
    engine = DaskEngine(client)
    there = SMLClassifier(**CASES[case], random_state=0, engine=engine).fit(chunked(X), chunked(Y, 50))
    np.testing.assert_allclose(there.label_weights(Q), here.label_weights(Q), rtol=1e-8)
    predicted = there.predict(chunked(Q, 10))
    np.testing.assert_array_equal(predicted, here.predict(Q))
    assert predicted.dtype == Y.dtype
    np.testing.assert_allclose(there.leave_one_out(), here.leave_one_out(), rtol=1e-7)
    assert there.tuning_.best == pytest.approx(here.tuning_.best)


def test_references_stay_on_the_workers(client, data):
    X, Y, Q = data
    with client.as_current():
        model = SMLClassifier(RBF(1.0)).fit(chunked(X), Y)
    chunks = model._model.scorer.references.chunks
    assert [len(chunk) for chunk in chunks] == [30, 30, 30, 20]
    assert all(isinstance(chunk.X, LazyRows) and chunk.X.remote for chunk in chunks)
    fresh = SMLClassifier(RBF(1.0)).fit(X, Y)
    np.testing.assert_allclose(model.label_weights(Q), fresh.label_weights(Q), rtol=1e-9)


def test_data_frames(client, data):
    X, Y, Q = data
    frame = pd.DataFrame(X, columns=list("abcdef"))
    labels = pd.DataFrame(Y, columns=["sea", "sun", "tree", "town"])
    here = SMLClassifier(RBF(1.0)).fit(frame, labels)
    there = SMLClassifier(RBF(1.0), engine=DaskEngine(client))
    there.fit(dd.from_pandas(frame, npartitions=4), dd.from_pandas(labels, npartitions=3))
    assert list(there.feature_names_in_) == list("abcdef")
    queries = pd.DataFrame(Q, columns=list("abcdef"))
    pd.testing.assert_frame_equal(there.predict(queries), here.predict(queries), check_dtype=False)
    found = there.predict(dd.from_pandas(queries, npartitions=2))
    np.testing.assert_array_equal(found.to_numpy(), here.predict(queries).to_numpy())
    with pytest.raises(ValueError, match="feature names"):
        there.predict(dd.from_pandas(queries.rename(columns={"a": "z"}), npartitions=2))


def test_one_class_per_row(client, data):
    X, Y, Q = data
    y = np.array(["low", "high"])[Y[:, 0]]
    here = SMLClassifier(RBF(1.0)).fit(X, y)
    there = SMLClassifier(RBF(1.0), engine=DaskEngine(client)).fit(chunked(X), da.from_array(y, chunks=40))
    np.testing.assert_array_equal(there.predict(Q), here.predict(Q))


def test_sparse_blocks(client, data):
    X, Y, Q = data
    X, Q = np.where(X > 2.5, X, 0.0), np.where(Q > 2.5, Q, 0.0)
    blocks = da.from_array(X, chunks=(30, D)).map_blocks(sp.csr_array)
    here = SMLClassifier(RBF(1.0), normalizer=["zscore", "l2"]).fit(sp.csr_array(X), Y)
    there = SMLClassifier(RBF(1.0), normalizer=["zscore", "l2"], engine=DaskEngine(client)).fit(blocks, Y)
    np.testing.assert_allclose(
        there.label_weights(sp.csr_array(Q)), here.label_weights(sp.csr_array(Q)), rtol=1e-9
    )


def test_learn_forget_and_retune(client, data):
    X, Y, Q = data
    engine = DaskEngine(client)
    model = SMLClassifier(RBF(1.0), normalizer="zscore", engine=engine)
    model.partial_fit(chunked(X[:60]), chunked(Y[:60]))
    model.partial_fit(chunked(X[60:90]), chunked(Y[60:90])).partial_fit(X[90:], Y[90:]).forget([3, 65, 100])
    left = np.setdiff1d(np.arange(N), [3, 65, 100])
    held = SMLClassifier(RBF(1.0), normalizer=model.normalizer_).fit(X[:60], Y[:60])
    held.partial_fit(X[60:], Y[60:]).forget([3, 65, 100])
    np.testing.assert_allclose(model.label_weights(Q), held.label_weights(Q), rtol=1e-9)
    fresh = SMLClassifier(RBF(1.0), normalizer="zscore").fit(X[left], Y[left])
    np.testing.assert_allclose(model.retune().label_weights(Q), fresh.label_weights(Q), rtol=1e-9)


def test_a_model_here_takes_queries_from_there(client, data):
    X, Y, Q = data
    model = SMLClassifier(RBF(1.0)).fit(X, Y)
    with client.as_current():
        np.testing.assert_array_equal(model.predict(chunked(Q, 7)), model.predict(Q))


def test_what_is_wrong_is_said_where_it_is(client, data):
    X, Y, _ = data
    engine = DaskEngine(client)
    wrong = X.copy()
    wrong[73, 2] = np.inf
    with pytest.raises(ValueError, match="row 73, column 2"):
        SMLClassifier(RBF(1.0), engine=engine).fit(chunked(wrong), Y)
    with pytest.raises(ValueError, match="only 0 and 1"):
        SMLClassifier(RBF(1.0), engine=engine).fit(chunked(X), chunked(Y * 2))
    with pytest.raises(ValueError, match="Negative values"):
        SMLClassifier(ChiSquare(1.0), normalizer=None, engine=engine).fit(chunked(X - 9), Y)
    with pytest.raises(ValueError, match="same length"):
        SMLClassifier(RBF(1.0), engine=engine).fit(chunked(X), Y[:-1])
    with pytest.raises(TypeError, match="in memory"):
        SMLClassifier("precomputed", engine=engine).fit(chunked(X @ X.T), Y)
    with pytest.raises(ClusterError, match="no Dask client"):
        SMLClassifier(RBF(1.0)).fit(chunked(X), Y)
    with pytest.raises(TypeError, match="on a cluster"):
        SMLClassifier(RBF(1.0), engine=engine).fit(chunked(X), Y).explain(X[:1])


@pytest.mark.parametrize("influence", ["uniform", "label_mean", Ridge(0.3, inducing=30)], ids=repr)
def test_unknown_labels(client, data, influence):
    X, Y, Q = data
    y = np.where(np.random.default_rng(0).random(Y.shape) < 0.4, np.nan, Y)
    settings = {"normalizer": None, "influence": influence, "random_state": 0}
    here = SMLClassifier(RBF(0.3), **settings).fit(X, y)
    there = SMLClassifier(RBF(0.3), **settings, engine=DaskEngine(client)).fit(chunked(X), chunked(y, 50))
    np.testing.assert_allclose(there.label_weights(Q), here.label_weights(Q), rtol=1e-8, atol=1e-12)


@pytest.mark.parametrize(
    "stages",
    [
        {"similarity": "rbf", "normalizer": "zscore"},
        {"similarity": RBF(1.0), "influence": Ridge(penalty=0.3, inducing=30)},
        {"similarity": RBF(1.0), "label_rule": "per_label"},
    ],
    ids=str,
)
def test_neither_the_order_of_rows_nor_their_chunks_matter(client, data, rng, stages):
    X, Y, Q = data
    order, engine = rng.permutation(N), DaskEngine(client)
    one = SMLClassifier(**stages, random_state=0, engine=engine).fit(chunked(X), Y)
    other = SMLClassifier(**stages, random_state=0, engine=engine).fit(chunked(X[order], 17), Y[order])
    assert other.tuning_.best == pytest.approx(one.tuning_.best, rel=1e-6)
    np.testing.assert_allclose(other.label_weights(Q), one.label_weights(Q), rtol=1e-6)
    np.testing.assert_array_equal(other.predict(Q), one.predict(Q))

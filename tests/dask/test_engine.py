"""A model on a cluster gives what the same model gives on one machine."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

import simlabel
from simlabel import SMLClassifier, similarity_sums
from simlabel.datasets import open_rows
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Cosine, Laplacian
from simlabel.sums import CustomWeighting, Exact, TopK
from simlabel.sums.dask import ClusterError, DaskEngine

N, D, K = 120, 6, 5


@pytest.fixture
def data(rng):
    X = rng.normal(size=(N, D))
    Y = (X[:, :K] + rng.normal(size=(N, K)) > 0.5).astype(np.int8)
    return X, Y, rng.normal(size=(31, D))


@pytest.fixture(autouse=True)
def many_shards(change_limits):
    """Shards of 17 rows and tasks of 25 queries, so that small data show the seams."""
    change_limits(min_shard_rows=17, shards_per_thread=4, min_task_queries=25, tasks_per_thread=30)


def test_workers_run_the_code_under_test(client):
    assert set(client.run(lambda: simlabel.__file__).values()) == {simlabel.__file__}
    assert len(set(client.run(lambda: __import__("os").getpid()).values())) == 2


def shares(S):
    """A weighting of whole rows."""
    return S / S.sum(axis=1, keepdims=True)


CASES = {
    "plain": {"similarity": RBF(1.0)},
    "tuned by validation": {"similarity": "rbf"},
    "tuned by leave-one-out": {"similarity": "laplacian", "tuning": "loo"},
    "collapsed": {"similarity": Cosine()},
    "z-score": {"similarity": Laplacian(0.3), "normalizer": ["zscore", "l2"]},
    "label mean": {"similarity": RBF(1.0), "influence": "label_mean"},
    "ridge": {"similarity": RBF(1.0), "influence": Ridge(penalty=0.3)},
    "inducing": {"similarity": RBF(1.0), "influence": Ridge(penalty=0.3, inducing=40)},
    "top-k": {"similarity": RBF(1.0), "weighting": TopK(9)},
    "whole rows": {"similarity": RBF(1.0), "weighting": CustomWeighting(shares, scope="row")},
    "threshold": {"similarity": RBF(1.0), "label_rule": "threshold"},
}


def both(client, X, Y, case, weights=None):
    here = SMLClassifier(**CASES[case], random_state=0).fit(X, Y, sample_weight=weights)
    there = SMLClassifier(**CASES[case], random_state=0, engine=DaskEngine(client))
    return here, there.fit(X, Y, sample_weight=weights)


SPARSE = ("plain", "tuned by validation", "label mean", "inducing", "top-k")


QUICK = ("plain-dense", "tuned by validation-dense", "inducing-dense", "top-k-dense", "whole rows-dense")


def chosen(cases):
    """The whole matrix in the slow tests, some of it in the quick ones."""
    marks = {name: () if name in QUICK else pytest.mark.slow for name in cases}
    return [pytest.param(*name.rsplit("-", 1), marks=marks[name], id=name) for name in cases]


@pytest.mark.parametrize(
    ("case", "kind"), chosen([f"{case}-dense" for case in CASES] + [f"{case}-sparse" for case in SPARSE])
)
def test_the_same_as_on_one_machine(client, data, case, kind):
    X, Y, Q = data
    weights = np.where(np.arange(N) % 5 == 0, 3.0, 1.0)
    if kind == "sparse":
        X, Q = sp.csr_array(np.where(X > 0.4, X, 0.0)), sp.csr_array(np.where(Q > 0.4, Q, 0.0))
    here, there = both(client, X, Y, case, weights)
    np.testing.assert_allclose(there.label_weights(Q), here.label_weights(Q), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(there.predict(Q), here.predict(Q))
    np.testing.assert_array_equal(there.predict_set_size(Q), here.predict_set_size(Q))
    np.testing.assert_allclose(there.leave_one_out(), here.leave_one_out(), rtol=1e-8, atol=1e-12)
    assert there.tuning_.best == pytest.approx(here.tuning_.best)


def test_float32_stays(client, data):
    X, Y, Q = (part.astype(np.float32) for part in data)
    here, there = both(client, X, Y, "plain")
    assert there.label_weights(Q).dtype == np.float32
    np.testing.assert_allclose(there.label_weights(Q), here.label_weights(Q), rtol=1e-5)


def test_of_equal_similarities_the_first_rows_count(client):
    X = np.zeros((60, 2))
    V = np.arange(60.0)[:, None]
    sums = similarity_sums(X[:3], X, V, RBF(1.0), weighting=TopK(5), engine=DaskEngine(client))
    np.testing.assert_array_equal(sums, np.full((3, 1), 0.0 + 1 + 2 + 3 + 4))


def test_any_objects_and_a_function(client):
    words = ["sea", "seal", "tree", "trees", "see"] * 12
    y = [{word[:2]} for word in words]
    alike = lambda a, b: len(set(a) & set(b)) / len(set(a) | set(b))  # noqa: E731
    here = SMLClassifier(alike).fit(words, y)
    there = SMLClassifier(alike, engine=DaskEngine(client)).fit(words, y)
    np.testing.assert_allclose(there.label_weights(["tea"]), here.label_weights(["tea"]))


def test_rows_on_a_disk_are_read_by_the_workers(client, data, tmp_path):
    X, Y, Q = data
    np.save(tmp_path / "X.npy", X)
    here = SMLClassifier(RBF(1.0)).fit(X, Y)
    there = SMLClassifier(RBF(1.0), engine=DaskEngine(client)).fit(open_rows(tmp_path), Y)
    np.testing.assert_allclose(there.label_weights(Q), here.label_weights(Q), rtol=1e-9)


def test_learn_and_forget(client, data):
    X, Y, Q = data
    model = SMLClassifier(RBF(1.0), engine=DaskEngine(client)).fit(X[:80], Y[:80])
    model.partial_fit(X[80:], Y[80:]).forget([5, 90])
    left = np.setdiff1d(np.arange(N), [5, 90])
    fresh = SMLClassifier(RBF(1.0)).fit(X[left], Y[left])
    np.testing.assert_allclose(model.label_weights(Q), fresh.label_weights(Q), rtol=1e-9)


def test_references_are_sent_once(client, data):
    X, Y, Q = data
    model = SMLClassifier(RBF(1.0), engine=DaskEngine(client)).fit(X, Y)
    shards = [shard.key for shard in model._model.scorer.job.cache["dask"].shards()]
    model.predict(Q)
    assert [shard.key for shard in model._model.scorer.job.cache["dask"].shards()] == shards


def test_copies_and_pickles_know_the_cluster(client, data):
    X, Y, Q = data
    model = SMLClassifier(RBF(1.0), engine=DaskEngine(client)).fit(X, Y)
    scores = model.label_weights(Q)
    for other in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.label_weights(Q), scores)
    assert clone(model).engine.client is client


def test_progress_and_plan(client, data):
    X, Y, Q = data
    seen = []
    engine = DaskEngine(client, on_block=lambda done, total: seen.append((done, total)))
    model = SMLClassifier(RBF(1.0), engine=engine).fit(X, Y)
    model.label_weights(Q)
    assert seen[-1] == (N * len(Q), N * len(Q))
    assert "on 2 workers of a Dask cluster" in str(model.plan(Q))


def test_an_overflow_is_reported_as_on_one_machine(client, data):
    X, _, Q = data
    with pytest.raises(ValueError, match="overflow"):
        similarity_sums(
            Q * 1e200, X * 1e200, np.ones((N, 1)), "linear", engine=DaskEngine(client, local=Exact())
        )


def test_what_is_not_possible_is_said(client, data):
    X, Y, _ = data
    with pytest.raises(ValueError, match="precomputed"):
        SMLClassifier("precomputed", engine=DaskEngine(client)).fit(X @ X.T, Y).predict(X @ X.T)
    with pytest.raises(ValueError, match="by itself"):
        SMLClassifier(engine=DaskEngine(client, local=DaskEngine(client))).fit(X, Y)
    with pytest.raises(ValueError, match="patience"):
        SMLClassifier(engine=DaskEngine(client, patience=0)).fit(X, Y)
    with pytest.raises(ClusterError, match="no Dask client"):
        SMLClassifier(RBF(1.0), engine=DaskEngine()).fit(X, Y)
    with pytest.raises(ClusterError, match="No Dask scheduler answers"):
        SMLClassifier(RBF(1.0), engine=DaskEngine("tcp://127.0.0.1:9", patience=1)).fit(X, Y)

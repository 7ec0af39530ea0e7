"""Top-k sums through an index equal the plain loops where every neighbour is found, and say their recall."""

from __future__ import annotations

import builtins
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import naive
from simlabel import SMLClassifier, load, similarity_sums
from simlabel.engines import ANN, Job, _index, prepare, reducer_for
from simlabel.similarities import RBF, Cosine, Laplacian, Linear, OnColumns, Polynomial, Quadratic
from simlabel.weightings import TopK

pytest.importorskip("faiss")

CASES = [
    (RBF(0.7), naive.rbf(0.7)),
    (Cosine(), naive.cosine),
    (Linear(), naive.dot),
    (Polynomial(3, 0.5), naive.polynomial(3, 0.5)),
    (OnColumns(RBF(2.0), [0, 2]), lambda x, z: naive.rbf(2.0)([x[0], x[2]], [z[0], z[2]])),
]


def expected(Q, X, V, phi, k, exclude=None, weights=None):
    own = [None] * len(Q) if exclude is None else exclude
    rows = zip(Q.tolist(), own, strict=True)
    return [naive.sums(q, X.tolist(), V.tolist(), phi, naive.top_k(k), weights, e) for q, e in rows]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("similarity", "phi"), CASES, ids=[repr(case[0]) for case in CASES])
def test_with_every_neighbour_found_it_equals_the_plain_loops(similarity, phi, dtype, rng):
    X, Q = rng.normal(size=(80, 4)).astype(dtype), rng.normal(size=(9, 4)).astype(dtype)
    X[3], Q[2], X[5] = 0.0, 0.0, X[4]  # zero rows, equal rows
    V = rng.normal(size=(80, 3))
    for k in (1, 7, 200):
        result = similarity_sums(Q, X, V, similarity, weighting=TopK(k), engine=ANN(recall=1.0))
        tolerance = 1e-4 if dtype == np.float32 else 1e-10
        np.testing.assert_allclose(
            result, expected(Q, X, V, phi, k), rtol=tolerance, atol=tolerance * (1 + np.abs(X).max() ** 6)
        )
        assert result.dtype == dtype


@pytest.mark.parametrize(("similarity", "phi"), CASES, ids=[repr(case[0]) for case in CASES])
def test_left_out_the_next_neighbour_enters(similarity, phi, rng):
    X, V = rng.normal(size=(60, 4)), rng.normal(size=(60, 2))
    own = np.arange(60)
    own[::4] = -1
    result = similarity_sums(X, X, V, similarity, weighting=TopK(5), exclude=own, engine=ANN(1.0))
    wanted = expected(X, X, V, phi, 5, [None if o < 0 else int(o) for o in own])
    np.testing.assert_allclose(result, wanted, rtol=1e-9, atol=1e-9)


@given(
    n=st.integers(1, 60),
    m=st.integers(1, 3),
    k=st.integers(1, 12),
    levels=st.integers(1, 3),
    seed=st.integers(0, 2**32 - 1),
)
def test_of_equals_those_that_come_first_count(n, m, k, levels, seed):
    """Few different rows: whole groups are as near as each other, and the index must not choose.

    Products of whole numbers are exact, so that equals are equal."""
    rng = np.random.default_rng(seed)
    X, Q = rng.integers(0, levels, (n, m)).astype(float), rng.integers(0, levels, (4, m)).astype(float)
    V = rng.normal(size=(n, 2))
    result = similarity_sums(Q, X, V, "linear", weighting=TopK(k), engine=ANN(recall=1.0))
    np.testing.assert_allclose(result, expected(Q, X, V, naive.dot, k), rtol=1e-9, atol=1e-9)


def test_neighbours_that_float32_cannot_tell_apart(rng):
    X = 1000.0 + 1e-4 * rng.normal(size=(300, 3))  # squared distances of 1e-8 beside squares of 3e6
    V = rng.normal(size=(300, 2))
    result = similarity_sums(X[:5], X, V, RBF(1e7), weighting=TopK(4), engine=ANN(recall=1.0))
    exact = similarity_sums(X[:5], X, V, RBF(1e7), weighting=TopK(4), engine="exact")
    np.testing.assert_array_equal(result, exact)


def test_a_query_beyond_float32(rng):
    X, V = rng.normal(size=(50, 2)), rng.normal(size=(50, 1))
    Q = np.array([[1e20, 1.0], [0.5, 0.5]])
    result = similarity_sums(Q, X, V, "linear", weighting=TopK(3), engine=ANN(recall=1.0))
    np.testing.assert_allclose(result, expected(Q, X, V, naive.dot, 3), rtol=1e-12)


def test_weights_are_neighbours(rng):
    X, Y = rng.normal(size=(40, 3)), sp.csr_array(rng.integers(0, 2, (40, 3)))
    weights = rng.choice([0.5, 1.0, 2.0, 3.0], 40)
    one, other = (
        SMLClassifier(RBF(0.5), weighting=TopK(6), normalizer=None, engine=engine).fit(X, Y, weights)
        for engine in ("exact", ANN(recall=1.0))
    )
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), rtol=1e-9)
    np.testing.assert_allclose(one.leave_one_out(), other.leave_one_out(), rtol=1e-9)


def clusters(rng, n, dtype=np.float32):
    centers = rng.normal(size=(30, 8))
    of = rng.integers(0, 30, n)
    X = (centers[of] + 0.3 * rng.normal(size=(n, 8))).astype(dtype)
    Y = np.zeros((n, 5), dtype=int)
    Y[np.arange(n), of % 5] = 1
    return X, Y


@pytest.fixture
def small_index(monkeypatch):
    monkeypatch.setattr(_index, "_FEWEST", 100)


@pytest.mark.parametrize("similarity", [RBF(0.5), Cosine()], ids=repr)
def test_the_recall_that_is_shown_is_the_recall(similarity, rng, small_index):
    """Counted anew from the sums: with influence 1 of each reference, the sum says who was found."""
    X, Y = clusters(rng, 3300)
    X, Y, Q = X[:3000], Y[:3000], X[3000:]
    engine = ANN(recall=0.9)
    model = SMLClassifier(similarity, weighting=TopK(10), normalizer=None, engine=engine).fit(X, Y)
    index = model._model.scorer.job.kept["ann"]
    assert not index.exact
    assert index.probes < index.cells
    assert f"recall {index.recall:.3f} of the 10 nearest, measured on 256 references" in str(model.plan_)
    job = Job(similarity, TopK(10), reducer_for(TopK(10), sp.eye_array(3000, format="csr")))
    found = engine.reduce(Q, prepare(X, [similarity], keep_views=True), [job])[0] > 0
    exact = similarity_sums(Q, X, sp.eye_array(3000, format="csr"), similarity, weighting=TopK(10)) > 0
    share = (found & exact).sum() / exact.sum()
    assert share > 0.8
    assert abs(share - index.recall) < 0.1
    assert index.recall > 0.85


def test_recall_1_looks_at_all(rng, small_index):
    X, Y = clusters(rng, 500)
    model = SMLClassifier(RBF(0.5), weighting=TopK(10), engine=ANN(recall=1.0)).fit(X, Y)
    exact = SMLClassifier(RBF(0.5), weighting=TopK(10)).fit(X, Y)
    np.testing.assert_allclose(model.decision_function(X), exact.decision_function(X), rtol=1e-5)
    assert "every neighbour is found" in str(model.plan_)
    assert model.predict_sets(X[:20]) == exact.predict_sets(X[:20])
    assert str(model.explain(X[:2])) == str(exact.explain(X[:2]))


def test_teaching_and_forgetting(rng, small_index, change_limits):
    change_limits(tail_rows=50)
    change_limits(piece_rows=100)
    X, Y = clusters(rng, 700)
    stages = {"similarity": RBF(0.5), "weighting": TopK(5), "normalizer": None}
    model = SMLClassifier(engine=ANN(recall=0.999), **stages).fit(X[:500], Y[:500])
    before = model._model.scorer.job.kept["ann"]
    model.partial_fit(X[500:560], Y[500:560])
    after = model._model.scorer.job.kept["ann"]
    assert after is not before
    assert (before.n, after.n, after.cells) == (500, 560, before.cells)
    model.partial_fit(X[560:], Y[560:])
    gone = [3, 480, 555, 690]
    model.forget(gone)
    left = np.setdiff1d(np.arange(700), gone)
    fresh = SMLClassifier(engine="exact", **stages).fit(X[left], Y[left])
    same = np.isclose(model.decision_function(X), fresh.decision_function(X), rtol=1e-4).all(axis=1)
    assert same.mean() > 0.97
    assert len(model.decision_function(X[gone])) == 4


def test_pickled_and_saved_it_answers_the_same(rng, small_index, tmp_path):
    X, Y = clusters(rng, 600)
    model = SMLClassifier(RBF(0.5), weighting=TopK(5), engine=ANN(recall=0.8)).fit(X, Y)
    wanted = model.decision_function(X)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), wanted)
    model.save(tmp_path / "model.simlabel")
    np.testing.assert_allclose(load(tmp_path / "model.simlabel").decision_function(X), wanted, rtol=1e-5)


def test_values_left_open_are_found_by_looking_at_all_pairs(rng):
    X, Y = clusters(rng, 300)
    stages = {"weighting": TopK("auto"), "random_state": 0}
    one, other = (SMLClassifier("rbf", engine=engine, **stages).fit(X, Y) for engine in ("exact", "ann"))
    assert one.similarity_.gamma == other.similarity_.gamma
    assert one.weighting_.k == other.weighting_.k


def test_what_is_not_possible_says_why(rng, small_index):
    X, Y = clusters(rng, 600)
    top = TopK(5)
    for similarity, weighting, rows, words in [
        (RBF(1.0), None, X, r"without weighting=TopK\(...\) all references count"),
        ("rbf", None, X, "all references count"),
        (Laplacian(1.0), top, X, r"Laplacian\(gamma=1.0\) does not rise with an inner product"),
        (Quadratic(), top, X, "does not rise with an inner product"),
        (RBF(1.0) + Linear(), top, X, "does not rise with an inner product"),
        (RBF(1.0), top, sp.csr_array(X), "the index holds dense rows"),
        (lambda a, b: 1.0, top, X, "does not rise with an inner product"),
        (Linear(), top, X.astype(np.float64) * 1e20, "too large for float32"),
    ]:
        with pytest.raises(ValueError, match=f"engine='ann' is not possible: .*{words}"):
            SMLClassifier(similarity, weighting=weighting, engine="ann", normalizer=None).fit(rows, Y)
    with pytest.raises(ValueError, match="recall must be at most 1, got 2"):
        SMLClassifier(RBF(1.0), weighting=top, engine=ANN(recall=2)).fit(X, Y)
    model = SMLClassifier(RBF(1.0), weighting=top, engine="ann").fit(X, Y)
    with pytest.raises(ValueError, match="an index that may miss neighbours"):
        model.explain(X[:1])


def test_without_the_library_the_error_names_it(rng, monkeypatch):
    real = builtins.__import__

    def none(name, *args, **kwargs):
        if name == "faiss":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", none)
    X, Y = clusters(rng, 20)
    with pytest.raises(ImportError, match=r"engine='ann' needs the library faiss: install simlabel\[ann\]"):
        SMLClassifier(RBF(1.0), weighting=TopK(5), engine="ann").fit(X, Y)

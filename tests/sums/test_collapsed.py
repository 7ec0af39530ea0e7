"""Collapsed sums equal the long sum, whatever was added and removed."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import naive
from simlabel import SMLClassifier, similarity_sums
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Cosine, Linear, OnColumns, Polynomial, Quadratic
from simlabel.sums import Auto, Collapsed, CollapsedSums, Exact, Job, MergedSums, prepare, reducer_for

CASES = [
    (Linear(), naive.dot),
    (Cosine(), naive.cosine),
    (Polynomial(degree=1, coef0=0.7), naive.polynomial(1, 0.7)),
    (Quadratic(), naive.polynomial(2, 1.0)),
    (Polynomial(degree=2, coef0=0.0), naive.polynomial(2, 0.0)),
    (Polynomial(degree=2, coef0=2.5), naive.polynomial(2, 2.5)),
    (0.3 * Quadratic(), lambda x, z: 0.3 * naive.polynomial(2, 1.0)(x, z)),
    (2 * OnColumns(Linear(), [0, 2]), lambda x, z: 2 * naive.dot(x[0:3:2], z[0:3:2])),
    (OnColumns(Quadratic(), [0, 2]), lambda x, z: naive.polynomial(2, 1.0)(x[0:3:2], z[0:3:2])),
]


def absolute_sum(Q, X, V, phi):
    return max(sum(abs(phi(q, x)) * abs(v).max() for x, v in zip(X, V, strict=True)) for q in Q)


@pytest.mark.parametrize(("similarity", "phi"), CASES, ids=[repr(similarity)[:40] for similarity, _ in CASES])
@pytest.mark.parametrize("make_V", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("memory_mib", [256, 0.001])
def test_equals_plain_loops(similarity, phi, make_V, memory_mib, rng):
    Q, X, V = rng.normal(size=(7, 4)), rng.normal(size=(50, 4)), rng.normal(size=(50, 3))
    X[3] = 0.0
    result = similarity_sums(Q, X, make_V(V), similarity, engine=Collapsed(memory_mib=memory_mib))
    wanted = [naive.sums(q, X.tolist(), V.tolist(), phi) for q in Q.tolist()]
    np.testing.assert_allclose(result, wanted, rtol=0, atol=1e-10 * absolute_sum(Q, X, V, phi))


@pytest.mark.parametrize("collapsed_bytes", [1 << 28, 0], ids=["each column its sums", "alike columns one"])
@pytest.mark.parametrize("make_V", [sp.csr_array, lambda V: V.toarray()])
@pytest.mark.parametrize(("similarity", "phi"), CASES[:3], ids=[repr(case[0]) for case in CASES[:3]])
def test_sparse_rows_stay_sparse(similarity, phi, make_V, collapsed_bytes, rng, changed_limits):
    Q, X, V = (
        sp.random_array(shape, density=0.2, rng=rng, format="csr") for shape in ((7, 9), (50, 9), (50, 3))
    )
    # the same columns again, and one that a single reference has
    X, Q = (sp.csr_array(sp.hstack([A, A[:, ::2], A[:, :1].multiply(A[:, 1:2])])) for A in (X, Q))
    with changed_limits(collapsed_bytes=collapsed_bytes):
        result = similarity_sums(Q, X, make_V(V), similarity, engine="collapsed")
    wanted = [naive.sums(q, X.toarray().tolist(), V.toarray().tolist(), phi) for q in Q.toarray().tolist()]
    np.testing.assert_allclose(result, wanted, atol=1e-10)


@given(seed=st.integers(0, 2**32 - 1), n=st.integers(0, 20), m=st.integers(0, 20))
def test_removing_what_was_added_changes_nothing(seed, n, m):
    rng = np.random.default_rng(seed)
    X, V = rng.normal(size=(n + m, 3)), rng.normal(size=(n + m, 2))
    none = CollapsedSums.empty(Quadratic().leaves()[0], 3, 2)
    there_and_back = none.added(X[:n], V[:n]).added(X[n:], V[n:]).added(X[n:], V[n:], sign=-1)
    np.testing.assert_allclose(
        there_and_back.W,
        none.added(X[:n], V[:n]).W,
        atol=1e-10 * (1 + np.abs(X).max(initial=0.0) ** 2 * (n + m)),
    )


def test_leaving_out_visits_pairs(rng):
    X, V = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    result = similarity_sums(X, X, V, Quadratic(), engine="collapsed", exclude=np.arange(20))
    wanted = [
        naive.sums(x, X.tolist(), V.tolist(), naive.polynomial(2, 1.0), exclude=i)
        for i, x in enumerate(X.tolist())
    ]
    np.testing.assert_allclose(result, wanted, rtol=1e-10)


def test_what_cannot_be_collapsed_says_why(rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"'collapsed' is not possible: RBF has no explicit columns"):
        similarity_sums(X, X, X, RBF(1.0), engine="collapsed")
    with pytest.raises(ValueError, match="a weighting needs the single similarities"):
        similarity_sums(X, X, X, "linear", weighting="power", engine="collapsed")
    with pytest.raises(ValueError, match="no explicit columns"):
        similarity_sums(sp.csr_array(X), sp.csr_array(X), X, Quadratic(), engine="collapsed")


def test_auto_collapses_where_it_pays_and_only_there(rng):
    X, Y = rng.normal(size=(3000, 5)), rng.integers(0, 2, (3000, 4))
    assert "collapsed to 5 columns" in str(SMLClassifier("linear", normalizer=None).fit(X, Y).plan_)
    assert "collapsed to 21 columns" in str(SMLClassifier("quadratic", normalizer=None).fit(X, Y).plan_)
    assert "all pairs" in str(SMLClassifier(RBF(1.0), normalizer=None).fit(X, Y).plan_)
    wide = rng.normal(size=(60, 200))
    assert "all pairs" in str(SMLClassifier("quadratic").fit(wide, Y[:60]).plan(wide[:10]))


def test_the_estimator_predicts_the_same(rng):
    X, Y = rng.normal(size=(300, 5)), rng.integers(0, 2, (300, 4))
    one, other = (SMLClassifier("quadratic", engine=engine).fit(X, Y) for engine in ("exact", "collapsed"))
    np.testing.assert_allclose(one.label_weights(X), other.label_weights(X), rtol=1e-9)
    assert "collapsed" in one.set_params(engine="collapsed").fit(X, Y).plan_.how


def test_teaching_and_forgetting_update_the_sums(rng, change_limits):
    X, Y = rng.normal(size=(60, 4)), rng.integers(0, 2, (60, 3))
    Y[:4] = [[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]]  # all sizes from the start
    change_limits(tail_rows=10)  # 40 rows are a chunk that stays as it is
    model = SMLClassifier("quadratic", engine="collapsed").fit(X[:40], Y[:40])
    model.partial_fit(X[40:], Y[40:])
    sums = model._model.scorer.job.cache["collapsed"]  # carried over, before a query comes
    result = model.label_weights(X)
    assert model._model.scorer.job.cache["collapsed"] is sums
    fresh = SMLClassifier("quadratic", engine="exact").fit(X, Y)
    np.testing.assert_allclose(result, fresh.label_weights(X), rtol=1e-9)
    model.forget(list(range(10, 50)))
    left = np.r_[0:10, 50:60]
    fewer = SMLClassifier("quadratic", engine="exact").fit(X[left], Y[left])
    np.testing.assert_allclose(model.label_weights(X), fewer.label_weights(X), rtol=1e-9)


def test_sums_that_would_fill_the_memory_are_not_taken_beforehand(rng, changed_limits):
    X = sp.random_array((300, 50), density=0.1, rng=rng, format="csr")
    Y = (rng.random((300, 4)) < 0.3).astype(int)
    requested = sp.random_array((5, 50), density=0.3, rng=rng, format="csr")
    models = []
    for most in ({}, {"collapsed_bytes": 0}, {"collapsed_bytes": 0, "merged_bytes": 0}):
        with changed_limits(**most):
            models.append(SMLClassifier("linear", normalizer=None, influence=Ridge(0.3)).fit(X, Y))
            models[-1].predict(requested)
    kept = [model._model.scorer.job.cache.get("collapsed") for model in models]
    assert [type(sums) for sums in kept] == [CollapsedSums, MergedSums, type(None)]
    for model in models[1:]:
        np.testing.assert_allclose(
            model.label_weights(requested), models[0].label_weights(requested), atol=1e-10
        )


def test_pairs_that_were_chosen_for_a_single_query_give_way_to_sums_that_are_ready(rng):
    X, V = rng.normal(size=(50, 40)), rng.normal(size=(50, 3))
    prepared, job = prepare(X, [Linear()]), Job(Linear(), None, reducer_for(None, V))
    assert isinstance(Auto().choose(1, prepared, [job]), Exact)
    other = prepare(X[:20], [Linear()])
    assert isinstance(Auto().choose(1, other, [job]), Exact)
    Collapsed().warm_up(prepared, [job])
    assert isinstance(Auto().choose(1, prepared, [job]), Collapsed)

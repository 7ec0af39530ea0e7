"""Sums over non-zero products of sparse rows equal the plain loops."""

from __future__ import annotations

import re

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import naive
from simlabel import SMLClassifier, similarity_sums
from simlabel._utils.kernels import PRODUCT, common_terms
from simlabel.similarities import RBF, ChiSquare, Cosine, Jaccard, Laplacian, Linear, OnColumns, Polynomial
from simlabel.sums import Cutoff, Exact, Exclude, Job, Power, ReduceCall, TopK, prepare, reducer_for

NONZERO = Exact(visit="nonzero")
CASES = [
    (RBF(gamma=0.7), naive.rbf(0.7)),
    (RBF(gamma=400.0), naive.rbf(400.0)),
    (Linear(), naive.dot),
    (Polynomial(degree=3, coef0=0.5), naive.polynomial(3, 0.5)),
    (Polynomial(degree=2, coef0=0.0), naive.polynomial(2, 0.0)),
    (Cosine(), naive.cosine),
    (Jaccard(weighted=False), naive.jaccard_of_sets),
    (Jaccard(), naive.jaccard),
    (Laplacian(gamma=0.7), naive.laplacian(0.7)),
    (Laplacian(gamma=50.0), naive.laplacian(50.0)),
    (ChiSquare(gamma=0.7), naive.chi_square(0.7)),
    (OnColumns(Laplacian(gamma=2.0), [0, 2, 4]), lambda x, z: naive.laplacian(2.0)(x[0:5:2], z[0:5:2])),
    (3 * RBF(gamma=0.7), lambda x, z: 3 * naive.rbf(0.7)(x, z)),
    (0.5 * OnColumns(Cosine(), [0, 2, 4]), lambda x, z: 0.5 * naive.cosine(x[0:5:2], z[0:5:2])),
    (OnColumns(RBF(gamma=2.0), [0, 2, 4]), lambda x, z: naive.rbf(2.0)(x[0:5:2], z[0:5:2])),
]


def data(rng, n=40, n_queries=11, n_columns=9, n_labels=6, density=0.25, scale=1.0):
    X = rng.random((n, n_columns)) * (rng.random((n, n_columns)) < density) * scale
    Q = rng.random((n_queries, n_columns)) * (rng.random((n_queries, n_columns)) < density) * scale
    X[3], Q[2] = 0.0, 0.0
    V = rng.random((n, n_labels)) * (rng.random((n, n_labels)) < 0.3)
    return Q, X, V


def close(result, wanted, scale):
    """Relative to the sum of absolute terms: what is added and taken away is no larger."""
    np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-12 * max(1.0, np.abs(scale).max()))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("similarity", "phi"), CASES, ids=[repr(case[0]) for case in CASES])
@pytest.mark.parametrize("make_V", [np.asarray, sp.csr_array])
def test_equals_plain_loops(similarity, phi, make_V, dtype, rng):
    Q, X, V = data(rng)
    Q, X = Q.astype(dtype), X.astype(dtype)
    result = similarity_sums(
        sp.csr_array(Q), sp.csr_array(X), make_V(V), similarity, engine=NONZERO, n_jobs=2
    )
    wanted = np.array([naive.sums(q, X.tolist(), V.tolist(), phi) for q in Q.tolist()])
    if dtype == np.float32:
        np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-6 * np.abs(wanted).max())
    else:
        close(result, wanted, wanted)


@pytest.mark.parametrize(("similarity", "phi"), CASES, ids=[repr(case[0]) for case in CASES])
@pytest.mark.parametrize("scale", [1.0, 20.0])
def test_leaving_out_keeps_digits(similarity, phi, scale, rng):
    """Row 3 is zero: among rows of length 20 it is nearly the whole background of its labels."""
    _, X, V = data(rng, scale=scale)
    n, weights = len(X), rng.integers(1, 3, len(X)).astype(float)
    V[3] = 1.0
    phi_fit = similarity.fit(X)
    prepared = prepare(sp.csr_array(X), [phi_fit])
    job = Job(phi_fit, None, reducer_for(None, sp.csr_array(V * weights[:, None])))
    own = np.arange(n)
    own[::5] = -1
    exclude = Exclude(own, (weights - 1.0) / weights)
    result = NONZERO.reduce(ReduceCall(sp.csr_array(X), prepared, [job], exclude))[0]
    rows = X.tolist()
    wanted = np.array(
        [
            naive.sums(rows[i], rows, V.tolist(), phi, weights=weights, exclude=None if own[i] < 0 else i)
            for i in range(n)
        ]
    )
    np.testing.assert_allclose(
        result, wanted, rtol=1e-8, atol=1e-12 * np.abs(wanted).max() * (scale == 1.0) + 1e-300
    )


@pytest.mark.parametrize(
    ("weighting", "psi"),
    [(Power(3), naive.power(3)), (Cutoff(0.2), naive.cutoff(0.2))],
    ids=["power", "cutoff"],
)
def test_weightings_that_keep_zero(weighting, psi, rng):
    Q, X, V = data(rng)
    result = similarity_sums(
        sp.csr_array(Q), sp.csr_array(X), V, "cosine", weighting=weighting, engine=NONZERO
    )
    wanted = np.array([naive.sums(q, X.tolist(), V.tolist(), naive.cosine, psi) for q in Q.tolist()])
    close(result, wanted, wanted)


@given(seed=st.integers(0, 2**32 - 1), density=st.floats(0.0, 1.0), gamma=st.floats(0.01, 100.0))
def test_both_ways_agree(seed, density, gamma):
    rng = np.random.default_rng(seed)
    Q, X, V = data(rng, density=density)
    Q, X = sp.csr_array(Q), sp.csr_array(X)
    one, other = (similarity_sums(Q, X, V, RBF(gamma), engine=Exact(visit=way)) for way in ("all", "nonzero"))
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), density=st.floats(0.0, 1.0), gamma=st.floats(0.01, 100.0))
def test_absolute_differences_of_either_sign(seed, density, gamma):
    rng = np.random.default_rng(seed)
    Q, X, V = data(rng, n=7, n_queries=4, density=density)
    Q, X = (rows * rng.choice([-1.0, 1.0], rows.shape) for rows in (Q, X))
    Q[0] = X[0]
    result = similarity_sums(sp.csr_array(Q), sp.csr_array(X), V, Laplacian(gamma), engine=NONZERO)
    wanted = [naive.sums(q, X.tolist(), V.tolist(), naive.laplacian(gamma)) for q in Q.tolist()]
    np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-300)


def test_other_sums_are_not_read_off_what_rows_share(rng):
    class Doubled(Laplacian):
        @staticmethod
        def sums(X, panels, step, out):
            Laplacian.sums(X, panels, step, out)
            out *= 2.0

    Q, X, V = data(rng)
    with pytest.raises(ValueError, match="columns in common"):
        similarity_sums(sp.csr_array(Q), sp.csr_array(X), V, Doubled(0.5), engine=NONZERO)
    result = similarity_sums(sp.csr_array(Q), sp.csr_array(X), V, Doubled(0.5))
    wanted = [naive.sums(q, X.tolist(), V.tolist(), naive.laplacian(1.0)) for q in Q.tolist()]
    np.testing.assert_allclose(result, wanted, rtol=1e-10)


@pytest.mark.parametrize(("similarity", "phi"), [(Linear(), naive.dot), (Cosine(), naive.cosine)])
def test_negative_features_where_there_is_no_background(similarity, phi, rng):
    Q, X, V = data(rng)
    Q, X = Q - 0.5 * (Q > 0), X - 0.5 * (X > 0)
    result = similarity_sums(sp.csr_array(Q), sp.csr_array(X), V, similarity, engine=NONZERO)
    wanted = np.array([naive.sums(q, X.tolist(), V.tolist(), phi) for q in Q.tolist()])
    close(result, wanted, wanted)


def test_negative_features_do_not_cancel_digits(rng):
    Q, X, V = data(rng)
    with pytest.raises(ValueError, match="would cancel digits"):
        similarity_sums(sp.csr_array(-Q), sp.csr_array(X), V, RBF(1.0), engine=NONZERO)
    result = similarity_sums(sp.csr_array(-Q), sp.csr_array(X), V, RBF(30.0))
    wanted = [naive.sums(q, X.tolist(), V.tolist(), naive.rbf(30.0)) for q in (-Q).tolist()]
    np.testing.assert_allclose(result, wanted, rtol=1e-10)


def test_several_bandwidths_in_one_pass(rng):
    Q, X, V = data(rng)
    similarities = [RBF(0.5), RBF(3.0), Linear()]
    jobs = [Job(s, None, reducer_for(None, V)) for s in similarities]
    prepared = prepare(sp.csr_array(X), similarities)
    results = NONZERO.reduce(ReduceCall(sp.csr_array(Q), prepared, jobs))
    for result, phi in zip(results, (naive.rbf(0.5), naive.rbf(3.0), naive.dot), strict=True):
        wanted = np.array([naive.sums(q, X.tolist(), V.tolist(), phi) for q in Q.tolist()])
        close(result, wanted, wanted)


def test_what_cannot_be_done_says_why(rng):
    Q, X, V = data(rng)
    with pytest.raises(ValueError, match="not possible: the references are not sparse"):
        similarity_sums(Q, X, V, "linear", engine=NONZERO)
    with pytest.raises(ValueError, match="is not a function of one sum over the columns in common"):
        similarity_sums(sp.csr_array(Q), sp.csr_array(X), V, RBF(1.0) + Linear(), engine=NONZERO)
    with pytest.raises(ValueError, match="is not a sum over references"):
        similarity_sums(sp.csr_array(Q), sp.csr_array(X), V, "linear", weighting=TopK(2), engine=NONZERO)
    with pytest.raises(ValueError, match="does not leave pairs with nothing in common at 0"):
        similarity_sums(sp.csr_array(Q), sp.csr_array(X), V, RBF(1.0), weighting="power", engine=NONZERO)
    with pytest.raises(ValueError, match="visit must be 'auto', 'all' or 'nonzero', got 'some'"):
        similarity_sums(Q, X, V, "linear", engine=Exact(visit="some"))


def test_the_plan_takes_it_where_it_pays(rng):
    X = sp.random_array((20_000, 5_000), density=0.001, format="csr", rng=rng)
    Y = sp.csr_array((rng.random((20_000, 3)) < 0.3).astype(int))
    model = SMLClassifier(RBF(5.0)).fit(X, Y)
    assert "non-zero products" in str(model.plan(X[:500]))
    full = sp.csr_array(rng.random((300, 20)))
    assert "all pairs" in str(SMLClassifier(RBF(5.0)).fit(full, Y[:300]).plan_)


def test_the_plan_says_what_takes_long(rng):
    """Twice as many pairs take twice as long; rows of which little is in common take a fraction of it."""
    X = sp.random_array((2_000, 50_000), density=0.001, format="csr", rng=rng)
    Y = sp.csr_array(rng.integers(0, 2, (2_000, 3)))
    plans = []
    for engine in (Exact(visit="all"), Exact(visit="nonzero")):
        model = SMLClassifier(Laplacian(1.0), engine=engine, n_jobs=1, calibration=None).fit(X, Y)
        plans.append([model._model.scorer.plan(n) for n in (10_000, 20_000)])
    (one, two), few = plans
    seconds = [int(re.search(r"about (\d+) s ", str(plan)).group(1)) for plan in (one, two)]
    assert seconds[1] == pytest.approx(2 * seconds[0], rel=0.01)
    assert not any("expected to take" in str(plan) for plan in few)


def test_the_plan_counts_the_products_that_are_made(rng):
    """Whichever pairs are visited, a sparse product multiplies only where both rows have an entry."""
    X = sp.random_array((200, 1000), density=0.005, rng=rng, format="csr")
    Y = sp.csr_array(rng.integers(0, 2, (200, 3)))
    created = sum(int(((X[i] != 0).astype(int) @ (X != 0).astype(int).T).sum()) for i in range(200))
    for visit in ("all", "nonzero"):
        plan = SMLClassifier(RBF(1.0), normalizer=None, engine=Exact(visit=visit)).fit(X, Y).plan_
        assert plan.operations == pytest.approx(2 * created)


def test_the_plan_says_what_would_be_cheaper(rng):
    X, Y = rng.random((3000, 4)), rng.integers(0, 2, (3000, 3))
    words = str(SMLClassifier(RBF(1.0)).fit(X, Y).plan_)
    assert "cheaper: sketch='auto'" in words
    assert "Condense(n=300) compares with 10 times fewer rows" in words
    for few in (
        SMLClassifier(RBF(1.0)).fit(X[:100], Y[:100]),
        SMLClassifier("linear").fit(X, Y),
        SMLClassifier(RBF(1.0), weighting="top_k").fit(X, Y),
    ):
        assert "cheaper" not in str(few.plan_)


def test_products_that_overflow_both_ways_stay_within_their_arrays():
    """inf - inf is NaN, which must not be taken for a row that has not been met."""
    row = np.array([[1e200, 1e200, 1e200, 1e200]])
    X = sp.csr_array(np.repeat(row * [[1.0, -1.0, 1.0, -1.0]], 50, axis=0))
    with pytest.raises(ValueError, match="overflow"):
        similarity_sums(sp.csr_array(row), X, np.ones((50, 1)), Linear(), engine=Exact(visit="nonzero"))
    dense, positions, products = np.full(50, np.nan), np.full(51, -7), np.zeros(50)
    csc = X.tocsc()
    count = common_terms(
        PRODUCT,
        np.arange(4),
        row[0],
        csc.indptr,
        csc.indices,
        csc.data,
        dense,
        np.zeros(50, dtype=bool),
        positions[:50],
        products,
    )
    assert count == 50
    assert sorted(positions[:50].tolist()) == list(range(50))


@pytest.mark.parametrize("similarity", ["linear", "quadratic", "cosine"])
def test_rows_without_any_entry_have_a_plan(similarity):
    X = sp.csr_array((20, 5))
    model = SMLClassifier(similarity).fit(X, [{"a"}, {"b"}] * 10)
    assert "20 references" in str(model.plan_)

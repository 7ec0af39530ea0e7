"""Kernels of panels against numpy, at sizes where every seam shows: odd rows, last panels, many tiles."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from simlabel import similarity_sums
from simlabel._utils.kernels import (
    WORD,
    add_absolute_differences,
    add_chi_squares,
    add_minima,
    add_present,
    add_products,
    in_panels,
    panel_width,
    sort_by_label,
)
from simlabel._utils.rows import Stack
from simlabel.similarities import RBF, ChiSquare, Cosine, Jaccard, Laplacian, Polynomial, Quadratic
from simlabel.sums import Exact, Exclude, Job, ReduceCall, plan_reduction, prepare, reducer_for

TOLERANCE = {np.float32: 3e-6, np.float64: 1e-13}
DTYPES = [np.float32, np.float64]


def chi_square(A, B):
    both = A + B
    return np.divide((A - B) ** 2, both, out=np.zeros_like(both), where=both > 0)


TERMS = {
    add_products: np.multiply,
    add_absolute_differences: lambda A, B: np.abs(A - B),
    add_minima: np.minimum,
    add_chi_squares: chi_square,
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("fill", TERMS, ids=lambda fill: fill.__name__)
@pytest.mark.parametrize("shape", [(1, 1), (2, 5), (7, 3), (12, 30), (29, 2051)])
def test_sums_in_registers(fill, shape, dtype, rng):
    width = panel_width(dtype)
    A = (rng.random(shape) * (rng.random(shape) < 0.7)).astype(dtype)
    B = (rng.random((shape[1], width)) * (rng.random((shape[1], width)) < 0.7)).astype(dtype)
    wanted = TERMS[fill](A[:, :, None].astype(float), B[None].astype(float)).sum(axis=1)
    T = np.full((shape[0], width + 3), 7.0, dtype=dtype)
    error = (shape[1] + 4) * np.finfo(dtype).eps  # terms are added one after the other
    fill(A, B, T, 2, False)
    np.testing.assert_allclose(T[:, 2:-1], wanted, rtol=error, atol=1e-30)
    fill(A, B, T, 2, True)
    np.testing.assert_allclose(T[:, 2:-1], 2 * wanted, rtol=2 * error, atol=1e-30)
    np.testing.assert_array_equal(T[:, [0, 1, -1]], 7.0)


@pytest.mark.parametrize("dtype", DTYPES)
def test_equal_rows_have_equal_sums_wherever_they_stand(dtype, rng):
    A = np.repeat(rng.random((1, 70)).astype(dtype), 23, axis=0)
    B = np.repeat(rng.random((70, 1)).astype(dtype), panel_width(dtype), axis=1)
    T = np.empty((23, panel_width(dtype)), dtype=dtype)
    add_products(A, B, T, 0, False)
    assert (T[0, 0] == T).all()


@given(n=st.integers(0, 40), n_columns=st.integers(1, 5))
def test_panels_hold_all_rows_and_zeros(n, n_columns):
    rows = np.arange(1.0, 1.0 + n * n_columns).reshape(n, n_columns)
    panels = in_panels(rows)
    back = panels.transpose(0, 2, 1).reshape(-1, n_columns)
    np.testing.assert_array_equal(back[:n], rows)
    assert not back[n:].any()


@given(n=st.integers(1, 30), n_labels=st.integers(1, 12), step=st.integers(1, 9), seed=st.integers(0, 10**6))
def test_entries_by_tile_and_label(n, n_labels, step, seed):
    rng = np.random.default_rng(seed)
    V = sp.csr_array(rng.random((n, n_labels)) * (rng.random((n, n_labels)) < 0.3))
    n_tiles = -(-n // step)
    firsts, labels, begins, rows = (
        np.empty(size, np.int64) for size in (n_tiles + 1, V.nnz, V.nnz + 1, V.nnz)
    )
    factors, place = np.empty(V.nnz), np.full(n_labels, -1)
    sort_by_label(V.indptr, V.indices, V.data, step, place, (firsts, labels, begins, rows, factors))
    assert (place == -1).all()
    back = np.zeros((n, n_labels))
    for t in range(n_tiles):
        here = labels[firsts[t] : firsts[t + 1]]
        assert len(set(here)) == len(here)
        for m in range(firsts[t], firsts[t + 1]):
            for entry in range(begins[m], begins[m + 1]):
                back[t * step + rows[entry], labels[m]] += factors[entry]
    np.testing.assert_array_equal(back, V.toarray())


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def l1(Q, X):
    return np.abs(Q[:, None] - X[None]).sum(axis=2)


def share(minima, Q, X):
    return minima / (Q.sum(1)[:, None] + X.sum(1)[None] - minima)


SIMILARITIES = {
    RBF(0.6): lambda Q, X: np.exp(-0.6 * ((Q[:, None] - X[None]) ** 2).sum(axis=2)),
    Laplacian(0.3): lambda Q, X: np.exp(-0.3 * l1(Q, X)),
    ChiSquare(0.4): lambda Q, X: np.exp(-0.4 * chi_square(Q[:, None], X[None]).sum(axis=2)),
    Polynomial(3, 0.5): lambda Q, X: (Q @ X.T + 0.5) ** 3,
    Quadratic(): lambda Q, X: (Q @ X.T + 1.0) ** 2,
    Cosine(): lambda Q, X: unit(Q) @ unit(X).T,
    Jaccard(): lambda Q, X: share(np.minimum(Q[:, None], X[None]).sum(axis=2), Q, X),
    Jaccard(weighted=False): lambda Q, X: share((Q > 0) @ (X > 0).T.astype(float), Q > 0, X > 0),
}

INFLUENCES = {
    "dense": lambda V: V,
    "by entry": sp.csr_array,
    "in pieces": lambda V: Stack([sp.csr_array(V[:170]), sp.csr_array(V[170:])]),
}


def made(rng, dtype, n=431, n_queries=77):
    X, Q = rng.random((n, 6)) + 0.01, rng.random((n_queries, 6)) + 0.01
    X[rng.random(X.shape) < 0.2] = 0.0
    V = (rng.random((n, 11)) < 0.15) * rng.random((n, 11))
    return Q.astype(dtype), X.astype(dtype), V


def run(Q, X, V, similarities, **options):
    fitted = [similarity.fit(X) for similarity in similarities]
    reducer = reducer_for(None, V)
    jobs = [Job(similarity, None, reducer) for similarity in fitted]
    prepared = prepare(X, fitted)
    assert plan_reduction(len(Q), prepared, jobs, symmetric=options.get("symmetric", False)).panels
    return Exact().reduce(ReduceCall(Q, prepared, jobs, **options))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("influence", INFLUENCES)
@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
def test_sums(similarity, influence, dtype, rng):
    Q, X, V = made(rng, dtype)
    (result,) = run(Q, X, INFLUENCES[influence](V), [similarity])
    wanted = SIMILARITIES[similarity](Q.astype(float), X.astype(float)) @ V
    np.testing.assert_allclose(result, wanted, rtol=10 * TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("symmetric", [False, True])
@pytest.mark.parametrize("n", [8, 17, 48, 200, 431])
def test_candidates_with_own_rows_left_out(n, symmetric, dtype, rng):
    _, X, V = made(rng, dtype, n)
    V = V[:, :6]
    kept = np.where(np.arange(n) % 3 == 0, 0.5, 0.0)
    own = np.where(np.arange(n) % 5 == 0, -1, np.arange(n))
    gammas = [0.1, 0.6, 3.0]
    results = run(
        X,
        X,
        sp.csr_array(V),
        [RBF(gamma) for gamma in gammas],
        exclude=Exclude(own, kept),
        symmetric=symmetric,
    )
    distances = ((X[:, None].astype(float) - X[None].astype(float)) ** 2).sum(axis=2)
    for gamma, result in zip(gammas, results, strict=True):
        S = np.exp(-gamma * distances)
        S[np.arange(n), np.arange(n)] = np.where(own < 0, 1.0, kept)
        np.testing.assert_allclose(result, S @ V, rtol=100 * TOLERANCE[dtype], atol=1e-12)


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
def test_symmetric_sums(similarity, rng, small_blocks):
    small_blocks(queries=33, references=33)
    _, X, V = made(rng, np.float64, 150)
    (result,) = run(X, X, V[:, :5], [similarity], symmetric=True, n_jobs=2)
    np.testing.assert_allclose(result, SIMILARITIES[similarity](X, X) @ V[:, :5], rtol=1e-12)


class Halved(RBF):
    """What a user might write: another meaning on the statistic of a similarity with a kernel."""

    def finish(self, T, q_side, x_side):
        return super().finish(T, q_side, x_side) / 2


def test_a_subclass_with_its_own_meaning_has_no_kernel(rng):
    Q, X, V = made(rng, np.float64)
    np.testing.assert_allclose(
        similarity_sums(Q, X, V, Halved(0.6)), similarity_sums(Q, X, V, RBF(0.6)) / 2, rtol=1e-12
    )


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("n_labels", [1, 32, 50])
def test_labels_as_bits(n_labels, dtype, rng):
    S, Y = rng.random(3001).astype(dtype), rng.random((3001, n_labels)) < 0.3
    words = np.zeros((3001, -(-n_labels // WORD)), dtype=np.uint32)
    for k in range(n_labels):
        words[:, k // WORD] |= Y[:, k].astype(np.uint32) << np.uint32(k % WORD)
    sums = np.zeros(words.shape[1] * WORD)
    add_present(S, words, sums)
    np.testing.assert_allclose(sums[:n_labels], Y.T @ S.astype(float), rtol=TOLERANCE[dtype])
    assert not sums[n_labels:].any()


def test_one_query_with_any_influence(rng):
    """Plain labels as bits, weighted ones dense, many of them by entry: the same sums."""
    Q, X, _ = made(rng, np.float64)
    for n_labels, share in ((9, 0.3), (60, 0.05)):
        plain = (rng.random((len(X), n_labels)) < share).astype(float)
        for V in (plain, plain * rng.random(plain.shape)):
            wanted = similarity_sums(Q, X, V, RBF(0.6))[:1]
            result = similarity_sums(Q[:1], X, sp.csr_array(V), RBF(0.6))
            np.testing.assert_allclose(result, wanted, rtol=1e-12)

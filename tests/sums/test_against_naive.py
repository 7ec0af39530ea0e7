"""Every similarity x weighting x kind of input x precision equals the plain loops."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given
from hypothesis import strategies as st

import naive
from similarity_cases import SIMILARITY_CASES, WEIGHTING_CASES
from simlabel import similarity_sums
from simlabel.similarities import RBF, Precomputed
from simlabel.sums import Exact, Exclude, Job, ReduceCall, TopKReducer, prepare, reducer_for

TOLERANCE = {np.float32: 2e-5, np.float64: 1e-12}


def data(rng, n_queries=7, n_references=23, n_columns=5, n_labels=3):
    X = rng.random((n_references, n_columns)) * (rng.random((n_references, n_columns)) < 0.6)
    Q = rng.random((n_queries, n_columns)) * (rng.random((n_queries, n_columns)) < 0.6)
    X[3], Q[2] = 0.0, 0.0  # zero rows
    X[5] = X[4]  # equal rows
    V = (rng.random((n_references, n_labels)) < 0.4).astype(float)
    return Q, X, V


def expected(Q, X, V, case, psi, exclude=None, weights=None):
    Q, X, V = Q.tolist(), X.tolist(), V.tolist()
    own = [None] * len(Q) if exclude is None else exclude
    return np.array([naive.sums(q, X, V, case.phi, psi, weights, e) for q, e in zip(Q, own, strict=True)])


def close(result, wanted, dtype):
    scale = max(1.0, np.abs(wanted).max())
    np.testing.assert_allclose(result, wanted, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale)


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


KINDS = {
    "dense": np.asarray,
    "fortran": np.asfortranarray,
    "read-only": read_only,
    "csr_array": sp.csr_array,
    "csr_matrix": sp.csr_matrix,
    "csc": sp.csc_array,
    "list": lambda X: X.tolist(),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
@pytest.mark.parametrize("n_queries", [7, 19])  # few, and enough for panels
def test_similarities(n_queries, case, kind, dtype, rng, small_blocks):
    small_blocks(queries=9)
    Q, X, V = (A.astype(dtype) for A in data(rng, n_queries))
    make = KINDS[kind]
    result = similarity_sums(make(Q), make(X), V, case.similarity, n_jobs=2)
    close(result, expected(Q, X, V, case, naive.keep_all), dtype)


@pytest.mark.parametrize("which", WEIGHTING_CASES, ids=str)
@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
def test_weightings(case, which, rng, small_blocks):
    small_blocks()
    Q, X, V = data(rng)
    result = similarity_sums(Q, X, V, case.similarity, weighting=which.weighting, n_jobs=2)
    close(result, expected(Q, X, V, case, which.psi), np.float64)


@pytest.mark.parametrize("which", WEIGHTING_CASES, ids=str)
@pytest.mark.parametrize("width", [3, 200])
def test_sparse_and_wide_influence(which, width, rng, small_blocks):
    small_blocks()
    Q, X, _ = data(rng)
    V = (rng.random((X.shape[0], width)) < 2 / width).astype(float)
    case = SIMILARITY_CASES[0]
    for given_V in (V, sp.csr_array(V), sp.csc_matrix(V)):
        result = similarity_sums(Q, X, given_V, case.similarity, weighting=which.weighting, n_jobs=2)
        close(result, expected(Q, X, V, case, which.psi), np.float64)


@pytest.mark.parametrize("which", WEIGHTING_CASES, ids=str)
@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
def test_exclusion_is_a_row_less(case, which, rng, small_blocks):
    small_blocks()
    _, X, V = data(rng)
    own = np.arange(len(X))
    own[::4] = -1
    result = similarity_sums(X, X, V, case.similarity, weighting=which.weighting, exclude=own, n_jobs=2)
    wanted = expected(X, X, V, case, which.psi, exclude=[None if o < 0 else int(o) for o in own])
    close(result, wanted, np.float64)


def test_exclusion_keeps_digits_at_narrow_bandwidths(rng):
    """What is left beside an own entry of 1 is tiny; subtraction would leave no digit of it."""
    X = rng.random((30, 4))
    phi = RBF(gamma=50.0)
    result = similarity_sums(X, X, np.ones((30, 1)), phi, exclude=np.arange(30))
    wanted = [[sum(naive.rbf(50.0)(x, z) for j, z in enumerate(X) if j != i)] for i, x in enumerate(X)]
    np.testing.assert_allclose(result, wanted, rtol=1e-10)


def test_precomputed(rng, small_blocks):
    small_blocks()
    Q, X, V = data(rng)
    S = Q @ X.T
    references = np.zeros((len(X), len(X)))
    for make in (np.asarray, sp.csr_array):
        np.testing.assert_allclose(similarity_sums(make(S), references, V, Precomputed()), S @ V, rtol=1e-12)


def test_several_jobs_share_one_pass(rng, small_blocks):
    small_blocks()
    Q, X, V = data(rng)
    cases = SIMILARITY_CASES
    similarities = [case.similarity.fit(X) for case in cases]
    jobs = [
        Job(similarity, which.weighting, reducer_for(which.weighting, V))
        for similarity in similarities
        for which in WEIGHTING_CASES
    ]
    results = Exact().reduce(ReduceCall(Q, prepare(X, similarities), jobs, n_jobs=2))
    wanted = [expected(Q, X, V, case, which.psi) for case in cases for which in WEIGHTING_CASES]
    for result, want in zip(results, wanted, strict=True):
        close(result, want, np.float64)


sizes = st.integers(1, 30)


@given(
    n_queries=sizes,
    n_references=sizes,
    n_columns=st.integers(1, 6),
    queries=st.integers(1, 8),
    references=st.integers(1, 8),
    fewest=st.integers(1, 8),
    n_jobs=st.integers(1, 4),
    case=st.sampled_from(SIMILARITY_CASES),
    which=st.sampled_from(WEIGHTING_CASES),
    seed=st.integers(0, 2**32 - 1),
)
def test_blocks_threads_and_memory_do_not_show(
    small_blocks, n_queries, n_references, n_columns, queries, references, fewest, n_jobs, case, which, seed
):
    rng = np.random.default_rng(seed)
    X, Q = rng.random((n_references, n_columns + 3)), rng.random((n_queries, n_columns + 3))
    V = rng.random((n_references, 2))
    small_blocks(queries, references, fewest)
    result = similarity_sums(
        Q, X, V, case.similarity, weighting=which.weighting, n_jobs=n_jobs, engine=Exact(memory_mib=0.01)
    )
    close(result, expected(Q, X, V, case, which.psi), np.float64)


@given(
    case=st.sampled_from(SIMILARITY_CASES),
    which=st.sampled_from(WEIGHTING_CASES),
    seed=st.integers(0, 2**32 - 1),
)
def test_row_order_does_not_show(case, which, seed):
    # sets and sums of minima are often equal: which of equals are the nearest is a matter of their order
    assume(not (which.name == "top-3" and str(case) in ("Jaccard(weighted=False)", "Function(blocks)")))
    rng = np.random.default_rng(seed)
    X, Q, V = rng.random((20, 4)), rng.random((5, 4)), rng.random((20, 3))
    order = rng.permutation(20)
    one = similarity_sums(Q, X, V, case.similarity, weighting=which.weighting)
    other = similarity_sums(Q, X[order], V[order], case.similarity, weighting=which.weighting)
    np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@given(case=st.sampled_from(SIMILARITY_CASES), seed=st.integers(0, 2**32 - 1))
def test_one_pass_equals_two(case, seed):
    rng = np.random.default_rng(seed)
    X, Q, V = rng.random((15, 4)), rng.random((4, 4)), rng.random((15, 6))
    both = similarity_sums(Q, X, V, case.similarity)
    parts = [similarity_sums(Q, X, V[:, part], case.similarity) for part in (slice(0, 2), slice(2, 6))]
    np.testing.assert_allclose(both, np.hstack(parts), rtol=1e-12, atol=1e-12)


@given(
    which=st.sampled_from([WEIGHTING_CASES[i] for i in (0, 1, 3, 4, 5)]),
    counts=st.lists(st.integers(1, 4), min_size=2, max_size=9),
    leave_out=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_weights_are_repetition(which, counts, leave_out, seed):
    """A row of weight 3 counts as three rows, and leave-one-out leaves one copy out."""
    rng = np.random.default_rng(seed)
    n = len(counts)
    X, V = rng.random((n, 3)), rng.random((n, 2))
    counts = np.array(counts)
    phi, weighting = RBF(1.3), which.weighting
    exclude = Exclude(np.arange(n), (counts - 1) / counts) if leave_out else None
    job = Job(phi, weighting, reducer_for(weighting, V * counts[:, None], counts.astype(float)))
    weighted = Exact().reduce(ReduceCall(X, prepare(X, [phi]), [job], exclude))[0]
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    repeated = similarity_sums(
        X,
        np.repeat(X, counts, axis=0),
        np.repeat(V, counts, axis=0),
        phi,
        weighting=weighting,
        exclude=first if leave_out else None,
    )
    np.testing.assert_allclose(weighted, repeated, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2.0])
def test_top_k_with_fractions_of_a_row(k):
    """Weights below 1: more rows than k make up k neighbors, the last one in part."""
    X, V, weights = np.array([[1.0], [2.0], [3.0], [4.0]]), np.eye(4), np.array([0.5, 0.25, 0.5, 0.25])
    case = next(c for c in SIMILARITY_CASES if str(c) == "Linear()")
    job = Job(case.similarity, None, TopKReducer(V * weights[:, None], k, weights))
    result = Exact().reduce(ReduceCall(np.array([[1.0]]), prepare(X, [case.similarity]), [job]))[0]
    wanted = naive.sums([1.0], X.tolist(), V.tolist(), naive.dot, naive.top_k(k), weights.tolist())
    np.testing.assert_allclose(result[0], wanted)

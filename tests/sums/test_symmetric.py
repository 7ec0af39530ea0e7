"""A symmetric pass touches each pair once, and equals the plain loops."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

import naive
from similarity_cases import SIMILARITY_CASES, WEIGHTING_CASES
from simlabel.similarities import RBF, Laplacian, Linear
from simlabel.sums import (
    Exact,
    Exclude,
    Job,
    ReduceCall,
    TopK,
    can_be_symmetric,
    prepare,
    reducer_for,
    rounds,
)


@given(n=st.integers(0, 40))
def test_every_pair_meets_once_and_nobody_twice_in_a_round(n):
    played = [sorted(pair) for some in rounds(n) for pair in some]
    assert sorted(played) == [list(p) for p in itertools.combinations_with_replacement(range(n), 2)]
    for some in list(rounds(n))[1:]:
        assert len({i for pair in some for i in pair}) == 2 * len(some)


def pass_over(X, V, case, which, exclude, n_jobs=2):
    phi = case.similarity.fit(X)
    job = Job(phi, which.weighting, reducer_for(which.weighting, V))
    return Exact().reduce(ReduceCall(X, prepare(X, [phi]), [job], exclude, True, n_jobs))[0]


@pytest.mark.parametrize("which", WEIGHTING_CASES, ids=str)
@pytest.mark.parametrize("case", SIMILARITY_CASES, ids=str)
@pytest.mark.parametrize("n", [1, 9, 30])
def test_equals_plain_loops(case, which, n, rng, small_blocks):
    small_blocks(queries=10, references=9)
    X, V, weights = rng.random((n, 5)), rng.random((n, 3)), rng.integers(1, 4, n).astype(float)
    if which.name == "top-3":
        weights[:] = 1.0  # the reducer is told of weights apart
    own = Exclude(np.arange(n), (weights - 1.0) / weights)
    result = pass_over(X, sp.csr_array(V * weights[:, None]), case, which, own)
    wanted = [
        naive.sums(x, X.tolist(), V.tolist(), case.phi, which.psi, weights, i)
        for i, x in enumerate(X.tolist())
    ]
    np.testing.assert_allclose(result, wanted, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("width", [3, 400])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_sparse_rows_and_sparse_influence(make, width, rng, small_blocks):
    small_blocks(queries=10, references=12)
    X = rng.random((45, 6)) * (rng.random((45, 6)) < 0.5)
    V = (rng.random((45, width)) < 3 / width).astype(float)
    case = SIMILARITY_CASES[0]
    result = pass_over(make(X), sp.csr_array(V), case, WEIGHTING_CASES[0], None)
    wanted = [naive.sums(x, X.tolist(), V.tolist(), case.phi) for x in X.tolist()]
    np.testing.assert_allclose(result, wanted, rtol=1e-10)


def test_the_order_of_threads_does_not_show_at_all(rng, small_blocks):
    small_blocks(queries=8, references=8)
    X, V = rng.random((100, 4)).astype(np.float32), rng.random((100, 3))
    runs = [pass_over(X, V, SIMILARITY_CASES[0], WEIGHTING_CASES[0], None, n_jobs=3) for _ in range(5)]
    for run in runs[1:]:
        np.testing.assert_array_equal(run, runs[0])


def test_where_it_is_refused_or_not_used(rng):
    X = rng.random((6, 2))
    prepared = prepare(X, [RBF(1.0)])
    job = Job(RBF(1.0), None, reducer_for(None, np.eye(6)))
    with pytest.raises(ValueError, match="got 2 queries and 6 references"):
        Exact().reduce(ReduceCall(X[:2], prepared, [job], symmetric=True))
    others = Exclude(np.arange(6)[::-1].copy(), np.zeros(6))
    with pytest.raises(ValueError, match="own must be i or -1"):
        Exact().reduce(ReduceCall(X, prepared, [job], others, symmetric=True))
    assert can_be_symmetric(prepare(X, [Laplacian(1.0)]), [job])
    top = Job(Linear(), TopK(2), reducer_for(TopK(2), np.eye(6)))
    assert not can_be_symmetric(prepare(X, [Linear()]), [top])

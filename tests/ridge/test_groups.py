"""Learned influence compared with solutions without each row's group."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import naive
from simlabel import SMLClassifier
from simlabel._utils.rows import equal_groups
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Laplacian

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, n=16):
    """Return rows with near duplicates, groups of several sizes, and rows without a group."""
    rng = np.random.default_rng(seed)
    X, Y = rng.random((n, 3)), (rng.random((n, 3)) < 0.4).astype(int)
    X[3] = X[2]
    groups = [None if rng.random() < 0.2 else int(g) for g in rng.integers(0, 6, n)]
    return X, Y, groups, rng


def loo_scores(score, X, groups):
    return [score(x, absent=naive.own_group(i, groups)) for i, x in enumerate(X.tolist())]


@given(seed=SEEDS, penalty=st.floats(0.05, 10), weighted=st.booleans())
@settings(max_examples=25)
def test_ridge_without_the_group(seed, penalty, weighted):
    X, Y, groups, rng = problem(seed)
    w = rng.random(16) * 3 + 0.1 if weighted else np.ones(16)
    model = SMLClassifier(RBF(1.5), normalizer=None, influence=Ridge(penalty))
    model.fit(X, Y, sample_weight=w, groups=groups)

    def score(x, absent):
        return naive.ridge(x, X.tolist(), Y.tolist(), naive.rbf(1.5), penalty, w.tolist(), absent)

    np.testing.assert_allclose(model.leave_one_out(), loo_scores(score, X, groups), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("block_rows", [2048, 3], ids=["small groups", "groups larger than a block"])
@given(seed=SEEDS, weighted=st.booleans())
@settings(max_examples=15)
def test_inducing_rows_are_fitted_without_the_group(change_limits, block_rows, seed, weighted):
    X, Y, groups, rng = problem(seed, n=30)
    w = rng.integers(1, 4, 30).astype(float) if weighted else np.ones(30)
    change_limits(block_rows=block_rows)
    model = SMLClassifier(Laplacian(1.0), normalizer=None, influence=Ridge(0.3, inducing=5), random_state=1)
    model.fit(X, Y, sample_weight=w, groups=groups)
    used = model._model.scorer.solved.used.tolist()
    assume(not {2, 3} <= set(used))  # equal rows: plain elimination divides by 0

    def score(x, absent):
        return naive.inducing(x, X.tolist(), Y.tolist(), naive.laplacian(1.0), 0.3, used, w.tolist(), absent)

    np.testing.assert_allclose(model.leave_one_out(), loo_scores(score, X, groups), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("influence", [Ridge(0.3), Ridge(0.3, inducing=5), Ridge(0.3, mixing=True)], ids=str)
def test_groups_of_one_row_equal_no_groups(influence):
    X, Y, _, _ = problem(7, n=40)
    alone = SMLClassifier(RBF(1.0), influence=influence, random_state=0).fit(X, Y)
    groups = [f"row {i}" if i % 3 else None for i in range(40)]
    grouped = SMLClassifier(RBF(1.0), influence=influence, random_state=0).fit(X, Y, groups=groups)
    np.testing.assert_allclose(grouped.leave_one_out(), alone.leave_one_out(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(grouped.label_weights(X), alone.label_weights(X), rtol=1e-9)


@pytest.mark.parametrize("inducing", [None, 4])
def test_one_group_of_all_rows(inducing):
    X, Y, _, _ = problem(2)
    model = SMLClassifier(RBF(1.0), influence=Ridge(0.5, inducing=inducing), random_state=0)
    model.fit(X, Y, groups=["film"] * 16)
    np.testing.assert_allclose(model.leave_one_out(), np.zeros((16, 3)), atol=1e-6)


def test_groups_remove_optimistic_bias_of_duplicates():
    """Labels are noise except for duplicates, with which leave-one-out looks perfect."""
    rng, copies = np.random.default_rng(0), np.repeat(np.arange(30), 2)
    X, Y = rng.random((30, 3))[copies], (rng.random((30, 4)) < 0.4).astype(int)[copies]
    tuned = [
        SMLClassifier(normalizer=None, influence="ridge", random_state=0).fit(X, Y, groups=groups).tuning_
        for groups in (None, copies)
    ]
    assert max(tuned[0].values) > 0.95
    assert max(tuned[1].values) < 0.75


@given(codes=st.lists(st.integers(0, 8), min_size=1, max_size=40))
def test_groups_of_equal_size_are_all_groups(codes):
    groups = np.unique(codes, return_inverse=True)[1]
    found = [rows for same in equal_groups(groups) for rows in same.tolist()]
    assert sorted(found) == sorted(np.flatnonzero(groups == g).tolist() for g in range(groups.max() + 1))

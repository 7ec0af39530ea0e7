"""Leave-one-out scores for several penalties equal those of one solution each."""

from __future__ import annotations

import numpy as np
import pytest

from simlabel.ridge import loo_scores_by_penalty, ridge_solution


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("coarse", "close"), [(None, 1e-9), (0.01, 1e-3)])
def test_scores_equal_the_closed_form(rng, weighted, coarse, close):
    X = rng.random((40, 3))
    S = np.exp(-2.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    T = rng.random((40, 2))
    weights = rng.integers(1, 4, 40).astype(float) if weighted else np.ones(40)
    loo_scores = loo_scores_by_penalty(S, T, weights, None, coarse)
    for penalty in (0.01, 0.3, 10.0):
        wanted = ridge_solution(S, T, weights, penalty).loo_scores
        np.testing.assert_allclose(loo_scores(penalty), wanted, atol=close)


def test_large_similarities_use_double_precision(rng):
    X = 1e4 * rng.random((20, 30))
    loo_scores = loo_scores_by_penalty(X @ X.T, rng.random((20, 1)), np.ones(20), None, 0.01)
    assert loo_scores(0.01).dtype == np.float64


def test_groups_are_left_out_whole(rng):
    S, T, groups = np.eye(6) + 0.5, rng.random((6, 1)), np.array([0, 0, 1, 1, 2, 3])
    wanted = ridge_solution(S, T, np.ones(6), 0.5, groups).loo_scores
    np.testing.assert_allclose(loo_scores_by_penalty(S, T, np.ones(6), groups, 0.1)(0.5), wanted)

"""Mixed log-odds compared with general minimizers, and with learning without each row."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.optimize
import scipy.special
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel import SMLClassifier
from simlabel.metrics import average_precision
from simlabel.ridge import Ridge, RidgeSolution, learn_mixing, logistic, ridge_solution
from simlabel.similarities import RBF


def related_labels(rng, n, n_labels=4):
    """Labels of which each repeats the one before, more often than not."""
    X = rng.random((n, 3))
    first = X[:, :1] + 0.2 * rng.standard_normal((n, 1)) > 0.5
    Y = [first]
    for _ in range(n_labels - 1):
        Y.append(Y[-1] ^ (rng.random((n, 1)) < 0.1))
    return X, np.hstack(Y).astype(float)


def solved(X, Y, weights, penalty=0.5, groups=None):
    """Solve, and replace the influence by the identity, so that it becomes the mixture."""
    S = np.exp(-3.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    return replace(ridge_solution(S, Y, weights, penalty, groups), V=np.eye(Y.shape[1]))


def mixed(solution, targets, n_labels, weights, groups=None):
    """Return the solution with log-odds in place of the raw scores of labels."""
    mixing, loo_scores = learn_mixing(solution, targets, n_labels, weights, groups)
    mean = mixing.intercept(solution.mean, float(weights.sum()))
    return replace(solution, V=mixing.influence(solution.V), mean=mean, loo_scores=loo_scores)


def log_loss(F, Y, weights, M, offsets):
    z = F @ M + offsets
    return float(weights @ (np.logaddexp(0.0, z) - Y * z).sum(axis=1))


def held_back(M, offsets, Y, weights, scale, own):
    """Return the penalty of the prior: others near 0, own coefficients near their mean, offsets near base."""
    precision = np.full(M.shape, 30.0)
    np.fill_diagonal(precision, 3.0)
    shares = (weights @ Y + 0.5) / (weights.sum() + 1.0)
    base = np.log(shares / (1.0 - shares))
    away = M * scale - own * np.eye(len(M))
    return 0.5 * float((precision * away**2).sum() + 0.25 * ((offsets - base) ** 2).sum())


def own_mean(F, Y, weights, scale):
    """The mean of the labels' own coefficients, each by its certainty, with a prior of 1."""
    shares = (weights @ Y + 0.5) / (weights.sum() + 1.0)
    slopes, certain = [], []
    for k in range(Y.shape[1]):
        base = np.log(shares[k] / (1.0 - shares[k]))

        def loss(at, k=k, base=base):
            z = at[0] * F[:, k] / scale + at[1]
            prior = (at[0] - 1.0) ** 2 + 0.25 * (at[1] - base) ** 2
            return float(weights @ (np.logaddexp(0.0, z) - Y[:, k] * z)) + 0.5 * prior

        at = scipy.optimize.minimize(loss, [1.0, base], method="BFGS", options={"gtol": 1e-8}).x
        p = scipy.special.expit(at[0] * F[:, k] / scale + at[1])
        x = np.column_stack([F[:, k] / scale, np.ones(len(F))])
        curvature = (x.T * (weights * p * (1 - p))) @ x + np.diag([1.0, 0.25])
        slopes.append(at[0])
        certain.append(1.0 / np.linalg.inv(curvature)[0, 0])
    return max(0.1, float(np.average(slopes, weights=certain)))


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
@settings(max_examples=15)
def test_the_mixture_has_the_smallest_loss(seed, weighted):
    """No step in any direction decreases the sum of log loss and prior."""
    rng = np.random.default_rng(seed)
    X, Y = related_labels(rng, 60)
    weights = rng.random(60) * 3 + 0.1 if weighted else np.ones(60)
    plain = solved(X, Y, weights)
    found = mixed(plain, Y, 4, weights)
    F = plain.loo_scores - plain.mean
    scale = np.sqrt(weights @ (F**2).mean(axis=1) / weights.sum())
    own = own_mean(F, Y, weights, scale)
    M, offsets = found.V, found.mean

    def whole(M, offsets):
        return log_loss(F, Y, weights, M, offsets) + held_back(M, offsets, Y, weights, scale, own)

    least = whole(M, offsets)
    for _ in range(10):
        step, aside = 0.01 * rng.standard_normal((4, 4)) / scale, 0.01 * rng.standard_normal(4)
        assert whole(M + step, offsets + aside) > least - 1e-9
        assert whole(M - step, offsets - aside) > least - 1e-9


@pytest.mark.parametrize("grouped", [False, True])
def test_leave_one_out_approximates_a_mixture_without_the_row(rng, grouped):
    """To first order: closer to a mixture of the other rows than the scores with all rows are."""
    n = 150
    X, Y = related_labels(rng, n)
    groups = np.arange(n) // 3 if grouped else None
    plain = solved(X, Y, np.ones(n), groups=groups)
    found = mixed(plain, Y, 4, np.ones(n), groups)
    F = plain.loo_scores - plain.mean
    inside = F @ found.V + found.mean
    for i in range(0, n, 10):
        there = groups != groups[i] if grouped else np.arange(n) != i
        part = RidgeSolution(np.eye(4), plain.mean, plain.loo_scores[there])
        without = mixed(part, Y[there], 4, np.ones(there.sum()), None if groups is None else groups[there])
        wanted = F[i] @ without.V + without.mean
        moved = np.abs(inside[i] - wanted)
        assert np.abs(found.loo_scores[i] - wanted).sum() < 0.5 * moved.sum()


def test_a_weight_means_repetition(rng):
    X, Y = related_labels(rng, 60)
    weights = rng.integers(1, 4, 60)
    plain = solved(X, Y, np.ones(60))  # scores as they are: only the mixture is looked at here
    twice = np.repeat(np.arange(60), weights)
    repeated = RidgeSolution(plain.V, plain.mean, plain.loo_scores[twice])
    once, often = mixed(plain, Y, 4, weights.astype(float)), mixed(repeated, Y[twice], 4, np.ones(len(twice)))
    np.testing.assert_allclose(once.V, often.V, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(once.loo_scores[twice], often.loo_scores, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("inducing", [None, 20])
def test_related_labels_gain(rng, inducing):
    """Labels that are noisy copies of one another help each other."""
    X, Y = related_labels(rng, 600, 6)
    train, test = slice(0, 300), slice(300, 600)
    found = {}
    for mixing in (False, True):
        influence = Ridge(0.5, inducing=inducing, mixing=mixing)
        model = SMLClassifier(RBF(3.0), normalizer=None, influence=influence, random_state=0)
        model.fit(X[train], Y[train].astype(int))
        p = model.predict_proba(X[test])
        found[mixing] = -np.mean(np.log(np.where(Y[test] > 0, p, 1 - p)))
    assert found[True] < found[False]


def test_scores_of_rare_and_frequent_labels_compare(rng):
    """A certain rare label is ranked before an uncertain frequent one."""
    n = 2000
    X = rng.random((n, 4))
    chances = np.column_stack([0.6 * (X[:, 0] > 0.3), 0.25 * (X[:, 1] > 0.8), 0.12 * (X[:, 2] > 0.5)])
    Y = (rng.random((n, 3)) < chances + 0.02).astype(int)
    ranked = []
    for mixing in (False, True):
        model = SMLClassifier(RBF(2.0), normalizer=None, influence=Ridge(1.0, mixing=mixing))
        model.fit(X[:600], Y[:600])
        ranked.append(average_precision(Y[600:], model.label_weights(X[600:])))
    assert ranked[1] > ranked[0] - 0.005  # at least as good where ridge is right already


def test_scores_of_set_sizes_stay(rng):
    X, Y = related_labels(rng, 40)
    targets = np.column_stack([Y, Y.sum(axis=1) > 2, Y.sum(axis=1) <= 2])
    plain = solved(X, targets, np.ones(40))
    found = mixed(plain, targets, 4, np.ones(40))
    for name in ("V", "loo_scores"):
        np.testing.assert_array_equal(getattr(found, name)[:, 4:], getattr(plain, name)[:, 4:])
    np.testing.assert_array_equal(found.mean[4:], plain.mean[4:])


def test_very_many_labels_use_their_own_score_only(rng):
    X, Y = related_labels(rng, 40, 1001)
    plain = solved(X, Y, np.ones(40))
    found = mixed(plain, Y, 1001, np.ones(40))
    np.testing.assert_array_equal(found.V, np.diag(np.diag(found.V)))


def test_too_many_columns_are_not_mixed(rng, change_limits):
    X, Y = related_labels(rng, 30)
    change_limits(mixed_columns=3)
    scores = [
        SMLClassifier(RBF(1.0), influence=Ridge(1.0, mixing=mixing)).fit(X, Y.astype(int)).label_weights(X)
        for mixing in (False, True)
    ]
    np.testing.assert_array_equal(*scores)
    assert not Ridge(mixing=True).gives_log_odds(4)


def test_constant_labels(rng):
    """Their log-odds are finite, and other labels are not affected."""
    X, Y = related_labels(rng, 50, 4)
    Y[:, 1], Y[:, 2] = 1.0, 0.0
    found = mixed(solved(X, Y, np.ones(50)), Y, 4, np.ones(50))
    assert np.isfinite(found.V).all()
    assert (found.loo_scores[:, 1] > 0).all()
    assert (found.loo_scores[:, 2] < 0).all()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_logistic_regression_against_a_general_minimiser(seed):
    rng = np.random.default_rng(seed)
    X, w = rng.standard_normal((30, 3)) * 3, rng.random(30) * 2
    y, center, precision = (rng.random(30) < 0.3).astype(float), rng.standard_normal(3), rng.random(3) + 0.1

    def loss(at):
        z = X @ at
        return float(w @ (np.logaddexp(0.0, z) - y * z)) + 0.5 * float(precision @ (at - center) ** 2)

    found = logistic(X, y, w, center, precision)
    wanted = scipy.optimize.minimize(loss, center, method="BFGS", options={"gtol": 1e-9})
    assert loss(found.coefficients) <= wanted.fun + 1e-9
    np.testing.assert_allclose(found.coefficients, wanted.x, rtol=1e-3, atol=1e-4)


def test_mixing_must_be_boolean():
    with pytest.raises(ValueError, match="mixing must be True or False, got 'labels'"):
        SMLClassifier(influence=Ridge(mixing="labels")).fit([[0.0], [1.0]], [{"a"}, {"b"}])


def test_one_class_for_each_row_is_not_mixed():
    with pytest.raises(ValueError, match=r"one class for each row: use Ridge\(mixing=False\)"):
        SMLClassifier(influence=Ridge(0.1, mixing=True)).fit([[0.0], [1.0], [2.0]], ["a", "b", "a"])


def test_positive_unlabeled_data_is_not_mixed(rng):
    X, Y = related_labels(rng, 30)
    model = SMLClassifier(RBF(1.0), influence=Ridge(0.1, mixing=True), unlabeled="unknown")
    with pytest.raises(ValueError, match=r"gives log-odds: use Ridge\(mixing=False\)"):
        model.fit(X, Y.astype(int))


def test_log_odds_are_finite_for_extreme_weights(rng):
    """The row without it weighs less than the rounding of the sum of weights."""
    X, Y = related_labels(rng, 12)
    Y[0], Y[1:, 0], weights = 0.0, 1.0, np.ones(12)
    weights[[0, 1]] = 1e-3, 2.0**53
    result = mixed(solved(X, Y, weights), Y, 4, weights)
    assert all(np.isfinite(part).all() for part in (result.V, result.mean, result.loo_scores))

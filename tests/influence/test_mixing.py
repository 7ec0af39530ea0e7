"""Scores mixed over labels: against loops that learn the mixture without each row."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel import SMLClassifier
from simlabel.influence import Ridge
from simlabel.influence._closed_form import ridge_solution
from simlabel.influence._mixing import mixed
from simlabel.similarities import RBF

PENALTIES = (1.0, 3.0, 10.0, 30.0, 100.0, 300.0)


def related_labels(rng, n, n_labels=4):
    """Labels of which each repeats the one before, more often than not."""
    X = rng.random((n, 3))
    first = X[:, :1] + 0.2 * rng.standard_normal((n, 1)) > 0.5
    Y = [first]
    for _ in range(n_labels - 1):
        Y.append(Y[-1] ^ (rng.random((n, 1)) < 0.1))
    return X, np.hstack(Y).astype(float)


def mixture(F, residuals, weights, penalty):
    """argmin over B of sum w |residual - f B|^2 + penalty |B|^2."""
    rows = np.sqrt(weights)[:, None]
    A = np.vstack([rows * F, np.sqrt(penalty) * np.eye(F.shape[1])])
    b = np.vstack([rows * residuals, np.zeros((F.shape[1], residuals.shape[1]))])
    return np.linalg.lstsq(A, b, rcond=None)[0]


def left_over(F, residuals, weights, penalty):
    """What is left of each row when one copy of it had no part in the mixture."""
    found = []
    for i in range(len(F)):
        without = weights.copy()
        without[i] = max(0.0, weights[i] - 1.0)
        found.append(residuals[i] - F[i] @ mixture(F, residuals, without, penalty))
    return np.array(found)


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
@settings(max_examples=15)
def test_the_mixture_against_loops(seed, weighted):
    rng = np.random.default_rng(seed)
    X, Y = related_labels(rng, 40)
    weights = rng.random(40) * 3 + 0.1 if weighted else np.ones(40)
    S = np.exp(-3.0 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    plain = ridge_solution(S, Y, weights, 0.5)
    F, residuals = plain.left_out - plain.mean, Y - plain.left_out
    after = {p: left_over(F, residuals, weights, p) for p in PENALTIES}
    errors = {p: weights @ (r**2).sum(axis=1) for p, r in after.items()}
    best = min(errors, key=errors.__getitem__)
    found = mixed(plain, Y, weights)
    np.testing.assert_array_equal(found.mean, plain.mean)
    if errors[best] >= weights @ (residuals**2).sum(axis=1):
        assert found is plain
        return
    B = mixture(F, residuals, weights, best)
    np.testing.assert_allclose(found.V, plain.V + plain.V @ B, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(found.left_out, Y - after[best], rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("inducing", [None, 20])
def test_related_labels_gain(rng, inducing):
    """Labels that are noisy copies of one another help each other."""
    X, Y = related_labels(rng, 600, 6)
    train, test = slice(0, 300), slice(300, 600)
    errors = {}
    for mixing in (False, True):
        influence = Ridge(0.5, inducing=inducing, mixing=mixing)
        model = SMLClassifier(RBF(3.0), normalizer=None, influence=influence, random_state=0)
        model.fit(X[train], Y[train].astype(int))
        scores = model.label_weights(X[test])
        errors[mixing] = ((scores - Y[test]) ** 2).mean()
    assert errors[True] < errors[False]


def test_unrelated_labels_are_left_alone_or_nearly(rng):
    """Where labels have nothing in common, mixing costs next to nothing."""
    X = rng.random((600, 3))
    Y = (X + 0.2 * rng.standard_normal(X.shape) > 0.5).astype(int)
    errors = []
    for mixing in (False, True):
        model = SMLClassifier(RBF(3.0), normalizer=None, influence=Ridge(0.5, mixing=mixing))
        scores = model.fit(X[:300], Y[:300]).label_weights(X[300:])
        errors.append(((scores - Y[300:]) ** 2).mean())
    assert errors[1] < 1.02 * errors[0]


def test_too_many_columns_are_not_mixed(rng, change_limits):
    _, Y = related_labels(rng, 30)
    plain = ridge_solution(np.eye(30), Y, np.ones(30), 1.0)
    change_limits(mixed_columns=3)
    assert mixed(plain, Y, np.ones(30)) is plain


def test_mixing_is_yes_or_no():
    with pytest.raises(ValueError, match="mixing must be True or False, got 'labels'"):
        SMLClassifier(influence=Ridge(mixing="labels")).fit([[0.0], [1.0]], [{"a"}, {"b"}])

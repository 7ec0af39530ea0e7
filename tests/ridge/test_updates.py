"""Learned influence after teaching and forgetting equals a refit with the same gamma and penalty."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simlabel import SMLClassifier
from simlabel.ridge import RetuneWarning, Ridge, _ridge
from simlabel.similarities import RBF, Laplacian

NAMES = list("abcdef")


def batch(rng, n, n_labels):
    y = [{NAMES[k] for k in range(n_labels) if rng.random() < 0.4} for _ in range(n)]
    return rng.random((n, 3)), y, rng.integers(1, 4, n).astype(float)


class Tracked:
    """A model with learned influence, and the rows that it should know."""

    def __init__(self, rng, model, n=25):
        self.rng, self.model, self.rows = rng, model, {}
        self._add(*batch(rng, n, 3), model.fit)

    def _add(self, X, y, weights, method):
        first = self.model._model.scorer.references.next_id if self.rows else 0
        method(X, y, sample_weight=weights)
        self.rows |= {first + i: row for i, row in enumerate(zip(X, y, weights, strict=True))}

    def teach(self, n, n_labels):
        self._add(*batch(self.rng, n, n_labels), self.model.partial_fit)

    def forget(self, share):
        removed = [i for i in self.rows if self.rng.random() < share][: len(self.rows) - 2]
        self.model.forget(removed)
        for i in removed:
            del self.rows[i]

    def refitted(self):
        X, y, weights = zip(*self.rows.values(), strict=True)
        model = self.model
        influence = Ridge(model.influence_.penalty, inducing=None, mixing=model.influence_.mixing)
        fresh = SMLClassifier(model.similarity_, influence=influence, normalizer=None)
        fresh.partial_fit(np.array(X), list(y), classes=model.classes_, sample_weight=np.array(weights))
        return fresh


def check(tracked, rng):
    Q = rng.random((5, 3))
    fresh = tracked.refitted()
    np.testing.assert_allclose(tracked.model.label_weights(Q), fresh.label_weights(Q), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(tracked.model.leave_one_out(), fresh.leave_one_out(), rtol=1e-8, atol=1e-8)
    V = tracked.model._model.scorer.solved.V
    wanted = fresh._model.scorer.solved.V
    np.testing.assert_allclose(V, wanted, rtol=1e-8, atol=1e-8 * np.abs(wanted).max())


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("teach"), st.integers(1, 30), st.integers(1, 6)),
        st.tuples(st.just("forget"), st.floats(0.0, 0.8)),
    ),
    min_size=1,
    max_size=6,
)


@given(
    steps=STEPS,
    seed=st.integers(0, 2**32 - 1),
    penalty=st.sampled_from([0.003, 0.1, 10.0]),
    mixing=st.booleans(),
)
def test_any_sequence_equals_a_refit(steps, seed, penalty, mixing):
    rng = np.random.default_rng(seed)
    tracked = Tracked(rng, SMLClassifier(RBF(2.0), influence=Ridge(penalty, mixing=mixing), normalizer=None))
    for what, *how in steps:
        getattr(tracked, what)(*how)
    check(tracked, rng)


@pytest.mark.parametrize("similarity", [RBF(0.05), Laplacian(3.0)])
def test_rounding_does_not_add_up(similarity, rng):
    """A hundred small steps at the least penalty, where the similarities are close to singular."""
    tracked = Tracked(rng, SMLClassifier(similarity, influence=Ridge(0.003), normalizer=None), n=60)
    for _ in range(50):
        tracked.teach(3, 4)
        tracked.forget(0.04)
    check(tracked, rng)


def test_updates_do_not_compute_a_new_solution(rng, monkeypatch):
    X, y, _ = batch(rng, 40, 3)
    model = SMLClassifier(RBF(2.0), influence=Ridge(0.1)).fit(X, y).partial_fit(X[:2], y[:2])

    def fail(*_):
        raise AssertionError("solved anew")

    monkeypatch.setattr(_ridge, "ridge_solution", fail)
    model.partial_fit(X[:3], y[:3]).forget([0, 41])


def test_float32_is_solved_in_float64(rng):
    X, y, _ = batch(rng, 40, 3)
    X = X.astype(np.float32)
    model = SMLClassifier(RBF(2.0), influence=Ridge(0.1), normalizer=None).fit(X[:30], y[:30])
    model.partial_fit(X[30:35], y[30:35]).partial_fit(X[35:], y[35:])
    fresh = SMLClassifier(RBF(2.0), influence=Ridge(0.1), normalizer=None).fit(X, y)
    np.testing.assert_allclose(
        model._model.scorer.solved.V, fresh._model.scorer.solved.V, rtol=1e-8, atol=1e-8
    )


def normal_equations(X, Y, used, gamma, penalty):
    """f = sum over the used rows, fitted to all rows less their mean."""
    S = np.exp(-gamma * ((X[:, None, :] - X[None, :, :]) ** 2).sum(axis=2))
    A, mean = S[:, used], Y.mean(axis=0)
    return np.linalg.solve(A.T @ A + penalty * S[np.ix_(used, used)], A.T @ (Y - mean)), mean


def test_inducing_rows_are_held_and_forgotten(rng):
    X, _, _ = batch(rng, 50, 3)
    Y = (rng.random((50, 3)) < 0.4).astype(int)
    influence = Ridge(0.5, inducing=8)
    model = SMLClassifier(RBF(2.0), influence=influence, normalizer=None, random_state=0).fit(X[:40], Y[:40])
    used = model.ids_[model._model.scorer.solved.used].tolist()
    removed = [used[0], used[5], *[i for i in range(40) if i not in used][:3]]
    model.partial_fit(X[40:], Y[40:]).forget(removed)
    assert model.ids_[model._model.scorer.solved.used].tolist() == [i for i in used if i not in removed]
    left = np.array([i for i in range(50) if i not in removed])
    inside = np.searchsorted(left, [i for i in used if i not in removed])
    V, mean = normal_equations(X[left], Y[left], inside, 2.0, 0.5)
    Q = rng.random((4, 3))
    S = np.exp(-2.0 * ((Q[:, None, :] - X[left][inside][None, :, :]) ** 2).sum(axis=2))
    np.testing.assert_allclose(model.label_weights(Q), S @ V + mean, rtol=1e-5, atol=1e-6)


def test_retune_warning(rng, change_limits):
    X, y, _ = batch(rng, 40, 3)
    model = SMLClassifier(RBF(2.0), influence="ridge").fit(X[:30], y[:30])
    change_limits(exact_bytes=3 * 8 * 35**2, inducing_rows=10)
    with pytest.warns(RetuneWarning, match=r"40 references.*that of 10 of them.*retune\(\) is due"):
        model.partial_fit(X[30:], y[30:])
    assert len(model._model.scorer.solved.used) == 10

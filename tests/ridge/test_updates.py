"""Learned influence after teaching and forgetting equals a refit with the same gamma and penalty."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from simlabel import SMLClassifier
from simlabel.labels import PartialLabels
from simlabel.ridge import RetuneWarning, Ridge
from simlabel.similarities import RBF, Function, Laplacian, Linear

NAMES = list("abcdef")


def batch(rng, n, n_labels):
    y = [{NAMES[k] for k in range(n_labels) if rng.random() < 0.4} for _ in range(n)]
    return rng.random((n, 3)), y, rng.integers(1, 4, n).astype(float)


class Tracked:
    """A model with learned influence, and the rows that it should know."""

    def __init__(self, rng, model, make=batch, n=25):
        self.rng, self.model, self.make, self.rows = rng, model, make, {}
        self._add(*make(rng, n, 3), model.fit)

    def _add(self, X, y, weights, method):
        first = self.model._model.scorer.references.next_id if self.rows else 0
        method(X, y, sample_weight=weights)
        self.rows |= {first + i: row for i, row in enumerate(zip(X, y, weights, strict=True))}

    def teach(self, n, n_labels):
        self._add(*self.make(self.rng, n, n_labels), self.model.partial_fit)

    def forget(self, share):
        removed = [i for i in self.rows if self.rng.random() < share][: len(self.rows) - 2]
        self.model.forget(removed)
        for i in removed:
            del self.rows[i]

    def correct(self, _):
        changed = self.rng.choice(list(self.rows), 1).tolist()
        _, y, _ = self.make(self.rng, 1, 4)
        self.model.correct(changed, y)
        X, _, weight = self.rows.pop(changed[0])
        self.rows[changed[0]] = X, y[0], weight

    def refitted(self, **parameters):
        X, y, weights = zip(*self.rows.values(), strict=True)
        X = sp.csr_array(sp.vstack(X)) if sp.issparse(X[0]) else np.array(X)
        influence = Ridge(self.model.influence_.penalty, inducing=None)
        fresh = SMLClassifier(self.model.similarity_, influence=influence, normalizer=None, **parameters)
        fresh.partial_fit(X, list(y), classes=self.model.classes_, sample_weight=np.array(weights))
        return fresh


def check(tracked, rng, tolerance=1e-8, **parameters):
    Q, _, _ = tracked.make(rng, 5, 1)
    fresh, at = tracked.refitted(**parameters), {"rtol": tolerance, "atol": tolerance}
    np.testing.assert_allclose(tracked.model.label_weights(Q), fresh.label_weights(Q), **at)
    np.testing.assert_allclose(tracked.model.leave_one_out(), fresh.leave_one_out(), **at)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("teach"), st.integers(1, 30), st.integers(1, 6)),
        st.tuples(st.just("forget"), st.floats(0.0, 0.8)),
        st.tuples(st.just("correct"), st.just(1)),
    ),
    min_size=1,
    max_size=6,
)


@given(steps=STEPS, seed=st.integers(0, 2**32 - 1), penalty=st.sampled_from([0.003, 0.1, 10.0]))
def test_any_sequence_equals_a_refit(steps, seed, penalty):
    rng = np.random.default_rng(seed)
    tracked = Tracked(rng, SMLClassifier(RBF(2.0), influence=Ridge(penalty), normalizer=None))
    for what, *how in steps:
        getattr(tracked, what)(*how)
    check(tracked, rng)


def words(rng, n, n_labels):
    _, y, weights = batch(rng, n, n_labels)
    return sp.random_array((n, 60), density=0.1, rng=rng, format="csr"), y, weights


# similarity, rows, limits: a factor of the similarities, one of the columns, and conjugate gradients
IMPLEMENTATIONS = {
    "kernel": (RBF(2.0), batch, {}),
    "features": (Linear(), batch, {"exact_bytes": 3 * 8 * 10**2}),
    "iterative": (Linear(), words, {"exact_bytes": 3 * 8 * 10**2}),
}


@pytest.mark.parametrize("name", IMPLEMENTATIONS)
def test_two_hundred_changes_equal_a_refit(name, rng, change_limits, changed_limits):
    similarity, make, changed = IMPLEMENTATIONS[name]
    change_limits(**changed)
    tracked = Tracked(rng, SMLClassifier(similarity, influence=Ridge(0.1), normalizer=None), make, n=70)
    for k in range(200):
        what, how = [("teach", (1, 1 + k // 40)), ("correct", (1,)), ("forget", (0.015,))][k % 3]
        getattr(tracked, what)(*how)
        if k % 50 == 49:
            with changed_limits(exact_bytes=1 << 30):
                check(tracked, rng, 1e-6)


@pytest.mark.parametrize("mixing", [False, True])
def test_changes_can_be_taken_back(mixing, rng):
    """With groups, a hierarchy and weights, teaching and forgetting rows leads back to the same scores."""
    X, y, weights = batch(rng, 60, 4)
    model = SMLClassifier(
        RBF(2.0), influence=Ridge(0.1, mixing=mixing), normalizer=None, hierarchy={"a": "c", "b": "c"}
    ).fit(X[:40], y[:40], sample_weight=weights[:40], groups=np.arange(40) // 2)
    before = model.label_weights(X), model.leave_one_out()
    model.partial_fit(X[40:], y[40:], sample_weight=weights[40:], groups=np.arange(20), ids=range(100, 120))
    assert not np.allclose(model.label_weights(X), before[0])
    model.correct([3], [{"d"}]).correct([3], [y[3]]).forget(range(100, 120))
    np.testing.assert_allclose(model.label_weights(X), before[0], rtol=1e-8, atol=1e-8)
    if not mixing:  # leave-one-out leaves the corrected row in its place no more
        order = [i for i in range(40) if i != 3] + [3]
        np.testing.assert_allclose(model.leave_one_out(), before[1][order], rtol=1e-8, atol=1e-8)


def test_the_mixing_is_held(rng):
    """Log-odds stay the same linear map of the raw scores; a new label has the log-odds of its frequency."""
    X, y, _ = batch(rng, 60, 3)
    Q, far = rng.random((40, 3)), np.full((1, 3), 1e3)
    raw, mixed = (
        SMLClassifier(RBF(2.0), influence=Ridge(0.1, mixing=mixing), normalizer=None).fit(X, y)
        for mixing in (False, True)
    )

    def centered(model):
        return raw.label_weights(Q) - raw.label_weights(far)  # far from all rows, the score is the mean

    found = mixed.label_weights(Q) - mixed.label_weights(far)
    M = np.linalg.lstsq(centered(raw), found, rcond=None)[0]
    np.testing.assert_allclose(centered(raw) @ M, found, atol=1e-8)
    offsets = mixed.label_weights(far)
    more, new, _ = batch(rng, 10, 3)
    new[0] = {"z"}
    for model in (raw, mixed):
        model.partial_fit(more, new).forget([0, 5, 62])
    now = mixed.label_weights(Q)
    np.testing.assert_allclose(now[:, :3], centered(raw)[:, :3] @ M + offsets, atol=1e-8)
    np.testing.assert_allclose(mixed.label_weights(far)[0, 3], np.log(1.5 / (67 - 1 + 0.5)), atol=1e-8)
    slopes = (now[:, 3] - mixed.label_weights(far)[0, 3]) / centered(raw)[:, 3]
    np.testing.assert_allclose(slopes, slopes[0], rtol=1e-6)
    assert min(np.diag(M)) / 2 < slopes[0] < 2 * max(np.diag(M))
    assert np.isfinite(mixed.leave_one_out()).all()


def test_a_label_that_was_known_nowhere_counts_as_before(rng):
    """A label with one known value is constant; when that ends, so do the targets of the other rows."""
    X = np.array([[0.0], [0.1], [5.0], [5.1]])
    y = [PartialLabels({"a"}, {"b"}), {"a"}, PartialLabels({"a", "b"}), {"b"}]
    model = SMLClassifier(RBF(1.0), influence=Ridge(0.1), normalizer=None).fit(X, y)
    model.partial_fit([[2.0]], [{"a", "z"}])
    fresh = SMLClassifier(RBF(1.0), influence=Ridge(0.1), normalizer=None)
    fresh.fit(np.vstack([X, [[2.0]]]), [*y, {"a", "z"}])
    np.testing.assert_allclose(model.label_weights(X), fresh.label_weights(X), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("size", [1.0, 255.0])
def test_long_rows_with_few_columns(size, rng, change_limits):
    """The similarities are large beside the penalty, so that a solution in their terms has no digits."""
    change_limits(exact_bytes=3 * 8 * 30**2)
    X, y, _ = batch(rng, 60, 3)
    X = rng.random((60, 20)) * size
    model = SMLClassifier(Linear(), influence=Ridge(1.0), normalizer=None)
    model.fit(X[:50], y[:50]).partial_fit(X[50:], y[50:]).forget([3, 55])
    left = np.delete(np.arange(60), [3, 55])
    fresh = SMLClassifier(Linear(), influence=Ridge(1.0), normalizer=None).fit(X[left], [y[i] for i in left])
    np.testing.assert_allclose(model.label_weights(X), fresh.label_weights(X), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("inducing", [None, 8])
def test_a_change_of_no_row(inducing, rng):
    X, y, _ = batch(rng, 20, 3)
    influence = Ridge(0.1, inducing=inducing)
    model = SMLClassifier(RBF(2.0), influence=influence, normalizer=None, random_state=0).fit(X, y)
    before = model.label_weights(X)
    model.correct([], []).forget([])
    np.testing.assert_allclose(model.label_weights(X), before, rtol=1e-9, atol=1e-9)


def test_a_change_compares_changed_rows_only(rng):
    calls = []

    def similar(a, b):
        calls.append(1)
        return float(np.exp(-(((a - b) ** 2).sum())))

    X, y, _ = batch(rng, 40, 3)
    model = SMLClassifier(Function(similar, positive_definite=True), influence=Ridge(0.1), normalizer=None)
    model.fit(X, y).partial_fit(X[:2], y[:2])
    calls.clear()
    model.partial_fit(X[:3], y[:3]).forget([0, 41])
    assert 0 < len(calls) <= 2 * 3 * 45


def test_float32_is_solved_in_float64(rng):
    X, y, _ = batch(rng, 40, 3)
    X = X.astype(np.float32)
    model = SMLClassifier(RBF(2.0), influence=Ridge(0.1), normalizer=None).fit(X[:30], y[:30])
    model.partial_fit(X[30:35], y[30:35]).partial_fit(X[35:], y[35:])
    fresh = SMLClassifier(RBF(2.0), influence=Ridge(0.1), normalizer=None).fit(X, y)
    np.testing.assert_allclose(
        model._model.scorer.solved.V, fresh._model.scorer.solved.V, rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("similarity", [RBF(0.05), Laplacian(3.0)])
def test_rounding_does_not_add_up(similarity, rng):
    """A hundred small steps at the least penalty, where the similarities are close to singular."""
    tracked = Tracked(rng, SMLClassifier(similarity, influence=Ridge(0.003), normalizer=None), n=60)
    for _ in range(50):
        tracked.teach(3, 4)
        tracked.forget(0.04)
    check(tracked, rng)


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

"""Conformal scores with one more term equal refitting with every candidate label."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel import SMLClassifier
from simlabel.guarantees import CalibrationData, LabelCoverage, Recall, SetCoverage
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Laplacian, Linear
from simlabel.sums import Power

N_LABELS = 3
MODELS = {
    "uniform": {"similarity": RBF(0.7)},
    "label mean": {"similarity": Laplacian(0.5), "influence": "label_mean"},
    "weighted": {"similarity": RBF(0.3), "weighting": Power(3)},
    "negative similarities": {"similarity": Linear()},
    "ridge": {"similarity": RBF(0.5), "influence": Ridge(0.3)},
    "linear ridge": {"similarity": Linear(), "influence": Ridge(0.5)},
    "mixed ridge": {"similarity": Laplacian(0.4), "influence": Ridge(0.5, mixing=True)},
}


@st.composite
def problems(draw):
    """A few rows, some of them copies of others, with labels, and queries, some of them copies of rows."""
    n = draw(st.integers(3, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    X, Q = rng.normal(size=(n, 2)), rng.normal(size=(3, 2))
    if draw(st.booleans()):
        X[rng.integers(n)], Q[0] = X[rng.integers(n)], X[rng.integers(n)]
    Y = rng.random((n, N_LABELS)) < draw(st.sampled_from([0.3, 0.7]))
    return X, Y.astype(int), Q


def fitted(kind, X, Y):
    return SMLClassifier(normalizer=None, random_state=0, **MODELS[kind]).fit(X, Y)


def refitted(kind, X, Y, q, labels):
    """Scores of all rows and of the query, each without itself, in a fit with the query and these labels.

    For sums the last column is a label that all have, whose weight is the whole similarity.
    """
    own = np.zeros((1, N_LABELS), dtype=int)
    own[0, list(labels)] = 1
    ridge = "ridge" in kind
    Y = (
        np.vstack([Y, own])
        if ridge
        else np.column_stack([np.vstack([Y, own]), np.ones(len(X) + 1, dtype=int)])
    )
    settings = {"influence": Ridge(MODELS[kind]["influence"].penalty)} if ridge else {"influence": "uniform"}
    if kind == "negative similarities":
        return by_absolute_shares(np.vstack([X, q]), Y[:, :N_LABELS])
    model = SMLClassifier(normalizer=None, random_state=0, **(MODELS[kind] | settings))
    scores = model.fit(np.vstack([X, q]), Y).leave_one_out()
    if ridge:
        return scores
    whole = scores[:, -1:]
    return np.divide(scores[:, :-1], whole, out=np.zeros((len(scores), N_LABELS)), where=whole > 0)


def by_absolute_shares(X, Y):
    """Compute the shares of linear similarities in plain loops."""
    n = len(X)
    shares = np.zeros((n, N_LABELS))
    for i in range(n):
        terms = [0.0 if i == j else float(X[i] @ X[j]) for j in range(n)]
        whole = sum(map(abs, terms))
        for k in range(N_LABELS):
            shares[i, k] = sum(t for j, t in enumerate(terms) if Y[j, k]) / whole if whole > 0 else 0.0
    return shares


def near(a, b):
    return a <= b + 1e-7 * max(1.0, abs(b))


@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=12, deadline=None)
@given(problem=problems())
def test_counts_equal_refitting(kind, problem):
    X, Y, Q = problem
    scores, weaker = CalibrationData(fitted(kind, X, Y)._model).whole.compare(Q)
    for q, k in itertools.product(range(len(Q)), range(N_LABELS)):
        after = refitted(kind, X, Y, Q[q], {k})[:, k]
        assert scores[q, k] == pytest.approx(after[-1], abs=1e-7)
        others = after[:-1][Y[:, k] == 1]
        least = sum(s < after[-1] - 1e-7 for s in others)
        most = sum(near(s, after[-1]) for s in others)
        assert least <= weaker[q, k] <= most


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("kind", MODELS)
@settings(max_examples=8, deadline=None)
@given(problem=problems())
def test_losses_equal_refitting_with_the_worst_labels(kind, whole, problem):
    X, Y, Q = problem
    sizes = Y.sum(axis=1)
    losses = np.ones(len(Y)) if whole else 1.0 / np.maximum(sizes, 1)
    scores, lost = CalibrationData(fitted(kind, X, Y)._model).whole.lost(Q, losses, whole=whole)
    for q in range(len(Q)):
        with_all = refitted(kind, X, Y, Q[q], range(N_LABELS))
        worst = np.minimum(with_all, refitted(kind, X, Y, Q[q], ()))[:-1]
        for k in range(N_LABELS):
            low, high = (
                sum(
                    loss(worst[i][Y[i] == 1], scores[q, k] + tolerance, losses[i], whole)
                    for i in range(len(Y))
                )
                for tolerance in (-1e-7, 1e-7)
            )
            assert low - 1e-9 <= lost[q, k] <= high + 1e-9


def loss(true, threshold, each, whole):
    missed = int((true <= threshold).sum())
    return each * (min(missed, 1) if whole else missed)


@pytest.mark.parametrize("make", [Recall, SetCoverage])
@pytest.mark.parametrize("kind", ["uniform", "ridge"])
def test_sets_contain_what_the_threshold_of_any_label_set_accepts(kind, make):
    """Any labels of the query that the threshold of all n + 1 rows accepts are in the set."""
    rng = np.random.default_rng(3)
    X, Q = rng.normal(size=(24, N_LABELS)), rng.normal(size=(4, N_LABELS))
    Y = (X > 0.2).astype(int)  # labels that depend on the features
    Y[Y.sum(axis=1) == 0, 0] = 1
    guarantee = make(0.6)
    inside = fitted(kind, X, Y).guarantee(guarantee).inside(Q)[1]
    assert not inside.all()
    for q, size in itertools.product(range(len(Q)), range(1, N_LABELS + 1)):
        for labels in itertools.combinations(range(N_LABELS), size):
            scores = refitted(kind, X, Y, Q[q], labels)
            truth = np.vstack([Y, [[k in labels for k in range(N_LABELS)]]])
            t = threshold_by_loops(scores, truth, guarantee)
            for k in labels:
                assert inside[q, k] or scores[-1, k] < t


def threshold_by_loops(scores, truth, guarantee):
    """The highest t at which the mean loss of all rows is at most alpha."""
    good = -np.inf
    for t in np.unique(scores[truth == 1]):
        missed = [(scores[i][truth[i] == 1] < t) for i in range(len(truth))]
        losses = [m.mean() if isinstance(guarantee, Recall) else float(m.any()) for m in missed]
        if np.mean(losses) <= guarantee.alpha + 1e-12:
            good = t
    return good


@pytest.mark.parametrize("kind", ["uniform", "ridge"])
def test_blocks_threads_and_precision_change_nothing(kind, changed_limits):
    rng = np.random.default_rng(5)
    X, Q, Y = rng.normal(size=(40, 3)), rng.normal(size=(17, 3)), rng.random((40, N_LABELS)) < 0.4
    X, Q = X.astype(np.float32), Q.astype(np.float32)
    model = fitted(kind, X, Y.astype(int))
    plain = CalibrationData(model._model).whole.compare(Q)
    with changed_limits(block_bytes=8 * 40 * 5):
        small = CalibrationData(model._model).whole.compare(Q)
    doubled = fitted(kind, X.astype(np.float64), Y.astype(int))
    wide = CalibrationData(doubled._model).whole.compare(Q.astype(np.float64))
    for other in (small, wide):
        np.testing.assert_allclose(plain[0], other[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_array_equal(plain[1], other[1])


def test_p_values_are_those_of_the_sets():
    """A label is in the set as long as its p-value is above alpha, for every alpha."""
    rng = np.random.default_rng(8)
    X, Q, Y = rng.normal(size=(30, 2)), rng.normal(size=(6, 2)), (rng.random((30, 2)) < 0.5).astype(int)
    model = fitted("uniform", X, Y)
    _, weaker = CalibrationData(model._model).whole.compare(Q)
    p = (1 + weaker) / (1 + Y.sum(axis=0))
    for level in (0.5, 0.7, 0.9):
        inside = model.guarantee(LabelCoverage(level)).inside(Q)[1]
        np.testing.assert_array_equal(inside, p > 1 - level + 1e-12)

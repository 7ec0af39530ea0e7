"""Learned influence compared with solutions without each row."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from similarity_cases import SIMILARITY_CASES
from simlabel import SMLClassifier
from simlabel.ridge import LabelMean, Ridge, ridge_targets
from simlabel.ridge._nystroem import NystroemFeatures, feature_solution
from simlabel.similarities import RBF, Function, Laplacian, Polynomial, Precomputed
from simlabel.sums import TopK

POSITIVE_DEFINITE = [case for case in SIMILARITY_CASES if case.similarity.positive_definite]


def ridge_scores(query, X, targets, weights, phi, penalty):
    """Return S_q (S + penalty W^-1)^-1 (Y - mean) + mean, for rows of positive weight."""
    there = [i for i, w in enumerate(weights) if w > 1e-12]
    X, targets, weights = [X[i] for i in there], targets[there], np.asarray(weights)[there]
    if not there:
        return np.zeros(targets.shape[1])
    mean = weights @ targets / weights.sum()
    S = np.array([[phi(a, b) for b in X] for a in X])
    V = np.linalg.solve(S + np.diag(penalty / weights), targets - mean)
    return np.array([phi(query, x) for x in X]) @ V + mean


def problem(seed, n=14):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 4))
    X[3] = X[2]
    Y = (rng.random((n, 3)) < 0.4).astype(int)
    return X, Y, rng.random((3, 4)), rng


@pytest.mark.parametrize("case", POSITIVE_DEFINITE, ids=str)
def test_scores_and_leave_one_out(case):
    X, Y, Q, _ = problem(0)
    model = SMLClassifier(case.similarity, normalizer=None, influence=Ridge(0.5)).fit(X, Y)
    ones = np.ones(len(X))
    wanted = [ridge_scores(q, X.tolist(), Y, ones, case.phi, 0.5) for q in Q.tolist()]
    np.testing.assert_allclose(model.label_weights(Q), wanted, rtol=1e-7, atol=1e-9)
    left = []
    for i, x in enumerate(X.tolist()):
        weights = ones.copy()
        weights[i] = 0
        left.append(ridge_scores(x, X.tolist(), Y, weights, case.phi, 0.5))
    np.testing.assert_allclose(model.leave_one_out(), left, rtol=1e-7, atol=1e-8)


@given(seed=st.integers(0, 2**32 - 1), penalty=st.floats(0.01, 10), fractions=st.booleans())
@settings(max_examples=25)
def test_weights_leave_out_one_copy(seed, penalty, fractions):
    X, Y, Q, rng = problem(seed)
    w = rng.random(14) * 3 + 0.1 if fractions else rng.integers(1, 4, 14).astype(float)
    model = SMLClassifier(RBF(1.5), normalizer=None, influence=Ridge(penalty)).fit(X, Y, sample_weight=w)
    phi = naive.rbf(1.5)
    wanted = [ridge_scores(q, X.tolist(), Y, w, phi, penalty) for q in Q.tolist()]
    np.testing.assert_allclose(model.label_weights(Q), wanted, rtol=1e-6, atol=1e-7)
    left = []
    for i, x in enumerate(X.tolist()):
        without = w.copy()
        without[i] = max(0.0, w[i] - 1.0)
        left.append(ridge_scores(x, X.tolist(), Y, without, phi, penalty))
    np.testing.assert_allclose(model.leave_one_out(), left, rtol=1e-5, atol=1e-6)


@given(seed=st.integers(0, 2**32 - 1), weighted=st.booleans())
@settings(max_examples=15)
def test_all_rows_inducing_is_the_exact_solution(seed, weighted):
    """Nystroem on 13 of 14 rows, one of which is there twice, spans the same functions."""
    X, Y, Q, rng = problem(seed)
    w = rng.integers(1, 4, 14).astype(float) if weighted else np.ones(14)
    exact = SMLClassifier(Laplacian(1.0), normalizer=None, influence=Ridge(0.3, inducing=None))
    exact.fit(X, Y, sample_weight=w)
    references = exact._model.scorer.references
    scorer = exact._model.scorer
    features = NystroemFeatures(scorer.prepared, Laplacian(1.0), scorer.stages.engine, None)
    solution = feature_solution(features, references.X, ridge_targets(references), w, 0.3)
    solved = exact._model.scorer.solved
    np.testing.assert_allclose(solution.loo_scores, solved.loo_scores, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(solution.mean, solved.intercept)
    S = np.array([[naive.laplacian(1.0)(q, x) for x in X.tolist()] for q in Q.tolist()])
    np.testing.assert_allclose(S @ features.to_influence(solution.V), S @ solved.V, rtol=1e-4, atol=1e-5)


def test_few_inducing_rows_are_a_least_squares_fit():
    """Against the normal equations of the m functions, on all rows, with each row really left out."""
    X, Y, Q, _ = problem(1, n=40)
    model = SMLClassifier(RBF(2.0), normalizer=None, influence=Ridge(0.2, inducing=6), random_state=3).fit(
        X, Y
    )
    used = model._model.scorer.solved.used
    assert len(used) == 6
    phi = naive.rbf(2.0)

    def fit_and_score(rows, queries):
        mean = Y[rows].mean(axis=0)
        K = np.array([[phi(a, X[j]) for j in used] for a in X[rows]])
        M = np.array([[phi(X[i], X[j]) for j in used] for i in used])
        V = np.linalg.solve(K.T @ K + 0.2 * M, K.T @ (Y[rows] - mean))
        return np.array([[phi(q, X[j]) for j in used] for q in queries]) @ V + mean

    everything = np.arange(40)
    np.testing.assert_allclose(model.label_weights(Q), fit_and_score(everything, Q), rtol=1e-4, atol=1e-5)
    left = [fit_and_score(np.delete(everything, i), X[i : i + 1])[0] for i in range(40)]
    np.testing.assert_allclose(model.leave_one_out(), left, rtol=1e-4, atol=1e-5)


def test_set_sizes_are_learned():
    X, Y, Q, _ = problem(2, n=30)
    model = SMLClassifier(RBF(2.0), normalizer=None, influence=Ridge(0.3)).fit(X, Y)
    sizes = np.unique(Y.sum(axis=1))
    onehot = (Y.sum(axis=1)[:, None] == sizes).astype(float)
    scores = [ridge_scores(q, X.tolist(), onehot, np.ones(30), naive.rbf(2.0), 0.3) for q in Q.tolist()]
    assert model.predict_set_size(Q).tolist() == sizes[np.argmax(scores, axis=1)].tolist()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=10)
def test_label_mean_and_its_leave_one_out(seed):
    X, Y, Q, rng = problem(seed)
    w = rng.integers(1, 3, 14).astype(float)
    model = SMLClassifier(RBF(2.0), normalizer=None, influence=LabelMean()).fit(X, Y, sample_weight=w)
    sets = [set(np.flatnonzero(y)) for y in Y]

    def mean_scores(query, weights, exclude=None):
        f = naive.label_weights(query, X.tolist(), sets, 3, naive.rbf(2.0), weights=weights, exclude=exclude)
        left = np.array(weights, dtype=float)
        if exclude is not None:
            left[exclude] = max(0.0, left[exclude] - 1)
        counts = left @ Y
        return [a / c if c > 0 else 0.0 for a, c in zip(f, counts, strict=True)]

    wanted = [mean_scores(q, w) for q in Q.tolist()]
    np.testing.assert_allclose(model.label_weights(Q), wanted, rtol=1e-9)
    left = [mean_scores(x, w, i) for i, x in enumerate(X.tolist())]
    np.testing.assert_allclose(model.leave_one_out(), left, rtol=1e-9, atol=1e-12)


def test_bandwidth_and_penalty_are_chosen_by_leave_one_out():
    X, Y, _, _ = problem(3, n=60)
    Y[:, 0] = X[:, 0] > 0.5
    Y[:, 1] = X[:, 1] > 0.5
    model = SMLClassifier("rbf", influence="ridge", normalizer=None).fit(X, Y)
    frame = model.tuning_.to_frame()
    assert {"gamma", "influence__penalty"} <= set(frame)
    chosen = (frame.gamma == model.similarity_.gamma) & (frame.influence__penalty == model.influence_.penalty)
    assert frame.loc[chosen, "average_precision"].item() == frame.average_precision.max()
    from simlabel.metrics import average_precision

    assert average_precision(Y, model.leave_one_out()) == pytest.approx(
        frame.average_precision.max(), abs=1e-9
    )


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
def test_kinds_of_x(kind):
    X, Y, Q, _ = problem(4)
    model = SMLClassifier(RBF(1.0), influence=Ridge(0.1)).fit(kind(X), Y)
    wanted = SMLClassifier(RBF(1.0), influence=Ridge(0.1)).fit(X, Y).label_weights(Q)
    np.testing.assert_allclose(model.label_weights(kind(Q)), wanted, rtol=1e-3, atol=1e-4)


def test_invalid_similarities():
    X, Y, _, _ = problem(5)
    with pytest.raises(ValueError, match=r"positive definite.*rbf, laplacian"):
        SMLClassifier(Function(lambda a, b: float(a @ b)), influence="ridge").fit(X, Y)
    with pytest.raises(ValueError, match="cannot be combined with weighting=TopK"):
        SMLClassifier(RBF(1.0), influence="ridge", weighting=TopK(3)).fit(X, Y)
    with pytest.raises(ValueError, match="penalty must be a number above 0 or 'auto', got 0"):
        SMLClassifier(RBF(1.0), influence=Ridge(penalty=0)).fit(X, Y)
    signed = Function(lambda A, B: A @ B.T - 5.0, blockwise=True, positive_definite=True)
    with pytest.raises(ValueError, match="not positive definite at penalty"):
        SMLClassifier(signed, influence=Ridge(0.01), normalizer=None).fit(X, Y)


@pytest.mark.parametrize("penalty", ["auto", 0.1])
def test_precomputed_matrix_refuses_inducing_rows(penalty):
    X, Y, _, _ = problem(6)
    S = X @ X.T
    influence = Ridge(penalty, inducing=5)
    with pytest.raises(ValueError, match=r"5 inducing references .* Use Ridge\(inducing=None\)"):
        SMLClassifier(Precomputed(positive_definite=True), normalizer=None, influence=influence).fit(S, Y)
    influence = Ridge(penalty, inducing=None)
    SMLClassifier(Precomputed(positive_definite=True), normalizer=None, influence=influence).fit(S, Y)


@pytest.mark.parametrize(
    "Y",
    [
        np.zeros((6, 2), dtype=int),
        np.ones((6, 2), dtype=int),
        np.eye(6, 2, dtype=int),
        np.eye(6, 1, dtype=int),
    ],
    ids=["never", "always", "some", "one label"],
)
@pytest.mark.parametrize("X", [np.ones((6, 3)), np.arange(18.0).reshape(6, 3)], ids=["equal rows", "rows"])
def test_degenerate_data(X, Y):
    for similarity in ("rbf", Polynomial("auto", "auto")):
        y = sp.csr_array(Y)
        model = SMLClassifier(similarity, influence="ridge", label_rule="auto", calibration="loo").fit(X, y)
        assert np.isfinite(model.label_weights(X)).all()
        proba = model.predict_proba(X)
        assert proba.min() > 0
        assert proba.max() < 1
        if Y.all():
            assert (model.predict(X).toarray() == 1).all()
    single = SMLClassifier("rbf", influence="ridge").fit(X[:1], y[:1])
    assert np.isfinite(single.label_weights(X)).all()


def test_overflowing_similarities_are_refused(rng):
    X = 1e22 * rng.normal(size=(40, 6))  # to the power of 16
    with pytest.raises(ValueError, match="no influence can be learned from it: scale rows to unit length"):
        SMLClassifier(Polynomial(8, 1.0), normalizer=None, influence="ridge").fit(X, X[:, :2] > 0)

import naive_ranksvm
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import linear_kernel, polynomial_kernel, rbf_kernel

from simlabel.baselines import RankSVM
from simlabel.baselines._ranksvm import row_thresholds
from simlabel.baselines._ranksvm_dual import _Pairs


def problem(seed, n_rows=12, n_features=3, n_labels=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = X @ rng.normal(size=(n_features, n_labels)) + 0.5 * rng.normal(size=(n_rows, n_labels)) > 0
    Y[:, 0] |= ~Y.any(axis=1)
    Y[:, -1] &= ~Y.all(axis=1)
    return X, Y.astype(int)


KERNELS = [
    ({"kernel": "poly"}, lambda X: polynomial_kernel(X, degree=8, gamma=1.0, coef0=1.0)),
    (
        {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 0.0},
        lambda X: polynomial_kernel(X, X, 2, 0.5, 0.0),
    ),
    ({"kernel": "rbf", "gamma": 2.0}, lambda X: rbf_kernel(X, gamma=2.0)),
    ({"kernel": "linear"}, linear_kernel),
]


def all_coefficients(model, n_rows):
    beta = np.zeros((n_rows, len(model.classes_)))
    beta[model.support_] = model.dual_coef_
    return beta


@pytest.mark.parametrize("C", [0.02, 0.5, 10.0])
@pytest.mark.parametrize(("settings_", "kernel"), KERNELS, ids=["poly8", "poly2", "rbf", "linear"])
def test_equals_a_general_solver_of_the_dual(settings_, kernel, C):
    X, Y = problem(3)
    K = kernel(X)
    model = RankSVM(C=C, tol=1e-7, max_iter=100_000, **settings_).fit(X, Y)
    beta = all_coefficients(model, len(X))
    other_beta, below = naive_ranksvm.solve(K, Y.tolist(), C)
    above = naive_ranksvm.primal(K, Y.tolist(), C, beta, model.intercept_)
    # A primal and a dual value that meet are both the optimum, for any solver.
    assert above == pytest.approx(below, rel=1e-6)
    # The functions w_k are unique where the coefficients need not be. Both problems are strongly convex in w:
    # either solution is within sqrt(2 * gap) of the best, and so scores differ by that times a row's norm.
    gap = abs(above - below) + naive_ranksvm.BALANCE * above
    farthest = 2 * np.sqrt(2 * gap * K.diagonal().max())
    np.testing.assert_allclose(K @ beta, K @ other_beta, atol=farthest, rtol=0)
    np.testing.assert_allclose(model.decision_function(X), K @ beta + model.intercept_, atol=1e-9)


@given(seed=st.integers(0, 10**6), C=st.sampled_from([0.01, 0.3, 5.0]))
@settings(max_examples=15, deadline=None)
def test_the_solution_is_feasible_and_the_gap_is_true(seed, C):
    X, Y = problem(seed)
    model = RankSVM(C=C).fit(X, Y)
    beta = all_coefficients(model, len(X))
    np.testing.assert_allclose(beta.sum(axis=0), 0, atol=1e-8 * C * len(X))
    np.testing.assert_allclose(beta.sum(axis=1), 0, atol=1e-12)
    assert (beta[Y == 1] >= -1e-15).all()
    assert (beta[Y == 0] <= 1e-15).all()
    per_label = C / np.where(Y, Y.sum(axis=1, keepdims=True), (1 - Y).sum(axis=1, keepdims=True))
    assert (abs(beta) <= per_label * (1 + 1e-12)).all()
    K = polynomial_kernel(X, degree=8, gamma=model.gamma_, coef0=1.0)
    primal = naive_ranksvm.primal(K, Y.tolist(), C, beta, model.intercept_)
    dual = abs(beta).sum() / 2 - (beta * (K @ beta)).sum() / 2
    assert model.duality_gap_ <= 1e-3
    assert (primal - dual) / primal >= model.duality_gap_ - 1e-7  # another pass may have had the best dual


@given(seed=st.integers(0, 10**6))
@settings(max_examples=25, deadline=None)
def test_balancing_gives_the_nearest_feasible_point(seed):
    """Checked by the conditions of optimality: a shift by label differences, clipped."""
    rng = np.random.default_rng(seed)
    Y = problem(seed)[1].astype(bool)
    pairs = _Pairs(Y, C=1.0)
    cap = np.repeat(pairs.cap, np.diff(pairs.indptr))
    alpha = rng.uniform(-0.2, 1.2, size=len(cap)).clip(0, 1) * cap
    out = pairs.balanced(alpha)
    assert ((out >= 0) & (out <= cap)).all()
    np.testing.assert_allclose(pairs.sums(out).sum(axis=0), 0, atol=1e-9 * alpha.sum())
    for _ in range(20):
        other = pairs.balanced(rng.uniform(0, 1, size=len(cap)) * cap)
        assert np.linalg.norm(out - alpha) <= np.linalg.norm(other - alpha) + 1e-7


@given(seed=st.integers(0, 10**6), n_labels=st.integers(2, 6))
@settings(max_examples=40, deadline=None)
def test_thresholds_equal_the_plain_loops(seed, n_labels):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(8, n_labels))
    labels = rng.random((8, n_labels)) < 0.5
    expected = [naive_ranksvm.best_threshold(f, y) for f, y in zip(scores, labels, strict=True)]
    np.testing.assert_allclose(row_thresholds(scores, labels), expected)


def test_thresholds_never_lie_on_tied_scores():
    scores = np.array([[1.0, 1.0, 3.0], [2.0, 2.0, 2.0]])
    labels = np.array([[True, False, True], [True, False, True]])
    found = row_thresholds(scores, labels)
    np.testing.assert_allclose(found[0], 0.5)  # one error, below both; between 1 and 3 there is one as well
    for f, y, t in zip(scores, labels, found, strict=True):
        assert naive_ranksvm.errors(f, y, t) == min(
            naive_ranksvm.errors(f, y, c) for c in (-9, 1, 1.5, 2, 2.5, 3, 9)
        )


def test_predictions_follow_the_least_squares_threshold():
    X, Y = problem(1, n_rows=40)
    model = RankSVM("rbf").fit(X, Y)
    scores = model.decision_function(X)
    design = np.column_stack([scores, np.ones(len(X))])
    target = [naive_ranksvm.best_threshold(f, y) for f, y in zip(scores, Y, strict=True)]
    line = np.linalg.lstsq(design, target)[0]
    np.testing.assert_allclose(model.threshold_coef_, line[:-1], atol=1e-6)
    np.testing.assert_array_equal(model.predict(X), scores > (design @ line)[:, None])


def test_rows_with_all_labels_or_none_are_left_out():
    X, Y = problem(2)
    more = np.vstack([X, X[:2] + 1])
    labels = np.vstack([Y, np.ones((1, 4), int), np.zeros((1, 4), int)])
    with_them, without = RankSVM("linear").fit(more, labels), RankSVM("linear").fit(X, Y)
    np.testing.assert_array_equal(with_them.decision_function(X), without.decision_function(X))


def test_where_rows_are_equal_the_bias_ranks_labels_by_frequency():
    Y = np.array([[1, 0, 0]] * 5 + [[0, 1, 0]] * 3 + [[0, 0, 1]])
    model = RankSVM().fit(np.ones((9, 2)), Y)
    scores = model.decision_function([[1.0, 1.0]])[0]
    assert scores[0] > scores[1] > scores[2]


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
def test_sparse_rows_equal_dense_rows(container):
    X, Y = problem(6, n_rows=25)
    X[abs(X) < 0.4] = 0
    dense, sparse = RankSVM().fit(X, Y), RankSVM().fit(container(X), Y)
    assert sp.issparse(sparse.support_vectors_)
    np.testing.assert_allclose(
        sparse.decision_function(container(X)), dense.decision_function(X), rtol=1e-6, atol=1e-6
    )


def test_automatic_settings():
    X, Y = problem(4)
    model = RankSVM().fit(3 * X, Y)
    assert model.gamma_ == pytest.approx(1 / 9)
    np.testing.assert_allclose(model.C_, 1 / 2**8)
    np.testing.assert_allclose(
        model.decision_function(3 * X),
        RankSVM(C=1 / 256, gamma=1.0).fit(X, Y).decision_function(X),
        rtol=1e-6,
    )


def test_scores_in_blocks(change_limits):
    X, Y = problem(4)
    model = RankSVM().fit(X, Y)
    whole = model.decision_function(X)
    change_limits(block_rows=5)
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-12)


def test_a_gap_that_is_not_reached_warns():
    X, Y = problem(5, n_rows=40)
    with pytest.warns(
        ConvergenceWarning, match=r"stopped after 3 passes at a duality gap of .* above tol=1e-06"
    ):
        model = RankSVM(tol=1e-6, max_iter=3).fit(X, Y)
    assert model.n_iter_ == 3
    assert model.duality_gap_ > 1e-6


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "sigmoid"}, r"kernel must be one of poly, rbf, linear, got 'sigmoid'"),
        ({"kernel": ["rbf"]}, r"kernel must be one of poly, rbf, linear, got \['rbf'\]"),
        ({"C": 0}, r"C must be a number above 0 or 'auto', got 0"),
        ({"degree": 2.5}, r"degree must be a whole number of at least 1, got 2\.5"),
        ({"gamma": "scale"}, r"gamma must be a number above 0 or 'auto', got 'scale'"),
        ({"coef0": -1.0}, r"coef0 must be a number of at least 0, got -1\.0"),
        ({"tol": 0.0}, r"tol must be a number above 0"),
        ({"max_iter": 0}, r"max_iter must be a whole number of at least 1, got 0"),
    ],
)
def test_bad_settings(parameters, message):
    X, Y = problem(0)
    with pytest.raises(ValueError, match="RankSVM: " + message):
        RankSVM(**parameters).fit(X, Y)


@pytest.mark.parametrize("y", [[{"a"}, {"a"}, set()], np.ones((3, 2), int), [7, 7, 7]])
def test_labels_that_rank_nothing_are_refused(y):
    with pytest.raises(ValueError, match="needs a row with a true and a false label"):
        RankSVM().fit([[0.0], [1.0], [2.0]], y)

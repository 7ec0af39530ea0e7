"""Ridge on inner products of many rows, compared with the closed form on the similarity matrix."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning

from simlabel import SMLClassifier, load
from simlabel._utils.kernels import sparse_times_dense
from simlabel.ridge import (
    LinearRidge,
    RetuneWarning,
    Ridge,
    _conjugate_gradients,
    linear_form,
    ridge_solution,
)
from simlabel.ridge._conjugate_gradients import SimilarityProducts
from simlabel.ridge._tiled_cholesky import factorization_pays, is_accurate_enough
from simlabel.similarities import RBF, Cosine, Linear, Polynomial, Quadratic

N, P = 70, 30
SIMILARITIES = [Linear(), Cosine(), Polynomial(1, 2.0)]


def rows(rng, n=N, p=P):
    X = rng.standard_normal((n, p)) * (rng.random((n, p)) < 0.4) * 3.0 / (1 + np.arange(p))
    X[3], X[5] = X[4], 0.0
    return X, (rng.random((n, 4)) < 0.3).astype(int)


@pytest.fixture(scope="session")
def beyond(changed_limits):
    """Allow no matrix of the references, and a Gram matrix of at most so many columns."""

    def change(n_columns=0, **changes):
        changes = {"sketched_columns": 6, "iterated_bytes": 8 * N * 6, "factor_bytes": 0} | changes
        return changed_limits(exact_bytes=24 * n_columns**2, **changes)

    return change


def model(similarity=None, **kwargs):
    penalty = kwargs.pop("penalty", 0.3)
    return SMLClassifier(
        similarity or Cosine(), normalizer=None, influence=Ridge(penalty, **kwargs), random_state=0
    )


def solved(fitted):
    return fitted._model.scorer.solved


def without_fold(ridge, Z, fold, left):
    """Return the scores of a fold's rows by the closed form with less weight on them."""
    kept = ridge.weights - np.where(fold, left, 0.0)
    there, T = kept > 0, ridge.targets.toarray()
    mean = kept @ T / kept.sum()
    A = Z[there] @ Z[there].T + np.diag(ridge.penalty / kept[there])
    return Z[fold] @ Z[there].T @ np.linalg.solve(A, T[there] - mean) + mean


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
@pytest.mark.parametrize("few_columns", [True, False])
@given(
    seed=st.integers(0, 2**32 - 1),
    sparse=st.booleans(),
    weighted=st.booleans(),
    penalty=st.sampled_from([0.03, 0.3, 10.0]),
    size=st.sampled_from([1e-12, 1.0, 1e12]),
)
@settings(max_examples=5)
def test_equals_the_closed_form(similarity, few_columns, seed, sparse, weighted, penalty, size, beyond):
    rng = np.random.default_rng(seed)
    X, Y = rows(rng)
    if isinstance(similarity, Linear):  # the same problem in other units
        X, penalty = X * size, penalty * size**2
    weights = rng.random(N) * 3 + 0.1 if weighted else np.ones(N)
    X = sp.csr_array(X) if sparse else X
    with beyond(P + 1 if few_columns else 0):
        form = linear_form(similarity, X)
        ridge = LinearRidge(form, X, sp.csr_array(Y.astype(float)), weights, penalty)
        found = ridge.solution()
    Z = form(X)
    wanted = ridge_solution(Z @ Z.T, Y, weights, penalty)
    np.testing.assert_allclose(found.V, wanted.V, rtol=1e-6, atol=1e-6 * np.abs(wanted.V).max())
    np.testing.assert_allclose(found.mean, wanted.mean)
    if few_columns:
        np.testing.assert_allclose(found.loo_scores, wanted.loo_scores, rtol=1e-6, atol=1e-6)
        return
    assert 0 < found.residual <= 1e-7
    for fold in ridge.folds():
        scores = without_fold(ridge, Z, fold, np.minimum(weights, 1.0))
        np.testing.assert_allclose(found.loo_scores[fold], scores, atol=0.03)


@pytest.mark.parametrize("similarity", SIMILARITIES, ids=repr)
@pytest.mark.parametrize("grouped", [False, True])
@given(
    seed=st.integers(0, 2**32 - 1),
    weighted=st.booleans(),
    penalty=st.sampled_from([0.03, 0.3, 10.0]),
    size=st.sampled_from([1e-12, 1.0, 1e12]),
    tile_side=st.sampled_from([7, 35, 70, 100]),
)
@settings(max_examples=5)
def test_factor_gives_exact_leave_one_out(
    similarity, grouped, seed, weighted, penalty, size, tile_side, beyond
):
    rng = np.random.default_rng(seed)
    X, Y = rows(rng)
    if isinstance(similarity, Linear):  # the same problem in other units
        X, penalty = X * size, penalty * size**2
    weights = rng.random(N) * 3 + 0.1 if weighted else np.ones(N)
    groups = np.unique(rng.integers(0, 40, N), return_inverse=True)[1] if grouped else None
    X = sp.csr_array(X)
    with beyond(factor_bytes=2 * N**2, tile_side=tile_side):
        form = linear_form(similarity, X)
        ridge = LinearRidge(form, X, sp.csr_array(Y.astype(float)), weights, penalty, groups=groups)
        found = ridge.solution()
    Z = form(X)
    wanted = ridge_solution(Z @ Z.T, Y, weights, penalty, groups)
    np.testing.assert_allclose(found.V, wanted.V, rtol=1e-6, atol=1e-6 * np.abs(wanted.V).max())
    np.testing.assert_allclose(found.mean, wanted.mean)
    np.testing.assert_allclose(found.loo_scores, wanted.loo_scores, atol=1e-3)
    assert found.residual <= 1e-7


def test_iteration_if_the_penalty_is_too_small_for_single_precision(rng, beyond):
    X, Y = rows(rng)
    X = sp.csr_array(X)
    with beyond(factor_bytes=2 * N**2), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ridge = LinearRidge(linear_form(Linear(), X), X, sp.csr_array(Y.astype(float)), np.ones(N), 1e-6)
        products, _ = ridge.operator
        assert not is_accurate_enough(products, *ridge.in_units(), seed=0)
        V = ridge.solution().V
    wanted = ridge_solution((X @ X.T).toarray(), Y, np.ones(N), 1e-6).V
    np.testing.assert_allclose(V, wanted, atol=1e-3 * np.abs(wanted).max())


def test_many_rows_with_few_labels_are_not_worth_a_factor():
    assert factorization_pays(20_000, 600)
    assert not factorization_pays(20_000, 20)
    assert not factorization_pays(40_000, 10_000)  # it would not fit


def test_groups_are_left_out_whole(rng, beyond):
    X, Y = rows(rng)
    groups, weights = rng.integers(100, 112, N), rng.integers(1, 4, N).astype(float)
    with beyond():
        form = linear_form(Cosine(), X)
        ridge = LinearRidge(form, X, sp.csr_array(Y.astype(float)), weights, 0.3, groups=groups)
        loo_scores = ridge.solution().loo_scores
    folds = np.array(list(ridge.folds()))
    assert (folds.sum(axis=0) == 1).all()
    assert folds.any(axis=1).all()
    for fold in folds:
        assert not set(groups[fold]) & set(groups[~fold])
        np.testing.assert_allclose(loo_scores[fold], without_fold(ridge, form(X), fold, weights), atol=0.03)


@pytest.mark.parametrize("n_columns", [P + 1, 0])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array, lambda X: X.astype(np.float32)])
@pytest.mark.parametrize("inducing", ["auto", None])
def test_model_equals_the_closed_form(rng, kind, n_columns, inducing, beyond):
    X, Y = rows(rng)
    exact = model().fit(X, Y)
    with beyond(n_columns):
        far = model(inducing=inducing).fit(kind(X), Y)
        assert solved(far).used is None
        assert (solved(far).residual is None) == (n_columns > 0)
    atol = 1e-3 if kind(X).dtype == np.float32 else 1e-6
    Q = kind(rows(rng, 9)[0])
    np.testing.assert_allclose(far.label_weights(Q), exact.label_weights(Q), atol=atol)


def test_products_of_few_features_too(rng, beyond):
    X, Y = rows(rng, p=5)
    exact = model(Quadratic()).fit(X, Y)
    with beyond(21):
        far = model(Quadratic()).fit(X, Y)
    assert solved(far).used is None
    np.testing.assert_allclose(far.leave_one_out(), exact.leave_one_out(), atol=1e-6)


@pytest.mark.parametrize(
    ("similarity", "inducing"), [(RBF(1.0), "auto"), (Quadratic(), "auto"), (Cosine(), 9)], ids=repr
)
def test_inducing_rows_for_other_similarities(rng, similarity, inducing, beyond):
    X, Y = rows(rng)
    with beyond(inducing_rows=9):
        assert len(solved(model(similarity, inducing=inducing).fit(X, Y)).used) == 9


def test_changes_equal_a_new_solution(rng, beyond):
    X, Y = rows(rng)
    with beyond(), warnings.catch_warnings():
        warnings.simplefilter("error", RetuneWarning)
        taught = model().fit(X[:60], Y[:60]).partial_fit(X[60:], Y[60:]).forget([2, 30])
        left = np.delete(np.arange(N), [2, 30])
        fresh = model().fit(X[left], Y[left])
    Q = rows(rng, 9)[0]
    np.testing.assert_allclose(taught.label_weights(Q), fresh.label_weights(Q), atol=1e-6)


def test_new_labels(rng, beyond):
    X, _ = rows(rng)
    y = [{"a"} if x[0] > 0 else {"b"} for x in X[:60]] + [{"a", "new"}] * 10
    with beyond():
        taught = model().fit(X[:60], y[:60]).partial_fit(X[60:], y[60:])
        fresh = model().fit(X, y)
    Q = rows(rng, 9)[0]
    order = [list(taught.classes_).index(name) for name in fresh.classes_]
    np.testing.assert_allclose(taught.label_weights(Q)[:, order], fresh.label_weights(Q), atol=1e-6)


def test_residual_is_saved(rng, tmp_path, beyond):
    X, Y = rows(rng)
    with beyond():
        far = model().fit(X, Y)
    far.save(tmp_path / "model.simlabel")
    again = load(tmp_path / "model.simlabel")
    assert solved(again).residual == solved(far).residual > 0
    np.testing.assert_array_equal(again.label_weights(X), far.label_weights(X))


def test_convergence_warning(rng, monkeypatch, beyond):
    X, Y = rows(rng)
    monkeypatch.setattr(_conjugate_gradients, "_STEPS", 1)
    monkeypatch.setattr(_conjugate_gradients, "_ROUNDS", 1)
    with beyond(), pytest.warns(ConvergenceWarning, match=r"penalty=1e-07.*did not converge.*raise it"):
        model(Linear(), penalty=1e-7).fit(X, Y)


@pytest.mark.parametrize("X", [np.zeros((12, 5)), np.ones((12, 5))], ids=["zero", "equal"])
def test_rows_without_differences(X, beyond):
    Y = np.eye(12, 3, dtype=int)
    with beyond():
        scores = model().fit(X, Y).label_weights(X)
    np.testing.assert_allclose(scores, np.tile(scores[0], (12, 1)), atol=1e-6)
    np.testing.assert_allclose(scores[0], Y.mean(axis=0), atol=1e-6)


@given(seed=st.integers(0, 2**32 - 1), width=st.integers(1, 9))
def test_sparse_products(seed, width):
    rng = np.random.default_rng(seed)
    A = sp.random_array((11, 7), density=0.5, format="csr", rng=rng)
    for kind in (np.float32, np.float64):
        M, out = rng.standard_normal((7, width)).astype(kind), np.full((11, width), np.nan, dtype=kind)
        sparse_times_dense(A.indptr, A.indices, A.data, M, out)
        np.testing.assert_allclose(out, A @ M, atol=1e-5 if kind is np.float32 else 1e-13)


@given(seed=st.integers(0, 2**32 - 1))
def test_identical_columns_are_merged_and_columns_of_one_row_removed(seed):
    rng = np.random.default_rng(seed)
    Z = sp.random_array((12, 9), density=0.3, rng=rng).toarray()
    Z = np.column_stack([Z, Z[:, rng.integers(0, 9, 15)], np.eye(12)])  # the same again, and of one row each
    products, M = SimilarityProducts(sp.csr_array(Z), 1), rng.standard_normal((12, 3))
    assert products.shape[1] <= 9
    np.testing.assert_allclose(products(M), Z @ Z.T @ M, atol=1e-12)
    some = rng.random(12) < 0.6
    np.testing.assert_allclose(products.of_rows(some)(M[some]), Z[some] @ Z[some].T @ M[some], atol=1e-12)


def test_identical_labels_have_one_direction(rng, beyond):
    X, Y = rows(rng)
    Y = np.column_stack([Y, Y, 1 - Y])
    weights = np.ones(N)
    with beyond(iterated_bytes=8 * N * 24):
        ridge = LinearRidge(linear_form(Cosine(), X), X, sp.csr_array(Y.astype(float)), weights, 0.3)
        found = ridge.solution()
    Z = ridge.form(X)
    wanted = ridge_solution(Z @ Z.T, Y, weights, 0.3).V
    np.testing.assert_allclose(found.V, wanted, atol=1e-6 * np.abs(wanted).max())
    assert found.residual <= 1e-7

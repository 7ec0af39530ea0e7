import naive_mlknn
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel.baselines import MLkNN


def problem(seed, n_rows=40, n_features=5, n_labels=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features)) * rng.uniform(0.1, 30, size=n_features)
    Y = (X @ rng.normal(size=(n_features, n_labels)) + rng.normal(size=(n_rows, n_labels)) > 0).astype(int)
    return X, Y, rng.normal(size=(15, n_features)) * 5


@pytest.mark.parametrize("scale", [True, False])
@pytest.mark.parametrize(("k", "s"), [(1, 1.0), (3, 0.5), (10, 2.0)])
def test_equals_the_plain_loops(k, s, scale):
    X, Y, Q = problem(k)
    model = MLkNN(k, smoothing=s, scale=scale).fit(X, Y)
    train, queries = X.tolist(), Q.tolist()
    if scale:
        train, queries = naive_mlknn.scaled(train, X), naive_mlknn.scaled(queries, X)
    expected = np.array(naive_mlknn.posteriors(train, Y.tolist(), queries, k, s))
    np.testing.assert_allclose(model.predict_proba(Q), expected, rtol=1e-12)
    np.testing.assert_array_equal(model.decision_function(Q), model.predict_proba(Q))
    np.testing.assert_array_equal(model.predict(Q), expected > 0.5)


@pytest.mark.parametrize("container", [sp.csr_matrix, sp.csr_array])
@pytest.mark.parametrize("scale", [True, False])
def test_sparse_rows_equal_dense_rows(container, scale):
    X, Y, Q = problem(8)
    X, Q = np.where(abs(X) < 1, 0, X), np.where(abs(Q) < 1, 0, Q)
    dense = MLkNN(4, scale=scale).fit(X, Y)
    sparse = MLkNN(4, scale=scale).fit(container(X), container(Y))
    np.testing.assert_allclose(sparse.predict_proba(container(Q)), dense.predict_proba(Q), rtol=1e-12)
    assert isinstance(sparse.predict(container(Q)), container)


def test_a_row_is_not_its_own_neighbor_even_among_duplicates():
    """Every row has a twin of the other label set, so with k = 1 the neighbor never has the row's label."""
    X = np.repeat([[0.0], [10.0], [20.0], [30.0]], 2, axis=0)
    Y = np.tile([[1, 0], [0, 1]], (4, 1))
    model = MLkNN(1).fit(X, Y)
    # No row with a label has its (only) neighbor with it; of the 4 rows without, all 4 neighbors have it.
    np.testing.assert_allclose(model.likelihood_[1], [[5 / 6, 1 / 6]] * 2)
    np.testing.assert_allclose(model.likelihood_[0], [[1 / 6, 5 / 6]] * 2)


def test_a_column_that_was_constant_in_fit_does_not_count():
    X, Y, Q = problem(3)
    with_constant = MLkNN(3).fit(np.column_stack([X, np.full(len(X), 7.0)]), Y)
    far = np.column_stack([Q, np.full(len(Q), 1e9)])
    np.testing.assert_array_equal(with_constant.predict_proba(far), MLkNN(3).fit(X, Y).predict_proba(Q))


def test_many_queries_are_scored_in_blocks(change_limits):
    X, Y, Q = problem(5)
    model = MLkNN(3).fit(X, Y)
    whole = model.predict_proba(Q)
    change_limits(block_rows=4)
    np.testing.assert_array_equal(model.predict_proba(Q), whole)


def test_with_few_rows_all_others_are_neighbors():
    model = MLkNN(10).fit([[0.0], [1.0], [2.0]], [[1, 0], [0, 1], [1, 1]])
    assert model.n_neighbors_ == 2
    assert model.likelihood_.shape == (2, 2, 3)


@given(seed=st.integers(0, 10**6), k=st.integers(1, 6), s=st.floats(0.01, 5))
@settings(max_examples=25, deadline=None)
def test_the_tables_are_probabilities(seed, k, s):
    X, Y, Q = problem(seed, n_rows=12)
    model = MLkNN(k, smoothing=s).fit(X, Y)
    np.testing.assert_allclose(model.likelihood_.sum(axis=2), 1)
    proba = model.predict_proba(Q)
    assert ((proba > 0) & (proba < 1)).all()


def test_scaling_makes_units_irrelevant():
    X, Y, Q = problem(11)
    units = np.array([1e-3, 1.0, 60.0, 1e3, 7.0])
    proba = MLkNN(5).fit(X, Y).predict_proba(Q)
    np.testing.assert_allclose(MLkNN(5).fit(X * units + 3, Y).predict_proba(Q * units + 3), proba)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_neighbors": 0}, r"MLkNN: n_neighbors must be a whole number of at least 1, got 0\."),
        ({"n_neighbors": 2.5}, r"n_neighbors must be a whole number of at least 1, got 2\.5"),
        ({"smoothing": 0.0}, r"MLkNN: smoothing must be a number above 0, got 0\.0"),
        ({"smoothing": float("nan")}, r"smoothing must be a number above 0, got nan"),
    ],
)
def test_bad_settings(parameters, message):
    X, Y, _ = problem(0)
    with pytest.raises(ValueError, match=message):
        MLkNN(**parameters).fit(X, Y)

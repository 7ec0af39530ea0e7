from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler, normalize

from simlabel.normalization import NORMALIZERS, Chain, fit_normalizer, resolve_normalizer


def fitted(spec, X, w=None):
    return fit_normalizer(resolve_normalizer(spec), X, w)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_scikit_learn(dtype, rng):
    X = (rng.random((20, 4)) * 10).astype(dtype)
    X[:, 2] = 3.0  # constant
    X[5] = 0.0
    wanted = {
        "l2": normalize(X),
        "zscore": StandardScaler().fit_transform(X),
        "minmax": MinMaxScaler().fit_transform(X),
    }
    assert set(wanted) == set(NORMALIZERS.names)
    for name, want in wanted.items():
        got = fitted(name, X).transform(X)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, atol=1e-6 if dtype == np.float32 else 1e-12)
    both = fitted(["zscore", "l2"], X).transform(X)
    np.testing.assert_allclose(both, normalize(wanted["zscore"]), atol=1e-6)


@pytest.mark.parametrize("name", NORMALIZERS.names)
def test_sparse_stays_sparse(name, rng):
    X = sp.random_array((20, 6), density=0.3, format="csr", rng=rng)
    got = fitted(name, X).transform(X)
    assert sp.issparse(got)
    assert got.nnz == X.nnz
    if name == "l2":
        np.testing.assert_allclose(got.toarray(), normalize(X.toarray()))


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(NORMALIZERS.names))
def test_weights_are_repetition(seed, name):
    rng = np.random.default_rng(seed)
    X, counts = rng.random((8, 3)), rng.integers(1, 4, 8)
    weighted = fitted(name, X, counts.astype(float)).transform(X)
    np.testing.assert_allclose(weighted, fitted(name, np.repeat(X, counts, axis=0)).transform(X), rtol=1e-9)


def test_queries_outside_the_range_are_brought_to_its_edge():
    scaler = fitted("minmax", np.array([[0.0], [2.0]]))
    assert scaler.transform(np.array([[-1.0], [5.0]])).tolist() == [[0.0], [1.0]]


def test_what_a_transformer_returns_is_checked():
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="contains NaN"):
        fitted(FunctionTransformer(lambda X: X * np.nan), X).transform(X)
    with pytest.raises(ValueError, match="expected numbers, one row for each"):
        fitted(FunctionTransformer(lambda X: X[:1]), X).transform(X)
    with pytest.raises(ValueError, match="Unknown normalizer 'zscores'"):
        resolve_normalizer(["l2", "zscores"])


def test_a_chain_that_was_fitted_holds_normalizers(rng):
    chain = Chain(["zscore", "l2"]).fit(rng.random((5, 2)))
    chain.check()
    chain.fitted_ = ["l2"]
    with pytest.raises(TypeError, match="what was fitted must be normalizers, got 'l2'"):
        chain.check()

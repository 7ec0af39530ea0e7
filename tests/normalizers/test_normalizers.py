from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, StandardScaler, normalize

from simlabel.datasets import load_dataset, open_rows
from simlabel.normalizers import (
    NORMALIZERS,
    Chain,
    Quantile,
    fit_normalizer,
    resolve_normalizer,
    units_message,
)


def fitted(spec, X, w=None, Y=None):
    return fit_normalizer(resolve_normalizer(spec), X, w, Y)


def some_labels(X):
    """Labels as a function of rows, so that repeated rows have the same labels."""
    X = X.toarray() if sp.issparse(X) else X
    return np.column_stack([X[:, 0] > 0.5, X[:, 1] ** 2 > 0.1, X.sum(axis=1) > 1.3]).astype(float)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equals_scikit_learn(dtype, rng):
    X = (rng.random((20, 4)) * 10).astype(dtype)
    X[:, 2] = 3.0  # constant
    X[5] = 0.0
    wanted = {
        "l2": normalize(X),
        "zscore": StandardScaler().fit_transform(X),
        "minmax": MinMaxScaler().fit_transform(X),
        "quantile": np.column_stack([ndtri((rankdata(column) - 0.5) / len(X)) for column in X.T]),
    }
    assert {*wanted, "relevance"} == set(NORMALIZERS.names)  # it has tests of its own
    for name, want in wanted.items():
        got = fitted(name, X).transform(X)
        assert got.dtype == dtype
        np.testing.assert_allclose(got, want, atol=1e-6 if dtype == np.float32 else 1e-12)
    both = fitted(["zscore", "l2"], X).transform(X)
    np.testing.assert_allclose(both, normalize(wanted["zscore"]), atol=1e-6)


SPARSE = [name for name in NORMALIZERS.names if name != "quantile"]


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_stays_sparse(name, rng):
    X = sp.random_array((20, 6), density=0.3, format="csr", rng=rng)
    got = fitted(name, X, Y=some_labels(X)).transform(X)
    assert sp.issparse(got)
    assert got.nnz == X.nnz
    if name == "l2":
        np.testing.assert_allclose(got.toarray(), normalize(X.toarray()))


@given(seed=st.integers(0, 2**32 - 1), name=st.sampled_from(NORMALIZERS.names))
def test_weights_are_repetition(seed, name):
    rng = np.random.default_rng(seed)
    X, counts = rng.random((8, 3)), rng.integers(1, 4, 8)
    repeated = np.repeat(X, counts, axis=0)
    weighted = fitted(name, X, counts.astype(float), some_labels(X)).transform(X)
    np.testing.assert_allclose(weighted, fitted(name, repeated, None, some_labels(repeated)).transform(X))


def test_queries_outside_the_range_are_clipped():
    scaler = fitted("minmax", np.array([[0.0], [2.0]]))
    assert scaler.transform(np.array([[-1.0], [5.0]])).tolist() == [[0.0], [1.0]]


def test_the_output_of_a_transformer_is_checked():
    X = np.ones((3, 2))
    with pytest.raises(ValueError, match="contains NaN"):
        fitted(FunctionTransformer(lambda X: X * np.nan), X).transform(X)
    with pytest.raises(ValueError, match="expected numbers, one row for each"):
        fitted(FunctionTransformer(lambda X: X[:1]), X).transform(X)
    with pytest.raises(ValueError, match="Unknown normalizer 'zscores'"):
        resolve_normalizer(["l2", "zscores"])


def test_a_fitted_chain_holds_normalizers(rng):
    chain = Chain(["zscore", "l2"]).fit(rng.random((5, 2)))
    chain.check()
    chain.fitted_ = ["l2"]
    with pytest.raises(TypeError, match="what was fitted must be normalizers, got 'l2'"):
        chain.check()


# --- quantile ------------------------------------------------------------------------------------


@given(seed=st.integers(0, 2**32 - 1))
def test_only_the_order_of_values_counts(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 6, (30, 2)).astype(float)
    np.testing.assert_allclose(
        fitted("quantile", np.exp(X)).transform(np.exp(X)), fitted("quantile", X).transform(X), rtol=1e-9
    )
    between = fitted("quantile", X).transform(rng.uniform(-1, 7, (50, 2)))
    assert np.abs(between).max() <= np.abs(fitted("quantile", X).transform(X)).max()


def test_many_values_are_interpolated_on_a_short_curve(rng):
    """The curve passes through exact points, a thousandth of the rows apart, and keeps the order."""
    X = rng.normal(size=(20_000, 1)) ** 3
    weights = rng.integers(1, 4, len(X)).astype(float)
    normal = fitted("quantile", X, weights)
    assert normal.values_.shape[1] <= 1000
    order = np.argsort(X[:, 0])
    got = normal.transform(X)[order, 0]
    assert (np.diff(got) >= 0).all()
    share = (np.cumsum(weights[order]) - weights[order] / 2) / weights.sum()
    middle = (share > 0.02) & (share < 0.98)
    np.testing.assert_allclose(got[middle], ndtri(share[middle]), atol=0.03)
    assert abs(got[0] - ndtri(share[0])) < 1e-9
    assert abs(got[-1] - ndtri(share[-1])) < 1e-9
    again = fitted("quantile", np.repeat(X, weights.astype(int), axis=0))
    np.testing.assert_allclose(normal.values_, again.values_)
    np.testing.assert_allclose(normal.scores_, again.scores_, rtol=1e-9)


def test_quantile_errors(rng, tmp_path):
    for kind in (sp.csr_array, sp.csr_matrix):
        with pytest.raises(TypeError, match="would fill a sparse matrix"):
            fitted("quantile", kind(np.eye(3)))
    np.save(tmp_path / "rows.npy", rng.random((20, 2)))
    with pytest.raises(TypeError, match="not in memory; take 'zscore'"):
        fitted("quantile", open_rows(tmp_path / "rows.npy"))
    broken = Quantile().fit(rng.random((5, 2)))
    broken.values_ = broken.values_[:, ::-1]
    with pytest.raises(ValueError, match="rise"):
        broken.check()


# --- units ----------------------------------------------------------------------------------------


def test_a_dominant_column_is_named(rng):
    X = rng.random((50, 4)) + 1.0
    assert units_message(X, None) is None
    assert units_message(X, resolve_normalizer("l2")) is None
    X[:, 2] *= 1000
    assert "column 2 makes up 100.0% of squared distances" in units_message(X, None)
    message = units_message(X, resolve_normalizer("l2"), ["a", "b", "income", "d"])
    assert "column 'income' makes up 100.0% of squared lengths" in message
    assert "normalizer='auto' or 'zscore'" in message
    assert units_message(X, resolve_normalizer("zscore")) is None
    assert units_message(X[:, 1:3], None) is None  # two columns: one of them is soon the larger
    assert units_message(sp.csr_array(X), None) is None


@pytest.mark.parametrize("normalizer", [None, "l2"])
def test_a_few_of_many_columns_may_dominate(normalizer, rng):
    X = rng.normal(size=(100, 60))
    X[:, [4, 7, 9]] *= 40.0
    message = units_message(X, resolve_normalizer(normalizer))
    assert "(3 of 60) make up 9" in message
    assert all(str(column) in message for column in (4, 7, 9))
    assert units_message(X[:, :50], resolve_normalizer(normalizer)) is None  # three of fifty are not so few
    X[:, 10:] *= 40.0
    assert units_message(X, resolve_normalizer(normalizer)) is None


@pytest.mark.parametrize(
    ("name", "few"), [("emotions", True), ("yeast", False), ("image-train", False), ("scene-train", False)]
)
def test_units_of_benchmark_data(name, few):
    folder = os.environ.get("SIMLABEL_DATA")
    if folder is None:
        pytest.skip("SIMLABEL_DATA is not set")
    X = load_dataset(Path(folder) / f"{name}.arff").X
    assert (units_message(np.asarray(X, dtype=float), resolve_normalizer("l2")) is not None) == few

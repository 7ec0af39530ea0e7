"""The exponential of the kernels, against higher precision."""

from __future__ import annotations

import numpy as np
import pytest

from simlabel._utils.kernels import negative_exponential, rbf_from_products


def computed(x):
    """Return 2^x: ln(2) is the gamma whose product with log2(e) is 1."""
    T = -x[None, :]
    negative_exponential(T, np.log(2.0))
    return T[0]


@pytest.mark.parametrize(
    ("dtype", "lowest", "error"), [(np.float32, -126.0, 2e-7), (np.float64, -1022.0, 1e-15)]
)
def test_relative_error(dtype, lowest, error, rng):
    x = np.concatenate([np.linspace(lowest, 0, 200_001), -rng.random(200_000), -np.arange(100.0)])
    x = x[x >= lowest].astype(dtype)
    wanted = np.exp2(x.astype(np.longdouble))
    assert (np.abs(computed(x) - wanted) / wanted).max() < error
    assert computed(np.zeros(1, dtype=dtype))[0] == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_underflow_is_zero_and_nan_stays(dtype):
    beyond = np.array([-1100.0, -1e30, -np.inf], dtype=dtype)
    np.testing.assert_array_equal(computed(beyond), 0)
    assert np.isnan(computed(np.array([np.nan], dtype=dtype))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_kernels_carry_nan_and_underflow(dtype):
    T = np.array([[0.0, np.nan, 1e4, np.inf]], dtype=dtype)
    negative_exponential(T, dtype(1.0))
    np.testing.assert_array_equal(T, [[1, np.nan, 0, 0]])
    products = np.array([[1.0, np.nan, -1e4]], dtype=dtype)
    rbf_from_products(products, np.ones(1, dtype=dtype), np.ones(3, dtype=dtype), dtype(1.0))
    np.testing.assert_array_equal(products, [[1, np.nan, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [0.25, 1.0, 4.0])
def test_equal_distances_are_ties(dtype, gamma):
    """Rows at the same distance on either side of a query: whole numbers, so nothing is rounded before."""
    q, x = dtype(3.0), np.array([5.0, 1.0, 7.0, -1.0], dtype=dtype)
    T = (x * q)[:, None].copy()
    rbf_from_products(T, x**2, np.array([q**2]), dtype(gamma))
    assert T[0, 0] == T[1, 0]
    assert T[2, 0] == T[3, 0]

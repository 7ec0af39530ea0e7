"""Factors and inverses with the interpreter lock free: against NumPy's, and with threads beside them."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from simlabel._utils.kernels import cholesky_in_place, invert_lower_in_place


def positive_definite(n, dtype, seed=0):
    A = np.random.default_rng(seed).standard_normal((n, n))
    return np.asfortranarray(A @ A.T + n * np.eye(n), dtype=dtype)


@pytest.mark.parametrize(("dtype", "close"), [(np.float32, 1e-4), (np.float64, 1e-10)])
@pytest.mark.parametrize("n", [0, 1, 2, 65])
def test_factor_and_its_inverse_are_numpys(n, dtype, close):
    A = positive_definite(n, dtype)
    L = np.tril(np.linalg.cholesky(A.astype(np.float64)))
    assert cholesky_in_place(A) == 0
    np.testing.assert_allclose(np.tril(A), L, rtol=close, atol=close)
    assert invert_lower_in_place(A) == 0
    np.testing.assert_allclose(np.tril(A) @ L, np.eye(n), atol=close)


def test_what_has_no_factor_is_told():
    assert cholesky_in_place(np.asfortranarray([[1.0, 2.0], [2.0, 1.0]])) == 2
    assert invert_lower_in_place(np.asfortranarray([[1.0, 0.0], [1.0, 0.0]])) == 2


def test_threads_beside_each_other_give_what_each_gives_alone():
    given = [positive_definite(150, np.float64, seed) for seed in range(8)]
    wanted = [np.linalg.cholesky(A) for A in given]
    threads = [threading.Thread(target=cholesky_in_place, args=(A,)) for A in given]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for A, L in zip(given, wanted, strict=True):
        np.testing.assert_allclose(np.tril(A), L, rtol=1e-10)

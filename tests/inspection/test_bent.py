"""What columns bring to a sum of RBF similarities: derivatives along the way, added up."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from simlabel.model.inspection import rbf_contributions


def total(z, X, V, gamma):
    return sum(naive.rbf(gamma)(z, x) * v for x, v in zip(X.tolist(), V.tolist(), strict=True))


@given(st.integers(0, 10_000), st.floats(0.01, 2.0))
@settings(max_examples=10)
def test_columns_bring_their_derivatives_along_the_way(seed, gamma):
    rng = np.random.default_rng(seed)
    q, X, V = rng.normal(size=3), rng.normal(size=(5, 3)), rng.normal(size=5)
    q[seed % 3] = 0.0
    found, rest = rbf_contributions(q, X, V[:, None], gamma)
    steps, h = 400, 1e-5
    for c in range(3):
        way = 0.0
        for k in range(steps):
            z = (k + 0.5) / steps * q
            ahead, behind = z.copy(), z.copy()
            ahead[c] += h
            behind[c] -= h
            slope = (total(ahead.tolist(), X, V, gamma) - total(behind.tolist(), X, V, gamma)) / (2 * h)
            way += slope * q[c] / steps
        np.testing.assert_allclose(found[c, 0], way, atol=2e-4 * (1 + gamma))
    np.testing.assert_allclose(found.sum() + rest[0], total(q.tolist(), X, V, gamma), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(rest[0], total([0.0] * 3, X, V, gamma), atol=1e-6)

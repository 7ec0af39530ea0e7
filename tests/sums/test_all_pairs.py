"""Kept statistics give the similarities that an engine computes."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from simlabel.similarities import (
    RBF,
    ChiSquare,
    Cosine,
    Jaccard,
    Laplacian,
    OnColumns,
    Polynomial,
    Precomputed,
)
from simlabel.sums import AllPairs

KINDS = [
    (RBF(0.7), naive.rbf(0.7)),
    (Laplacian(0.4), naive.laplacian(0.4)),
    (ChiSquare(0.3), naive.chi_square(0.3)),
    (Jaccard(), naive.jaccard),
    (Cosine(), naive.cosine),
    (Polynomial(3, 1.0), naive.polynomial(3, 1.0)),
    (RBF(0.5) + Laplacian(2.0), lambda x, z: naive.rbf(0.5)(x, z) + naive.laplacian(2.0)(x, z)),
    (2 * RBF(0.5) * Cosine(), lambda x, z: 2 * naive.rbf(0.5)(x, z) * naive.cosine(x, z)),
    (OnColumns(RBF(1.0), [0, 2]), lambda x, z: naive.rbf(1.0)(x[[0, 2]], z[[0, 2]])),
]


@pytest.mark.parametrize(("kind", "phi"), KINDS, ids=lambda each: repr(each)[:20])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_against_plain_loops(rng, kind, phi, form, changed_limits):
    X = rng.random((23, 4)).round(1)
    kind = kind.fit(X)
    with changed_limits(block_references=7):
        S = AllPairs.of(form(X), 2).similarities(kind)
    np.testing.assert_allclose(S, [[phi(a, b) for b in X] for a in X], rtol=1e-9, atol=1e-12)


def test_parameters_read_the_same_statistic(rng):
    X = rng.random((9, 3)).astype(np.float32)
    pairs = AllPairs.of(X, 1)
    first = pairs.similarities(RBF(1.0))
    second = pairs.similarities(RBF(2.0))
    assert len(pairs.cache) == 1
    np.testing.assert_allclose(second, first**2, rtol=1e-6)
    assert not AllPairs.supports(Precomputed())

"""Rows that a similarity would see as they are, are neither copied nor computed again."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import scipy.sparse as sp

import naive
from simlabel import SMLClassifier, similarity_sums
from simlabel._utils.rows import pieces
from simlabel.similarities import Cosine
from simlabel.sums import prepare

KINDS = [np.asarray, sp.csr_array]


def values(rows):
    return rows.data if sp.issparse(rows) else rows


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("make", KINDS)
def test_unit_rows_are_not_normalized_again(make, dtype, rng):
    X = make((rng.random((60, 7)) * (rng.random((60, 7)) < 0.7)).astype(dtype))
    model = SMLClassifier(Cosine(), normalizer="l2", engine="exact").fit(X, rng.random((60, 3)) < 0.4)
    scorer = model._model.scorer
    (view,) = scorer.prepared.views.values()
    assert all(map(operator.is_, pieces(view), pieces(scorer.references.X)))
    Q = model._model.normalized(X[:4])
    (side,) = scorer.prepared.queries(Q).values()
    assert side.rows is Q


@pytest.mark.parametrize("make", KINDS)
def test_what_a_row_becomes_does_not_depend_on_its_company(make, rng):
    X = rng.random((5, 3)) + 0.1
    X[:2] /= np.linalg.norm(X[:2], axis=1)[:, None]
    together = prepare(make(X), [Cosine()], keep_views=True)
    (rows,) = together.views.values()
    for i in range(len(X)):
        (alone,) = prepare(make(X[i : i + 1]), [Cosine()], keep_views=True).views.values()
        np.testing.assert_array_equal(values(alone[:]).ravel(), values(rows[i : i + 1]).ravel())
    np.testing.assert_array_equal(values(rows[:2]).ravel(), X[:2].ravel())


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("length", [1e-30, 1e-3, 1.0, 1e18])
def test_cosines_of_short_and_long_rows(make, length, rng):
    X = (rng.random((9, 4)) * length).astype(np.float32)
    X[3] = 0.0
    result = similarity_sums(make(X), make(X), np.eye(9), Cosine())
    wanted = [[naive.cosine(q, x) for x in X.astype(float).tolist()] for q in X.astype(float).tolist()]
    np.testing.assert_allclose(result, wanted, rtol=1e-5)

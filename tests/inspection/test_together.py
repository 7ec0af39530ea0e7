"""Labels that go together speak for each other: against plain loops, and on errors of two kinds."""

from __future__ import annotations

import numpy as np
import pytest

from simlabel import SMLClassifier
from simlabel.model.inspection import combine_views


def all_known(Y, weights=None):
    Y = np.asarray(Y, dtype=float)
    return Y, np.ones(len(Y)) if weights is None else weights, np.ones(Y.shape, dtype=bool)


def test_a_row_is_left_out_of_what_tells_of_it(rng):
    """One label and two views: what a loop finds that learns without the row, or without one copy of it."""
    n = 30
    weights = rng.integers(1, 4, n).astype(float)
    Y = (rng.random((n, 1)) < 0.4).astype(float)
    views = [Y * 0.5 + rng.normal(0.2, 0.3, (n, 1)) for _ in range(2)]
    found = combine_views(views, *all_known(Y, weights))
    own = np.column_stack(views)
    columns, rest = own - own.mean(axis=0), Y[:, 0] - own.mean(axis=1)
    for i in range(n):
        counts = weights - (np.arange(n) == i)
        products = sum(c * np.outer(a, a) for c, a in zip(counts, columns, strict=True))
        sums = sum(c * a * r for c, a, r in zip(counts, columns, rest, strict=True))
        learned = np.linalg.solve(products + 10.0 * np.eye(2), sums)
        assert found[i, 0] == pytest.approx(own[i].mean() + columns[i] @ learned)


def test_labels_that_exclude_each_other_are_not_heard(rng):
    n = 200
    first = (np.arange(n) % 2).astype(float)
    Y = np.column_stack([first, 1.0 - first])
    view = rng.random(Y.shape)
    alone = [combine_views([view[:, [k]]], *all_known(Y[:, [k]]))[:, 0] for k in range(2)]
    np.testing.assert_allclose(combine_views([view], *all_known(Y)), np.column_stack(alone))


def test_labels_that_go_together_are_heard():
    Y = np.zeros((100, 2))
    Y[:50] = 1.0
    Y[7, 1], Y[93, 1] = 0.0, 1.0  # missing, and too much
    said = combine_views([np.full(Y.shape, 0.5)], *all_known(Y))
    assert said[7, 1] > 0.8 > 0.2 > said[93, 1]


def test_what_is_unknown_is_not_learned_from(rng):
    n = 60
    Y = (rng.random((n, 3)) < 0.5).astype(float)
    known = rng.random((n, 3)) < 0.7
    view = rng.random((n, 3))
    found = [combine_views([view], np.where(known, Y, other), np.ones(n), known) for other in (0, 1)]
    np.testing.assert_allclose(*found)


@pytest.mark.parametrize("kind", ["flipped", "in place of another"])
def test_errors_are_found(kind, rng):
    """Every instance has one label of three: that the others are absent must not vouch for a wrong one."""
    right = np.arange(150) % 3
    X = rng.normal(0.0, 0.3, (150, 2)) + np.array([[4.0, 4.0], [8.0, 0.0], [0.0, 8.0]])[right]
    Y = np.eye(3, dtype=int)[right]
    wrong = {(4, 0), (61, 2), (95, 1)}
    for i, k in wrong:
        Y[i, k] = 1
        if kind != "flipped":
            Y[i, right[i]] = 0
    assert all(right[i] != k for i, k in wrong)
    first = SMLClassifier(random_state=0).fit(X, Y).suspicious_labels(top=6 if kind != "flipped" else 3)
    assert wrong <= set(zip(first["id"], first["label"], strict=True))

"""Folds in which labels keep their shares and groups stay whole."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from sklearn.model_selection import cross_val_score

from simlabel import SMLClassifier
from simlabel.experiments import StratifiedFolds, stratified_parts


@st.composite
def problems(draw):
    rows, labels = draw(st.integers(3, 40)), draw(st.integers(1, 6))
    bits = st.lists(st.integers(0, 1), min_size=labels, max_size=labels)
    Y = draw(st.lists(bits, min_size=rows, max_size=rows))
    names = draw(st.lists(st.sampled_from(["a", "b", "c", "d", None]), min_size=rows, max_size=rows))
    return sp.csr_array(np.array(Y, dtype=np.int8)), np.array(names, dtype=object)


@given(problems(), st.integers(2, 3), st.integers(0, 5))
def test_every_row_has_a_part_groups_stay_whole_and_the_same_seed_gives_the_same(problem, k, seed):
    Y, groups = problem
    n_groups = len({name for name in groups if name is not None}) + sum(name is None for name in groups)
    if n_groups < k:
        with pytest.raises(ValueError, match="groups of rows"):
            stratified_parts(Y, k, seed, groups)
        return
    part = stratified_parts(Y, k, seed, groups)
    assert part.shape == (Y.shape[0],)
    assert set(part) <= set(range(k))
    for name in {name for name in groups if name is not None}:
        assert len(set(part[groups == name])) == 1
    np.testing.assert_array_equal(part, stratified_parts(Y, k, seed, groups))


@given(problems(), st.integers(2, 3))
def test_a_single_label_without_groups_is_dealt_as_evenly_as_can_be(problem, k):
    Y = problem[0][:, [0]]
    counts = np.bincount(stratified_parts(Y, k, 0)[np.flatnonzero(Y.toarray())], minlength=k)
    assert np.ptp(counts) <= 1


def _spread(Y, part, k):
    """Mean deviation of the labels' shares in the parts, relative to their targets."""
    shares = np.array([np.asarray(Y[part == fold].sum(axis=0)).ravel() for fold in range(k)])
    return np.abs(shares / shares.sum(axis=0) - 1 / k).mean() * k


@pytest.mark.parametrize("grouped", [False, True])
def test_labels_keep_their_shares_far_better_than_by_chance(grouped):
    rng = np.random.default_rng(0)
    Y = sp.csr_array((rng.random((600, 12)) < np.linspace(0.05, 0.4, 12)).astype(np.int8))
    groups = rng.integers(0, 200, 600) if grouped else None
    codes = np.arange(600) if groups is None else groups
    chance = np.mean([_spread(Y, rng.integers(0, 5, 600)[codes], 5) for _ in range(10)])
    part = stratified_parts(Y, 5, 0, groups)
    assert _spread(Y, part, 5) < chance / 3
    assert np.ptp(np.bincount(part)) < 0.1 * 600 / 5


@pytest.mark.parametrize("kind", ["sets", "array", "sparse"])
def test_it_serves_as_cv_in_scikit_learn(kind):
    X = np.random.default_rng(0).random((30, 4))
    Y = (X[:, :2] > 0.5).astype(int)
    y = {"array": Y, "sparse": sp.csr_array(Y), "sets": [set(np.flatnonzero(row)) for row in Y]}[kind]
    folds = StratifiedFolds(3, random_state=1)
    assert folds.get_n_splits() == 3
    assert len(list(folds.split(X, y))) == 3
    if kind == "array":
        scores = cross_val_score(SMLClassifier("linear"), X, y, cv=folds, groups=np.arange(30) // 2)
        assert np.isfinite(scores).all()


def test_what_cannot_be_split_raises():
    with pytest.raises(ValueError, match="7 folds need at least 7 rows; there are 3"):
        next(StratifiedFolds(7).split(None, [{"a"}, {"b"}, {"a"}]))
    with pytest.raises(ValueError, match="must be a whole number of at least 2, got 1"):
        next(StratifiedFolds(1).split(None, [{"a"}, {"b"}]))

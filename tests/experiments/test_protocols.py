from __future__ import annotations

import numpy as np
import pytest

from made_data import make_data
from simlabel.experiments import FixedSplit, KFolds, RandomSplits


@pytest.mark.parametrize("protocol", [KFolds(5, seed=3), KFolds(5, repeats=2), KFolds(4, stratified=True)])
def test_folds_ask_about_every_row_once_in_each_repeat(made, protocol):
    if protocol.stratified:
        pytest.importorskip("iterstrat")
    splits = protocol.splits(made)
    assert len(splits) == protocol.folds * protocol.repeats
    assert len({split.name for split in splits}) == len(splits)
    asked = np.concatenate([split.test for split in splits])
    np.testing.assert_array_equal(np.bincount(asked), np.full(made.n_rows, protocol.repeats))
    for split in splits:
        assert not set(split.train) & set(split.test)
        assert len(split.train) + len(split.test) == made.n_rows


def test_same_seed_same_folds_other_seed_other_folds(made):
    first, again, other = (KFolds(5, seed=seed).splits(made)[0].test for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert set(first) != set(other)


def test_stratified_folds_share_the_rare_label():
    pytest.importorskip("iterstrat")
    data = make_data(rows=300)
    rare = data.Y[:, [data.n_labels - 1]].toarray().ravel()
    for seed in range(3):
        counts = [rare[split.test].sum() for split in KFolds(5, stratified=True, seed=seed).splits(data)]
        assert counts == [rare.sum() // 5] * 5
    names = [split.test.tolist() for split in KFolds(5, stratified=True, seed=1).splits(data)]
    assert names == [split.test.tolist() for split in KFolds(5, stratified=True, seed=1).splits(data)]


def test_fixed_split_leaves_development_rows_aside():
    parts = np.repeat(np.array([0, 1, 2], dtype=np.int8), 20)
    (split,) = FixedSplit().splits(make_data(split=parts))
    np.testing.assert_array_equal(split.train, np.arange(20))
    np.testing.assert_array_equal(split.test, np.arange(40, 60))


def test_random_splits(made):
    splits = RandomSplits(0.25, repeats=3).splits(made)
    assert [len(split.test) for split in splits] == [15, 15, 15]
    assert set(splits[0].test) != set(splits[1].test)


def test_what_cannot_be_split_is_said(made):
    with pytest.raises(ValueError, match="comes in one piece"):
        FixedSplit().splits(made)
    with pytest.raises(ValueError, match="61 folds need at least 61 rows; X has 60"):
        KFolds(61).splits(made)
    with pytest.raises(ValueError, match=r"folds must be a whole number of at least 2, got 1"):
        KFolds(1).splits(made)
    with pytest.raises(ValueError, match=r"test_share must be below 1, got 1.5"):
        RandomSplits(1.5).splits(made)


def test_a_missing_package_is_named(made, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "iterstrat.ml_stratifiers", None)
    with pytest.raises(ImportError, match=r"simlabel\[compare\]"):
        KFolds(3, stratified=True).splits(made)

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import KFold, ShuffleSplit

from made_data import make_data
from simlabel.experiments import FixedSplit, KFolds, RandomSplits, as_protocol, compare
from simlabel.experiments.reports import comparison_report


@pytest.mark.parametrize("protocol", [KFolds(5, seed=3), KFolds(5, repeats=2), KFolds(4, stratified=True)])
def test_folds_test_every_row_once_in_each_repeat(made, protocol):
    splits = protocol.splits(made)
    assert len(splits) == protocol.folds * protocol.repeats
    assert len({split.name for split in splits}) == len(splits)
    requested = np.concatenate([split.test for split in splits])
    np.testing.assert_array_equal(np.bincount(requested), np.full(made.n_rows, protocol.repeats))
    for split in splits:
        assert not set(split.train) & set(split.test)
        assert len(split.train) + len(split.test) == made.n_rows


def test_same_seed_same_folds_other_seed_other_folds(made):
    first, again, other = (KFolds(5, seed=seed).splits(made)[0].test for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, again)
    assert set(first) != set(other)


def test_stratified_folds_share_the_rare_label():
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


def test_what_cannot_be_split_raises(made):
    with pytest.raises(ValueError, match="comes in one piece"):
        FixedSplit().splits(made)
    with pytest.raises(ValueError, match="61 folds need at least 61 rows; X has 60"):
        KFolds(61).splits(made)
    with pytest.raises(ValueError, match=r"folds must be a whole number of at least 2, got 1"):
        KFolds(1).splits(made)
    with pytest.raises(ValueError, match=r"test_share must be below 1, got 1.5"):
        RandomSplits(1.5).splits(made)


def test_groups_stay_together_and_are_part_of_the_repr(made):
    groups = [i // 3 for i in range(made.n_rows)]
    for stratified in (False, True):
        protocol = KFolds(4, stratified=stratified, groups=groups)
        for split in protocol.splits(made):
            assert not {groups[i] for i in split.train} & {groups[i] for i in split.test}
    assert repr(KFolds(4, groups=groups)) != repr(KFolds(4, groups=groups[::-1]))
    assert repr(KFolds(4, groups=groups)) == repr(KFolds(4, groups=tuple(groups)))
    with pytest.raises(ValueError, match="4 folds need at least 4 groups of rows; there are 2"):
        KFolds(4, groups=[i % 2 for i in range(made.n_rows)]).splits(made)
    with pytest.raises(ValueError, match="groups"):
        KFolds(4, groups=[1, 2]).splits(made)


@pytest.mark.parametrize("splitter", [KFold(3), ShuffleSplit(2, test_size=0.5, random_state=1)])
def test_the_splitters_of_scikit_learn(splitter, made):
    expected = [test.tolist() for _, test in splitter.split(made.X)]
    assert [split.test.tolist() for split in as_protocol(splitter).splits(made)] == expected
    result = compare(made, ["knn"], splitter)
    assert result.protocol == repr(splitter)
    assert len(result.of("made", "knn").folds) == len(expected)
    assert comparison_report(result, [made], splitter).subtitle == repr(splitter)


@pytest.mark.parametrize("splitter", [KFold(3, shuffle=True), ShuffleSplit(2)])
def test_a_splitter_without_random_state_raises(splitter, made):
    with pytest.raises(ValueError, match="give it a random_state"):
        compare(made, ["knn"], splitter)


@pytest.mark.parametrize("protocol", [3, KFold, "folds"])
def test_other_objects_are_no_protocol(protocol, made):
    with pytest.raises(TypeError, match=r"protocol must be KFolds\(...\).*KFold\(3\); got"):
        compare(made, ["knn"], protocol)


def test_rows_and_labels_in_place_of_a_data_set(made):
    X, names = pd.DataFrame(made.X, columns=made.feature_names), np.array(made.label_names)
    sets = [set(names[made.Y[[row]].indices]) for row in range(made.n_rows)]
    result = compare((X, sets), ["knn"], KFolds(3))
    assert result.data_names == ["data"]
    expected = compare(made, ["knn"], KFolds(3)).of("made", "knn").values("hamming_loss")
    np.testing.assert_allclose(result.of("data", "knn").values("hamming_loss"), expected)
    assert compare([(X, sets), made, (made.X, made.Y)], ["knn"], KFolds(3)).data_names == [
        "data-1",
        "made",
        "data-3",
    ]

"""Guarantees hold on exchangeable rows: with fixed seeds, and with wide bounds that only an error crosses."""

import numpy as np
import pytest

from simlabel import SMLClassifier
from simlabel.guarantees import LabelCoverage, Precision, Recall, SetCoverage
from simlabel.ridge import Ridge
from simlabel.similarities import RBF

REPEATS, QUERIES, LEVEL = 40, 40, 0.8
# the mean of 1,600 queries of 40 fits: its standard error is below 0.015
TOO_FEW, TOO_MANY = LEVEL - 0.07, LEVEL + 0.12
KINDS = [
    LabelCoverage(LEVEL),
    LabelCoverage(LEVEL, method="split"),
    Recall(LEVEL),
    Recall(LEVEL, method="split"),
    SetCoverage(LEVEL),
    SetCoverage(LEVEL, method="bonferroni"),
    SetCoverage(LEVEL, method="split"),
]


def drawn(rng, n):
    """Return rows with three labels that depend on the features, the last one rare; every row has one."""
    X = rng.normal(size=(n, 3))
    Y = X + rng.normal(size=(n, 3)) > [0.0, 0.3, 1.3]
    Y[~Y.any(axis=1), 0] = True
    return X, Y.astype(int)


def sets_of(Y):
    return [set(np.flatnonzero(row).tolist()) for row in Y]


@pytest.mark.parametrize("influence", ["uniform", Ridge(1.0)], ids=["sums", "ridge"])
@pytest.mark.parametrize("guarantee", KINDS, ids=repr)
def test_guarantees_hold_without_predicting_all_labels(guarantee, influence):
    values, lowest = [], []
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        X, Y = drawn(rng, 60)
        Q, truth = drawn(rng, QUERIES)
        model = SMLClassifier(RBF(0.5), normalizer=None, influence=influence, n_jobs=1, random_state=seed)
        found = guarantee.measure(sets_of(truth), model.fit(X, Y).predict_sets(Q, guarantee=guarantee))
        values.append(found.value)
        if found.lowest is not None:
            lowest.append(found.lowest[1])
    loose = "bonferroni" in repr(guarantee) or "split" in repr(guarantee)  # few rows are held out
    assert TOO_FEW < np.mean(values) < (1.0 if loose else TOO_MANY)


def test_precision_holds_with_the_stated_confidence():
    """In 80% of the draws the precision is at least the level; the bound allows ten more of the 40 draws."""
    held, some = 0, 0
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        X, Y = drawn(rng, 300)
        Q, truth = drawn(rng, 2000)
        model = SMLClassifier(RBF(0.5), normalizer=None, n_jobs=1, random_state=seed).fit(X, Y)
        guarantee = Precision(0.7, confidence=0.8)
        found = guarantee.measure(sets_of(truth), model.predict_sets(Q, guarantee=guarantee))
        some += found.n > 0
        held += not found.value < 0.7
    assert some > REPEATS // 2  # there are sets: without any it would hold trivially
    assert held >= 0.8 * REPEATS - 10


def test_a_rare_label_has_a_coverage_of_its_own():
    hits = rows = 0
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        X, Y = drawn(rng, 80)
        Q, truth = drawn(rng, 100)
        model = SMLClassifier(RBF(0.5), normalizer=None, n_jobs=1).fit(X, Y)
        inside = model.guarantee(LabelCoverage(LEVEL)).inside(Q)[1]
        rare = truth[:, 2] == 1
        hits, rows = hits + int(inside[rare, 2].sum()), rows + int(rare.sum())
        assert not inside[:, 2].all()
    assert hits / rows > TOO_FEW


def test_groups_are_exchangeable_if_rows_are_not():
    """Ten copies of each row: the guarantee fails for rows, and holds for groups."""
    by_row, by_group = [], []
    for seed in range(REPEATS):
        rng = np.random.default_rng(seed)
        X, Y = drawn(rng, 40)
        Q, truth = drawn(rng, QUERIES)
        copies = np.repeat(np.arange(40), 10)
        X10 = X[copies] + 1e-3 * rng.normal(size=(400, 3))
        for groups, values in ((None, by_row), (copies, by_group)):
            model = SMLClassifier(RBF(20.0), normalizer=None, n_jobs=1, random_state=seed)
            model.fit(X10, Y[copies], groups=groups)
            inside = model.guarantee(SetCoverage(LEVEL)).inside(Q)[1]
            values.append(np.mean([inside[q][truth[q] == 1].all() for q in range(QUERIES)]))
    assert np.mean(by_group) > TOO_FEW > np.mean(by_row)

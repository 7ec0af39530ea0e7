"""Labels that do not vary in training: absent ones rank last, those of all rows first, for every method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from league.methods import METHODS as BENCHMARK
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import LinearSVC

from made_data import make_data
from simlabel.experiments import ALGORITHMS, FixedSplit, KFolds, compare, find_algorithm
from simlabel.metrics import average_precision, scorer

ABSENT, ALWAYS = 3, 1
METHODS = [*BENCHMARK, *(name for name in ALGORITHMS if name not in BENCHMARK)]
FEW = {"n_estimators": 5, "n_rounds": 5, "n_chains": 2}  # the ranks do not depend on the number
FEW_STEPS = {"hgb": {"estimator__estimator__max_iter": 5}}


@pytest.fixture(scope="module")
def split_data():
    """Training rows never have ABSENT and always have ALWAYS; test rows have one of the two alone."""
    data = make_data(rows=40, labels=5, seed=3)
    Y = data.Y.toarray()
    Y[:30, ABSENT], Y[:30, ALWAYS], Y[30:] = 0, 1, 0
    Y[30:35, ABSENT], Y[35:, ALWAYS] = 1, 1
    return replace(data, Y=type(data.Y)(Y), split=np.repeat([0, 2], [30, 10]).astype(np.int8))


def algorithm_of(name, data):
    method = BENCHMARK.get(name)
    if method is not None and method.missing is not None:
        pytest.skip(method.missing)
    found = find_algorithm(name) if method is None else method.algorithm(data)
    parameters = found.estimator.get_params()
    few = {key: FEW[last] for key in parameters if (last := key.rpartition("__")[2]) in FEW}
    return replace(found, estimator=found.estimator.set_params(**few, **FEW_STEPS.get(name, {})))


@pytest.mark.parametrize("name", METHODS)
def test_an_absent_label_ranks_last_and_one_that_all_rows_have_first(name, split_data):
    result = compare(split_data, [algorithm_of(name, split_data)], FixedSplit())
    assert not result.failures
    found = result.of("made", name)
    assert found.mean("average_precision") == pytest.approx((1 / 5 + 1) / 2)  # ranks 5 and 1
    assert found.mean("coverage") == (4 + 0) / 2


def test_a_scorer_ranks_labels_last_that_the_estimator_does_not_know_however_large_the_scores():
    class Large:
        classes_ = np.array(["a", "b"])

        def decision_function(self, X):
            return np.array([[-1e300, 1e300]])

    value = scorer("average_precision")(Large(), [[0.0]], [{"new"}])
    assert value == average_precision([[0, 0, 1]], [[2.0, 3.0, 1.0]]) == pytest.approx(1 / 3)


def test_each_split_has_a_random_state_of_its_own_and_estimators_of_ones_own_keep_theirs():
    data, seen = make_data(rows=30), []

    class Watched(LogisticRegression):
        def fit(self, X, y):
            seen.append(self.random_state)
            return super().fit(X, y)

    own = OneVsRestClassifier(Watched(random_state=5))
    compare(data, {"own": own}, KFolds(3))
    assert set(seen) == {5}
    seen.clear()
    named = replace(find_algorithm("br"), estimator=own)
    assert not compare(data, [named], KFolds(3, repeats=2)).failures
    assert list(dict.fromkeys(seen)) == [5, 6, 7, 8, 9, 10]
    assert [split.number for split in KFolds(3, repeats=2).splits(data)] == [0, 1, 2, 3, 4, 5]


def test_one_versus_rest_without_probabilities_is_compared_if_its_first_label_is_absent():
    data = make_data(rows=40, labels=4)
    Y = data.Y.toarray()
    Y[:30, 0] = 0
    data = replace(data, Y=type(data.Y)(Y), split=np.repeat([0, 2], [30, 10]).astype(np.int8))
    result = compare(data, {"svm": OneVsRestClassifier(LinearSVC())}, FixedSplit())
    assert not result.failures
    assert 0 < result.of("made", "svm").mean("average_precision") <= 1

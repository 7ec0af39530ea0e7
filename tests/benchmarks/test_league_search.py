"""Workers with a time limit; the search of a method on its training rows."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from itertools import repeat

import numpy as np
import pytest
from league.searched import Searched
from league.workers import TIMED_OUT, run_limited
from sklearn.dummy import DummyClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

from simlabel.metrics import average_precision

# it never ends, and other processes can import it
SPIN = partial(sum, repeat(0))


def test_a_fold_has_one_thread(monkeypatch):
    """Two threads that wait for each other would use the processor seconds of many fits."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    info = "__import__('scipy.linalg') and __import__('threadpoolctl').threadpool_info()"
    calls = [(0, partial(eval, info)), (1, partial(os.getenv, "OMP_NUM_THREADS"))]
    found = {number: value for number, value, _ in run_limited(calls, 1, 60.0, skip=lambda number: False)}
    assert {one["num_threads"] for one in found[0]} == {1}
    assert found[1] == "1"  # for libraries that are loaded later
    assert "OMP_NUM_THREADS" not in os.environ


def test_a_call_that_does_not_end_is_ended_and_the_others_go_on():
    calls = [(0, SPIN), (1, partial(pow, 2, 10)), (2, SPIN), (3, partial(pow, 3, 2))]
    ended = run_limited(calls, 1, 1.0, skip=lambda number: number == 2)
    found = {number: (value, why) for number, value, why in ended}
    assert found == {0: (None, TIMED_OUT), 1: (1024, None), 3: (9, None)}


def test_a_process_that_dies_has_not_timed_out():
    ((_, value, why),) = run_limited([(0, partial(sys.exit, 3))], 1, 20.0, skip=lambda n: False)
    assert value is None
    assert why == "its process ended with code 3"


def test_the_best_candidate_on_held_out_rows_is_taken(rng):
    X = rng.normal(size=(90, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(int)
    grid = [{"n_neighbors": 55}, {"n_neighbors": 5}, {"n_neighbors": 50}]
    assert Searched(KNeighborsClassifier(), grid).fit(X, Y).best_params_ == {"n_neighbors": 5}


def test_a_method_with_probabilities_only_gets_a_label_rule(rng):
    """Rare labels never have half of the neighbors: a threshold of one half would never predict them."""
    X = rng.normal(size=(400, 2))
    shares = np.clip(0.12 + 0.1 * X, 0.01, 0.4)
    Y = (rng.random((400, 2)) < shares).astype(int)
    plain = KNeighborsClassifier(60).fit(X, Y)
    model = Searched(KNeighborsClassifier(60)).fit(X, Y)
    assert plain.predict(X).sum() == 0
    assert model.rule_ is not None
    assert model.predict(X).sum() > 0.3 * Y.sum()
    ranked = average_precision(Y, model.decision_function(X))
    assert ranked == average_precision(Y, np.column_stack([part[:, 1] for part in plain.predict_proba(X)]))


class Sets(DummyClassifier):
    """Predict the true sets with constant scores."""

    def predict(self, X):
        return np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(int)

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


def test_own_sets_stay_where_they_are_better(rng):
    X = rng.normal(size=(60, 1))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(int)
    model = Searched(Sets()).fit(X, Y)
    assert model.rule_ is None
    np.testing.assert_array_equal(model.predict(X), Y)


@pytest.mark.slow
def test_seconds_on_the_clock_count_where_a_fit_sleeps():
    ((_, _, why),) = run_limited([(0, partial(time.sleep, 60))], 1, 1.0, skip=lambda n: False)
    assert why == TIMED_OUT


@pytest.mark.filterwarnings("ignore:Label not 3 is present in all training examples")
def test_the_label_rule_of_a_searched_method_never_predicts_an_absent_label(rng):
    X = rng.normal(size=(90, 4))
    Y = np.column_stack([X[:, :3] > 1.2, np.zeros(90)]).astype(int)  # rare: thresholds are below 0
    model = Searched(OneVsRestClassifier(LinearSVC())).fit(X, Y)
    assert model.decision_function(X).argmin(axis=1).tolist() == [3] * 90
    assert not model.predict(X)[:, 3].any()

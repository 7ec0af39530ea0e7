"""Folds within a limit of time; a rival's search inside its training rows."""

from __future__ import annotations

import os
import sys
import time
from functools import partial
from itertools import repeat

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_info

from made_data import make_data
from simlabel.experiments import Algorithm, FirstSplits, KFolds, compare
from simlabel.experiments._memory import peak_mib, resident_mib
from simlabel.experiments._searched import Searched
from simlabel.experiments._store import algorithm_key
from simlabel.experiments._workers import LATE, run_limited
from simlabel.metrics import average_precision

# it never ends, and other processes find it
SPIN = partial(sum, repeat(0))


def test_a_fold_has_one_thread(monkeypatch):
    """Two that wait for each other would spend the processor seconds of many fits."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    calls = [(0, threadpool_info), (1, partial(os.getenv, "OMP_NUM_THREADS"))]
    found = {number: value for number, value, _ in run_limited(calls, 1, 60.0, skip=lambda number: False)}
    assert {one["num_threads"] for one in found[0]} == {1}
    assert found[1] == "1"  # for libraries that are loaded later
    assert "OMP_NUM_THREADS" not in os.environ


def test_a_call_that_does_not_end_is_ended_and_the_others_go_on():
    calls = [(0, SPIN), (1, partial(pow, 2, 10)), (2, SPIN), (3, partial(pow, 3, 2))]
    ended = run_limited(calls, 1, 1.0, skip=lambda number: number == 2)
    found = {number: (value, why) for number, value, why in ended}
    assert found == {0: (None, LATE), 1: (1024, None), 3: (9, None)}


def test_a_process_that_dies_is_no_late_one():
    ((_, value, why),) = run_limited([(0, partial(sys.exit, 3))], 1, 20.0, skip=lambda n: False)
    assert value is None
    assert why == "its process ended with code 3"


class Slow(BaseEstimator):
    """Never asked to fit."""


@pytest.fixture
def late_runner(monkeypatch):
    """In place of processes: Slow is late, the others are run here."""
    ran = []

    def here(calls, jobs, seconds, skip):
        for number, call in calls:
            if skip(number):
                continue
            algorithm = call.args[2].name
            ran.append((algorithm, number))
            yield (number, None, LATE) if algorithm == "slow" else (number, call(), None)

    monkeypatch.setattr("simlabel.experiments._run.run_limited", here)
    return ran


def test_who_is_late_has_lost_and_is_not_asked_again(late_runner, tmp_path):
    rivals = {"slow": Slow(), "knn": KNeighborsClassifier(3)}
    result = compare(make_data(), rivals, KFolds(3), folder=tmp_path, time_limit=5)
    assert [name for name, _ in late_runner] == ["slow", "knn", "knn", "knn"]
    (failure,) = result.failures
    assert failure.late
    assert "more than 5 processor seconds" in failure.message
    assert result.algorithms() == ["knn"]
    late_runner.clear()
    again = compare(make_data(), rivals, KFolds(3), folder=tmp_path, time_limit=5)
    assert late_runner == []
    assert again.failures == result.failures
    compare(make_data(), rivals, KFolds(3), folder=tmp_path, time_limit=6)  # it may take longer now
    assert [name for name, _ in late_runner] == ["slow"]


def test_the_first_folds_are_found_again_by_all(tmp_path):
    data, knn = make_data(), {"knn": KNeighborsClassifier(3)}
    first = compare(data, knn, FirstSplits(KFolds(4), 2), folder=tmp_path)
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(kept) == 2
    whole = compare(data, knn, KFolds(4), folder=tmp_path)
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items())
    assert whole.of("made", "knn").folds[:2] == first.of("made", "knn").folds


def test_memory_is_told_beyond_what_there_was():
    before = resident_mib(start_anew=True)
    if before is None:
        pytest.skip("this system does not tell")
    block = np.ones(40 * 2**20 // 8)
    assert 35 < peak_mib(before) < 400
    assert block.sum() > 0


def test_seconds_of_the_processor_are_kept(made):
    (folds,) = compare(made, {"knn": KNeighborsClassifier(3)}, KFolds(2)).results.values()
    assert all(0 <= fold.cpu_seconds < 60 for fold in folds)


def test_our_own_methods_change_no_rival():
    """What is counted for a rival leaves out the rooms of our estimators."""
    from simlabel.experiments import _store

    assert _store._rooms([KNeighborsClassifier, Searched]) == _store._UNDER_RIVALS
    assert "estimators" not in _store._UNDER_RIVALS
    from simlabel import SMLClassifier

    assert _store._rooms([SMLClassifier]) is None
    assert algorithm_key(Algorithm("a", "a", Searched(KNeighborsClassifier()))) != algorithm_key(
        Algorithm("a", "a", Searched(KNeighborsClassifier(), [{"n_neighbors": 3}]))
    )


def test_the_best_candidate_on_held_out_rows_is_taken(rng):
    X = rng.normal(size=(90, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] <= 0]).astype(int)
    grid = [{"n_neighbors": 55}, {"n_neighbors": 5}, {"n_neighbors": 50}]
    assert Searched(KNeighborsClassifier(), grid).fit(X, Y).best_params_ == {"n_neighbors": 5}


def test_who_has_only_probabilities_gets_a_cut(rng):
    """Rare labels never have half of the neighbours: at one half nothing would be said of them."""
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
    """Knows the sets, and scores them all alike."""

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
    assert why == LATE

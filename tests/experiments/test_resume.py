"""Finished folds are stored; a killed run continues to the results of an uninterrupted one."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from types import ModuleType

import numpy as np
import pytest
from joblib import parallel_config
from joblib.parallel import ThreadingBackend
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from made_data import make_data
from simlabel.experiments import Algorithm, KFolds, algorithm_key, compare, data_key, write_atomically

# an algorithm that waits to be killed once two folds are finished, if WAIT is set
SCRIPT = """
import os, sys, time
from pathlib import Path
sys.path[:0] = [{tests!r}]
from made_data import make_data
from sklearn.ensemble import RandomForestClassifier
from simlabel.experiments import KFolds, compare

class Slow(RandomForestClassifier):
    def fit(self, X, y):
        while "WAIT" in os.environ and len(list(Path(sys.argv[1]).rglob("*.json"))) >= 2:
            time.sleep(1)
        return super().fit(X, y)

if __name__ == "__main__":
    forest = {{"forest": Slow(5, random_state=0)}}
    compare(make_data(), forest, KFolds(6), folder=sys.argv[1], jobs=int(sys.argv[2]))
"""


def finished(folder):
    return sorted(folder.rglob("*.json"))


def criteria(folder):
    kept = [json.loads(path.read_text()) for path in finished(folder)]
    apart = ("_seconds", "_mib")  # time and memory differ in every run
    return [{key: fold[key] for key in fold if not key.endswith(apart)} for fold in kept]


@pytest.mark.parametrize("jobs", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_a_killed_run_continues_to_identical_results(tmp_path, jobs):
    script = tmp_path / "run.py"
    tests = os.path.dirname(os.path.dirname(__file__))
    script.write_text(textwrap.dedent(SCRIPT.format(tests=tests)))
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    command = [sys.executable, str(script)]
    subprocess.run([*command, str(whole), "1"], check=True)
    assert len(finished(whole)) == 6
    waiting = os.environ | {"WAIT": "1"}
    process = subprocess.Popen([*command, str(broken), str(jobs)], start_new_session=True, env=waiting)
    while len(finished(broken)) < 2:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    before = {path: path.stat().st_mtime_ns for path in finished(broken)}
    assert 2 <= len(before) < 6
    subprocess.run([*command, str(broken), str(jobs)], check=True)
    assert {path: path.stat().st_mtime_ns for path in before} == before  # these were not run again
    assert criteria(broken) == criteria(whole)


def test_only_missing_folds_are_run(made, tmp_path):
    first = compare(made, ["knn", "sml"], KFolds(4), folder=tmp_path)
    assert len(finished(tmp_path)) == 8
    finished(tmp_path)[0].unlink()
    finished(tmp_path)[3].write_text("{")  # damaged: run again
    seen = []
    again = compare(
        made, ["knn", "sml"], KFolds(4), folder=tmp_path, on_progress=lambda *state: seen.append(state)
    )
    assert [done for done, _, _ in seen] == [6, 7, 8]
    for name in ("knn", "sml"):
        assert again.of("made", name).folds == first.of("made", name).folds


def test_other_data_parameters_and_folds_are_other_files(tmp_path):
    compare(make_data(), ["knn"], KFolds(3), folder=tmp_path)
    compare(make_data(seed=1), ["knn"], KFolds(3), folder=tmp_path)
    compare(make_data(), {"knn": KNeighborsClassifier(3)}, KFolds(3), folder=tmp_path)
    compare(make_data(), {"knn": KNeighborsClassifier(4)}, KFolds(3), folder=tmp_path)
    compare(make_data(), ["knn"], KFolds(3, seed=1), folder=tmp_path)
    assert len(finished(tmp_path)) == 15


def test_keys():
    def key(neighbors, jobs=None, scaler=True):
        steps = [StandardScaler(with_mean=scaler), KNeighborsClassifier(neighbors, n_jobs=jobs)]
        return algorithm_key(Algorithm("a", "a", make_pipeline(*steps)))

    assert key(3) == key(3, jobs=2)  # the number of threads changes nothing
    assert len({key(3), key(4), key(3, scaler=False)}) == 3
    assert data_key(make_data(sparse=True)) != data_key(make_data())
    assert data_key(make_data()) == data_key(make_data(name="other"))


def test_several_processes_give_the_same_result(made):
    one, two = (compare(made, ["knn", "br"], KFolds(3), jobs=jobs) for jobs in (1, 2))
    for name in ("knn", "br"):
        for criterion in one.criteria("made"):
            np.testing.assert_array_equal(
                one.of("made", name).values(criterion), two.of("made", name).values(criterion)
            )


def test_progress_counts_every_fold(made, tmp_path):
    seen = []
    for _ in range(2):
        compare(
            [made, make_data("second")],
            ["knn"],
            KFolds(3),
            folder=tmp_path,
            on_progress=lambda *s: seen.append(s),
        )
    assert [done for done, _, _ in seen] == [0, 1, 2, 3, 3, 4, 5, 6, 3, 6]
    assert {total for _, total, _ in seen} == {6}


def test_a_failed_write_leaves_the_old_file(tmp_path, files_of_at_most):
    path = tmp_path / "kept.txt"
    write_atomically(path, "old")
    with files_of_at_most(1000), pytest.raises(OSError, match="File too large"):
        write_atomically(path, "new" * 1000)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_two_data_sets_of_one_name_raise(made):
    with pytest.raises(ValueError, match="two data sets are called 'made'"):
        compare([made, made], ["knn"], KFolds(3))


def test_no_more_workers_than_folds_to_run(tmp_path):
    requested = []

    class Recording(ThreadingBackend):
        def effective_n_jobs(self, n_jobs):
            requested.append(n_jobs or 1)
            return 1

    neighbors = {"knn": KNeighborsClassifier(1)}
    for expected in (3, 1):
        with parallel_config(backend=Recording()):
            compare(make_data(), neighbors, KFolds(3), folder=tmp_path, jobs=100_000)
        assert max(requested) == expected
        requested.clear()
        finished(tmp_path)[0].unlink()


OWN = """
from sklearn.neighbors import KNeighborsClassifier
class Own(KNeighborsClassifier):
    def fit(self, X, y):
        self.n_neighbors = {neighbors}
        return super().fit(X, y)
"""


@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("in_a_file", [False, True])
def test_another_source_is_another_algorithm(in_a_file, nested, tmp_path, monkeypatch):
    def key(neighbors):
        source, module = OWN.format(neighbors=neighbors), ModuleType("own_module")
        if in_a_file:
            module.__file__ = str(tmp_path / "own_module.py")
            (tmp_path / "own_module.py").write_text(source)
        monkeypatch.setitem(sys.modules, "own_module", module)
        exec(source, vars(module))
        estimator = module.Own()
        return algorithm_key(Algorithm("own", "own", make_pipeline(estimator) if nested else estimator))

    assert key(1) == key(1) != key(9)

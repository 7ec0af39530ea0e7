"""The league: sets with what is wrong with them, rivals, budgets, and going on after a kill."""

from __future__ import annotations

import math
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.dummy import DummyClassifier

from made_data import make_data
from simlabel.datasets import Dataset
from simlabel.experiments import FixedSplit, KFolds
from simlabel.experiments.league import (
    ABLATION,
    MADE,
    RIVALS,
    LeagueSet,
    finished_folds,
    league_sets,
    play,
    seconds_of,
)
from simlabel.experiments.league._leaks import identifiers, shared_rows
from simlabel.experiments.league._plan import Fixture, chosen
from simlabel.experiments.league._play import _Season

QUICK = {name: RIVALS[name] for name in ("autosml", "sml", "prior", "lr")}


def test_copies_across_the_split_are_counted():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0], [3.0, 4.0]])
    data = Dataset(
        "d", X, sp.csr_array(np.ones((5, 1), dtype=np.int8)), "a", "xy", np.array([0, 0, 2, 2, 2], np.int8)
    )
    (split,) = FixedSplit().splits(data)
    assert shared_rows(data, split) == 2
    sparse = Dataset("d", sp.csr_array(X), data.Y, "a", "xy", data.split)
    assert shared_rows(sparse, split) == 2


def test_an_id_among_the_features_is_seen(rng):
    Y = sp.csr_array(np.ones((80, 1), dtype=np.int8))
    plain = rng.normal(size=(80, 3))
    names = [str(k) for k in range(200)]

    def found(X):
        return identifiers(Dataset("d", X, Y, "a", names[: X.shape[1]]))

    assert found(plain) is None
    assert "grows from row to row" in found(np.hstack([plain, np.arange(80.0)[:, None]]))
    code = np.eye(40)[rng.permutation(np.arange(80) % 40)]
    assert found(np.hstack([plain, code])).endswith("(3 to 42)")
    assert found(sp.csr_array(np.hstack([plain, code]))).endswith("(3 to 42)")
    assert (
        found(np.hstack([plain, np.eye(4)[np.arange(80) % 4]])) is None
    )  # a category of four values is none
    assert found((rng.random((80, 60)) < 0.1).astype(float)) is None  # words are none
    frame = pd.DataFrame({"name": [f"p{k}" for k in range(80)], "text": ["some words"] * 80})
    assert "column name" in identifiers(Dataset("d", frame, Y, "a", ("name", "text")))


@pytest.mark.parametrize("name", MADE)
def test_nobody_is_better_than_the_law_that_labels_are_drawn_from(name):
    made = MADE[name]()
    Y, shares = made.data.Y.toarray(), made.probabilities
    assert Y.shape == shares.shape
    n = Y.size
    assert abs(Y.mean() - shares.mean()) < 4 * math.sqrt(
        0.25 / n
    )  # labels are drawn with these probabilities
    best = made.best("hamming_loss")
    assert best == pytest.approx(np.minimum(shares, 1 - shares).mean(), abs=4 * math.sqrt(0.25 / n))
    blurred = shares + np.random.default_rng(0).normal(size=shares.shape)
    from simlabel.metrics import average_precision

    assert made.best("average_precision") > average_precision(Y, blurred) + 0.02


def test_the_sets_that_depend_do():
    Y = MADE["made_dependent"]().data.Y.toarray()
    for k in range(3):
        assert np.corrcoef(Y[:, k], Y[:, k + 3])[0, 1] > 0.25
    rare = MADE["made_rare"]().data.Y.toarray().mean(axis=0)
    assert rare[0] > 0.4
    assert 0 < rare[-1] < 0.03


def test_the_sets_of_a_folder(tmp_path):
    (tmp_path / "one.csv").write_text("x,y,tags\n" + "0.5,1,a;b\n0.1,2,a\n" * 20)
    (tmp_path / "two.txt").write_text("12 2 2\n" + "0 0:1 1:2\n1 0:2\n0,1 1:1\n" * 4)
    sets, left_out = league_sets(folder=tmp_path, label_column="tags")
    assert {one.name for one in sets} | {line.partition(":")[0] for line in left_out} == {"one", "two"}
    (one,) = [each for each in sets if each.name == "one"]
    assert isinstance(one.protocol, KFolds)
    assert any("equal to a training row" in line for line in one.warnings)
    with pytest.raises(ValueError, match="no set 'three'"):
        league_sets(["three"], folder=tmp_path)


def test_small_sets_are_divided_twice_and_large_ones_once(monkeypatch):
    monkeypatch.delenv("SIMLABEL_DATA", raising=False)
    sets, left_out = league_sets()
    assert [one.name for one in sets] == list(MADE)
    assert not left_out
    assert {str(one.protocol) for one in sets} == {
        "10-fold cross-validation, stratified by label",
        "the data set's own training and test parts",
    }
    assert all(one.best for one in sets)


def test_who_takes_dense_labels_alone_sits_out_where_they_are_too_many():
    n, labels = 40_000, 6000
    Y = sp.csr_array((n, labels), dtype=np.int8)
    data = Dataset("many", sp.csr_array((n, 5)), Y, tuple(map(str, range(labels))), "abcde")
    assert "dense matrix alone, which would have 1.8 GiB" in RIVALS["rf"].sits_out(data)
    assert RIVALS["autosml"].sits_out(data) is None
    assert RIVALS["omikuji"].sits_out(data) is None


def test_a_budget_takes_the_cheapest_and_what_is_done():
    cells = [
        Fixture("a", "slow", 50.0, 2),
        Fixture("a", "done", 1e6, 3, done=3),
        Fixture("a", "quick", 5.0, 2),
    ]
    fit, rest = chosen(cells, 6.0, jobs=2)
    assert [cell.rival for cell in fit] == ["done", "quick"]
    assert [cell.rival for cell in rest] == ["slow"]
    assert chosen(cells, None, 1) == (cells, [])
    given = {"1h30m": 5400, "2H": 7200, "1h 30m 5s": 5405, "1.5h": 5400, " .5m ": 30, "45": 45}
    assert {text: seconds_of(text) for text in given} == given
    for wrong in ("", "soon", "-3m", "inf", "nanh", "1h30", "30m1h", "0s", "h", "1h\u0663m"):
        with pytest.raises(ValueError, match="a budget is a time"):
            seconds_of(wrong)


def test_a_budget_serves_all_sets_before_it_is_dear_to_one(monkeypatch, tmp_path):
    """What a fold takes is as expected here: two quick ones and a slow one do not fit."""
    left, played = [8.0], []
    costs = {"quick": 1.0, "slow": 7.0}

    def pretend(season, one, protocol, rivals):
        played.append((one.name, [rival.name for rival in rivals]))
        left[0] -= sum(costs[rival.name] for rival in rivals)

    monkeypatch.setattr(_Season, "left", property(lambda season: left[0]))
    monkeypatch.setattr(_Season, "_play", pretend)
    rivals = {
        name: replace(RIVALS["prior"], name=name, cost=(seconds, 0.0, 0.0, 0.0))
        for name, seconds in costs.items()
    }
    sets = [LeagueSet(make_data(name), "dense", KFolds(2)) for name in ("a", "b")]
    season = _Season(sets, rivals, tmp_path, 1, 0, 8.0, 60.0, None)
    season.round(1)
    assert played == [("a", ["quick"]), ("b", ["quick"])]
    assert set(season.out) == {("a", "slow"), ("b", "slow")}


def test_a_package_that_cannot_be_loaded_is_absent_with_its_reason(tmp_path, monkeypatch):
    (tmp_path / "broken_boosts.py").write_text("raise OSError('libgomp.so.1: no such file\\n  or folder')\n")
    monkeypatch.syspath_prepend(tmp_path)
    broken = replace(RIVALS["lightgbm"], package="broken_boosts")
    assert "cannot be imported (OSError: libgomp.so.1: no such file or folder)" in broken.absent
    sets = [LeagueSet(make_data("a"), "made", KFolds(2))]
    assert list(finished_folds(sets, {"lightgbm": broken}, folder=tmp_path / "none")) == []
    none = replace(broken, package="no_such_boosts")
    assert none.absent == "no_such_boosts is not installed: pip install 'simlabel[league]'"


SLOW = ("rf", "et", "hgb", "lightgbm", "catboost", "xgboost", "boostexter", "adtboost", "ecc", "rakel")
HERE = [name for name, one in RIVALS.items() if one.absent is None and not one.for_many]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in HERE]
)
def test_every_rival_learns(name, monkeypatch):
    """On a set that is plain, each ranks the true labels far better than frequencies do."""
    from simlabel.experiments import compare

    monkeypatch.setattr("simlabel.experiments._searched._FOLDS", 2)
    data = make_data(rows=200 if name in SLOW else 70)  # boosted trees have leaves of 20 rows and more
    rival = RIVALS[name]
    estimator = rival.algorithm(data, 0)
    if rival.grid is not None:
        estimator.estimator.grid = estimator.estimator.grid[:1]
    found = compare(data, [estimator], KFolds(2))
    assert not found.failures
    mean = found.of("made", name).mean("average_precision")
    frequent = compare(data, {"floor": DummyClassifier(strategy="prior")}, KFolds(2))
    floor = frequent.of("made", "floor").mean("average_precision")
    assert mean > floor + 0.03 if name != "prior" else mean == floor


def test_words_of_a_table_are_learnt_inside_the_folds():
    from simlabel.experiments import compare

    frame = pd.DataFrame({"title": ["sea waves", "tree leaf"] * 20, "year": [1, 2] * 20})
    Y = sp.csr_array(np.array([[1, 0], [0, 1]] * 20, dtype=np.int8))
    data = Dataset("t", frame, Y, ("a", "b"), ("title", "year"))
    algorithms = [RIVALS[name].algorithm(data, 0) for name in ("lr", "sml", "tagger")]
    found = compare(data, algorithms, KFolds(2))
    assert not found.failures
    assert all(found.of("t", name).mean("one_error") == 0.0 for name in ("lr", "sml", "tagger"))
    assert RIVALS["ranksvm"].sits_out(data) == "not meant for raw tables"
    assert RIVALS["omikuji"].sits_out(data) is not None


def test_one_ingredient_less():
    from simlabel.influence import Ridge
    from simlabel.label_rules import SetSize
    from simlabel.similarities import RBF

    data = make_data(rows=60)
    fitted = {
        name: ABLATION[name].algorithm(data, 0).estimator.fit(data.X, data.Y).model_
        for name in ABLATION
        if name.startswith("without")
    }
    assert isinstance(fitted["without_similarity"].similarity_, RBF)
    assert not isinstance(fitted["without_influence"].influence_, Ridge)
    assert isinstance(fitted["without_rule"].label_rule_, SetSize)
    assert getattr(fitted["without_mixing"].influence_, "mixing", False) is False


SCRIPT = """
import sys
sys.path[:0] = [{tests!r}]
from made_data import make_data
from simlabel.experiments import KFolds
from simlabel.experiments.league import RIVALS, LeagueSet, play

if __name__ == "__main__":
    rivals = {{name: RIVALS[name] for name in ("sml", "prior", "lr")}}
    sets = [LeagueSet(make_data("a"), "made", KFolds(3))]
    league = play(sets, rivals, folder=sys.argv[1], jobs=1, limit=60.0)
    league.to_frame().to_csv(sys.argv[2], index=False)
"""


def test_a_league_that_was_killed_goes_on_to_identical_figures(tmp_path):
    script = tmp_path / "run.py"
    script.write_text(SCRIPT.format(tests=str(Path(__file__).parents[2])))
    command = [sys.executable, str(script)]
    subprocess.run([*command, str(tmp_path / "whole"), str(tmp_path / "whole.csv")], check=True)
    broken = tmp_path / "broken"
    process = subprocess.Popen([*command, str(broken), str(tmp_path / "never.csv")], start_new_session=True)
    while len(list(broken.rglob("*.json"))) < 4:
        assert process.poll() is None, "the run ended before it could be killed"
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    kept = {path: path.stat().st_mtime_ns for path in broken.rglob("*.json")}
    assert len(kept) < 9
    subprocess.run([*command, str(broken), str(tmp_path / "broken.csv")], check=True)
    assert all(path.stat().st_mtime_ns == at for path, at in kept.items())
    whole, again = (pd.read_csv(tmp_path / f"{name}.csv") for name in ("whole", "broken"))
    costs = ("cpu_seconds", "peak_mib")
    pd.testing.assert_frame_equal(
        whole[~whole.criterion.isin(costs)], again[~again.criterion.isin(costs)], check_exact=True
    )
    assert len(whole) > 9 * 10


def test_a_budget_leaves_out_what_does_not_fit_and_says_so(tmp_path, monkeypatch):
    def here(calls, jobs, seconds, skip):
        yield from ((number, call(), None) for number, call in calls)

    monkeypatch.setattr("simlabel.experiments._run.run_limited", here)
    sets = [LeagueSet(make_data("a"), "made", KFolds(4))]
    dear = {
        "lr": RIVALS["lr"],
        "rf": RIVALS["rf"].__class__(**{**vars(RIVALS["rf"]), "cost": (1e9, 1, 1, 1)}),
    }
    league = play(sets, dear, folder=tmp_path, budget=100.0)
    assert list(league.out) == [("a", "rf")]
    assert "budget" in league.out["a", "rf"]
    assert len(league.scores["a", "lr"].cpu_seconds) == 4
    assert league.sets["a"].protocol == "4-fold cross-validation"
    assert set(finished_folds(sets, dear, folder=tmp_path)) == set(tmp_path.rglob("fold-*"))
    # with nothing left, what is there is shown: the folds that all have
    for path in list(tmp_path.rglob("*.json")):
        if "fold-4" in path.name:
            path.unlink()
    short = play(sets, {"lr": RIVALS["lr"]}, folder=tmp_path, budget=1e-9)
    assert len(short.scores["a", "lr"].cpu_seconds) == 3
    assert short.sets["a"].protocol == "4-fold cross-validation, the first 3 test parts"
    # nobody takes longer than the limit
    assert not play(sets, dear, folder=tmp_path, budget=100.0, limit=1.0).out

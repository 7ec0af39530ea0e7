"""The benchmark of methods: data sets and their leakage, methods, and continuing after a kill."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from league import data as sets_module
from league import runner
from league.data import BenchmarkSet, RawTable, available
from league.leaks import identifiers, shared_rows
from league.methods import ABLATION, METHODS, Method
from league.synthetic import SYNTHETIC
from sklearn.dummy import DummyClassifier
from sklearn.neighbors import KNeighborsClassifier

from made_data import make_data
from simlabel.datasets import Dataset
from simlabel.experiments import FixedSplit, KFolds, compare
from simlabel.metrics import average_precision
from simlabel.ridge import Ridge
from simlabel.rules import SetSize
from simlabel.similarities import RBF


def test_duplicates_across_the_split_are_counted():
    X = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [5.0, 6.0], [3.0, 4.0]])
    data = Dataset(
        "d", X, sp.csr_array(np.ones((5, 1), dtype=np.int8)), "a", "xy", np.array([0, 0, 2, 2, 2], np.int8)
    )
    (split,) = FixedSplit().splits(data)
    assert shared_rows(data, split) == 2
    sparse = Dataset("d", sp.csr_array(X), data.Y, "a", "xy", data.split)
    assert shared_rows(sparse, split) == 2


def test_an_id_among_the_features_is_found(rng):
    Y = sp.csr_array(np.ones((80, 1), dtype=np.int8))
    plain = rng.normal(size=(80, 3))
    names = [str(k) for k in range(200)]

    def found(X):
        return identifiers(Dataset("d", X, Y, "a", names[: X.shape[1]]))

    assert found(plain) is None
    assert "increases from row to row" in found(np.hstack([plain, np.arange(80.0)[:, None]]))
    code = np.eye(40)[rng.permutation(np.arange(80) % 40)]
    assert found(np.hstack([plain, code])).endswith("columns 3 to 42")
    assert found(sp.csr_array(np.hstack([plain, code]))).endswith("columns 3 to 42")
    assert (
        found(np.hstack([plain, np.eye(4)[np.arange(80) % 4]])) is None
    )  # a category of four values is none
    assert found((rng.random((80, 60)) < 0.1).astype(float)) is None  # words are none
    frame = pd.DataFrame({"name": [f"p{k}" for k in range(80)], "text": ["some words"] * 80})
    assert "column 'name'" in identifiers(Dataset("d", frame, Y, "a", ("name", "text")))


@pytest.mark.parametrize("name", SYNTHETIC)
def test_the_true_probabilities_are_those_that_labels_are_drawn_with(name):
    created = SYNTHETIC[name]()
    Y, shares = created.data.Y.toarray(), created.probabilities
    assert Y.shape == shares.shape
    n = Y.size
    assert abs(Y.mean() - shares.mean()) < 4 * math.sqrt(
        0.25 / n
    )  # labels are drawn with these probabilities
    best = created.best("hamming_loss")
    assert best == pytest.approx(np.minimum(shares, 1 - shares).mean(), abs=4 * math.sqrt(0.25 / n))
    blurred = shares + np.random.default_rng(0).normal(size=shares.shape)
    assert created.best("average_precision") > average_precision(Y, blurred) + 0.02


def test_labels_depend_and_are_rare_where_the_name_says_so():
    Y = SYNTHETIC["synthetic_dependent"]().data.Y.toarray()
    for k in range(3):
        assert np.corrcoef(Y[:, k], Y[:, k + 3])[0, 1] > 0.25
    rare = SYNTHETIC["synthetic_rare"]().data.Y.toarray().mean(axis=0)
    assert rare[0] > 0.4
    assert 0 < rare[-1] < 0.03


def test_small_sets_are_divided_twice_and_large_ones_once(monkeypatch):
    monkeypatch.delenv("SIMLABEL_DATA", raising=False)
    readers = available()
    assert list(readers) == list(SYNTHETIC)
    sets = [read() for read in readers.values()]
    assert {str(one.protocol) for one in sets} == {
        "10-fold cross-validation, stratified by label",
        "the data set's own training and test parts",
    }
    assert all(one.best for one in sets)
    assert "repeated 2 times" in str(sets_module.protocol_of(make_data(rows=60)))
    assert "1 random split" in str(sets_module.protocol_of(make_data(rows=5001)))


def test_a_raw_table_has_text_columns_and_whole_groups(tmp_path):
    path = tmp_path / "films.csv"
    rows = [
        (f"film {i}", f"series {i // 3}" if i < 30 else "", "sea;sun" if i % 2 else "sun") for i in range(36)
    ]
    pd.DataFrame(rows, columns=["title", "series", "tags"]).to_csv(path, index=False)
    one = RawTable("tags", ";", groups="series").read(path)
    assert (one.name, one.kind, one.data.label_names) == ("films", "raw table", ("sea", "sun"))
    assert one.data.Y.toarray()[:2].tolist() == [[0, 1], [1, 1]]
    assert list(one.data.X.columns) == ["title"]
    groups = one.protocol.groups
    assert groups[:4] == ["series 0"] * 3 + ["series 1"]
    assert len(set(groups)) == 10 + 6  # a row without a group is a group of its own
    some = RawTable("tags", ";", groups="series", most=10).read(path)
    assert 1 <= some.data.n_rows <= 10
    assert all(groups.count(group) == some.protocol.groups.count(group) for group in some.protocol.groups)
    assert METHODS["tagger"].why_skipped(one.data) is None
    assert METHODS["ranksvm"].why_skipped(one.data) == "does not support raw tables"


def test_methods_that_need_dense_labels_are_skipped_for_too_many_labels():
    n, labels = 40_000, 6000
    Y = sp.csr_array((n, labels), dtype=np.int8)
    data = Dataset("many", sp.csr_array((n, 5)), Y, tuple(map(str, range(labels))), "abcde")
    assert "dense matrix, which would have 1.8 GiB" in METHODS["rf"].why_skipped(data)
    assert METHODS["autosml"].why_skipped(data) is None
    assert METHODS["omikuji"].why_skipped(data) is None


def test_a_package_that_cannot_be_imported_is_missing_with_the_reason(tmp_path, monkeypatch):
    (tmp_path / "broken_boosts.py").write_text("raise OSError('libgomp.so.1: no such file\\n  or folder')\n")
    monkeypatch.syspath_prepend(tmp_path)
    broken = replace(METHODS["lightgbm"], package="broken_boosts")
    assert "cannot be imported (OSError: libgomp.so.1: no such file or folder)" in broken.missing
    sets = [BenchmarkSet(make_data("a"), "dense", KFolds(2))]
    assert runner.run(sets, {"lightgbm": broken}, file=tmp_path / "folds.jsonl").scores == {}
    none = replace(broken, package="no_such_boosts")
    assert none.missing == "no_such_boosts is not installed: pip install 'simlabel[bench]'"


SLOW = ("rf", "et", "hgb", "lightgbm", "catboost", "xgboost", "boostexter", "adtboost", "ecc", "rakel")
HERE = [name for name, one in METHODS.items() if one.missing is None and not one.for_many]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow) if name in SLOW else name for name in HERE]
)
def test_every_method_learns(name):
    """On a simple problem, each ranks the true labels much better than frequencies do."""
    data = make_data(rows=200 if name in SLOW else 70)  # boosted trees have leaves of 20 rows and more
    method = METHODS[name]
    estimator = method.algorithm(data, 0)
    if method.grid is not None:
        estimator.estimator.grid = estimator.estimator.grid[:1]
    found = compare(data, [estimator], KFolds(2))
    assert not found.failures
    mean = found.of("made", name).mean("average_precision")
    frequent = compare(data, {"floor": DummyClassifier(strategy="prior")}, KFolds(2))
    floor = frequent.of("made", "floor").mean("average_precision")
    assert mean > floor + 0.03 if name != "prior" else mean == floor


def test_words_of_a_table_are_learned_inside_the_folds():
    frame = pd.DataFrame({"title": ["sea waves", "tree leaf"] * 20, "year": [1, 2] * 20})
    Y = sp.csr_array(np.array([[1, 0], [0, 1]] * 20, dtype=np.int8))
    data = Dataset("t", frame, Y, ("a", "b"), ("title", "year"))
    found = compare(data, [METHODS[name].algorithm(data) for name in ("lr", "sml", "tagger")], KFolds(2))
    assert not found.failures
    assert all(found.of("t", name).mean("one_error") == 0.0 for name in ("lr", "sml", "tagger"))


@pytest.mark.parametrize("form", ["dense", "sparse", "table"])
def test_the_settings_of_a_fold_are_the_same_in_each_run(form):
    """They identify stored folds: an address in memory would not be found again."""
    data = make_data(sparse=form == "sparse")
    if form == "table":
        data = replace(data, X=pd.DataFrame({"title": ["sea"] * data.n_rows}), feature_names=("title",))
    for method in METHODS.values():
        if method.missing is None:
            assert " at 0x" not in method.algorithm(data).estimator.__repr__(N_CHAR_MAX=100_000)


def test_one_ingredient_less():
    data = make_data(rows=60)
    fitted = {
        name: method.algorithm(data).estimator.fit(data.X, data.Y).model_
        for name, method in ABLATION.items()
        if name.startswith("without")
    }
    assert isinstance(fitted["without_similarity"].similarity_, RBF)
    assert not isinstance(fitted["without_influence"].influence_, Ridge)
    assert isinstance(fitted["without_rule"].label_rule_, SetSize)
    assert getattr(fitted["without_mixing"].influence_, "mixing", False) is False


def knn(name="knn", neighbors=3):
    """A quick method without a search."""
    return Method(name, name, "", lambda seed: KNeighborsClassifier(neighbors), None)


def values(results):
    return {cell: score.values for cell, score in results.scores.items()}


@pytest.mark.slow  # `experiments/test_resume.py` shows the same for `compare`
def test_a_stopped_run_continues_to_identical_results(tmp_path):
    sets = [BenchmarkSet(make_data("a"), "dense", KFolds(2))]
    methods = {"knn": knn(), "more": knn("more", 5)}
    file = tmp_path / "folds.jsonl"
    whole = runner.run(sets, methods, file=file, jobs=2, time_limit=60.0)
    assert not whole.failed
    lines = file.read_text().splitlines(keepends=True)
    assert len(lines) == 4
    file.write_text("".join(lines[:2]) + lines[2][:30])  # killed while it wrote the third line
    assert values(runner.run(sets, methods, file=file, jobs=2, time_limit=60.0)) == values(whole)
    assert file.read_text().splitlines(keepends=True)[:2] == lines[:2]  # these were not run again


@pytest.fixture
def in_this_process(monkeypatch):
    """Run calls here in place of workers; return the names of the methods, fold by fold."""
    ran = []

    def run_here(calls, jobs, seconds, skip):
        for number, call in calls:
            if not skip(number):
                ran.append(call.args[1].name)
                late = call.args[1].name == "late"
                yield (number, None, runner.TIMED_OUT) if late else (number, call(), None)

    monkeypatch.setattr(runner, "run_limited", run_here)
    return ran


def test_a_method_that_times_out_is_not_run_again(in_this_process, tmp_path):
    sets = [BenchmarkSet(make_data(name), "dense", KFolds(2)) for name in "ab"]
    methods = {"late": knn("late"), "prior": knn("prior")}
    file = tmp_path / "folds.jsonl"
    results = runner.run(sets, methods, file=file, time_limit=5.0)
    assert in_this_process == ["late", "prior", "late", "prior", "prior", "prior"]  # fold by fold
    assert results.failed == dict.fromkeys(
        [("a", "late"), ("b", "late")], "took more than 5 processor seconds"
    )
    assert len(results.scores["a", "prior"].cpu_seconds) == 2
    in_this_process.clear()
    assert runner.run(sets, methods, file=file, time_limit=5.0).failed == results.failed
    assert in_this_process == []
    runner.run(sets, methods, file=file, time_limit=6.0)  # it may take longer now
    assert in_this_process == ["late", "late"]


def test_a_set_shows_the_folds_that_all_of_its_methods_have(in_this_process, tmp_path):
    sets = [BenchmarkSet(make_data(), "dense", KFolds(4))]
    methods = {"knn": knn(), "more": knn("more", 5)}
    file = tmp_path / "folds.jsonl"
    whole = runner.run(sets, methods, file=file)
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:5]))  # of the third fold one method is missing
    short = runner.run(sets, methods, file=file, seconds=0.0)
    assert len(short.scores) == 2
    for cell, score in short.scores.items():
        assert score.values["one_error"] == whole.scores[cell].values["one_error"][:2]


def test_other_parameters_and_seeds_are_run_again(in_this_process, tmp_path):
    sets, file = [BenchmarkSet(make_data(), "dense", KFolds(2))], tmp_path / "folds.jsonl"
    for neighbors, seed, expected in ((3, 0, 2), (3, 0, 0), (5, 0, 2), (5, 1, 2)):
        in_this_process.clear()
        runner.run(sets, {"knn": knn(neighbors=neighbors)}, file=file, seed=seed)
        assert len(in_this_process) == expected


def test_a_method_that_fails_is_recorded_and_the_others_continue(in_this_process, tmp_path):
    methods = {"broken": knn("broken", neighbors=-1), "knn": knn()}
    sets = [BenchmarkSet(make_data(), "dense", KFolds(2))]
    results = runner.run(sets, methods, file=tmp_path / "folds.jsonl")
    assert "n_neighbors" in results.failed["made", "broken"]
    assert list(results.scores) == [("made", "knn")]

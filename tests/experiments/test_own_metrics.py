"""User-defined metrics in comparisons: results, tables, ranks, reports, and stored folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from made_data import make_data
from simlabel.experiments import KFolds, compare
from simlabel.experiments.reports import comparison_report, to_markdown
from simlabel.metrics import make_metric

METHODS = ["br", "knn"]


def size_error(Y_true, Y_pred, scores):
    """Return the mean difference of the true and the predicted number of labels."""
    assert Y_true.shape == Y_pred.shape == scores.shape
    assert np.isin([Y_true, Y_pred], [0, 1]).all()
    return abs(Y_true.sum(axis=1) - Y_pred.sum(axis=1)).mean()


LOSS = make_metric(size_error, higher_is_better=False)


@pytest.fixture(scope="module")
def sets():
    return [replace(make_data(rows=40, seed=seed), name=name) for seed, name in ((1, "one"), (2, "two"))]


def test_results_tables_ranks_and_reports_have_it(sets):
    found = compare(sets, METHODS, KFolds(3), metrics=[LOSS, "f1_micro"])
    frame = found.to_frame()
    assert frame["criterion"].unique().tolist() == ["size_error", "f1_micro"]
    values = frame[frame["criterion"] == "size_error"].groupby(["data", "algorithm"])["value"].mean()
    means = found.means("size_error")
    for (data, title), value in values.items():
        assert means.loc[data, title] == pytest.approx(value)
    ranking = found.ranking()
    assert ranking.criterion == "size_error"
    first = next(iter(ranking.mean_ranks))
    assert means.mean()[first] == means.mean().min()  # a loss: the lowest is the best
    titles = {found.titles[name] for name in found.best("one", "size_error")}
    assert means.loc["one"].idxmin() in titles
    assert list(found.to_dict()["results"]["one"]["br"]["criteria"]) == ["size_error", "f1_micro"]
    assert repr(found).splitlines()[1].startswith("size_error ↓;")
    page = to_markdown(comparison_report(found, sets, KFolds(3)))
    assert r"| Algorithm | size\_error ↓ | F1 (micro) ↑ |" in page
    assert "Mean ranks by size_error on 2 data sets" in page.replace("\\", "")


def test_a_dict_gives_names_and_a_function_is_better_the_higher(sets):
    found = compare(sets[:1], METHODS, KFolds(3), metrics={"spread": lambda Y, P, S: np.ptp(S)})
    assert found.criteria("one") == ["spread"]
    assert found.best("one", "spread") <= set(METHODS)
    assert found.metric("spread").higher_is_better


def test_functions_of_a_notebook_run_in_processes(sets):
    own = {"one": lambda Y, P, S: 1.0}
    found = compare(sets[0], ["knn"], KFolds(2), metrics=own, jobs=2)
    assert found.of("one", "knn").values("one").tolist() == [1.0, 1.0]


CALLS = []


def counted(value):
    def metric(Y_true, Y_pred, scores):
        CALLS.append(value)
        return value

    return metric


def test_folds_are_found_again_for_the_same_function_only(sets, tmp_path):
    CALLS.clear()
    for value, n_calls in ((1.0, 2), (1.0, 2), (2.0, 4)):
        found = compare(sets[0], ["knn"], KFolds(2), metrics={"own": counted(value)}, folder=tmp_path)
        assert found.of("one", "knn").mean("own") == value
        assert len(CALLS) == n_calls
    assert compare(sets[0], ["knn"], KFolds(2), folder=tmp_path).criteria("one")[0] == "hamming_loss"


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ("f1_micro", "must be a list of names and functions"),
        (["f1"], "unknown criterion 'f1'"),
        ([lambda Y, P, S: 0.0], "has no name: give a dict"),
        ({"f1_micro": size_error}, "is the name of a metric of simlabel"),
        ([size_error, LOSS], "two metrics are called 'size_error'"),
        ([3], "must be a function"),
        (["precision@9"], "one has 4 labels, too few for precision@9"),
    ],
)
def test_mistakes_are_refused_before_anything_runs(sets, metrics, message):
    with pytest.raises((TypeError, ValueError), match=message):
        compare(sets[0], METHODS, KFolds(3), metrics=metrics, on_progress=pytest.fail)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda Y, P, S: Y[0] / 0, "metric 'own' must return a number"),
        (lambda Y, P, S: None, "metric 'own' must return a number, but returned None"),
        (lambda Y, P: 0.0, "metric 'own': TypeError: "),
    ],
)
def test_a_function_that_fails_is_named(sets, function, message):
    with np.errstate(all="ignore"):
        found = compare(sets[0], ["knn"], KFolds(2), metrics={"own": function})
    assert message in found.failures[0].message

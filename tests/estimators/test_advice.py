"""Warnings are issued if there is a problem, and not otherwise."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import simlabel
from simlabel import SMLClassifier, Tagger
from simlabel._utils.advice import DataWarning, PredictionWarning, SimlabelWarning, TuningWarning, warn_user
from simlabel.experiments import compare
from simlabel.labels._advice import detect_joined_names, warn_about_labels
from simlabel.model.inspection import warn_about_leakage
from simlabel.similarities import RBF
from simlabel.tables import TableWarning
from simlabel.tuning import TuningResult, curve_problem

RNG = np.random.default_rng(0)
X = RNG.normal(size=(240, 6))
Y = (X[:, :3] + 0.2 * RNG.normal(size=(240, 3)) > 0.3).astype(int)
NEW = RNG.normal(size=(150, 6))


def plain():
    return SMLClassifier(RBF(0.5), normalizer="zscore")


@pytest.fixture
def silent():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def test_there_is_one_class_to_filter_by_and_the_line_is_the_users():
    assert simlabel.SimlabelWarning is SimlabelWarning
    for each in (DataWarning, TuningWarning, PredictionWarning, TableWarning):
        assert issubclass(each, SimlabelWarning)
    with pytest.warns(DataWarning) as message:
        plain().fit(X, np.column_stack([Y, np.zeros(len(Y), dtype=int)]))
    assert message[0].filename == __file__
    with pytest.warns(DataWarning) as message:
        warn_user("said by whoever calls", DataWarning)
    assert message[0].filename == __file__


# labels


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda Y: pd.DataFrame(Y, columns=list("abcd"))])
@pytest.mark.parametrize(("value", "where"), [(0, "none"), (1, "all")])
def test_labels_that_never_or_always_occur(form, value, where):
    given = form(np.column_stack([Y, np.full(len(Y), value)]))
    with pytest.warns(DataWarning, match=rf"^label ('d'|3) is in {where} of the 240 rows .* drop it\.$"):
        plain().fit(X, given)


def test_two_such_labels_are_told_together():
    with pytest.warns(DataWarning, match=r"^labels 'b', 'c' are in none .* drop them\.$"):
        warn_about_labels(["a", "b", "c"], sp.csr_array(np.eye(40, 3, dtype=np.int8) * [1, 0, 0]))


def test_labels_that_occur_sometimes_are_no_concern(silent):
    plain().fit(X, Y)
    one = np.zeros((len(Y), 1), dtype=int)
    one[0] = 1
    plain().fit(X, np.column_stack([Y, one, 1 - one]))


def test_few_rows_and_first_batches_are_no_concern(silent):
    plain().fit(X[:10], np.ones((10, 2), dtype=int))
    plain().partial_fit(X, ["sea"] * len(X))


def test_names_that_are_several_labels():
    y = np.array(["sea, sun", "sea", "sun, trees", "trees, sea"])[np.arange(len(X)) % 4]
    with pytest.warns(DataWarning, match=r"'sea, sun' look like several labels with ',' between them: give"):
        plain().fit(X, y)
    with pytest.warns(DataWarning, match="look like several"):
        plain().fit(X, [{name} for name in y])


def test_separated_labels_are_no_concern(silent):
    y = np.array(["sea, sun", "sea", "sun, trees", "trees, sea"])[np.arange(len(X)) % 4]
    plain().fit(X, [set(name.split(", ")) for name in y])


@pytest.mark.parametrize(
    "names",
    [
        ["Lyon, France", "Nice, France", "Rome, Italy", "Pisa, Italy"],
        ["Curie, Marie", "Curie, Pierre", "Curie, Irene", "Bohr, Niels"],
        ["role::shared-lib", "uitoolkit::gtk", "use::editing"],
        ["a,b", "a", "b"],  # one alone may be a name
        [],
    ],
)
def test_names_with_commas_may_be_names(names):
    assert detect_joined_names(names) is None


# the curve of a search


def curve(values, errors=0.02, n_queries=200, best=None, criterion="average_precision", note="", n_rows=0):
    tried = tuple({"similarity__gamma": 2.0**i} for i in range(len(values)))
    at = int(np.argmax(values)) if best is None else best
    errors = (errors,) * len(values)
    chosen = tried[at]
    return TuningResult(
        ("similarity__gamma",), tried, criterion, tuple(values), errors, chosen, n_queries, note, n_rows
    )


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (curve([0.5, 0.5, 0.501, 0.5]), "whatever gamma is"),
        (curve([0.5, 0.5, 0.5, 0.5], np.nan), "whatever gamma is"),
        (curve([0.5, 0.6, 0.7, 0.8]), "gamma=8 is the largest"),
        (curve([0.8, 0.7, 0.6, 0.5]), "gamma=1 is the smallest"),
        (curve([0.5, 0.4, 0.3, 0.2], best=3, criterion="hamming_loss"), "gamma=8 is the largest"),
    ],
)
def test_a_curve_that_says_little(result, said):
    found = curve_problem(result)
    assert found.startswith(said)
    assert "try" in found.lower()


@pytest.mark.parametrize(
    "result",
    [
        curve([0.5, 0.6, 0.7, 0.6]),  # a hill
        curve([0.5, 0.5, 0.501, 0.5], n_queries=20),  # few rows
        curve([0.999, 1.0, 1.0, 1.0], 0.001),  # nothing is left to be gained
        curve([0.5, 0.6, 0.799, 0.8]),  # a plateau that the edge cuts off
        curve([0.5, np.nan, np.nan, np.nan], best=0),
        curve([np.nan], best=0),
    ],
)
def test_a_curve_that_is_as_it_should_be(result):
    assert curve_problem(result) == ""


def test_degrees_end_where_the_method_does():
    tried = tuple({"similarity__degree": degree} for degree in (1, 2, 3))
    errors = (0.01,) * 3
    found = TuningResult(
        ("similarity__degree",), tried, "average_precision", (0.5, 0.6, 0.7), errors, tried[2], 99
    )
    assert curve_problem(found) == ""


def test_unit_length_of_a_single_column():
    one = np.arange(1.0, 61.0)[:, None]
    y = (one > 30).ravel()
    with pytest.warns(TuningWarning, match="whatever gamma is, .* Try another normalizer"):
        SMLClassifier().fit(one, y)  # which makes all rows the same


def test_a_usual_fit_is_silent(silent):
    SMLClassifier(normalizer="zscore", random_state=0).fit(X, Y)


# answers


def far_away(rows):
    """Move rows far away, so that they are nearly equal after scaling to unit length."""
    return rows + 1e6


def test_the_same_answer_for_all():
    model = SMLClassifier("linear").fit(far_away(X), Y)
    for ask in (model.predict, model.predict_sets, model.outputs, lambda rows: model.score(rows, Y[:150])):
        with pytest.warns(
            PredictionWarning, match="nearly all rows get the same labels, 1, which .* Try norm"
        ):
            ask(far_away(NEW))


def test_similarities_that_are_all_zero():
    with pytest.warns(PredictionWarning, match="nearly all rows get the same labels"):
        plain().fit(X, Y).predict(1e6 * NEW)


def test_answers_that_differ_are_no_concern(silent):
    plain().fit(X, Y).predict(NEW)


def test_queries_that_are_alike_are_no_concern(silent):
    model = plain().fit(X, Y)
    for row in range(10):
        model.predict(np.repeat(NEW[row : row + 1], 150, axis=0))
    apart = plain().fit(X + 20 * (np.arange(len(X)) % 3)[:, None], np.arange(len(X)) % 3)
    assert (apart.predict(NEW + 20) == 1).all()  # which the model knows


def test_few_queries_and_labels_that_nearly_all_rows_have_are_no_concern(silent):
    SMLClassifier("linear").fit(far_away(X), Y).predict(far_away(NEW[:20]))
    rare = np.zeros(len(X), dtype=int)
    rare[:8] = 1
    SMLClassifier("linear").fit(far_away(X), rare).predict(far_away(NEW))


# rows that are judged


def test_labels_that_a_model_does_not_know():
    y = np.where(X[:, 0] > 0, "sea", "trees")
    with pytest.warns(DataWarning, match=r"^7 of the rows have labels that the model .* 'sky'\. Add them"):
        plain().fit(X, y).score(NEW[:20], ["sky"] * 7 + ["sea"] * 7 + ["trees"] * 6)


def test_labels_that_a_model_knows_are_no_concern(silent):
    y = np.where(X[:, 0] > 0, "sea", "trees")
    plain().fit(X, y).score(NEW[:20], ["sea"] * 20)  # and that one of them is not there is none either


def test_rows_that_were_learned_from():
    model = plain().fit(X, Y)
    with pytest.warns(DataWarning, match="^15 of the 35 rows that are evaluated are copies"):
        model.score(np.vstack([X[:15], NEW[:20]]), Y[:35])
    sparse = SMLClassifier("linear").fit(sp.csr_array(X), Y)
    with pytest.warns(DataWarning, match="^15 of the 35 rows"):
        sparse.score(sp.csr_array(np.vstack([X[:15], NEW[:20]])), Y[:35])


def test_other_rows_and_the_score_of_the_training_rows_are_no_concern(silent):
    model = plain().fit(X, Y)
    model.score(NEW, Y[:150])
    model.score(np.vstack([X[:5], NEW[:95]]), Y[:100])
    model.score(X, Y)


def test_copies_that_are_to_be_expected_are_no_concern(silent):
    yes_no = np.random.default_rng(1).integers(0, 2, size=(400, 5)).astype(float)
    warn_about_leakage(yes_no[:300], yes_no[300:])


def test_copies_in_a_comparison():
    with pytest.warns(DataWarning, match="rows that are evaluated are copies"):
        compare((np.vstack([X[:60], X[:60]]), np.vstack([Y[:60], Y[:60]])), {"plain": plain()})


def test_a_comparison_without_copies_is_silent(silent):
    compare((X[:60], Y[:60]), {"plain": plain()})


# tables


def shops(n, streets):
    return pd.DataFrame(
        {"street": [f"street {i % streets}" for i in range(n)], "size": np.arange(n) % 7 / 2.0}
    )


def test_categories_of_which_every_row_has_its_own():
    y = [{"red"} if i % 2 else {"blue"} for i in range(40)]
    with pytest.warns(TableWarning, match="'street' has 40 values in 40 rows.*columns={'street': 'text'}"):
        Tagger({"street": "category"}).fit(shops(40, 40), y)


def test_categories_that_recur_are_no_concern(silent):
    y = [{"red"} if i % 2 else {"blue"} for i in range(40)]
    Tagger({"street": "category"}).fit(shops(40, 4), y)

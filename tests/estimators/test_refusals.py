"""Errors are raised by the library with its own messages, not by numpy or scipy."""

import re

import numpy as np
import pytest
import scipy.sparse as sp

from simlabel import AutoSMLClassifier, SMLClassifier, metrics, similarity_sums
from simlabel.baselines import BoosTexter, RankSVM
from simlabel.datasets import FeatureChunks, load_dataset
from simlabel.rules import LABEL_RULES
from simlabel.similarities import RBF

X = np.eye(3)
SETS = [{"a"}, {"b"}, {"a", "b"}]
CLASSES = ["x", "y", "x"]
TRUTH = np.eye(3, dtype=int)


def _fit(**arguments):
    return SMLClassifier("linear").fit(X, SETS, **arguments)


def _fitted(y):
    return SMLClassifier("linear").fit(X, y)


@pytest.mark.parametrize(
    "weights", [10**400, [10**400] * 3, "x", ["x"] * 3, 1j, [[1], [1, 2], []]], ids=lambda odd: str(odd)[:9]
)
def test_weights_that_are_no_numbers(weights):
    with pytest.raises(ValueError, match="sample_weight must be numbers"):
        _fit(sample_weight=weights)


@pytest.mark.parametrize("ids", [5, np.int64(5), np.array(5)])
def test_ids_that_are_no_list(ids):
    with pytest.raises(TypeError, match=r"ids must be a list .* got .*5"):
        _fit(ids=ids)


@pytest.mark.parametrize("ids", [None, 2.5, object()])
def test_forgetting_what_is_no_list(ids):
    with pytest.raises(TypeError, match="ids must be a list"):
        _fit().forget(ids)


@pytest.mark.parametrize("y", [SETS, CLASSES, TRUTH])
@pytest.mark.parametrize("classes", [3, "ab", [["a"], ["b"]], np.eye(2)])
def test_classes_that_are_no_list(y, classes):
    model = _fitted(y)
    with pytest.raises(TypeError, match="classes must be a list of labels"):
        model.partial_fit(X, y, classes=classes)
    assert model.n_references_ == 3


@pytest.mark.parametrize("top", [0, -1, 2.5, "x", [1], np.nan, 10**30])
def test_a_number_of_suspicious_labels(top):
    with pytest.raises(ValueError, match="suspicious_labels: top must be a whole number"):
        _fit().suspicious_labels(top)


def test_numbers_beyond_those_of_the_machine():
    with pytest.raises(ValueError, match=r"n must be a whole number of at least 1 up to 9.22.*got 10{30}\."):
        _fit().suggest(X, 10**30)
    with pytest.raises(ValueError, match=r"gamma must be a number above 0 up to 1\.79"):
        SMLClassifier(RBF(10**400)).fit(X, SETS)
    assert SMLClassifier(RBF(10**30)).fit(X, SETS).similarity_.gamma == 10**30


@pytest.mark.parametrize("y", [SETS, [None] * 3, (c for c in "xyx"), [[1], [1, 2], [0]], TRUTH])
def test_score_of_classes_against_another_form(y):
    with pytest.raises(ValueError, match=r"^(y |Input y|Unknown label|Data must)"):
        _fitted(CLASSES).score(X, y)


@pytest.mark.parametrize("y", [TRUTH, sp.csr_matrix(TRUTH), [1, 0, 1], None, 3])
def test_score_of_sets_against_another_form(y):
    with pytest.raises(ValueError, match="y must hold label sets, as fit saw; row 0 is"):
        _fitted(SETS).score(X, y)


def test_score_with_labels_that_are_new():
    model = _fitted(CLASSES)
    assert model.score(X, model.predict(X)) == 1.0
    assert model.score(X, ["new"] * 3) == 0.0
    model = _fitted(SETS)
    assert model.score(X, model.predict(X)) == 1.0
    assert model.score(X, [{*row, "new"} for row in model.predict(X)]) == 0.0


@pytest.mark.parametrize("odd", [[[1], [1, 0]], [[{"a"}, 1]], np.eye(3) * 1j, np.eye(3).astype("U"), "x"])
def test_criteria_of_what_is_no_matrix_of_numbers(odd):
    with pytest.raises(ValueError, match="Y_true must be a matrix of real numbers"):
        metrics.one_error(odd, np.eye(3))
    with pytest.raises(ValueError, match="scores must be a matrix of real numbers"):
        metrics.one_error(TRUTH, odd)


def test_criteria_of_sparse_scores():
    with pytest.raises(ValueError, match="scores must be a matrix of real numbers"):
        metrics.average_precision(TRUTH, sp.csr_array(np.eye(3)))


@pytest.mark.parametrize(
    ("V", "message"),
    [
        ([[1], [1, 2], []], "V must be a matrix of real numbers"),
        (np.eye(3).astype("U"), "V must be a matrix of real numbers"),
        (np.eye(3) * 1j, "V must be a matrix of real numbers"),
        (np.diag([1, 2, np.nan]), "Input V contains NaN .first at row 2, column 2"),
        (sp.csc_array(np.diag([1, np.inf, 1])), "Input V contains infinity .first at row 1, column 1"),
    ],
)
def test_what_is_to_be_summed(V, message):
    with pytest.raises(ValueError, match=message):
        similarity_sums(X, X, V)


@pytest.mark.parametrize("rule", LABEL_RULES.names)
def test_no_label_at_all_is_a_model_too(rule):
    model = SMLClassifier("linear", calibration="loo", label_rule=rule).fit(X, [set(), set(), set()])
    assert model.predict_proba(X).shape == (3, 0)
    assert model.predict(X) == [set(), set(), set()]


@pytest.mark.parametrize("n_jobs", ["auto", 2.5, 10**30])
def test_threads_of_boosting(n_jobs):
    with pytest.raises(ValueError, match="BoosTexter: n_jobs must be a whole number"):
        BoosTexter(2, n_jobs=n_jobs).fit(X, TRUTH)
    assert BoosTexter(2, n_jobs=2**62).fit(X, TRUTH).predict(X).shape == (3, 3)


@pytest.mark.parametrize(
    ("configurations", "message"),
    [
        ([(None, "precomputed", "uniform")], "and a precomputed matrix has none"),
        ([(None, "rbf")], r"a configuration is \(normalizer, similarity, influence\), got \(None, 'rbf'\)"),
        (["abc"], "got 'abc'"),
    ],
)
def test_configurations(configurations, message):
    with pytest.raises(ValueError, match=message):
        AutoSMLClassifier(configurations=configurations).fit(X, SETS)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("a,l\n1,0\n", {"label_prefix": "l", "delimiter": "ab"}, "delimiter must be one character"),
        ("a,l\n1,0\n", {"label_prefix": "l", "delimiter": ""}, "delimiter must be one character"),
        ("a,l\n1,0\n", {"label_prefix": "l", "delimiter": '"'}, "delimiter must be one character"),
        ("a,l\n1,0\n", {"labels": 1}, r"labels=\['sea', 'sunset'\] \(their names\)"),
        ("a,l\n1,0\n", {"labels": "l"}, r"labels=\['sea', 'sunset'\] \(their names\)"),
        ("1 1:2\n", {"zero_based": 7}, "zero_based must be True, False or 'auto', got 7"),
    ],
)
def test_options_of_readers(tmp_path, text, options, message):
    path = tmp_path / "data"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        load_dataset(path, **options)


def test_a_format_that_there_is_not(tmp_path):
    path = tmp_path / "data"
    path.write_text("a\n1\n")
    with pytest.raises(ValueError, match=r"format must be one of .*, got '\.'"):
        FeatureChunks(path, ["a"], 1, format=".")


def test_weights_that_cannot_be_counted():
    with pytest.raises(ValueError, match=r"adds up to 3e\+300, more rows than can be counted"):
        _fit(sample_weight=[1e300] * 3)


@pytest.mark.parametrize("n_jobs", ["x", 1.5, 0])
def test_threads_are_checked_when_fitted(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must"):
        SMLClassifier("linear", n_jobs=n_jobs).fit(X, SETS)


def test_label_weights_whose_squares_overflow():
    with pytest.raises(ValueError, match="squares of the label weights overflow"):
        SMLClassifier("linear", normalizer=None, label_rule="threshold").fit(np.full((3, 3), 1e100), SETS)


@pytest.mark.parametrize("odd", [[[1], [3]], [("a", [1])]], ids=str)
def test_labels_that_are_lists(odd):
    with pytest.raises(ValueError, match=rf"hashable names; row 1 is {re.escape(str(odd))}"):
        _fitted(SETS).score(X, [["a"], odd, ["b"]])


def test_scores_of_a_rival_that_overflow():
    model = RankSVM(degree=2, max_iter=50).fit(X, TRUTH)
    with pytest.raises(ValueError, match=r"RankSVM: the scores of row 1 overflow"):
        model.predict([[0.0, 1.0, 0.0], [1e300, 0.0, 0.0]])

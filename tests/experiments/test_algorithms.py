from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from league.searched import Searched
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from made_data import make_data
from simlabel.baselines import LabelPowerset
from simlabel.datasets import Dataset
from simlabel.experiments import ALGORITHMS, AlgorithmNotInstalled, KFolds, compare, find_algorithm
from simlabel.metrics import label_probabilities, label_scores, predicted_label_sets

QUICK = [name for name in ALGORITHMS if name not in ("boostexter", "ranksvm", "autosml")]


@pytest.mark.parametrize("sparse", [False, True])
def test_every_algorithm_runs_with_a_label_that_never_occurs_in_training(sparse):
    data = make_data(rows=30, sparse=sparse)
    rare = np.flatnonzero(data.Y[:, [3]].toarray().ravel())
    data.Y[rare[1:], 3] = 0
    data.Y.eliminate_zeros()
    result = compare(data, QUICK, KFolds(2))
    assert not result.failures
    assert result.algorithms("made") == QUICK
    for name in QUICK:
        assert 0.0 <= result.of("made", name).mean("hamming_loss") <= 0.5
        assert len(result.of("made", name).folds) == 2


def test_one_label():
    data = make_data(labels=1, rows=40)
    result = compare(data, ["sml", "knn", "rf", "br", "lp"], KFolds(4))
    assert not result.failures
    assert result.criteria("made") == [c for c in result.criteria("made") if not c.endswith(("@3", "@5"))]


def test_lists_of_probabilities_become_a_matrix():
    X = np.arange(8.0)[:, None]
    Y = np.column_stack([X[:, 0] > 3, np.zeros(8), np.ones(8)]).astype(int)
    for model in (RandomForestClassifier(5, random_state=0), KNeighborsClassifier(1), DummyClassifier()):
        model.fit(X, Y)
        assert isinstance(model.predict_proba(X), list)
        scores = label_scores(model, X, 3)
        assert scores.shape == (8, 3)
        np.testing.assert_array_equal(scores[:, 1], 0.0)  # never occurred
        np.testing.assert_array_equal(scores[:, 2], 1.0)  # always did
        np.testing.assert_array_equal(predicted_label_sets(model, X, 3).toarray(), model.predict(X))
    np.testing.assert_array_equal(label_scores(KNeighborsClassifier(1).fit(X, Y), X, 3)[:, 0], Y[:, 0])


def test_decision_function_comes_first_and_one_label_is_a_column():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    model = RidgeClassifier().fit(X, np.array([[0, 1], [0, 1], [1, 0], [1, 0]]))
    np.testing.assert_array_equal(label_scores(model, X, 2), model.decision_function(X))
    assert label_probabilities(model, X, 2) is None
    one = LogisticRegression().fit(X, [0, 0, 1, 1])
    assert label_scores(one, X, 1).shape == (4, 1)
    np.testing.assert_array_equal(label_probabilities(one, X, 1)[:, 0], one.predict_proba(X)[:, 1])


def test_missing_or_wrong_scores_raise():
    class Silent:
        def predict(self, X):
            return np.zeros((len(X), 3))

    with pytest.raises(TypeError, match="Silent has neither decision_function nor predict_proba"):
        label_scores(Silent(), np.ones((2, 1)), 3)
    with pytest.raises(ValueError, match=r"Silent predicts an array of shape \(2, 3\); expected 4 columns"):
        predicted_label_sets(Silent(), np.ones((2, 1)), 4)


def test_powerset_adds_up_the_sets_that_have_a_label():
    X = np.array([[0.0], [0.1], [0.2], [5.0]])
    Y = np.array([[1, 1, 0], [1, 0, 0], [1, 0, 0], [0, 0, 1]])
    model = LabelPowerset(KNeighborsClassifier(3)).fit(X, Y)
    # the three nearest rows of 0.1 have the sets {0, 1}, {0}, {0}
    np.testing.assert_allclose(model.predict_proba([[0.1]]), [[1.0, 1 / 3, 0.0]])
    np.testing.assert_array_equal(model.predict([[0.1]]), [[1, 0, 0]])


def test_names_and_addresses():
    assert set(ALGORITHMS) >= {"sml", "autosml", "mlknn", "boostexter", "adtboost", "ranksvm"}
    found = find_algorithm("sklearn.neural_network:MLPClassifier", seed=5)
    assert (found.title, found.estimator.random_state) == ("MLPClassifier", 5)
    for name in ("nosuch", "no.such.module:Thing", "sklearn.tree:NoTree", ":x", "sklearn.pipeline:Pipeline"):
        with pytest.raises(AlgorithmNotInstalled, match=r"unknown|not installed|not a scikit-learn"):
            find_algorithm(name)


def test_absent_and_failing_algorithms_are_listed_and_the_others_continue(made):
    result = compare(made, ["knn", "no.such:Thing", "sklearn.linear_model:LogisticRegression"], KFolds(3))
    assert result.algorithms("made") == ["knn"]
    assert [failure.algorithm for failure in result.failures] == [
        "no.such:Thing",
        "sklearn.linear_model:LogisticRegression",
    ]
    assert "y should be a 1d array" in result.failures[1].message
    assert "fold-1" in str(result.failures[1])


def test_a_mistyped_name_raises_before_anything_runs(made, tmp_path):
    with pytest.raises(AlgorithmNotInstalled, match="unknown algorithm 'knnn'; expected one of sml"):
        compare(made, ["knn", "knnn"], KFolds(3), folder=tmp_path)
    assert not list(tmp_path.iterdir())


def test_what_was_not_measured_raises(made):
    result = compare(made, ["knn"], KFolds(3))
    with pytest.raises(ValueError, match="criterion 'f1' was not measured; there are hamming_loss, "):
        result.means("f1")
    with pytest.raises(ValueError, match="no result of 'rf' on 'made'; there are 'knn' on 'made'"):
        result.of("made", "rf")


def test_a_comparison_is_shown_in_few_lines(made):
    result = compare(made, ["knn", "no.such:Thing"], KFolds(3))
    shown = f"{result.of('made', 'knn').mean('average_precision'):.3g}"
    for words in ("3-fold cross-validation", "KNeighbors", shown, "left out: no.such:Thing"):
        assert words in str(result)
    assert str(result) == repr(result)
    odd = replace(result, titles={"knn": "k\x1b[31m"})
    assert "k\\x1b[31m" in str(odd)
    assert len(str(result)) < 500


def test_estimators_of_ones_own(made):
    result = compare(made, {"one": KNeighborsClassifier(1), "nine": KNeighborsClassifier(9)}, KFolds(3))
    assert result.of("made", "one").mean("hamming_loss") != result.of("made", "nine").mean("hamming_loss")


def test_scikit_learn_gets_more_labels_than_eight_bits_count():
    """OneVsRestClassifier numbers labels with the integer type of Y."""
    n = 130
    X = np.repeat(np.eye(n), 4, axis=0)
    Y = sp.csr_array(X.astype(np.int8))
    names = tuple(f"label {k}" for k in range(n))
    data = Dataset("many", X, Y, names, tuple(f"x{k}" for k in range(n)))
    plain = OneVsRestClassifier(DecisionTreeClassifier(random_state=0))
    algorithms = {"plain": plain, "searched": Searched(plain, [{}])}
    found = compare(data, algorithms, KFolds(2, stratified=True))
    assert not found.failures
    for name in algorithms:
        assert found.of("many", name).mean("average_precision") > 0.99

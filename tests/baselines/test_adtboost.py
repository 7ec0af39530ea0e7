from itertools import pairwise

import naive_boosting
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from matplotlib.figure import Figure

from simlabel.baselines import ADTBoostMH, BoosTexter


def problem(seed, n_rows=25, n_features=3, n_labels=3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rows, n_features))
    X[:, 0] = rng.integers(0, 4, size=n_rows)
    Y = X @ rng.normal(size=(n_features, n_labels)) * X[:, [1]] + rng.normal(size=(n_rows, n_labels)) > 0
    return X, Y.astype(int)


def assert_follows(n_rounds, X, Y, words=False):
    """Same node, same test, same predictions and same scores after each round."""
    root, history = naive_boosting.adtboost(X.tolist(), Y.tolist(), n_rounds, words)
    rows = sp.csr_array(X) if words else X
    model = ADTBoostMH(n_rounds).fit(rows, Y)
    assert model.words_ == words
    np.testing.assert_allclose(model.node_scores_[0], root)
    for t, expected in enumerate(history):
        assert model.test_nodes_[t] == expected["node"]
        assert model.test_columns_[t] == expected["column"]
        assert model.test_thresholds_[t] == pytest.approx(expected["threshold"])
        children = model.node_scores_[2 * t + 1 : 2 * t + 3]
        np.testing.assert_allclose(children, expected["sides"], rtol=1e-8, atol=1e-12)
        shorter = ADTBoostMH(t + 1).fit(rows, Y)
        np.testing.assert_allclose(shorter.decision_function(rows), expected["scores"], rtol=1e-8, atol=1e-12)
    np.testing.assert_array_equal(model.predict(rows), np.array(history[-1]["scores"]) > 0)
    return model


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_equals_the_plain_loops_round_by_round(seed):
    model = assert_follows(8, *problem(seed))
    assert model.test_nodes_.any()  # tests below other nodes than the root were seen too


@pytest.mark.parametrize("seed", [0, 1])
def test_words_equal_the_plain_loops_round_by_round(seed):
    rng = np.random.default_rng(seed)
    X = rng.poisson(0.7, size=(30, 6)).astype(float)
    Y = (X @ rng.normal(size=(6, 3)) + rng.normal(size=(30, 3)) > 0).astype(int)
    assert_follows(8, X, Y, words=True)


def test_threads_and_blocks_change_nothing(monkeypatch):
    X, Y = problem(4)
    model = ADTBoostMH(10).fit(X, Y)
    whole = model.decision_function(X)
    monkeypatch.setattr("simlabel.baselines._base._ROW_BLOCK", 4)
    np.testing.assert_allclose(model.decision_function(X), whole, rtol=1e-13)
    np.testing.assert_array_equal(ADTBoostMH(10, n_jobs=2).fit(X, Y).node_scores_, model.node_scores_)


@given(seed=st.integers(0, 10**6))
@settings(max_examples=15, deadline=None)
def test_the_exponential_loss_falls_with_every_round(seed):
    """Of a sum of base rules with these confidences; smoothing only shortens the steps."""
    X, Y = problem(seed)
    losses = [np.exp(-(2 * Y - 1) * ADTBoostMH(t).fit(X, Y).decision_function(X)).mean() for t in range(1, 6)]
    assert all(after <= before + 1e-12 for before, after in pairwise(losses))


def test_where_no_test_parts_the_rows_the_tree_is_its_root():
    X = np.ones((6, 2))
    Y = np.array([[1, 0], [1, 0], [1, 0], [1, 0], [1, 1], [0, 1]])
    model = ADTBoostMH(5).fit(X, Y)
    assert len(model.test_nodes_) == 0
    np.testing.assert_array_equal(model.predict(X), [[1, 0]] * 6)
    assert "\n" not in model.to_text()


def test_a_node_may_be_parted_again_and_again():
    X, Y = np.array([[0.0], [1.0], [2.0]]), np.array([[1, 0], [0, 1], [1, 0]])
    model = ADTBoostMH(100).fit(X, Y)
    np.testing.assert_array_equal(model.predict(X), Y)
    assert len(model.test_nodes_) == 100


def test_interactions_that_stumps_cannot_learn():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(400, 2))
    y = (X[:, 0] > 0) ^ (X[:, 1] > 0)
    assert ADTBoostMH(20).fit(X, y).score(X, y) > 0.9 > BoosTexter(20).fit(X, y).score(X, y)


@pytest.fixture(scope="module")
def tree():
    X, Y = problem(0)
    return ADTBoostMH(4).fit(X, Y)


def test_the_text_has_a_line_for_each_node_and_the_drawing_a_box(tree):
    lines = tree.to_text(feature_names=["red", "green", "blue"]).split("\n")
    assert len(lines) == len(tree.node_scores_)
    for t in range(4):
        assert sum(f"({t + 1}) " in line for line in lines) == 2
    shown = lines[1].split(": ")[1].split(", ")
    assert len(shown) == 3
    assert [float(part.split()[1]) for part in shown] == [float(f"{v:.2f}") for v in tree.node_scores_[1]]
    ax = tree.plot(ax=Figure().subplots())
    texts = [text.get_text() for text in ax.texts]
    assert len(texts) == len(tree.node_scores_) + 4 + 8  # nodes, tests, and the two answers of each test


def test_the_text_names_words_and_the_strongest_labels():
    X = sp.csr_array([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    model = ADTBoostMH(1).fit(X, [{"sea"}, {"sea"}, {"hill", "sea"}, {"hill"}])
    text = model.to_text(top=1, feature_names=["wave", "stone"])
    assert "(1) no wave: hill" in text
    assert "(1) wave: hill" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda tree: tree.to_text(top=0), r"top must be a whole number of at least 1, got 0"),
        (lambda tree: tree.to_text(feature_names=["a"]), r"1 feature_names for 3 columns"),
        (lambda tree: ADTBoostMH(0).fit([[0], [1]], [[1, 0], [0, 1]]), r"ADTBoostMH: n_rounds must be"),
    ],
)
def test_bad_settings(tree, call, message):
    with pytest.raises(ValueError, match=message):
        call(tree)

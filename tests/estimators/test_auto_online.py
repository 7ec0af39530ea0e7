"""AutoSMLClassifier behaves as an SMLClassifier with the chosen parameters."""

from __future__ import annotations

import numpy as np
import pytest

from simlabel import AutoSMLClassifier, load
from simlabel.metrics import average_precision
from simlabel.ridge import Ridge
from simlabel.similarities import RBF, Laplacian

FEW = [("l2", RBF(), "ridge"), ("zscore", Laplacian(), "ridge")]


@pytest.fixture
def fitted(rng):
    X = rng.random((40, 3))
    y = [{"a"} if row[0] > 0.5 else {"b"} for row in X]
    ids = [f"row {i}" for i in range(40)]
    return AutoSMLClassifier(configurations=FEW, random_state=0).fit(X, y, ids=ids), X, y


def test_teach_and_forget_equal_the_plain_choice(fitted, rng):
    model, X, _ = fitted
    plain = model.best_estimator_
    new, labels = rng.random((3, 3)), [{"a"}, {"c"}, {"b"}]
    for one in (model, plain):
        one.partial_fit(new, labels, ids=["x", "y", "z"])
        one.forget(["row 1", "x"])
        one.correct(["row 2"], [{"c"}])
    np.testing.assert_allclose(model.decision_function(X), plain.decision_function(X))
    assert model.ids_.tolist() == plain.ids_.tolist()
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.best_estimator_.classes_.tolist() == ["a", "b", "c"]


def test_retune_chooses_anew(fitted):
    model, X, y = fitted
    before = model.decision_function(X)
    model.forget(["row 3"]).retune()
    kept = [i for i in range(40) if i != 3]
    fresh = AutoSMLClassifier(configurations=FEW, random_state=0).fit(X[kept], [y[i] for i in kept])
    np.testing.assert_allclose(model.decision_function(X), fresh.decision_function(X))
    assert model.leaderboard_.equals(fresh.leaderboard_)
    assert model.ids_.tolist() == [f"row {i}" for i in kept]
    assert not np.allclose(before, model.decision_function(X))


def test_a_saved_model_does_all_of_it(fitted, tmp_path, rng):
    model, X, y = fitted
    model.save(tmp_path / "auto.simlabel")
    again = load(tmp_path / "auto.simlabel")
    assert type(again) is AutoSMLClassifier
    assert again.leaderboard_.equals(model.leaderboard_)
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert str(again.explain(X[:2])) == str(model.explain(X[:2]))
    assert again.suggest(X[:5], n=2).tolist() == model.suggest(X[:5], n=2).tolist()
    assert again.suspicious_labels(3).equals(model.suspicious_labels(3))
    assert str(again.describe()) == str(model.describe())
    assert again.set_label_rule("threshold").predict(X) == model.set_label_rule("threshold").predict(X)
    assert again.forget(["row 0"]).partial_fit(X[:1], y[:1], ids=["row 0"]).retune().predict(X) == y


def test_ridge_with_all_values_given_is_measured_by_leaving_out(rng):
    X = rng.random((30, 2))
    Y = rng.integers(0, 2, (30, 3))
    Y[Y.sum(axis=1) == 0, 0] = 1
    given = [(None, RBF(50.0), Ridge(0.01))]
    model = AutoSMLClassifier(configurations=given, random_state=0).fit(X, Y)
    naive = np.empty((30, 3))
    for i in range(30):
        rest = np.arange(30) != i
        S = np.exp(-50.0 * ((X[rest][:, None] - X[rest][None]) ** 2).sum(axis=2))
        mean = Y[rest].mean(axis=0)
        V = np.linalg.solve(S + 0.01 * np.eye(29), Y[rest] - mean)
        naive[i] = np.exp(-50.0 * ((X[i] - X[rest]) ** 2).sum(axis=1)) @ V + mean
    assert model.leaderboard_.average_precision[0] == pytest.approx(average_precision(Y, naive), abs=1e-9)

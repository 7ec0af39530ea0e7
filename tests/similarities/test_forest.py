"""Proximity in a forest: leaves against scikit-learn's, scores of training rows by folds, no forgetting."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.ensemble import ExtraTreesRegressor

from simlabel import AutoSMLClassifier, SMLClassifier, load, similarity_sums
from simlabel.engines import AllPairs
from simlabel.influence import Ridge
from simlabel.influence._by_folds import folds_of
from simlabel.similarities import RBF, ForestProximity, Trees


def data(rng, n=40):
    X = rng.random((n, 3))
    return X, np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.4]).astype(int)


def test_shares_of_leaves_are_those_of_the_forest(rng):
    X, Y = data(rng)
    forest = ExtraTreesRegressor(7, min_samples_leaf=3, max_features="sqrt", random_state=5).fit(X, Y)
    leaves = forest.apply(X)
    wanted = (leaves[:, None] == leaves[None]).mean(axis=2)
    kind = ForestProximity(7).fit_labels(X, sp.csr_array(Y), np.ones(40), 5)
    np.testing.assert_allclose(AllPairs.of(X, 1).similarities(kind), wanted)
    sums = similarity_sums(X, X, np.eye(40), kind)
    np.testing.assert_allclose(sums, wanted)


def test_training_rows_are_scored_by_trees_that_have_not_seen_them(rng):
    X, Y = data(rng)
    Y = rng.integers(0, 2, Y.shape)  # nothing to be learnt: whoever scores well has looked
    model = SMLClassifier(ForestProximity(50, 1), influence=Ridge(0.1), random_state=0).fit(X, Y)
    scores = model.leave_one_out()
    own = model.decision_function(X)
    assert np.corrcoef(own.ravel(), Y.ravel())[0, 1] > 0.9
    assert np.corrcoef(scores.ravel(), Y.ravel())[0, 1] < 0.5
    scorer = model._model.scorer
    rest, held = next(iter(folds_of(scorer.references, scorer.stages.seed)))
    assert not set(rest) & set(held)
    kind = scorer.stages.similarity.fit_labels(
        scorer.references.X[rest], scorer.references.Y[rest], np.ones(len(rest)), scorer.stages.seed
    )
    S = similarity_sums(scorer.references.X, scorer.references.X[rest], np.eye(len(rest)), kind)
    mean = Y[rest].mean(axis=0)
    V = np.linalg.solve(S[rest] + 0.1 * np.eye(len(rest)), Y[rest] - mean)
    np.testing.assert_allclose(scores[held], S[held] @ V + mean, atol=1e-9)


def test_what_it_refuses(rng):
    X, Y = data(rng)
    with pytest.raises(ValueError, match="goes with learned influence"):
        SMLClassifier(ForestProximity()).fit(X, Y)
    with pytest.raises(ValueError, match="leave-one-out would flatter it"):
        SMLClassifier(RBF(1.0) + ForestProximity(5), influence="ridge").fit(X, Y)
    with pytest.raises(ValueError, match="learns from labels"):
        similarity_sums(X, X, Y, ForestProximity())
    model = SMLClassifier(RBF(1.0) + ForestProximity(5), influence=Ridge(1.0)).fit(X, Y)
    for call in (lambda: model.forget([0]), lambda: model.correct([0], Y[:1])):
        with pytest.raises(ValueError, match="cannot forget them"):
            call()
    assert model.n_references_ == 40
    assert model.partial_fit(X[:2], Y[:2]).n_references_ == 42


@pytest.mark.parametrize("change", [{"left": 0}, {"left": 10**6}, {"feature": 9}, {"roots": -1}])
def test_damaged_trees_are_refused(rng, change):
    X, Y = data(rng)
    trees = ForestProximity(3).fit_labels(X, sp.csr_array(Y), np.ones(40), 0).trees_
    (name, value), values = next(iter(change.items())), trees.get_params()
    values[name] = values[name].copy()
    values[name][0] = value
    with pytest.raises(ValueError, match="Trees"):
        Trees(**values).check()


def test_saved_and_loaded(rng, tmp_path):
    X, Y = data(rng)
    model = SMLClassifier(RBF(1.0) + ForestProximity(5), influence=Ridge(1.0)).fit(X, Y)
    model.save(tmp_path / "forest.simlabel")
    again = load(tmp_path / "forest.simlabel")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_high_effort_takes_a_sum_only_where_folds_say_so(rng):
    X = rng.random((120, 6))
    Y = np.column_stack([(X[:, 0] > 0.5) ^ (X[:, 1] > 0.5), X[:, 2] > 0.5]).astype(int)
    few = [("zscore", RBF(), "ridge")]
    high = AutoSMLClassifier(configurations=few, effort="high", random_state=0).fit(X, Y)
    top = high.leaderboard_.iloc[0]
    assert (top.judged == "5 folds") == ("Forest" in top.similarity)
    noise = rng.integers(0, 2, (40, 2))
    plain = AutoSMLClassifier(configurations=few, effort="high", random_state=0).fit(X[:40], noise)
    assert set(plain.leaderboard_.judged) <= {"leave-one-out", "5 folds"}
    with pytest.raises(ValueError, match="effort must be 'normal' or 'high', got 'low'"):
        AutoSMLClassifier(effort="low").fit(X, Y)

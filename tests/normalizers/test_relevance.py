"""Columns weighted by their relevance to the labels."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from league.synthetic import irrelevant

from simlabel import AutoSMLClassifier, SMLClassifier, load
from simlabel.normalizers import Relevance
from simlabel.similarities import RBF, OnColumns


def by_loops(X, Y, sparse):
    """The definition in plain loops: squared weights."""
    n, relevance = len(X), []
    for column in X.T:
        if sparse:
            part = [int(value != 0) for value in column]
        else:
            below = [np.mean(column < value) + np.mean(column == value) / 2 for value in column]
            part = [min(int(5 * share + 1e-9), 4) for share in below]
        shares = []
        for label in Y.T:
            if len(set(label)) == 1:
                continue
            between = sum(
                part.count(p)
                * (np.mean([y for y, q in zip(label, part, strict=True) if q == p]) - np.mean(label)) ** 2
                for p in set(part)
            )
            share, chance = between / (n * np.var(label)), (len(set(part)) - 1) / (n - 1)
            shares.append((share - chance) / (1 - chance) if chance < 1 else 0.0)
        relevance.append(np.mean(shares) if shares and np.mean(shares) > 1e-12 else 0.0)
    mean = np.mean(relevance)
    return 0.1 + 0.9 * (np.array(relevance) / mean if mean > 0 else np.ones(len(relevance)))


@given(seed=st.integers(0, 2**32 - 1), sparse=st.booleans())
def test_equals_the_definition(seed, sparse):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 30))
    X = rng.integers(0, 7, (n, 4)).astype(float) * (rng.random((n, 4)) < 0.7)
    Y = (rng.random((n, 3)) < 0.3 + 0.1 * X[:, :3]).astype(float)
    found = Relevance().fit(sp.csr_array(X) if sparse else X, sp.csr_array(Y))
    np.testing.assert_allclose(found.weights_**2, by_loops(X, Y, sparse), rtol=1e-9)


def test_an_irrelevant_column_counts_less(rng):
    X = rng.normal(size=(500, 6))
    Y = np.column_stack([X[:, 2] > 0, X[:, 2] > 1])
    weights = Relevance().fit(X, Y).weights_
    assert weights[2] > 2
    assert (np.delete(weights, 2) < 0.5).all()
    # what bends is seen as well: the middle of a column
    rbf_block = Relevance().fit(X, (np.abs(X[:, [4]]) < 0.5)).weights_
    assert rbf_block.argmax() == 4
    # and where no column says anything, all are alike
    assert Relevance().fit(X, np.ones((500, 1))).weights_.tolist() == [1.0] * 6


def test_updates_retune_and_files(tmp_path, rng):
    """Weights are held by updates, learned again by retune, and saved and loaded exactly."""
    X = rng.normal(size=(60, 4))
    y = [{"a"} if row[0] > 0 else {"b"} for row in X]
    model = SMLClassifier(RBF(0.5), normalizer=["zscore", "relevance"], influence="ridge").fit(X, y)
    weights = model.normalizer_.fitted_[1].weights_
    assert weights.argmax() == 0
    model.forget(model.ids_[:5]).partial_fit(X[:5], y[:5])
    np.testing.assert_array_equal(model.normalizer_.fitted_[1].weights_, weights)
    model.save(tmp_path / "model.simlabel")
    again = load(tmp_path / "model.simlabel")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    model.partial_fit(X, [{"a"} if row[3] > 0 else {"b"} for row in X]).retune()
    assert model.normalizer_.fitted_[1].weights_[3] > weights[3]


def test_errors_say_where_it_cannot_be_used(rng):
    X, y = rng.normal(size=(6, 2)), [{"a"}, {"b"}, {"a"}, {"b"}, {"a"}, {"b"}]
    with pytest.raises(ValueError, match="'relevance' learns from labels: give it to the classifier itself"):
        SMLClassifier(OnColumns(RBF(1.0), [0], "relevance"), normalizer=None).fit(X, y)
    unknown = np.array([[1, 0], [0, np.nan], [1, 0], [0, 1], [1, 0], [0, 1]])
    with pytest.raises(ValueError, match="a normalizer that learns from labels needs all of them"):
        SMLClassifier(RBF(1.0), normalizer=["zscore", "relevance"]).fit(X, unknown)


def test_auto_weights_columns_if_folds_favor_it(rng):
    created = irrelevant(300, seed=5)
    model = AutoSMLClassifier(random_state=0).fit(created.data.X, created.data.Y)
    assert "relevance" in str(model.normalizer_)
    first = model.leaderboard_.iloc[0]
    assert "relevance" in first["normalizer"]
    assert first["judged"] == "5 folds"
    # labels that follow from no column: nothing to weigh by
    chance = AutoSMLClassifier(random_state=0).fit(rng.normal(size=(300, 8)), rng.random((300, 3)) < 0.4)
    assert "relevance" not in str(chance.normalizer_)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_integers_are_weighted_like_floats(make):
    X = np.arange(60).reshape(20, 3) % 7
    Y = X[:, :1] > 3
    got = Relevance().fit(make(X), Y).transform(make(X))
    wanted = Relevance().fit(make(X.astype(float)), Y).transform(make(X.astype(float)))
    dense = [each.toarray() if sp.issparse(each) else each for each in (got, wanted)]
    np.testing.assert_array_equal(*dense)
    assert dense[0].dtype == np.float64

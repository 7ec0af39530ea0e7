"""RAkEL, IBLR-ML, chains and the wrappers of other packages, compared with plain loops."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from league.literature import IBLRML, ChainEnsemble, RAkEL, draw_labelsets
from league.packages import CatBoost, Omikuji, xgboost
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from simlabel.baselines import LabelPowerset


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(60, 3))
    return X, (X @ rng.normal(size=(3, 5)) + 0.5 * rng.normal(size=(60, 5)) > 0).astype(int)


@pytest.mark.parametrize("soft", [False, True])
def test_votes_of_all_sets_of_two_labels(rows, soft):
    X, Y = rows
    tree = DecisionTreeClassifier(max_depth=2, random_state=0)
    model = RAkEL(tree, k=2, soft=soft, random_state=0).fit(X, Y)
    assert sorted(map(tuple, model.labelsets_)) == list(combinations(range(5), 2))  # all ten of them
    votes, requested = np.zeros(Y.shape), np.zeros(5)
    for own in combinations(range(5), 2):
        powerset = LabelPowerset(tree).fit(X, Y[:, list(own)])
        votes[:, list(own)] += powerset.predict_proba(X) if soft else powerset.predict(X)
        requested[list(own)] += 1
    np.testing.assert_allclose(model.predict_proba(X), votes / requested)
    np.testing.assert_array_equal(model.predict(X), votes / requested > 0.5)


def test_sets_are_different_and_as_many_as_asked_for():
    random = np.random.RandomState(0)
    drawn = draw_labelsets(100, 3, 200, random)  # of 161,700: too many to list
    assert len({tuple(one) for one in drawn}) == 200
    assert all(len(set(one)) == 3 for one in drawn)
    assert len(RAkEL(DecisionTreeClassifier(), k=3).fit(np.eye(4), np.eye(4, dtype=int)).labelsets_) == 4


@pytest.mark.parametrize(("n_labels", "k"), [(14, 3), (13, 4), (300, 3), (3, 3), (5, 1)])
def test_every_label_is_in_a_set(n_labels, k):
    """A draw of 28 of the 364 sets of 14 labels leaves a label out with about one seed of eighty."""
    Y = np.ones((2, n_labels), dtype=int)  # one label set
    for seed in range(100 if n_labels < 100 else 5):
        model = RAkEL(DecisionTreeClassifier(), k=k, random_state=seed).fit(np.eye(2), Y)
        assert len({tuple(own) for own in model.labelsets_}) == len(model.labelsets_)
        assert {len(set(own)) for own in model.labelsets_} == {k}
        assert set().union(*model.labelsets_) == set(range(n_labels))
        assert model.predict(np.eye(2)).all()


def test_the_shares_of_the_other_rows_are_the_features(rows):
    X, Y = rows
    model = IBLRML(7).fit(X, Y)
    scaled = (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))
    shares = []
    for i, row in enumerate(scaled):
        distance = ((scaled - row) ** 2).sum(axis=1)
        distance[i] = np.inf  # a row is not its own neighbor
        shares.append(Y[np.argsort(distance)[:7]].mean(axis=0))
    for k in range(5):
        plain = LogisticRegression(C=1e3, max_iter=1000).fit(np.array(shares), Y[:, k])
        np.testing.assert_allclose(model.models_[k].estimator_.coef_, plain.coef_, rtol=1e-6)


def test_features_are_added_to_the_neighbors(rows):
    X, Y = rows
    assert IBLRML(7, with_features=True).fit(X, Y).models_[0].estimator_.coef_.shape == (1, 5 + 3)


def test_a_constant_label_is_supported(rows):
    X, Y = rows
    Y[:, 0], Y[:, 1] = 0, 1
    for model in (IBLRML(5), ChainEnsemble(LogisticRegression(), n_chains=2, random_state=0)):
        shares = model.fit(X, Y).predict_proba(X)
        assert (shares[:, 0] == 0).all()
        assert (shares[:, 1] == 1).all()


def test_chains_are_the_mean_of_chains_in_other_orders(rows):
    X, Y = rows
    model = ChainEnsemble(LogisticRegression(), n_chains=4, random_state=0).fit(X, Y)
    assert len({tuple(chain.order_) for chain in model.chains_}) > 1
    np.testing.assert_allclose(
        model.predict_proba(X), sum(chain.predict_proba(X) for chain in model.chains_) / 4
    )


@pytest.mark.parametrize(
    ("make", "package"), [(CatBoost, "catboost"), (lambda: xgboost(0), "xgboost"), (Omikuji, "omikuji")]
)
def test_methods_of_other_packages_learn_a_simple_problem(make, package):
    pytest.importorskip(package)
    X = np.random.default_rng(0).random((300, 4))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.5, np.zeros(300)]).astype(int)
    model = make().fit(X, Y)
    shares = model.predict_proba(X)
    assert shares.shape == (300, 3)
    for k in (0, 1):
        assert shares[Y[:, k] == 1, k].mean() > shares[Y[:, k] == 0, k].mean() + 0.2
    assert model.predict(X)[:, 2].sum() == 0

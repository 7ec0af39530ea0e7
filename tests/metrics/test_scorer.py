"""Criteria in scikit-learn's model selection, on every form of y."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.model_selection import GridSearchCV, KFold, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel.baselines import BoosTexter
from simlabel.metrics import CRITERIA, MORE_CRITERIA, evaluate, find_criterion, propensities, scorer
from simlabel.similarities import RBF, Linear

NAMES = np.array(["rock", "sand", "sea", "sun", "tree"], dtype=object)
FOLDS = KFold(3)


@pytest.fixture
def rows(rng):
    X = rng.random((30, 4))
    Y = np.hstack([X > 0.5, X[:, :1] < 0.3]).astype(int)
    return X, Y


def sets_of(Y):
    return [set(NAMES[np.flatnonzero(row)]) for row in Y]


def by_hand(model, X, Y, criterion):
    """Fold by fold, without scorer."""
    values = []
    for train, test in FOLDS.split(X):
        model.fit(X[train], Y[train])
        known = {"propensity": propensities(Y[test])}
        found = evaluate(
            Y[test], model.predict(X[test]), model.label_weights(X[test]), criteria=[criterion], **known
        )
        values.append(found[criterion] * (1 if find_criterion(criterion).higher_is_better else -1))
    return values


@pytest.mark.parametrize("criterion", [*CRITERIA, *MORE_CRITERIA])
def test_each_criterion_in_each_form_of_y(criterion, rows):
    X, Y = rows
    model = SMLClassifier(RBF(3.0), calibration=None)
    wanted = by_hand(model, X, Y, criterion)
    for y in (Y, sets_of(Y), pd.DataFrame(Y, columns=NAMES)):
        found = cross_val_score(model, X, y, scoring=scorer(criterion), cv=FOLDS)
        np.testing.assert_allclose(found, wanted, rtol=1e-12)
    model.fit(X, Y)  # scikit-learn itself takes no sparse y
    assert scorer(criterion)(model, X, sp.csr_array(Y)) == scorer(criterion)(model, X, Y)


def test_our_classifiers_on_sets_and_in_a_search(rows):
    X, Y = rows
    y = sets_of(Y)
    auto = AutoSMLClassifier(configurations=[("l2", RBF(2.0), "uniform")], random_state=0)
    scores = cross_val_score(auto, X, y, scoring=scorer("f1_micro"), cv=FOLDS)
    assert (scores > 0.5).all()
    table = pd.DataFrame(X, columns=list("abcd"))
    for given in (y, [", ".join(sorted(labels)) or None for labels in y]):
        scores = cross_val_score(
            Tagger(empty="none"), table, given, scoring=scorer("average_precision"), cv=FOLDS
        )
        assert (scores > 0.8).all()
    search = GridSearchCV(
        make_pipeline(StandardScaler(), SMLClassifier(RBF(), normalizer=None)),
        {"smlclassifier__similarity__gamma": [1e-4, 1.0]},
        scoring=scorer("ranking_loss"),
        cv=FOLDS,
    )
    assert search.fit(X, y).best_params_ == {"smlclassifier__similarity__gamma": 1.0}
    assert search.best_score_ < 0  # a loss


def test_labels_that_only_the_test_rows_have_come_last():
    model = SMLClassifier(Linear(), normalizer=None).fit([[1.0, 0.0], [0.0, 1.0]], [{"a"}, {"b"}])
    requested, y = [[1.0, 0.2]], [{"a", "new"}]
    truth, sets, scores = [[1, 0, 1]], [[1, 0, 0]], [[1.0, 0.2, -1.0]]
    wanted = evaluate(truth, sets, scores, criteria=["average_precision", "hamming_loss"])
    assert scorer("average_precision")(model, requested, y) == wanted["average_precision"]
    assert scorer("hamming_loss")(model, requested, y) == -wanted["hamming_loss"]


def test_others_estimators_pickles_and_mistakes(rows):
    X, Y = rows
    one = pickle.loads(pickle.dumps(scorer("precision@1")))
    assert repr(one) == "scorer('precision@1')"
    assert cross_val_score(KNeighborsClassifier(3), X, Y, scoring=one, cv=FOLDS).mean() > 0.5
    with pytest.raises(ValueError, match="unknown criterion 'auc'"):
        scorer("auc")
    model = SMLClassifier(Linear()).fit(X, Y[:, 0])
    with pytest.raises(ValueError, match="one class per row"):
        one(model, X, Y[:, 0])


def test_scikit_learns_own_tools_take_sets_and_frames(rows):
    X, Y = rows
    model, frame = SMLClassifier(RBF(2.0)), pd.DataFrame(X, columns=list("abcd"))
    assert 0 <= cross_val_score(model, X, sets_of(Y), cv=FOLDS).mean() <= 1
    proba = cross_val_predict(model, frame, Y, method="predict_proba", cv=FOLDS)
    assert isinstance(proba, np.ndarray)
    assert proba.shape == (30, 5)
    assert cross_val_score(model, frame, Y, scoring="roc_auc", cv=FOLDS).mean() > 0.5


@pytest.mark.filterwarnings("ignore:Label not 3 is present in all training examples")
@pytest.mark.parametrize(
    "model",
    [
        SMLClassifier(RBF(2.0), influence="ridge"),
        BoosTexter(5),
        OneVsRestClassifier(LinearSVC()),
        make_pipeline(StandardScaler(), OneVsRestClassifier(LinearSVC())),
        GridSearchCV(OneVsRestClassifier(LinearSVC()), {"estimator__C": [1.0]}, cv=2),
    ],
    ids=["ridge", "boostexter", "one-vs-rest", "pipeline", "search"],
)
@pytest.mark.parametrize("form", [np.asarray, pd.DataFrame])
def test_a_column_that_no_training_row_has_comes_last(model, form, rng):
    X = rng.random((60, 4))
    Y = np.column_stack([X[:, :3] > 0.8, np.zeros(60)]).astype(int)  # rare: most scores are below 0
    model.fit(X, form(Y))
    truth = form(np.tile([[0, 0, 0, 1]], (60, 1)))
    assert scorer("average_precision")(model, X, truth) == pytest.approx(1 / 4)
    assert scorer("coverage")(model, X, truth) == -3.0

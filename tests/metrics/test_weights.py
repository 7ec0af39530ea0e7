"""Weights of rows in metrics and scorers: a weight means repetition."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.metrics import label_ranking_average_precision_score, label_ranking_loss
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from simlabel import SMLClassifier
from simlabel.metrics import (
    CRITERIA,
    MORE_CRITERIA,
    average_precision,
    evaluate,
    hierarchical_f1,
    make_metric,
    propensities,
    ranking_loss,
    scorer,
)

NAMES = [name for name in (*CRITERIA, *MORE_CRITERIA) if "@5" not in name]
FOLDS = KFold(3)


@pytest.fixture
def rows(rng):
    X = rng.random((30, 3))
    return X, (X + rng.normal(0, 0.2, X.shape) > 0.5).astype(int), rng.integers(0, 4, 30)


def first_score(Y_true, Y_pred, scores, sample_weight=None):
    return np.average(scores[:, 0], weights=sample_weight)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10_000), n_rows=st.integers(1, 8), unknown=st.booleans())
def test_a_weight_counts_as_that_many_rows(seed, n_rows, unknown):
    rng = np.random.default_rng(seed)
    weights = rng.integers(0, 4, n_rows)
    weights[0] = 2
    truth, sets = (rng.integers(0, 2, (n_rows, 4)).astype(float) for _ in range(2))
    scores = rng.integers(0, 3, (n_rows, 4)).astype(float)  # with ties
    if unknown:
        truth[rng.random(truth.shape) < 0.3] = np.nan
    share = propensities(np.nan_to_num(truth), sample_weight=weights)
    copies = [np.repeat(each, weights, axis=0) for each in (truth, sets, scores)]
    np.testing.assert_allclose(share, propensities(np.nan_to_num(copies[0])))
    own = make_metric(
        lambda Y, P, S, sample_weight=None: np.average(S[:, 0], weights=sample_weight), name="own"
    )
    names = [*NAMES, own]
    found = evaluate(truth, sets, scores, criteria=names, propensity=share, sample_weight=weights)
    wanted = evaluate(*copies, criteria=names, propensity=share)
    assert found.values == pytest.approx(wanted.values, nan_ok=True)


def test_weighted_rankings_are_those_of_scikit_learn(rng):
    truth, scores = rng.integers(0, 2, (20, 4)), rng.random((20, 4))
    truth[:, 0], truth[:, 1] = 1, 0  # rows without a true or a false label count differently there
    weights = rng.random(20)
    wanted = label_ranking_average_precision_score(truth, scores, sample_weight=weights)
    assert average_precision(truth, scores, weights) == pytest.approx(wanted)
    wanted = label_ranking_loss(truth, scores, sample_weight=weights)
    assert ranking_loss(truth, scores, weights) == pytest.approx(wanted)


def test_hierarchical_metrics_and_mistakes():
    truth, sets = [{"mail::imap"}, {"web"}], [{"mail::smtp"}, {"web"}]
    wanted = hierarchical_f1(truth[:1] * 3 + truth[1:], sets[:1] * 3 + sets[1:], "::")
    assert hierarchical_f1(truth, sets, "::", sample_weight=[3, 1]) == pytest.approx(wanted)
    for wrong in ([1.0], [-1.0, 1.0], [np.nan, 1.0]):
        with pytest.raises(ValueError, match="sample_weight"):
            evaluate([[1, 0], [0, 1]], [[1, 0], [0, 1]], [[1.0, 0.0], [0.0, 1.0]], sample_weight=wrong)
    plain = make_metric(lambda Y, P, S: 0.0, name="plain")
    with pytest.raises(TypeError, match="metric 'plain' takes no sample_weight"):
        evaluate([[1, 0]], [[1, 0]], [[1.0, 0.0]], criteria=[plain], sample_weight=[1.0])


@pytest.mark.parametrize("criterion", [name for name in NAMES if name != "coverage"])
def test_scorers_take_weights(criterion, rows):
    X, Y, weights = rows
    model = SMLClassifier("linear", calibration=None).fit(X, Y)
    found = scorer(criterion)(model, X, Y, sample_weight=weights)
    again = [np.repeat(each, weights, axis=0) for each in (X, Y)]
    assert found == pytest.approx(scorer(criterion)(model, *again))


def test_scorers_are_routed(rows):
    X, Y, weights = rows
    with sklearn.config_context(enable_metadata_routing=True):
        model = SMLClassifier("linear", calibration=None).set_fit_request(sample_weight=False)
        evaluator = scorer("one_error").set_score_request(sample_weight=True)
        found = cross_val_score(model, X, Y, scoring=evaluator, cv=FOLDS, params={"sample_weight": weights})
        search = GridSearchCV(model, {"influence": ["uniform"]}, scoring=evaluator, cv=FOLDS)
        search.fit(X, Y, sample_weight=weights)
        with pytest.raises(UnsetMetadataPassedError):
            cross_val_score(
                model, X, Y, scoring=scorer("one_error"), cv=FOLDS, params={"sample_weight": weights}
            )
        renamed = scorer("one_error").set_score_request(sample_weight="counts")
        same = cross_val_score(model, X, Y, scoring=renamed, cv=FOLDS, params={"counts": weights})
    wanted = [
        scorer("one_error")(model.fit(X[train], Y[train]), X[test], Y[test], weights[test])
        for train, test in FOLDS.split(X)
    ]
    np.testing.assert_allclose(found, wanted)
    np.testing.assert_array_equal(found, same)
    assert search.best_score_ == pytest.approx(np.mean(wanted))
    assert not np.allclose(found, cross_val_score(model, X, Y, scoring=scorer("one_error"), cv=FOLDS))
    with pytest.raises(RuntimeError, match="enable_metadata_routing"):
        scorer("one_error").set_score_request(sample_weight=True)

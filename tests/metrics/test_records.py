"""The fields of criteria are correct, and a truth is validated once for many criteria."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
import scipy.sparse as sp

from simlabel import SMLClassifier
from simlabel.metrics import CRITERIA, MORE_CRITERIA, Criterion, Truth, evaluate, find_criterion, propensities
from simlabel.similarities import RBF
from simlabel.tuning import LeaveOneOut, Validation

RECORDS = [find_criterion(name) for name in (*CRITERIA, *MORE_CRITERIA, "precision@2")]


def made(rng, n=40, n_labels=6):
    Y = (rng.random((n, n_labels)) < 0.4).astype(np.int8)
    Y[0], Y[1] = 0, 1
    return Y, (rng.random(Y.shape) < 0.4).astype(np.int8), rng.random(Y.shape)


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
def test_the_record_is_true(record, rng):
    Y, P, F = made(rng)
    value = record.measure(Y, P, F, propensities(Y))
    assert record.needs_propensities == ("propensity" in inspect.signature(record.function).parameters)
    undefined = np.zeros(len(Y), dtype=bool) if record.undefined is None else record.undefined(Truth.of(Y))
    assert record.n_undefined(Y) == undefined.sum()
    best = record.measure(Y, Y, Y.astype(float), propensities(Y))
    assert best >= value if record.higher_is_better else best <= value
    if record.rows is None:
        assert record.aggregation == "whole"
    elif record.aggregation == "mean":
        rows = record.rows(Y, F if record.needs_scores else P)
        np.testing.assert_array_equal(np.isnan(rows), undefined)
        assert np.nanmean(rows) == pytest.approx(value)


@pytest.mark.parametrize(
    "record", [each for each in RECORDS if not each.needs_scores], ids=lambda record: record.name
)
@pytest.mark.parametrize("n_labels", [1, 4])
def test_weights_of_criteria_of_sets_mean_repetition(record, n_labels, rng):
    Y, P, _ = made(rng, n_labels=n_labels)
    weights = rng.integers(1, 4, len(Y))
    repeated = record.function(np.repeat(Y, weights, axis=0), np.repeat(P, weights, axis=0))
    assert record.function(Y, P, sample_weight=weights) == pytest.approx(repeated)


@pytest.mark.parametrize("name", ["subset_accuracy", "f1_macro"])
def test_searches_by_sets_count_weights(name, rng):
    X = rng.random((25, 3))
    Y = (X > 0.5).astype(int)
    Y[rng.random(Y.shape) < 0.2] ^= 1
    weights = rng.integers(1, 4, 25)
    tuning = Validation(criterion=name)
    weighted = SMLClassifier(tuning=tuning).fit(X, Y, sample_weight=weights)
    repeated = SMLClassifier(tuning=tuning).fit(np.repeat(X, weights, axis=0), np.repeat(Y, weights, axis=0))
    np.testing.assert_allclose(weighted.tuning_.values, repeated.tuning_.values, atol=1e-12)


def test_evaluation_and_searches_accept_criteria_of_ones_own(rng):
    record = Criterion("half", "Half", lambda Y_true, Y_pred, sample_weight=None: 0.5, needs_scores=False)
    Y, P, F = made(rng)
    found = evaluate(Y, P, F, criteria=[record])
    assert (found.values, found.undefined) == ({"half": 0.5}, {"half": 0})
    tuning = SMLClassifier(tuning=LeaveOneOut(criterion=lambda Y_true, scores: 0.5)).fit(F, Y).tuning_
    assert set(tuning.values) == {0.5}


@pytest.fixture
def checks(monkeypatch):
    """Counts how often a matrix is cleaned."""
    found = []
    clean = sp.csr_array.eliminate_zeros

    def counting(self):
        found.append(self.shape)
        clean(self)

    monkeypatch.setattr(sp.csr_array, "eliminate_zeros", counting)
    return found


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
@pytest.mark.parametrize(
    "tuning", [LeaveOneOut(), Validation(), Validation(literal=True, share=1.0)], ids=str
)
def test_the_truth_is_checked_once_for_a_search(tuning, influence, checks, change_limits, rng):
    change_limits(candidate_bytes=1 << 14)  # many blocks
    Y, _, X = made(rng)
    fitted = SMLClassifier(tuning=tuning, influence=influence, normalizer=None).fit(X, Y)
    assert len(fitted.tuning_.values) > 5
    searched = len(checks)
    checks.clear()
    fixed = fitted.influence_ if influence == "ridge" else influence
    SMLClassifier(fitted.similarity_, influence=fixed, normalizer=None).fit(X, Y)
    assert searched - len(checks) == 1


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
def test_the_truth_is_checked_once_for_data_values(influence, checks, rng):
    Y, _, X = made(rng)
    model = SMLClassifier(RBF(2.0), influence=influence).fit(X, Y)
    checks.clear()
    model.data_values()
    assert checks.count(Y.shape) == 1
    assert len(checks) <= 3  # not once for each of 40 instances


def test_a_checked_truth_is_taken_as_it_is(checks, rng):
    Y, P, F = made(rng)
    truth = Truth.of(Y)
    checks.clear()
    whole = [record.measure(truth, Truth.of(P), F, propensities(truth)) for record in RECORDS]
    assert len(checks) == len(RECORDS)  # of the predicted sets
    np.testing.assert_array_equal(whole, [record.measure(Y, P, F, propensities(Y)) for record in RECORDS])

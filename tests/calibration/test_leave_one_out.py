from __future__ import annotations

import numpy as np
import pytest

from simlabel import SMLClassifier
from simlabel.ridge import logistic_lines
from simlabel.rules import ScoreBlock
from simlabel.rules.calibration import LeaveOneOutCalibration
from simlabel.rules.calibration._leave_one_out import LogisticCurve
from simlabel.similarities import RBF


def noisy(rng, n=600):
    X = rng.random((n, 3))
    p = np.column_stack([X[:, 0], X[:, 1] * 0.3, 0.5 + X[:, 2] * 0.1])
    return X, (rng.random(p.shape) < p).astype(int), p


@pytest.mark.filterwarnings("ignore::simlabel._utils.advice.PredictionWarning")  # so smooth a sum it is
def test_closer_to_the_truth_than_shares(rng):
    """New rows drawn from known probabilities: calibrated ones have the smaller squared error."""
    X, Y, _ = noisy(rng)
    Q, _, p = noisy(rng)
    models = [SMLClassifier(RBF(0.2), normalizer=None, calibration=c).fit(X, Y) for c in (None, "loo")]
    plain, calibrated = (np.mean((model.predict_proba(Q) - p) ** 2) for model in models)
    assert calibrated < plain
    assert np.array_equal(models[0].predict(Q), models[1].predict(Q))
    assert np.array_equal(models[0].label_weights(Q), models[1].label_weights(Q))


def test_strictly_inside_and_rising(rng):
    X, Y, _ = noisy(rng)
    Y[:, 2] = 0  # never there: a logistic curve from no example
    model = SMLClassifier(RBF(3.0), normalizer=None, calibration=LeaveOneOutCalibration(enough=50)).fit(X, Y)
    proba, share = (
        model.predict_proba(X),
        SMLClassifier(RBF(3.0), normalizer=None, calibration=None).fit(X, Y).predict_proba(X),
    )
    assert proba.min() > 0
    assert proba.max() < 1
    for k in range(3):
        order = np.argsort(share[:, k])
        assert (np.diff(proba[order, k]) >= -1e-12).all()


@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_temperature_for_classes(n_classes, rng):
    X = rng.random((300, 2))
    y = np.minimum((X[:, 0] * n_classes).astype(int), n_classes - 1)
    y = np.where(rng.random(300) < 0.3, rng.integers(0, n_classes, 300), y)
    model = SMLClassifier(RBF(1.0), normalizer=None, calibration="loo").fit(X, y)
    plain = SMLClassifier(RBF(1.0), normalizer=None, calibration=None).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0)
    assert np.array_equal(model.classes_[proba.argmax(axis=1)], plain.predict(X))

    def log_loss(p, at=y):
        return -np.log(p[np.arange(300), at]).mean()

    assert log_loss(proba) < log_loss(plain.predict_proba(X))


def test_bad_settings_are_named(rng):
    X, Y, _ = noisy(rng, 20)
    with pytest.raises(ValueError, match=r"Unknown calibration .lou.. Did you mean .loo."):
        SMLClassifier(calibration="lou").fit(X, Y)
    with pytest.raises(ValueError, match="enough must be a whole number"):
        SMLClassifier(calibration=LeaveOneOutCalibration(0)).fit(X, Y)


def test_each_label_has_its_own_curve(rng):
    """Some isotonic, some logistic, which are evaluated together: as each by itself."""
    X, Y, _ = noisy(rng, 300)
    Y = np.column_stack([Y, Y[:, 0] * (rng.random(300) < 0.1), Y[:, 1] * (rng.random(300) < 0.2)])
    model = SMLClassifier(RBF(3.0), normalizer=None, calibration=LeaveOneOutCalibration(enough=60)).fit(X, Y)
    curves = model.calibration_.curves_
    assert len({type(curve) for curve in curves}) == 2
    shares = SMLClassifier(RBF(3.0), normalizer=None, calibration=None).fit(X, Y).predict_proba(X[:20])
    expected = np.column_stack([curve(shares[:, k]) for k, curve in enumerate(curves)])
    np.testing.assert_allclose(model.predict_proba(X[:20]), expected, rtol=1e-12)


@pytest.mark.parametrize("slope", [10**20, 2**63])
def test_a_slope_of_a_file_may_be_any_whole_number(slope):
    """JSON has whole numbers of any size, of which numpy would make an array of objects."""
    scores = np.array([[0.2, 0.7], [0.6, 0.1]])
    calibration = LeaveOneOutCalibration()
    calibration.single_, calibration.curves_ = False, [LogisticCurve(slope, 0), LogisticCurve(1.0, 0.0)]
    calibration.check()
    found = calibration.probabilities(ScoreBlock(scores, np.ones((2, 1)), scores))
    assert ((found > 0) & (found < 1)).all()
    assert found[:, 0].round().tolist() == [0.0, 1.0]


def test_curves_of_many_labels_take_their_steps_together(rng, monkeypatch):
    """One regression for each of 99,900 labels took minutes."""
    calls = []

    def counted(*given):
        calls.append(given[0].shape[1])
        return logistic_lines(*given)

    monkeypatch.setattr("simlabel.rules.calibration._leave_one_out.logistic_lines", counted)
    X, Y = rng.random((60, 3)), np.repeat(np.eye(60, dtype=np.int8), 50, axis=1)
    SMLClassifier(RBF(1.0), normalizer=None, calibration="loo").fit(X, Y).predict_proba(X[:2])
    assert sum(calls) == Y.shape[1]
    assert len(calls) <= 5

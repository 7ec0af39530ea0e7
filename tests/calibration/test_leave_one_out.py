from __future__ import annotations

import numpy as np
import pytest

from simlabel import SMLClassifier
from simlabel.rules.calibration import LeaveOneOutCalibration
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

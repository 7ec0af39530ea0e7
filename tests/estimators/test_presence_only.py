"""Positive-unlabeled data: labels are deleted from data whose true labels are known."""

import numpy as np
import pytest

from simlabel import AutoSMLClassifier, SMLClassifier, load
from simlabel.metrics import f1_micro
from simlabel.ridge import Ridge
from simlabel.rules import BY_LABEL, CutoffRule, PerLabel, PositiveUnlabeled
from simlabel.similarities import RBF


def planted(seed=0, n=600, kept=0.5):
    """Return labels that are certain far from a line, what is recorded of them, and new rows with labels."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n + 200, 2)) * 2
    Y = (X + 0.2 * rng.normal(size=X.shape) > 0.5).astype(int)
    label_frequency = Y[:n] * (rng.random((n, 2)) < kept)
    return X[:n], label_frequency, X[n:], Y[n:]


def model(unlabeled, influence="uniform", **more):
    return SMLClassifier(RBF(1.0), normalizer=None, influence=influence, unlabeled=unlabeled, **more)


@pytest.mark.parametrize("influence", ["uniform", "label_mean", Ridge(0.3)], ids=repr)
def test_nothing_missing_is_as_if_nothing_had_been_said(influence):
    X, S, Q, _ = planted(n=80)
    plain, said = model(None, influence).fit(X, S), model(PositiveUnlabeled(0.0), influence).fit(X, S)
    np.testing.assert_allclose(said.outputs(Q).weights, plain.outputs(Q).weights, rtol=1e-12)
    np.testing.assert_allclose(said.predict_proba(Q), plain.predict_proba(Q), rtol=1e-12)


@pytest.mark.parametrize("influence", ["uniform", Ridge(0.3)], ids=repr)
def test_a_recorded_label_counts_for_all_that_apply(influence):
    X, S, Q, _ = planted(n=80)
    plain = model(None, influence, calibration="loo").fit(X, S)
    corrected = model(PositiveUnlabeled({0: 0.5, 1: 0.2}), influence, calibration="loo").fit(X, S)
    c = np.array([0.5, 0.8])
    np.testing.assert_allclose(corrected.label_frequency_, c)
    np.testing.assert_allclose(corrected.outputs(Q).weights, plain.outputs(Q).weights / c, rtol=1e-9)
    np.testing.assert_allclose(corrected.leave_one_out(), plain.leave_one_out() / c, rtol=1e-9)
    wanted = np.minimum(plain.predict_proba(Q) / c, 1.0)
    np.testing.assert_allclose(corrected.predict_proba(Q), wanted, rtol=1e-6)


@pytest.mark.parametrize("unlabeled", [PositiveUnlabeled(0.5), "unknown"], ids=repr)
def test_planted_deletions_are_put_right(unlabeled):
    X, S, Q, T = planted()
    misled = model(None, Ridge(0.3), calibration="loo").fit(X, S)
    corrected = model(unlabeled, Ridge(0.3), calibration="loo").fit(X, S)
    assert corrected.label_frequency_ == pytest.approx([0.5, 0.5], abs=0.2)
    off = [abs(each.predict_proba(Q).mean() - T.mean()) for each in (corrected, misled)]
    assert off[0] < off[1] / 2
    off = [abs(each.outputs(Q).sizes.mean() - T.sum(axis=1).mean()) for each in (corrected, misled)]
    assert off[0] < off[1] - 0.1
    assert f1_micro(T, corrected.predict(Q)) > f1_micro(T, misled.predict(Q)) + 0.1


@pytest.mark.parametrize("criterion", BY_LABEL)
@pytest.mark.parametrize("rule", [PerLabel, CutoffRule])
def test_thresholds_are_tuned_for_what_is_true(rule, criterion):
    X, S, Q, T = planted()
    found = {
        name: f1_micro(T, model(unlabeled, label_rule=rule(criterion=criterion)).fit(X, y).predict(Q))
        for name, unlabeled, y in [
            ("misled", None, S),
            ("put right", PositiveUnlabeled(0.5), S),
            ("true", None, planted(kept=1.0)[1]),
        ]
    }
    assert found["put right"] > found["misled"] - 0.01  # macro F1 asks for more than is best for micro F1
    assert found["put right"] > found["true"] - 0.05


def test_it_lives_with_the_model(tmp_path):
    X, S, Q, _ = planted(n=80)
    y = [{"ab"[k] for k in np.flatnonzero(row)} for row in S]
    fitted = model("unknown", Ridge(0.3), calibration="loo").fit(X[:60], y[:60])
    label_frequency = fitted.label_frequency_
    fitted.partial_fit(X[60:], [*y[60:79], {"new"}]).forget([3])
    assert fitted.label_frequency_[:2].tolist() == label_frequency.tolist()
    assert fitted.label_frequency_[2] == np.median(label_frequency)
    fitted.save(tmp_path / "m")
    again = load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(Q), fitted.predict_proba(Q))
    assert again.predict(Q) == fitted.predict(Q)
    assert str(fitted.explain(Q[:1]))
    assert np.isfinite(again.retune().label_frequency_).all()


def test_what_cannot_be_put_right_is_refused():
    X, S, _, _ = planted(n=40)
    for unlabeled, words in [
        (PositiveUnlabeled(1.0), "below 1"),
        (PositiveUnlabeled(-0.1), "at least 0"),
        (PositiveUnlabeled({0: 0.1}), "has no share for the label 1"),
        ("never", "unlabeled"),
    ]:
        with pytest.raises(ValueError, match=words):
            model(unlabeled).fit(X, S)
    for rule in ("threshold", "aimed", PerLabel("subset_accuracy")):
        with pytest.raises(ValueError, match="whole label sets"):
            model("unknown", label_rule=rule).fit(X, S)
    with pytest.raises(ValueError, match="one class for each row"):
        model("unknown").fit(X, S[:, 0])


def test_auto_takes_it():
    X, S, Q, _ = planted(n=80)
    auto = AutoSMLClassifier(
        unlabeled=PositiveUnlabeled(0.5), configurations=[("l2", "rbf", "ridge")], random_state=0
    )
    assert auto.fit(X, S).best_estimator_.label_frequency_.tolist() == [0.5, 0.5]
    assert isinstance(auto.best_estimator_.label_rule_, PerLabel)
    assert np.isfinite(auto.predict_proba(Q)).all()

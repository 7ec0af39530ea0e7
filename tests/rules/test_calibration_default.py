"""calibration="auto", and the warning for shares that are not probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import log_loss

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger, load
from simlabel.rules import LeaveOneOutCalibration, PerLabel, ShareWarning
from simlabel.similarities import RBF, Function, Linear
from simlabel.sums import Exact, UniformSampler


def noisy(rng, n=150, n_labels=3):
    X = rng.normal(size=(n, 3))
    p = 1.0 / (1.0 + np.exp(-2.0 * X[:, :1] - np.arange(n_labels)))
    return X, (rng.random(p.shape) < p).astype(int)


@pytest.mark.parametrize("rule", ["set_size", PerLabel("f1_micro")], ids=["set_size", "per_label"])
@pytest.mark.parametrize("influence", ["uniform", "ridge", "label_mean"])
def test_auto_equals_loo(influence, rule, rng):
    X, Y = noisy(rng)
    models = [
        SMLClassifier(RBF(1.0), influence=influence, calibration=c, label_rule=rule).fit(X, Y)
        for c in ("auto", "loo")
    ]
    np.testing.assert_array_equal(*(model.predict_proba(X) for model in models))
    np.testing.assert_array_equal(*(model.predict(X) for model in models))
    assert "probabilities are calibrated on leave-one-out scores" in models[0].plan_.reasons
    assert dict(models[0].describe().facts)["probabilities"] == "calibrated on leave-one-out scores"


def shares(model):
    assert model.calibration_ is None
    return model.plan_.reasons[-1]


def test_auto_uses_shares_beyond_limits_and_gives_the_reason(rng, changed_limits):
    X, Y = noisy(rng)

    def fitted(similarity=RBF(1.0), rows=150, **stages):  # noqa: B008 - never changed
        return SMLClassifier(similarity, **stages).fit(X[:rows], Y[:rows])

    with changed_limits(calibrated_rows=149):
        assert shares(fitted()) == (
            "probabilities are shares of the similarity: 150 labeled rows are more than 149"
        )
        assert fitted(influence="ridge").calibration_ is not None  # leave-one-out scores are there
    assert "49 labeled rows are fewer than 50" in shares(fitted(rows=49))
    with changed_limits(evaluated_entries=300):
        assert "150 x 3 scores are more than 300" in shares(fitted())
    assert "references are drawn for each query" in shares(
        fitted(sampler=UniformSampler(20, per_query=True), random_state=0)
    )
    calls = []

    def alike(a, b):
        calls.append(1)
        return float(a @ b)

    with changed_limits(calibrated_calls=150 * 150 - 1):
        assert "it would call your function 22,500 times" in shares(fitted(Function(alike)))
        assert not calls
        assert fitted(Function(lambda A, B: A @ B.T, blockwise=True)).calibration_ is not None
    assert shares(fitted(calibration=None)) == "probabilities are shares of the similarity"


def test_retune_calibrates_a_model_fitted_on_few_rows(rng):
    X, Y = noisy(rng)
    model = SMLClassifier(RBF(1.0)).fit(X[:40], Y[:40]).partial_fit(X[40:], Y[40:])
    assert "the first rows were too few; retune() calibrates them" in shares(model)
    assert model.retune().calibration_ is not None


def test_one_pass_for_rule_and_calibration(rng):
    X, Y = noisy(rng)
    blocks = []
    engine = Exact(on_block=lambda *pairs: blocks.append(pairs))
    SMLClassifier(RBF(1.0), engine=engine, label_rule=PerLabel("f1_micro")).fit(X, Y)
    assert [total for done, total in blocks if done == total] == [150 * 150]


def test_auto_is_the_default_and_is_saved(rng, tmp_path):
    X, Y = noisy(rng)
    for created in (SMLClassifier(), AutoSMLClassifier(), Tagger()):
        assert created.calibration == "auto"
    model = SMLClassifier(RBF(1.0)).fit(X, Y)
    model.save(tmp_path / "m.simlabel")
    again = load(tmp_path / "m.simlabel")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.calibration == "auto"


def test_sums_of_any_sign_are_calibrated(rng, tmp_path):
    """Shares of linear similarities around 0 are all clipped and carry no information, but the sums do."""
    X, Y = noisy(rng, 400)
    model = SMLClassifier(Linear(), normalizer="zscore").fit(X[:200], Y[:200])
    assert model.calibration_.sum_scale_ > 0
    base = np.tile(Y[:200].mean(axis=0), (200, 1))
    for k in range(3):
        assert log_loss(Y[200:, k], model.predict_proba(X[200:])[:, k]) < 0.95 * log_loss(
            Y[200:, k], base[:, k]
        )
    model.save(tmp_path / "m.simlabel")
    again = load(tmp_path / "m.simlabel")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    broken = LeaveOneOutCalibration()
    broken.sum_scale_ = 0.0
    with pytest.raises(ValueError, match="sum_scale_"):
        broken.check()


def test_warns_if_shares_are_not_probabilities(rng):
    X, Y = noisy(rng)
    model = SMLClassifier(Linear(), normalizer=None, calibration=None).fit(X, Y)
    sums, total = X @ (X.T @ Y), X @ X.sum(axis=0)
    cut = np.mean((sums < 0) | (sums > total[:, None]))
    with pytest.warns(ShareWarning, match=rf"{cut:.1%} of the probabilities were cut.*calibration='loo'"):
        model.predict_proba(X)
    assert f"{cut:.1%}" in model.outputs(X).warning
    scaled = SMLClassifier(RBF(1.0), influence="label_mean", calibration=None).fit(X, Y)
    with pytest.warns(ShareWarning, match=r"100.0% of the probabilities are sums divided by"):
        scaled.predict_proba(X)
    for quiet in (
        SMLClassifier(RBF(1.0), calibration=None).fit(X, Y),
        SMLClassifier(Linear(), calibration=None).fit(X, Y[:, 0]),
        SMLClassifier(Linear()).fit(X, Y),
    ):
        quiet.predict_proba(X)  # warnings are errors here
        assert not quiet.outputs(X).warning

"""Thresholds per label and the choice of a rule, against trying all of them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from simlabel import SMLClassifier
from simlabel.label_rules import PerLabel, ScoreBlock, SetSize, _gather
from simlabel.label_rules._base import TrainingBlock
from simlabel.label_rules._gather import Gathered
from simlabel.label_rules._per_label import tuned_thresholds
from simlabel.metrics import hamming_loss
from simlabel.similarities import RBF


def cuts(scores):
    points = np.unique(scores)
    return [points[0] - 1, *((points[:-1] + points[1:]) / 2), points[-1] + 1]


AVERAGES = {"macro_f1": "macro", "micro_f1": "micro", "instance_f1": "samples"}


def value(Y, scores, thresholds, criterion):
    P = (scores > thresholds).astype(int)
    if criterion == "hamming_loss":
        return -np.mean(P != Y)
    return f1_score(Y, P, average=AVERAGES[criterion], zero_division=0.0)


@given(seed=st.integers(0, 2**32 - 1), criterion=st.sampled_from(["macro_f1", "micro_f1", "hamming_loss"]))
@settings(max_examples=30)
def test_no_thresholds_are_better(seed, criterion):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random((7, 2)), 1)  # with ties
    Y = (rng.random((7, 2)) < 0.5).astype(int)
    Y[0] = 1
    found = tuned_thresholds(Gathered(scores, Y, np.ones(7)), criterion)
    best = max(value(Y, scores, np.array(t), criterion) for t in itertools.product(*map(cuts, scores.T)))
    assert value(Y, scores, found, criterion) == pytest.approx(best)


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20)
def test_no_single_change_is_better_for_instances(seed):
    rng = np.random.default_rng(seed)
    scores, Y = rng.random((8, 3)), (rng.random((8, 3)) < 0.5).astype(int)
    Y[:, 0] |= Y.sum(axis=1) == 0  # no empty sets, on which F1 is a matter of taste
    found = tuned_thresholds(Gathered(scores, Y, np.ones(8)), "instance_f1")
    here = value(Y, scores, found, "instance_f1")
    for k in range(3):
        for cut in cuts(scores[:, k]):
            changed = found.copy()
            changed[k] = cut
            assert value(Y, scores, changed, "instance_f1") <= here + 1e-9


def data(rng, n=80):
    X = rng.random((n, 3))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.8, X[:, 2] > 0.3]).astype(int)
    return X, Y


def test_tuned_on_leave_one_out_scores(rng):
    X, Y = data(rng)
    model = SMLClassifier(RBF(8.0), normalizer=None, label_rule=PerLabel("macro_f1")).fit(X, Y)
    scores = model.leave_one_out()
    wanted = tuned_thresholds(Gathered(scores, Y, np.ones(80)), "macro_f1")
    np.testing.assert_allclose(model.label_rule_.thresholds_, wanted)
    assert np.array_equal(model.predict(X), (model.decision_function(X) > wanted).astype(int))


def test_thresholds_of_your_own(rng):
    X, Y = data(rng)
    model = SMLClassifier(RBF(8.0), normalizer=None, label_rule=PerLabel(thresholds=[1.0, 2.0, 3.0])).fit(
        X, Y
    )
    assert np.array_equal(model.predict(X), (model.decision_function(X) > [1.0, 2.0, 3.0]).astype(int))
    some = SMLClassifier(RBF(8.0), normalizer=None, label_rule=PerLabel(thresholds={1: 0.5})).fit(X, Y)
    assert some.label_rule_.thresholds_[1] == 0.5
    with pytest.raises(ValueError, match="but there are 3 labels"):
        SMLClassifier(RBF(8.0), label_rule=PerLabel(thresholds=[1.0])).fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="criterion must be one of macro_f1"):
        SMLClassifier(RBF(8.0), label_rule=PerLabel("f1")).fit(X, Y)


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
def test_auto_takes_the_rule_with_the_smallest_loss(influence, rng):
    X, Y = data(rng)
    options = {"normalizer": None, "influence": influence}
    model = SMLClassifier(RBF(8.0), label_rule="auto", **options).fit(X, Y)

    def loo_loss(rule):
        one = SMLClassifier(RBF(8.0), label_rule=rule, **options).fit(X, Y)
        from simlabel._leave_one_out import training_blocks

        sets = [
            one.label_rule_.predict(block.scores).toarray() for block in training_blocks(one._model.scorer)
        ]
        return hamming_loss(Y, np.concatenate(sets))

    losses = {rule: loo_loss(rule) for rule in ("set_size", "threshold", "cutoff")}
    losses["per_label"] = loo_loss(PerLabel("hamming_loss"))
    assert losses[model.label_rule_.name] == pytest.approx(min(losses.values()))


def test_a_rule_is_changed_without_a_refit(rng):
    X, Y = data(rng)
    model = SMLClassifier(RBF(8.0), normalizer=None).fit(X, Y)
    before, references = model.decision_function(X), model._model.scorer
    changed = model.change_rule(SetSize(maximum=1))
    assert changed is model
    assert model._model.scorer is references
    assert model.predict_set_size(X).max() <= 1
    np.testing.assert_array_equal(model.decision_function(X), before)
    fresh = SMLClassifier(RBF(8.0), normalizer=None, label_rule="threshold").fit(X, Y)
    assert np.array_equal(model.change_rule("threshold").predict(X), fresh.predict(X))
    with pytest.raises(ValueError, match="Unknown label_rule"):
        model.change_rule("threshhold")


@pytest.mark.timeout(60)
def test_rows_are_thinned_over_all_blocks_until_they_fit(monkeypatch):
    """A row of each block would be too many where blocks are many and small."""
    monkeypatch.setattr(_gather, "_ENTRIES", 10)
    Y = sp.csr_array(np.ones((3, 4), dtype=np.int8))
    blocks = []
    for n in range(50):
        labels = np.full((3, 4), n) + np.arange(3)[:, None] / 4
        blocks.append(TrainingBlock(ScoreBlock(labels, labels, labels), Y, np.ones(3)))
    gathered = _gather.gather(blocks)
    assert gathered.scores.shape == gathered.truth.shape == (2, 4)
    assert gathered.scores[:, 0].tolist() == [0.0, 42.5]  # rows 0 and 128 of 150
    monkeypatch.setattr(_gather, "_ENTRIES", 3)  # less than one row
    assert _gather.gather(blocks).scores.shape == (1, 4)

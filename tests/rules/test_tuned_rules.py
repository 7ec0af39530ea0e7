"""Thresholds per label and the choice of a rule, compared with exhaustive search."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score

from simlabel import SMLClassifier
from simlabel.metrics import find_criterion
from simlabel.model import training_blocks
from simlabel.rules import (
    TUNED_METRICS,
    AutoRule,
    CutoffRule,
    PerLabel,
    ScoreBlock,
    SetSize,
    Threshold,
    TrainingBlock,
)
from simlabel.similarities import RBF


def tuned_thresholds(scores, Y, criterion):
    """Thresholds without shrinkage and without a bound on how often a label is accepted."""
    block = TrainingBlock(ScoreBlock(scores, scores[:, :1], scores), sp.csr_array(Y), np.ones(len(Y)))
    rule = PerLabel(criterion, minimum=0, shrinkage=0.0, at_most=None)
    return rule.fit(np.array([0, 1]), [block]).thresholds_


def folds(blocks):
    """Rows with the same highest score, lowest score and set size together, in five folds."""
    (block,) = blocks
    labels = block.scores.labels
    keys = [(max(row), min(row), n) for row, n in zip(labels.tolist(), block.Y.sum(axis=1), strict=True)]
    fold_of = np.array([sorted(set(keys)).index(key) % 5 for key in keys])
    for fold in range(5):
        yield tuple([block.of_rows(np.flatnonzero(rows))] for rows in (fold_of != fold, fold_of == fold))


def cuts(scores):
    points = np.unique(scores)
    return [points[0] - 1, *((points[:-1] + points[1:]) / 2), points[-1] + 1]


AVERAGES = {"f1_macro": "macro", "f1_micro": "micro", "f1_instance": "samples"}


def value(Y, scores, thresholds, criterion):
    P = (scores > thresholds).astype(int)
    if criterion == "hamming_loss":
        return -np.mean(P != Y)
    if criterion == "subset_accuracy":
        return (P == Y).all(axis=1).mean()
    return f1_score(Y, P, average=AVERAGES[criterion], zero_division=0.0)


@given(seed=st.integers(0, 2**32 - 1), criterion=st.sampled_from(["f1_macro", "f1_micro", "hamming_loss"]))
@settings(max_examples=30)
def test_no_thresholds_are_better(seed, criterion):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.random((7, 2)), 1)  # with ties
    Y = (rng.random((7, 2)) < 0.5).astype(int)
    Y[0] = 1
    found = tuned_thresholds(scores, Y, criterion)
    best = max(value(Y, scores, np.array(t), criterion) for t in itertools.product(*map(cuts, scores.T)))
    assert value(Y, scores, found, criterion) == pytest.approx(best)


@given(seed=st.integers(0, 2**32 - 1), criterion=st.sampled_from(["f1_instance", "subset_accuracy"]))
@settings(max_examples=20)
def test_no_single_change_is_better_for_instances(seed, criterion):
    rng = np.random.default_rng(seed)
    scores, Y = rng.random((8, 3)), (rng.random((8, 3)) < 0.5).astype(int)
    Y[:, 0] |= Y.sum(axis=1) == 0  # no empty sets, for which definitions of F1 differ
    found = tuned_thresholds(scores, Y, criterion)
    here = value(Y, scores, found, criterion)
    for k in range(3):
        for cut in cuts(scores[:, k]):
            changed = found.copy()
            changed[k] = cut
            assert value(Y, scores, changed, criterion) <= here + 1e-9


def data(rng, n=80):
    X = rng.random((n, 3))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.8, X[:, 2] > 0.3]).astype(int)
    return X, Y


def test_tuned_on_leave_one_out_scores(rng):
    X, Y = data(rng)
    alone = PerLabel("f1_macro", shrinkage=0.0, at_most=None)
    model = SMLClassifier(RBF(8.0), normalizer=None, label_rule=alone).fit(X, Y)
    scores = model.leave_one_out()
    wanted = tuned_thresholds(scores, Y, "f1_macro")
    np.testing.assert_allclose(model.label_rule_.thresholds_, wanted)
    assert np.array_equal(model.predict(X), (model.label_weights(X) > wanted).astype(int))


def test_given_thresholds(rng):
    X, Y = data(rng)
    model = SMLClassifier(RBF(8.0), normalizer=None, label_rule=PerLabel(thresholds=[1.0, 2.0, 3.0])).fit(
        X, Y
    )
    assert np.array_equal(model.predict(X), (model.label_weights(X) > [1.0, 2.0, 3.0]).astype(int))
    some = SMLClassifier(RBF(8.0), normalizer=None, label_rule=PerLabel(thresholds={1: 0.5})).fit(X, Y)
    assert some.label_rule_.thresholds_[1] == 0.5
    with pytest.raises(ValueError, match="but there are 3 labels"):
        SMLClassifier(RBF(8.0), label_rule=PerLabel(thresholds=[1.0])).fit(X, Y).predict(X)
    with pytest.raises(ValueError, match="criterion must be one of f1_macro"):
        SMLClassifier(RBF(8.0), label_rule=PerLabel("f1")).fit(X, Y)


def test_a_rule_is_changed_without_a_refit(rng):
    X, Y = data(rng)
    model = SMLClassifier(RBF(8.0), normalizer=None).fit(X, Y)
    before, references = model.label_weights(X), model._model.scorer
    changed = model.set_label_rule(SetSize(maximum=1))
    assert changed is model
    assert model._model.scorer is references
    assert model.predict_set_size(X).max() <= 1
    np.testing.assert_array_equal(model.label_weights(X), before)
    fresh = SMLClassifier(RBF(8.0), normalizer=None, label_rule="threshold").fit(X, Y)
    assert np.array_equal(model.set_label_rule("threshold").predict(X), fresh.predict(X))
    with pytest.raises(ValueError, match="Unknown label_rule"):
        model.set_label_rule("threshhold")


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
@pytest.mark.parametrize("criterion", list(TUNED_METRICS))
def test_auto_chooses_another_rule_if_it_is_clearly_better_on_held_out_rows(criterion, influence, rng):
    X, Y = data(rng)
    Y[:5] = 0
    options = {"normalizer": None, "influence": influence}
    model = SMLClassifier(RBF(8.0), label_rule=AutoRule(criterion), **options).fit(X, Y)
    scorer = model._model.scorer
    sizes = scorer.references.sizes
    sign = 1 if find_criterion(criterion).higher_is_better else -1

    def value(parts, criterion=criterion):
        truth, sets = (np.concatenate(each) for each in zip(*parts, strict=True))
        return find_criterion(criterion).function(truth, sets)

    shrunk = [PerLabel(criterion, shrinkage=strength) for strength in PerLabel.strengths]
    held_out = []
    for rule in (*shrunk, CutoffRule(criterion=criterion), Threshold(), SetSize()):
        parts = []
        for rest, held in folds(list(training_blocks(scorer))):
            fitted = rule.fit(sizes, rest)
            parts += [(block.Y.toarray(), fitted.predict(block.scores).toarray()) for block in held]
        assert sum(len(truth) for truth, _ in parts) == len(Y)  # each row is judged once
        held_out.append((str(rule.fit(sizes, training_blocks(scorer))), parts))
    if criterion == "f1_macro":
        most = max(value(parts, "f1_micro") for _, parts in held_out)
        held_out = [one for one in held_out if value(one[1], "f1_micro") >= most - 0.05]
    wanted, first = held_out[0]
    gained = 0.0
    for name, parts in held_out[1:]:
        gains = [
            sign * (value(parts[:i] + parts[i + 1 :]) - value(first[:i] + first[i + 1 :]))
            for i in range(len(parts))
        ]
        n, mean = len(gains), sum(gains) / len(gains)
        error = ((n - 1) / n * sum((gain - mean) ** 2 for gain in gains)) ** 0.5
        gain = sign * (value(parts) - value(first))
        if round(gain, 9) > 2 * error and gain > gained:
            wanted, gained = name, gain
    assert str(model.label_rule_) == wanted


@pytest.mark.timeout(60)
def test_rows_are_thinned_over_all_blocks(change_limits):
    """Keeping a row of each block would be too many if blocks are many and small."""
    blocks = []
    for n in range(50):
        labels = np.full((3, 4), n) + np.arange(3)[:, None] / 4
        Y = sp.csr_array(np.full((3, 4), n >= 25, dtype=np.int8))
        blocks.append(TrainingBlock(ScoreBlock(labels, labels, labels), Y, np.ones(3)))
    rule, sizes = PerLabel(shrinkage=0.0), np.array([0, 4])
    np.testing.assert_allclose(rule.fit(sizes, blocks).thresholds_, (24.5 + 25) / 2)
    change_limits(gathered_entries=10)
    np.testing.assert_allclose(rule.fit(sizes, blocks).thresholds_, (0.0 + 42.5) / 2)  # rows 0 and 128 of 150
    change_limits(gathered_entries=3)  # less than one row
    assert np.isinf(rule.fit(sizes, blocks).thresholds_).all()  # row 0 has no label

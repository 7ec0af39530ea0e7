"""Thresholds on new rows: shrinkage, bounds, the metric that they are tuned for; and rules with an aim."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from simlabel import AutoSMLClassifier, SMLClassifier
from simlabel.metrics import f1_micro, find_criterion
from simlabel.rules import (
    TUNED_METRICS,
    AutoRule,
    CutoffRule,
    OperatingPointRule,
    PerLabel,
    ScoreBlock,
    SetSize,
    Threshold,
    TrainingBlock,
)
from simlabel.similarities import RBF

SEEDS = st.integers(0, 2**32 - 1)
CRITERIA = st.sampled_from(list(TUNED_METRICS))
RULES = [PerLabel, AutoRule, CutoffRule]


def block(scores, Y, weights=None):
    weights = np.ones(len(Y)) if weights is None else weights
    return TrainingBlock(ScoreBlock(scores, np.ones((len(Y), 1)), scores), sp.csr_array(Y), weights)


def drawn(seed, n=60, n_labels=6, empty=True):
    """Scores with weak information about labels of very different frequencies."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, n_labels)) < np.geomspace(0.6, 0.03, n_labels)).astype(np.int8)
    if not empty:
        Y[:, 0] |= Y.sum(axis=1) == 0
    return Y + rng.normal(size=Y.shape), Y


def tuned(rule, criterion, **options):
    return rule(criterion=criterion, **options)


@given(
    seed=SEEDS,
    criterion=CRITERIA,
    weighted=st.booleans(),
    shrinkage=st.sampled_from(["auto", "full", 9.0, 0.0]),
)
@settings(max_examples=40, deadline=None)
def test_no_label_is_accepted_more_than_twice_as_often_as_it_is_true(seed, criterion, weighted, shrinkage):
    scores, Y = drawn(seed)
    weights = (
        np.random.default_rng(seed).integers(1, 4, len(Y)).astype(float) if weighted else np.ones(len(Y))
    )
    rule = PerLabel(criterion, minimum=0, shrinkage=shrinkage).fit(
        np.array([0, 1]), [block(scores, Y, weights)]
    )
    accepted = weights @ (scores > rule.thresholds_)
    assert (accepted <= 2.0 * (weights @ Y) + 1e-9).all()


@pytest.mark.parametrize("rule", RULES)
@given(seed=SEEDS, criterion=CRITERIA)
@settings(max_examples=15, deadline=None)
def test_the_order_of_rows_and_labels_does_not_matter(rule, seed, criterion):
    scores, Y = drawn(seed, empty=False)
    rng = np.random.default_rng(seed)
    rows, labels = rng.permutation(len(Y)), rng.permutation(Y.shape[1])
    sizes = np.array([1])
    one = tuned(rule, criterion).fit(sizes, [block(scores, Y)]).predict(block(scores, Y).scores).toarray()
    moved_scores, moved_Y = scores[rows][:, labels], Y[rows][:, labels]
    halves = [block(moved_scores[:20], moved_Y[:20]), block(moved_scores[20:], moved_Y[20:])]
    other = tuned(rule, criterion).fit(sizes, halves).predict(block(moved_scores, moved_Y).scores).toarray()
    np.testing.assert_array_equal(one[rows][:, labels], other)


@pytest.mark.parametrize("criterion", list(TUNED_METRICS))
@given(seed=SEEDS)
@settings(max_examples=10, deadline=None)
def test_no_common_threshold_is_better(criterion, seed):
    scores, Y = drawn(seed, 25, 3)
    Y[0] = 1
    scores = np.round(scores, 1)  # with ties
    found = CutoffRule(criterion=criterion).fit(np.array([0, 1]), [block(scores, Y)]).value_
    record = find_criterion(criterion)
    sign = 1 if record.higher_is_better else -1

    def value(cut):
        return sign * record.function(Y, (scores > cut).astype(int))

    points = np.unique(scores)
    tried = [points[0] - 1, *((points[:-1] + points[1:]) / 2), points[-1]]
    tried = [cut for cut in tried if (scores > cut).sum() <= 2 * Y.sum()]
    assert value(found) == pytest.approx(max(map(value, tried)))


@pytest.mark.parametrize("seed", [5, 6, 8])
def test_rare_labels_do_not_accept_everything(seed):
    """Thresholds for macro F1 lose at most 0.05 of micro F1 on new rows."""
    rng = np.random.default_rng(seed)
    frequency = np.r_[[0.3] * 4, [0.006] * 40]

    def rows(n):
        Y = (rng.random((n, 44)) < frequency).astype(np.int8)
        return rng.normal(size=Y.shape) * 0.3 + Y * np.where(frequency > 0.1, 1.0, 0.1), Y

    (scores, Y), (new, truth) = rows(500), rows(2000)
    reached = {}
    for criterion in ("f1_macro", "f1_micro"):
        rule = PerLabel(criterion).fit(np.array([0, 1]), [block(scores, Y)])
        reached[criterion] = f1_micro(truth, rule.predict(block(new, truth).scores))
    assert reached["f1_macro"] > reached["f1_micro"] - 0.05
    alone = PerLabel("f1_macro", shrinkage=0.0, at_most=None).fit(np.array([0, 1]), [block(scores, Y)])
    assert f1_micro(truth, alone.predict(block(new, truth).scores)) < reached["f1_micro"] - 0.3


def test_labels_with_much_evidence_keep_their_own_threshold():
    scores, Y = drawn(1, 400, 2)
    scores += [0.0, 5.0]  # the second label's scores lie elsewhere
    none, some, full = (
        PerLabel("f1_macro", shrinkage=s, at_most=None).fit(np.array([0, 1]), [block(scores, Y)]).thresholds_
        for s in (0.0, 50.0, "full")
    )
    share = Y.sum(axis=0) / (Y.sum(axis=0) + 50.0)
    np.testing.assert_allclose(some, share * none + (1 - share) * full)
    assert share[0] > share[1]


@pytest.mark.parametrize(
    "rule", ["auto", "per_label", PerLabel("hamming_loss"), AutoRule("hamming_loss")], ids=str
)
@pytest.mark.parametrize("empty", [False, True])
@pytest.mark.filterwarnings("ignore::simlabel._utils.advice.PredictionWarning")  # the labels are noise
def test_no_set_is_empty_if_none_was_in_training(rule, empty, rng):
    X = rng.random((90, 3))
    Y = np.column_stack([X > 0.7, rng.random((90, 2)) < 0.1]).astype(int)
    Y[Y.sum(axis=1) == 0, 0] = 1
    Y[0] *= not empty
    model = SMLClassifier(RBF(8.0), normalizer=None, influence="ridge", label_rule=rule).fit(X, Y)
    assert model.label_rule_.minimum == (0 if empty else 1)
    assert empty or model.predict(rng.random((200, 3))).sum(axis=1).all()


@pytest.mark.parametrize("criterion", ["f1_micro", "hamming_loss"])
@pytest.mark.filterwarnings("ignore::simlabel.SimlabelWarning")  # the labels are hard to predict
def test_a_search_leaves_no_row_empty_where_labels_are_hard_to_tell(criterion, rng):
    """Each label has a probability below one half in nearly all rows, as in texts of many emotions."""
    X, Y = rng.random((150, 3)), np.eye(8, dtype=int)[rng.integers(0, 8, 150)]
    Y[X[:, 0] > 0.8] = np.eye(8, dtype=int)[0]
    few = [("l2", RBF(4.0), "ridge")]
    model = AutoSMLClassifier(criterion=criterion, configurations=few, random_state=0).fit(X, Y)
    assert getattr(model.best_estimator_.label_rule_, "criterion", criterion) == criterion
    assert model.predict(rng.random((300, 3))).sum(axis=1).all()
    bare = model.set_label_rule(CutoffRule(minimum=0, criterion="hamming_loss"))
    assert (bare.predict(X).sum(axis=1) == 0).any()


@given(seed=SEEDS, criterion=CRITERIA)
@settings(max_examples=10, deadline=None)
def test_auto_predicts_no_empty_set_if_none_was_in_training(seed, criterion):
    scores, Y = drawn(seed, empty=False)
    rule = AutoRule(criterion).fit(np.array([1, 2]), [sized(scores, Y)])
    new, truth = drawn(seed + 1, 200)
    assert np.diff(rule.predict(sized(new - 3.0, truth).scores).indptr).all()  # and scores are low


def sized(scores, Y):
    """A block with two set sizes; the larger one has a high sum if the scores are high."""
    sizes = np.column_stack([np.ones(len(scores)), scores.mean(axis=1)])
    return TrainingBlock(ScoreBlock(scores, sizes, scores), sp.csr_array(Y), np.ones(len(Y)))


def known_by_one_alone(best):
    """A block, and its set sizes, for which one rule is best: set size, threshold function or per label."""
    rng = np.random.default_rng(0)
    Y = np.zeros((400, 6), dtype=np.int8)
    wanted = rng.integers(1, 4, 400)
    for row, n in zip(Y, wanted, strict=True):
        row[rng.permutation(6)[:n]] = 1
    scores, sizes = Y + rng.random(Y.shape) * 0.9, np.ones((400, 1))
    if best == "size":
        scores *= rng.lognormal(0.0, 2.0, (400, 1))  # rows differ so much that no cut fits two of them
        sizes = np.eye(3)[wanted - 1]
    elif best == "threshold":
        scores += 5.0 * rng.normal(size=(400, 1))
    else:
        scores += 3.0 * np.arange(6)
    block = TrainingBlock(ScoreBlock(scores, sizes, scores), sp.csr_array(Y), np.ones(400))
    return np.arange(sizes.shape[1]) + 1, block


@pytest.mark.parametrize("criterion", ["f1_micro", "f1_macro", "subset_accuracy"])
@pytest.mark.parametrize("best", ["size", "threshold", "label"])
def test_auto_chooses_the_rule_that_is_clearly_best(best, criterion):
    sizes, block = known_by_one_alone(best)
    rule = AutoRule(criterion).fit(sizes, [block])
    assert type(rule) is {"size": SetSize, "threshold": Threshold, "label": PerLabel}[best]


def test_auto_tries_no_threshold_function_of_very_many_labels(changed_limits):
    sizes, block = known_by_one_alone("threshold")
    with changed_limits(threshold_labels=5):
        assert not isinstance(AutoRule().fit(sizes, [block]), Threshold)


def test_minimum_0_allows_empty_sets(rng):
    X, Y = rng.random((60, 3)), np.eye(4, dtype=int)[rng.integers(0, 4, 60)]
    model = SMLClassifier(RBF(8.0), influence="ridge", label_rule=PerLabel("hamming_loss", minimum=0)).fit(
        X, Y
    )
    assert (model.predict(X).sum(axis=1) == 0).any()
    assert model.set_label_rule(AutoRule(maximum=0)).predict(X).sum() == 0


@pytest.mark.parametrize(
    ("criterion", "rule", "wanted"),
    [
        ("f1_macro", "per_label", "f1_macro"),
        ("hamming_loss", "per_label", "hamming_loss"),
        ("f1_micro", "cutoff", "f1_micro"),
        ("f1_micro", CutoffRule(), "hamming_loss"),
        ("average_precision", "per_label", "f1_macro"),
    ],
)
def test_the_rule_is_tuned_for_the_criterion_of_the_search(criterion, rule, wanted, rng):
    X = rng.random((40, 3))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.8, X[:, 2] > 0.3]).astype(int)
    few = [("l2", RBF(4.0), "ridge")]
    auto = AutoSMLClassifier(criterion=criterion, label_rule=rule, configurations=few, random_state=0)
    assert auto.fit(X, Y).best_estimator_.label_rule_.criterion == wanted


@pytest.mark.parametrize(("criterion", "wanted"), [("f1_macro", "f1_macro"), ("ranking_loss", "f1_micro")])
def test_auto_is_the_same_rule_in_both_estimators(criterion, wanted, rng):
    X = rng.random((60, 3))
    Y = np.column_stack([X[:, 0] > 0.5, X[:, 1] > 0.8, X[:, 2] > 0.3]).astype(int)
    auto = AutoSMLClassifier(criterion=criterion, configurations=[("l2", RBF(4.0), "ridge")], random_state=0)
    found = auto.fit(X, Y).best_estimator_
    again = SMLClassifier(found.similarity, influence=found.influence, label_rule=AutoRule(wanted)).fit(X, Y)
    assert str(again.label_rule_) == str(found.label_rule_)


@pytest.mark.parametrize(("measure", "aim"), [("precision", 0.8), ("recall", 0.8), ("recall", 1.0)])
def test_the_measured_value_holds_on_new_rows(measure, aim):
    scores, Y = drawn(3, 4000)
    new, truth = drawn(4, 4000)
    rule = OperatingPointRule(measure, aim).fit(
        np.array([0, 1]), [block(scores[:1500], Y[:1500]), block(scores[1500:], Y[1500:])]
    )
    low, high = rule.interval_
    assert low <= rule.measured_ <= high
    assert high - low < 0.12
    predicted = new > rule.value_
    reached = (predicted & (truth > 0)).sum() / (predicted if measure == "precision" else truth).sum()
    assert reached == pytest.approx(rule.measured_, abs=0.05)
    assert reached == pytest.approx(aim, abs=0.05)
    assert rule.describe().startswith(f"{measure} {rule.measured_:.3f} ({low:.3f} to {high:.3f})")


def test_the_interval_is_wider_if_labels_of_a_row_agree():
    scores, Y = drawn(3, 300, 2)
    widths = []
    for copies in (1, 8):
        many = block(np.tile(scores, copies), np.tile(Y, copies))
        low, high = OperatingPointRule("precision", 0.7).fit(np.array([0]), [many]).interval_
        widths.append(high - low)
    assert widths[0] == pytest.approx(widths[1], rel=0.1)  # eight times the labels, and no more rows


@pytest.mark.parametrize("measure", ["precision", "recall"])
def test_an_aim_without_anything_true_accepts_nothing(measure):
    scores, Y = drawn(0, 20)
    rule = OperatingPointRule(measure).fit(np.array([0]), [block(scores, np.zeros_like(Y))])
    assert rule.predict(block(scores, Y).scores).nnz == 0
    assert np.isnan(rule.measured_)
    assert rule.interval_ == (0.0, 1.0)


def test_a_precision_out_of_reach_is_approached():
    scores = np.array([[3.0], [2.0], [1.0], [0.0]])
    rule = OperatingPointRule("precision", 0.9).fit(
        np.array([0, 1]), [block(scores, np.array([[0], [1], [1], [0]]))]
    )
    assert rule.value_ == 0.5  # two of three; no cut has more


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        (OperatingPointRule("f1"), "measure must be 'precision' or 'recall', got 'f1'"),
        (OperatingPointRule(aim=0.0), "aim must be a number above 0, got 0.0"),
        (OperatingPointRule(aim=90), "aim must be a share of at most 1, got 90"),
        (OperatingPointRule(minimum="auto"), "minimum must be a whole number of at least 0, got 'auto'"),
        (PerLabel(shrinkage=-1.0), "shrinkage must be a number of at least 0 or 'auto' or 'full', got -1.0"),
        (PerLabel(at_most=0.0), "at_most must be a number above 0 or None, got 0.0"),
    ],
    ids=str,
)
def test_parameters_out_of_range_are_quoted(rule, message):
    with pytest.raises(ValueError, match=message):
        SMLClassifier("linear", label_rule=rule).fit(np.eye(3), np.eye(3, dtype=int))


@pytest.mark.parametrize("weight", [1e-300, 1e-10])
def test_an_interval_of_rows_that_count_for_next_to_nothing_is_wide(weight):
    scores, Y = drawn(3)
    rule = OperatingPointRule("recall", 0.5).fit(np.array([0]), [block(scores, Y, np.full(len(Y), weight))])
    low, high = rule.interval_
    assert 0.0 <= low < 0.01 < rule.measured_ < 0.99 < high <= 1.0


@pytest.mark.parametrize("literal", [False, True])
def test_scores_whose_products_overflow_are_refused_in_words(literal):
    """Their squares add up to less than the largest number; the product of two sums does not."""
    scores, Y = drawn(3)
    with pytest.raises(ValueError, match=r"Threshold: the squares of the label weights overflow"):
        Threshold(literal).fit(
            np.array([0]), [block((1.0 + scores / 100) * (1e200 if literal else 1e153), Y)]
        )

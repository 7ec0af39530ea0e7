"""Labels that no training row or every row has do not affect the other labels."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_multilabel_classification

from simlabel import AutoSMLClassifier, SMLClassifier, Tagger
from simlabel.guarantees import GUARANTEES, LabelCoverage
from simlabel.model.sketches import Condense, RandomFeatures
from simlabel.ridge import Ridge
from simlabel.rules import CutoffRule, FixedSize, OperatingPointRule, PerLabel, SetSize, Threshold
from simlabel.similarities import RBF

pytestmark = pytest.mark.filterwarnings("ignore::simlabel._utils.advice.SimlabelWarning")

RULES = [
    "set_size",
    "threshold",
    "cutoff",
    "per_label",
    "aimed",
    "auto",
    Threshold(literal=True),
    SetSize(minimum=1),
    CutoffRule(minimum="auto"),
    PerLabel("f1_micro", thresholds={1: 0.1}, shrinkage=20.0),
    OperatingPointRule("recall", 0.8),
]
#: how many columns of zeros and of ones, and where the others stand among them
PADDING = st.tuples(st.integers(0, 2), st.integers(0, 2), st.randoms(use_true_random=False))


def data(seed, n=60, n_labels=4):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    Y = (X @ rng.normal(size=(5, n_labels)) + 0.7 * rng.normal(size=(n, n_labels)) > 0.6).astype(int)
    Y[0], Y[1] = 0, 1  # every label varies
    return X, Y


def padded(Y, padding):
    """Return Y with constant columns added, and the positions of the original columns."""
    n_zeros, n_ones, random = padding
    n = len(Y)
    columns = [*Y.T, *[np.zeros(n, int)] * n_zeros, *[np.ones(n, int)] * n_ones]
    where = sorted(random.sample(range(len(columns)), Y.shape[1]))
    rest = iter(columns[Y.shape[1] :])
    former = dict(zip(where, Y.T, strict=True))
    return np.column_stack([former[k] if k in former else next(rest) for k in range(len(columns))]), where


def hidden(more, where, seed):
    """Return Y with unknown cells in constant columns: most, or all of a column of zeros."""
    constant, rng = np.setdiff1d(np.arange(more.shape[1]), where), np.random.default_rng(seed)
    more = more.astype(float)
    for k in constant:
        unknown = rng.random(len(more)) < 0.7
        more[unknown & (np.arange(len(more)) != rng.integers(len(more))), k] = np.nan
        if not more[:, k].any() and rng.random() < 0.5:
            more[:, k] = np.nan
    return more


def assert_same_sets(make, X, Y, Q, padding, hide=None):
    plain = make(list(range(Y.shape[1])), 0).fit(X, Y).predict(Q)
    more, where = padded(Y, padding)
    model = make(where, padding[1]).fit(X, more if hide is None else hidden(more, where, hide))
    found = model.predict(Q)
    np.testing.assert_array_equal(found[:, where], plain)
    constant = np.setdiff1d(np.arange(more.shape[1]), where)
    np.testing.assert_array_equal(found[:, constant], np.tile(more[0, constant], (len(Q), 1)))
    if model.calibration_ is not None:
        p = model.predict_proba(Q)[:, constant]
        assert ((p > 0.5) == more[0, constant]).all()


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize(
    "influence", ["uniform", "ridge", Ridge(mixing=True)], ids=["uniform", "ridge", "mixing"]
)
@settings(max_examples=4, deadline=None)
@given(seed=st.integers(0, 10**6), padding=PADDING, unknown=st.booleans())
def test_constant_labels_leave_the_other_labels_as_they_are(rule, influence, seed, padding, unknown):
    X, Y = data(seed)

    def make(where, n_always):
        own = rule
        if isinstance(rule, PerLabel):
            own = PerLabel("f1_micro", thresholds={where[1]: 0.1}, shrinkage=20.0)
        return SMLClassifier("rbf", influence=influence, label_rule=own, random_state=0)

    assert_same_sets(make, X[:40], Y[:40], X[40:], padding, seed if unknown else None)


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), padding=PADDING, size=st.integers(1, 3))
def test_numbers_of_labels_that_the_user_gives_count_labels_that_all_rows_have(seed, padding, size):
    """A fixed size and a maximum count whole sets: a label that all rows have takes one place."""
    X, Y = data(seed)
    for rule in (lambda more: FixedSize(size + more), lambda more: SetSize(maximum=size + more)):
        assert_same_sets(
            lambda _, n_always, rule=rule: SMLClassifier("rbf", label_rule=rule(n_always), random_state=0),
            X[:40],
            Y[:40],
            X[40:],
            padding,
        )


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), padding=PADDING, unknown=st.booleans())
def test_similarities_below_zero(seed, padding, unknown):
    """If sums may be negative, an absent label scores higher than others, but is not predicted."""
    X, Y = data(seed)
    make = lambda *_: SMLClassifier("linear", normalizer=None, random_state=0)  # noqa: E731
    assert_same_sets(make, X[:40], Y[:40], X[40:], padding, seed if unknown else None)


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6), padding=PADDING, unknown=st.booleans())
def test_auto(seed, padding, unknown):
    X, Y = data(seed, n=120)
    configurations = [("zscore", "rbf", "ridge"), ("l2", "laplacian", "ridge")]
    make = lambda *_: AutoSMLClassifier(configurations=configurations, random_state=0)  # noqa: E731
    assert_same_sets(make, X[:100], Y[:100], X[100:], padding, seed if unknown else None)


@settings(max_examples=3, deadline=None)
@given(seed=st.integers(0, 10**6), padding=PADDING, unknown=st.booleans())
def test_tagger(seed, padding, unknown):
    X, Y = data(seed, n=130)
    table = pd.DataFrame(X, columns=list("abcde"))
    table["text"] = [" ".join(f"w{k}" for k in np.flatnonzero(x > 0)) or "none" for x in X]
    make = lambda *_: Tagger(random_state=0)  # noqa: E731
    assert_same_sets(make, table[:110], Y[:110], table[110:], padding, seed if unknown else None)


@pytest.mark.parametrize("constant", [0, 1])
def test_the_search_of_auto_takes_no_rule_that_predicts_all_labels(constant):
    X, Y = make_multilabel_classification(400, 50, n_classes=8, allow_unlabeled=False, random_state=10)
    model = lambda: AutoSMLClassifier(  # noqa: E731
        configurations=[("zscore", "rbf", "ridge")], random_state=0
    )
    plain = model().fit(X[:200], Y[:200]).predict(X[200:])
    found = model().fit(X[:200], np.column_stack([Y, np.full(400, constant)])[:200]).predict(X[200:])
    np.testing.assert_array_equal(found[:, :8], plain)
    assert (found[:, 8] == constant).all()


@pytest.mark.parametrize("literal", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_the_threshold_function_on_log_odds_stays_of_their_size(literal, seed):
    X, Y = make_multilabel_classification(200, 50, n_classes=8, allow_unlabeled=False, random_state=seed)
    model = SMLClassifier("rbf", influence=Ridge(mixing=True), label_rule=Threshold(literal), random_state=0)
    model.fit(X, np.column_stack([Y, np.zeros(200, int)]))
    assert model.label_rule_.coef_[-1] == 0
    assert np.abs(model.label_rule_.coef_).max() < 10


def test_a_class_that_no_row_has_is_not_predicted():
    """This holds for one class per row too: the sum 0 is above those of the others."""
    X, y = [[1.0, 0.2], [0.8, 0.1], [0.1, 1.0]], ["sea", "sea", "trees"]
    model = SMLClassifier("linear", normalizer=None).partial_fit(X, y, classes=["dunes", "sea", "trees"])
    assert model.predict([[-1.0, -0.1]]).tolist() == ["trees"]


@pytest.mark.parametrize("rule", RULES[:6], ids=str)
def test_a_label_that_loses_its_last_row_is_not_predicted(rule):
    X, Y = data(3)
    Y = np.column_stack([Y, np.arange(60) < 2])
    model = SMLClassifier("linear", normalizer=None, label_rule=rule, random_state=0)
    model.fit(X[:40], Y[:40]).forget([0, 1])
    assert not model.predict(X[40:])[:, 4].any()
    again = model.retune().predict(X[40:])
    fresh = SMLClassifier("linear", normalizer=None, label_rule=rule, random_state=0).fit(X[2:40], Y[2:40])
    np.testing.assert_array_equal(again, fresh.predict(X[40:]))


@pytest.mark.parametrize("rule", ["set_size", "threshold", "cutoff", "per_label", "auto"])
def test_a_label_that_all_rows_have_after_forgetting_is_always_predicted(rule):
    X, Y = data(4)
    Y = np.column_stack([Y, np.arange(60) > 1])
    model = SMLClassifier("rbf", label_rule=rule, random_state=0).fit(X[:40], Y[:40]).forget([0, 1])
    assert model.predict(X[40:])[:, 4].all()


@pytest.mark.parametrize("rule", ["set_size", "threshold", "cutoff", "per_label", "auto"])
def test_an_absent_label_that_is_taught_is_predicted(rule):
    """Per-label thresholds treat it as any new label."""
    X, Y = data(5)
    Y = np.column_stack([Y, np.zeros(60, int)])
    model = SMLClassifier("rbf", label_rule=rule, random_state=0).fit(X, Y)
    far = np.array([[9.0, -9.0, 9.0, -9.0, 9.0]])
    model.partial_fit(np.tile(far, (30, 1)), np.tile([0, 0, 0, 0, 1], (30, 1)))
    assert model.predict(far)[0, 4] == 1


@pytest.mark.parametrize("rule", ["per_label", "cutoff", "fixed_size"])
def test_an_explanation_says_why_a_label_of_all_rows_is_given(rule):
    X, Y = data(6)
    Y = np.column_stack([Y, np.ones(60, int)])
    model = SMLClassifier("linear", normalizer=None, calibration=None, label_rule=rule).fit(X, Y)
    message = str(model.explain(-X.mean(axis=0, keepdims=True)))  # similarities add up to less than 0
    assert "given because every training row has it" in message


CHANGES = st.lists(
    st.tuples(st.sampled_from(["teach", "forget", "correct"]), st.integers(1, 6)), min_size=1, max_size=5
)


@pytest.mark.parametrize("influence", ["uniform", "label_mean", Ridge(0.3)], ids=str)
@pytest.mark.parametrize("similarity", [RBF(0.5), "linear"], ids=str)
@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), changes=CHANGES)
def test_unknown_labels_become_constant_and_vary_again(similarity, influence, seed, changes):
    """After every change the sums equal those of a new fit to the current rows."""
    rng = np.random.default_rng(seed)
    X, Y = data(seed, n=80, n_labels=3)
    Y = Y.astype(float)
    extra = rng.integers(0, 2, size=(80, 3)).astype(float)
    extra[rng.random(extra.shape) < 0.8] = np.nan  # few are known, so that labels often are constant
    Y, here = np.column_stack([Y, extra]), list(range(30))
    Y[here, 3], following = np.nan, iter(range(30, 80))
    make = lambda: SMLClassifier(similarity, normalizer=None, influence=influence, calibration=None)  # noqa: E731
    model = make().fit(X[here], Y[here], ids=here)
    for change, size in changes:
        model.predict_set_size(X[:2])  # sums of what is there now
        if change == "teach":
            rows = [next(following) for _ in range(size)]
            model.partial_fit(X[rows], Y[rows], ids=rows)
            here += rows
        elif change == "forget":
            removed = rng.choice(here, size, replace=False).tolist() if len(here) > 15 else []
            model.forget(removed)
            here = [i for i in here if i not in removed]
        else:
            row, k = int(rng.choice(here)), int(rng.integers(3, 6))
            Y[row, k] = rng.integers(0, 2)
            model.correct([row], Y[[row]])
            here = [i for i in here if i != row] + [row]
        fresh = make().fit(X[here], Y[here], ids=here)
        np.testing.assert_allclose(
            model.decision_function(X[:9]), fresh.decision_function(X[:9]), rtol=1e-6, atol=1e-8
        )
        np.testing.assert_array_equal(model.predict_set_size(X[:9]), fresh.predict_set_size(X[:9]))


def test_log_odds_are_learned_where_all_that_is_unknown_is_constant():
    X, Y = data(7)
    more = np.column_stack([Y, np.full(60, np.nan)])
    model = SMLClassifier("rbf", influence=Ridge(mixing=True), random_state=0)
    plain = model.fit(X, Y).decision_function(X)
    np.testing.assert_allclose(model.fit(X, more).decision_function(X)[:, :4], plain)


def with_unknown_constant(seed, value):
    """Return rows with a label that is unknown in some and constant in others, and the same fully known."""
    X, Y = data(seed, n=90)
    complete = np.column_stack([Y, np.full(90, value or 0)]).astype(float)
    partial = complete.copy()
    partial[np.random.default_rng(seed).random(90) < (0.5 if value is not None else 2.0), -1] = np.nan
    return X, partial, complete


CONSTANT = pytest.mark.parametrize("value", [0, 1, None], ids=["absent", "present", "unknown"])


@CONSTANT
@pytest.mark.parametrize("sketch", [RandomFeatures(512), Condense(20), "auto"], ids=str)
def test_sketches_count_unknown_cells_of_constant_labels_as_the_constant(value, sketch):
    X, partial, complete = with_unknown_constant(1, value)
    model = SMLClassifier(RBF(0.3), sketch=sketch, random_state=0)
    wanted = model.fit(X, complete).decision_function(X)
    np.testing.assert_array_equal(model.fit(X, partial).decision_function(X), wanted)


def test_a_sketch_counts_rows_anew_if_the_constant_is_another():
    """The label is unknown in all rows until one row has it; then it is constant as far as known."""
    X, _ = data(2, n=40)
    partial = np.zeros((40, 4))
    partial[np.arange(40), np.arange(40) % 3] = 1
    partial[:20, 0], partial[0, :3], partial[:, 3] = 1, 1, np.nan
    make = lambda: SMLClassifier(RBF(0.3), sketch=RandomFeatures(512), random_state=0, calibration=None)  # noqa: E731
    model = make().fit(X, partial)
    partial[0] = [0, 0, 0, 1]  # now row 0 has one label and the others one more: sets of 1 to 3 as before
    model.correct([0], partial[[0]])
    fresh = make().fit(X[[*range(1, 40), 0]], partial[[*range(1, 40), 0]])
    np.testing.assert_allclose(model.label_weights(X), fresh.label_weights(X), rtol=1e-5, atol=1e-4)


@CONSTANT
@pytest.mark.parametrize("influence", ["uniform", Ridge(0.3)], ids=str)
def test_data_values_count_unknown_cells_of_constant_labels_as_the_constant(value, influence):
    X, partial, complete = with_unknown_constant(3, value)
    model = SMLClassifier(RBF(0.3), influence=influence, random_state=0)
    wanted = model.fit(X, complete).data_values("ranking_loss")
    np.testing.assert_allclose(model.fit(X, partial).data_values("ranking_loss"), wanted)


@CONSTANT
@pytest.mark.parametrize("influence", ["uniform", Ridge(0.3), Ridge(0.3, inducing=30)], ids=str)
@pytest.mark.parametrize("guarantee", GUARANTEES)
def test_guarantees_count_unknown_cells_of_constant_labels_as_the_constant_and_say_so(
    guarantee, influence, value
):
    X, partial, complete = with_unknown_constant(4, value)
    model = SMLClassifier(RBF(0.3), normalizer=None, influence=influence, random_state=0)
    requested = GUARANTEES[guarantee](0.7)
    before = model.fit(X, complete).guarantee(requested)
    wanted = model.predict_sets(X[:20], guarantee=before)
    after = model.fit(X, partial).guarantee(requested)
    assert model.predict_sets(X[:20], guarantee=after) == wanted
    assert not any("unknown" in caveat for caveat in before.caveats)
    assert any(caveat.startswith("4: some cells are unknown") for caveat in after.caveats)


def test_one_known_cell_of_a_constant_label_may_be_held_out():
    """Known entries remain known for the rows that score the others."""
    X, Y = data(5, n=90)
    for known in range(0, 90, 9):
        partial = np.column_stack([Y, np.full(90, np.nan)])
        partial[known, -1] = 1
        complete = np.column_stack([Y, np.ones(90)])
        model = SMLClassifier(RBF(0.3), normalizer=None, random_state=0)
        requested = LabelCoverage(0.7, method="split")
        wanted = model.fit(X, complete).predict_sets(X[:20], guarantee=requested)
        assert model.fit(X, partial).predict_sets(X[:20], guarantee=requested) == wanted


def test_labels_that_vary_must_be_known_for_all_of_these():
    X, Y = data(6)
    partial = Y.astype(float)
    partial[5, 0] = np.nan
    model = SMLClassifier(RBF(0.3))
    with pytest.raises(ValueError, match="a sketch is of label sets that are all known"):
        SMLClassifier(RBF(0.3), sketch="auto").fit(X, partial)
    with pytest.raises(ValueError, match=r"first at row 5\).* data values"):
        model.fit(X, partial).data_values()
    with pytest.raises(ValueError, match="a guarantee is based on rows whose labels are all known"):
        model.guarantee(LabelCoverage(0.7))

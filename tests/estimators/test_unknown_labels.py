"""Unknown labels: forms of y, invariants, labels that become known later, files, errors."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp

import naive
from simlabel import AutoSMLClassifier, SMLClassifier, Tagger, load
from simlabel.baselines import MLkNN
from simlabel.labels import LabelSpace, MaskedIndicator, PartialLabels
from simlabel.metrics import (
    average_precision,
    coverage,
    evaluate,
    f1_instance,
    f1_macro,
    f1_micro,
    hamming_loss,
    ndcg_at,
    one_error,
    precision_at,
    ranking_loss,
    subset_accuracy,
)
from simlabel.ridge import Ridge
from simlabel.rules import LABEL_RULES, CutoffRule, PerLabel, ScoreBlock, TrainingBlock
from simlabel.similarities import RBF
from simlabel.tuning import LeaveOneOut, Validation

NAN = float("nan")


def made(seed=0, n=40, n_labels=4, hidden=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    Y = (X @ rng.normal(size=(3, n_labels)) + 0.3 * rng.normal(size=(n, n_labels)) > 0).astype(float)
    H = Y.copy()
    H[rng.random(Y.shape) < hidden] = NAN
    H[:4] = Y[:4]
    return X, Y, H, rng.normal(size=(6, 3))


def scores(model, Q):
    return model.outputs(Q).weights


def as_sets(Y, names="abcdefgh"):
    """Return rows of an array as label sets, those with unknown labels as Partial."""
    rows = []
    for row in Y:
        has, has_not = ({names[k] for k in np.flatnonzero(row == value)} for value in (1, 0))
        rows.append(PartialLabels(has, has_not) if np.isnan(row).any() else has)
    return rows


# --- forms of y ---------------------------------------------------------------------------------------


def forms(Y):
    missing = np.isnan(Y)
    filled = np.where(missing, 0, Y)
    objects = np.where(missing, None, filled.astype(int).astype(object))
    nullable = pd.DataFrame(filled.astype(int)).astype("Int64").mask(missing)
    return {
        "array": Y,
        "list": Y.tolist(),
        "objects": objects,
        "masked": np.ma.array(filled.astype(int), mask=missing),
        "frame": pd.DataFrame(Y),
        "nullable": nullable,
        "boolean": pd.DataFrame(filled.astype(bool)).astype("boolean").mask(missing),
        "polars": pl.DataFrame(
            {str(k): [None if np.isnan(v) else int(v) for v in Y[:, k]] for k in range(4)}
        ),
        "sparse": MaskedIndicator(sp.csr_array(filled.astype(int)), sp.csr_array((~missing).astype(int))),
        "sets": as_sets(Y),
    }


@pytest.mark.parametrize("form", forms(made()[2]))
def test_every_form_says_the_same(form):
    X, _, H, Q = made()
    y = forms(H)[form]
    space, Y, unknown = LabelSpace.learn_known(y)
    np.testing.assert_array_equal(Y.toarray(), np.nan_to_num(H))
    np.testing.assert_array_equal(unknown.entries.toarray() > 0, np.isnan(H))
    model = SMLClassifier(RBF(1.0)).fit(X, y)
    np.testing.assert_array_equal(scores(model, Q), scores(SMLClassifier(RBF(1.0)).fit(X, H), Q))
    assert model.score(X, y) == pytest.approx(SMLClassifier(RBF(1.0)).fit(X, H).score(X, H))
    predicted = model.predict(Q)
    again, entries = space.encode(predicted)
    assert not entries.any()
    assert (again != model.outputs(Q).sets).nnz == 0


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (pd.DataFrame({"a": [True, None, False], "b": [True, False, True]}).astype("boolean"), np.bool_),
        (pd.DataFrame({"a": [1, None, 0], "b": [1, 0, 1]}).astype("Int64"), np.int8),
    ],
)
def test_predictions_of_frames_are_whole(y, kind):
    predicted = SMLClassifier("linear").fit([[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], y).predict([[1.0, 0.0]])
    assert predicted.dtypes.tolist() == [kind, kind]


def test_one_class_per_row_is_always_known():
    with pytest.raises(ValueError, match="NaN"):
        SMLClassifier().fit([[0.0], [1.0]], [1.0, NAN])
    with pytest.raises(ValueError, match="NaN"):
        SMLClassifier().fit([[0.0], [1.0]], np.ma.array([1, 2], mask=[False, True]))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: PartialLabels({"a"}, {"a", "b"}), "both present and absent"),
        (lambda: PartialLabels("sea"), r"got 'sea'; write \{'sea'\}"),
        (lambda: PartialLabels([[1]]), "unhashable"),
        (lambda: MaskedIndicator(np.ones((1, 2)), np.ones((1, 2))), "two sparse matrices"),
        (lambda: MaskedIndicator(sp.csr_array((1, 2)), sp.csr_array((1, 3))), "shape"),
        (
            lambda: LabelSpace.learn_known(MaskedIndicator(sp.csr_array([[0, 1]]), sp.csr_array([[1, 0]]))),
            "not known",
        ),
        (lambda: SMLClassifier().fit([[0.0], [1.0]], [[1.0, np.inf], [0.0, 1.0]]), "inf"),
        (lambda: MLkNN().fit([[0.0], [1.0]], [[1.0, NAN], [0.0, 1.0]]), "a row with unknown labels"),
    ],
)
def test_what_is_no_label_is_told(make, words):
    with pytest.raises((ValueError, TypeError), match=words):
        make()


# --- what stays the same -------------------------------------------------------------------------------


@pytest.mark.parametrize("influence", ["uniform", "label_mean", "ridge"])
def test_partial_rows_that_name_everything_are_whole(influence):
    X, Y, _, Q = made()
    whole = [{"abcd"[k] for k in np.flatnonzero(row)} for row in Y]
    named = [PartialLabels(row, set("abcd") - row) for row in whole]
    models = [
        SMLClassifier(RBF(1.0), influence=influence, label_rule="auto").fit(X, y) for y in (whole, named)
    ]
    for got, wanted in zip(
        *([m.outputs(Q).weights, m.outputs(Q).probabilities] for m in models), strict=True
    ):
        np.testing.assert_array_equal(got, wanted)
    assert models[0].predict(Q) == models[1].predict(Q)


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
@pytest.mark.parametrize(
    "tuning", [LeaveOneOut(), Validation(), Validation(literal=True, share=1.0)], ids=repr
)
def test_the_order_of_rows_and_labels_does_not_show(influence, tuning):
    X, _, H, Q = made(n=30)
    rng = np.random.default_rng(5)
    rows, labels = rng.permutation(len(X)), rng.permutation(4)
    one = SMLClassifier(influence=influence, tuning=tuning, label_rule="per_label", random_state=0).fit(X, H)
    if isinstance(tuning, Validation) and tuning.literal:
        rows = np.arange(len(X))  # folds are drawn by position
    other = SMLClassifier(influence=influence, tuning=tuning, label_rule="per_label", random_state=0)
    other.fit(X[rows], H[rows][:, labels])
    assert repr(one.similarity_) == repr(other.similarity_)
    np.testing.assert_allclose(scores(other, Q), scores(one, Q)[:, labels], rtol=1e-6, atol=1e-8)
    np.testing.assert_array_equal(other.predict(Q), one.predict(Q)[:, labels])


def test_a_label_that_few_rows_tell_of_is_not_ranked_low():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2))
    Y = np.column_stack([X[:, 0] > 0, X[:, 0] > 0]).astype(float)
    Y[rng.random(200) < 0.9, 1] = NAN
    F = scores(SMLClassifier(RBF(1.0), normalizer=None).fit(X, Y), X)
    assert F[:, 1].mean() == pytest.approx(F[:, 0].mean(), rel=0.2)


# --- what becomes known later ---------------------------------------------------------------------------


@pytest.mark.parametrize("influence", ["uniform", Ridge(0.3)], ids=repr)
def test_what_is_revealed_is_as_if_it_had_been_known(influence):
    X, Y, H, Q = made()
    model = SMLClassifier(RBF(1.0), influence=influence).fit(X, as_sets(H))
    hidden = np.flatnonzero(np.isnan(H).any(axis=1))
    named = [{"abcd"[k] for k in np.flatnonzero(np.isnan(H[i]) & (Y[i] == 1))} for i in hidden]
    absent = [{"abcd"[k] for k in np.flatnonzero(np.isnan(H[i]) & (Y[i] == 0))} for i in hidden]
    half = len(hidden) // 2
    for part in (slice(0, half), slice(half, None)):
        revealed = [PartialLabels(p, a) for p, a in zip(named[part], absent[part], strict=True)]
        model.correct(hidden[part].tolist(), revealed)
    fresh = SMLClassifier(RBF(1.0), influence=influence).fit(X, as_sets(Y))
    np.testing.assert_allclose(scores(model, Q), scores(fresh, Q), rtol=1e-9, atol=1e-12)
    assert model.predict(Q) == fresh.predict(Q)
    assert model._model.scorer.references.is_complete


@pytest.mark.parametrize("influence", ["uniform", "label_mean", Ridge(0.3)], ids=repr)
def test_taught_and_forgotten_is_as_fresh(influence):
    X, _, H, Q = made()
    y = as_sets(H)
    y[30] = PartialLabels({"e"}, {"a"})  # a label that comes later: unknown in rows that are known in part
    model = SMLClassifier(RBF(1.0), influence=influence).fit(X[:25], y[:25])
    model.partial_fit(X[25:], y[25:]).forget([2, 7, 33])
    kept = np.setdiff1d(np.arange(40), [2, 7, 33])
    fresh = SMLClassifier(RBF(1.0), influence=influence).fit(X[kept], [y[i] for i in kept])
    assert model.classes_.tolist() == fresh.classes_.tolist() == list("abcde")
    np.testing.assert_allclose(scores(model, Q), scores(fresh, Q), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal(model.predict_set_size(Q), fresh.predict_set_size(Q))
    np.testing.assert_array_equal(model.retune().predict_set_size(Q), fresh.predict_set_size(Q))


def test_an_entry_that_is_not_named_stays_as_it_was():
    X, _, _, Q = made()
    y = [{"a"}, PartialLabels({"b"}, {"a"}), *[{"a", "b", "c"}] * 38]
    model = (
        SMLClassifier(RBF(1.0)).fit(X, y).correct([0, 1], [PartialLabels({"b"}), PartialLabels((), {"c"})])
    )
    y[:2] = [{"a", "b"}, {"b"}]
    np.testing.assert_allclose(scores(model, Q), scores(SMLClassifier(RBF(1.0)).fit(X, y), Q), rtol=1e-12)


@pytest.mark.parametrize("influence", ["uniform", "label_mean", Ridge(0.3)], ids=repr)
@pytest.mark.parametrize("mmap", [False, True])
def test_files_keep_what_is_unknown(influence, mmap, tmp_path):
    X, _, H, Q = made()
    model = SMLClassifier(RBF(1.0), influence=influence, calibration="loo").fit(X, as_sets(H))
    model.save(tmp_path / "m")
    again = load(tmp_path / "m", mmap=mmap)
    np.testing.assert_array_equal(again.predict_proba(Q), model.predict_proba(Q))
    assert again.predict(Q) == model.predict(Q)
    for each in (model, again):
        each.correct([10], [PartialLabels({"a"}, {"b"})])
    np.testing.assert_allclose(scores(again, Q), scores(model, Q), rtol=1e-12)


# --- rules, calibration, inspection ----------------------------------------------------------------------


@pytest.mark.parametrize("influence", ["uniform", "ridge"])
@pytest.mark.parametrize("rule", [name for name in LABEL_RULES.classes if name != "custom"])
def test_rules_learn_from_what_is_known_alone(rule, influence):
    """Values of hidden entries have no effect."""
    X, _, H, Q = made(n=30)
    model = SMLClassifier(RBF(1.0), influence=influence, label_rule=rule, calibration="loo").fit(X, H)
    sets = model.predict(Q)
    assert set(np.unique(sets)) <= {0.0, 1.0}
    assert np.isfinite(model.predict_proba(Q)).all()


@pytest.mark.parametrize(
    "criterion", ["f1_macro", "f1_micro", "f1_instance", "subset_accuracy", "hamming_loss"]
)
def test_thresholds_of_known_labels_are_as_if_the_others_were_not_there(criterion):
    """A label known in half of the rows has the threshold of a fit on these rows only."""
    rng = np.random.default_rng(1)
    F, T = rng.random((40, 1)), rng.integers(0, 2, (40, 1))
    known = rng.random((40, 1)) < 0.5
    some = known[:, 0]

    def block(scores, Y, unknown=None):
        return TrainingBlock(ScoreBlock(scores, scores, scores), Y, np.ones(len(scores)), unknown)

    part = block(F, sp.csr_array(T * known), sp.csr_array((~known).astype(np.int8)))
    alone = block(F[some], sp.csr_array(T[some]))
    for rule in (PerLabel(criterion, shrinkage=0.0), PerLabel(criterion, shrinkage="full")):
        one, other = (rule.fit(np.array([0, 1]), [each]).thresholds_ for each in (part, alone))
        assert one == other
    one, other = (CutoffRule(criterion=criterion).fit(np.array([0, 1]), [each]) for each in (part, alone))
    assert one.value_ == other.value_


def test_a_label_of_which_nothing_is_known_harms_nothing():
    X, _, H, Q = made()
    H = H.copy()
    H[:, 2] = NAN
    for influence in ("uniform", "label_mean", "ridge"):
        for rule in ("set_size", "auto"):
            model = SMLClassifier(RBF(1.0), influence=influence, label_rule=rule, calibration="loo").fit(X, H)
            assert (scores(model, Q)[:, 2] == 0).all()
            assert np.isfinite(model.predict_proba(Q)).all()


@pytest.mark.parametrize("influence", ["uniform", Ridge(0.3)], ids=repr)
def test_explanations_add_up_and_unknown_entries_are_silent(influence):
    X, _, H, Q = made()
    model = SMLClassifier(RBF(1.0), influence=influence).fit(X, as_sets(H))
    why = model.explain(Q, top=40)
    np.testing.assert_allclose(why.scores, scores(model, Q), rtol=1e-9)
    frame = why.to_frame()
    spoken = frame[frame["what"] == "label"]
    for row in spoken.itertuples():
        assert not np.isnan(H[int(row.id), "abcd".index(row.label)])
    assert str(why)


def test_unknown_entries_are_no_suspects():
    X, _, H, _ = made()
    frame = SMLClassifier(RBF(1.0)).fit(X, H).suspicious_labels(top=None)
    assert len(frame) == np.count_nonzero(~np.isnan(H))
    assert not any(np.isnan(H[row.id, row.label]) for row in frame.itertuples())


def test_duplicates_that_differ_in_what_is_unknown_do_not_contradict():
    X = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    y = [{"a"}, PartialLabels({"a"}), PartialLabels((), {"a"}), {"b"}]
    found = SMLClassifier("cosine").fit(X, y).contradicting_duplicates()
    assert set(zip(found["id"], found["other"], strict=True)) == {(0, 2), (1, 2)}


def test_what_cannot_be_done_is_refused_in_words():
    X, _, H, _ = made()
    with pytest.raises(ValueError, match="mixing=False"):
        SMLClassifier(RBF(1.0), influence=Ridge(0.3, mixing=True)).fit(X, H)
    with pytest.raises(ValueError, match="sketch"):
        SMLClassifier(RBF(1.0), sketch="random_features").fit(X, H)
    with pytest.raises(ValueError, match="data values"):
        SMLClassifier(RBF(1.0)).fit(X, H).data_values()
    sketched = SMLClassifier(RBF(1.0), sketch="random_features", random_state=0).fit(
        X, as_sets(np.nan_to_num(H))
    )
    before = sketched.n_references_
    with pytest.raises(ValueError, match="sketch"):
        sketched.partial_fit(X[:1], [PartialLabels({"a"})])
    assert sketched.n_references_ == before


@pytest.mark.parametrize("sampler", [20, "balanced"])
def test_samplers_take_unknown_labels(sampler):
    X, _, H, Q = made()
    model = SMLClassifier(RBF(1.0), sampler=sampler, random_state=0).fit(X, H)
    assert np.isfinite(scores(model, Q)).all()


def test_auto_and_tagger_take_unknown_labels():
    X, _, H, Q = made()
    auto = AutoSMLClassifier(
        random_state=0, configurations=[("l2", "rbf", "uniform"), ("zscore", "laplacian", "ridge")]
    ).fit(X, H)
    assert np.isfinite(auto.predict_proba(Q)).all()
    texts = ["a shark hunts swimmers", "a shark in the sea", "love in the town", "two fall in love"] * 3
    y = [{"horror", "sea"}, PartialLabels({"sea"}), {"romance"}, PartialLabels({"romance"}, {"sea"})] * 3
    tagger = Tagger().fit(texts, y)
    assert tagger.predict(["love in the hills"]) == [{"romance"}]
    assert tagger.score(texts, y) == 1.0


# --- criteria ----------------------------------------------------------------------------------------------


def hidden_case(seed):
    rng = np.random.default_rng(seed)
    Y = (rng.random((12, 5)) < 0.5).astype(float)
    Y[rng.random(Y.shape) < 0.4] = NAN
    Y[0] = NAN
    P = (rng.random(Y.shape) < 0.5).astype(int)
    F = rng.integers(0, 4, Y.shape) / 4.0
    rows = [[None if np.isnan(v) else bool(v) for v in row] for row in Y]
    return Y, P, F, rows


def mean(values):
    return sum(values) / len(values)


@pytest.mark.parametrize("seed", range(5))
def test_ranking_criteria_equal_loops_over_what_is_known(seed):
    Y, _, F, rows = hidden_case(seed)
    ranked = [(f, r) for f, r in zip(F.tolist(), rows, strict=True) if any(r)]
    paired = [(f, r) for f, r in ranked if any(v is False for v in r)]
    for function, loop, cases in [
        (one_error, naive.one_error, ranked),
        (coverage, naive.coverage, ranked),
        (average_precision, naive.average_precision, ranked),
        (ranking_loss, naive.ranking_loss, paired),
    ]:
        assert function(Y, F) == pytest.approx(mean([naive.of_known(loop, *case) for case in cases]))


@pytest.mark.parametrize("seed", range(5))
def test_criteria_of_sets_equal_loops_over_what_is_known(seed):
    Y, P, F, _ = hidden_case(seed)
    there = ~np.isnan(Y)
    requested = [i for i in range(len(Y)) if there[i].any()]

    def f1(truth, predicted):
        both = truth.sum() + predicted.sum()
        return 2 * (truth * predicted).sum() / both if both else NAN

    by_row = [(Y[i, there[i]], P[i, there[i]]) for i in requested]
    assert hamming_loss(Y, P) == pytest.approx(mean([np.mean(t != p) for t, p in by_row]))
    assert subset_accuracy(Y, P) == pytest.approx(mean([float((t == p).all()) for t, p in by_row]))
    assert f1_instance(Y, P) == pytest.approx(mean([np.nan_to_num(f1(t, p), nan=1.0) for t, p in by_row]))
    assert f1_micro(Y, P) == pytest.approx(f1(Y[there], P[there]))
    by_label = [f1(Y[there[:, k], k], P[there[:, k], k]) for k in range(5)]
    assert f1_macro(Y, P) == pytest.approx(np.nanmean(by_label))
    enough = [i for i in requested if there[i].sum() >= 2]
    hits = []
    for i in enough:
        order = sorted(np.flatnonzero(there[i]), key=lambda k: (-F[i, k], Y[i, k]))[:2]
        hits.append(Y[i, order].sum() / 2)
    assert precision_at(Y, F, 2) == pytest.approx(mean(hits))
    one_by_one = [ndcg_at([Y[i, there[i]]], [F[i, there[i]]], 1) for i in requested if np.nansum(Y[i])]
    assert ndcg_at(Y, F, 1) == pytest.approx(mean(one_by_one))


def test_rows_of_which_nothing_is_known_are_counted():
    Y, P, F, _ = hidden_case(0)
    assert evaluate(Y, P, F).undefined["hamming_loss"] == np.isnan(Y).all(axis=1).sum()
    frame = pd.DataFrame(np.where(np.isnan(Y), 0, Y).astype(int)).astype("Int64").mask(np.isnan(Y))
    assert evaluate(frame, P, F).values == evaluate(Y, P, F).values
    masked = np.ma.array(np.nan_to_num(Y), mask=np.isnan(Y))
    assert evaluate(masked, P, F).values == evaluate(Y, P, F).values

"""Leave-one-group-out: leave-one-out omits all rows of a group."""

from __future__ import annotations

import pickle

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import naive
from similarity_cases import WEIGHTING_CASES
from simlabel import AutoSMLClassifier, SMLClassifier, load
from simlabel._utils.rows import LazyRows, open_rows
from simlabel.labels import LabelSpace
from simlabel.metrics import average_precision
from simlabel.model import drop_zero_weight_rows
from simlabel.ridge import Ridge
from simlabel.rules import PerLabel, ScoreBlock, TrainingBlock
from simlabel.similarities import RBF, Linear
from simlabel.sums import Exact, UniformSampler
from simlabel.tuning import LeaveOneOut, Validation

SEEDS = st.integers(0, 2**32 - 1)


def problem(seed, n=20):
    """Return rows, label sets, groups of several sizes with some rows in none, and weights."""
    rng = np.random.default_rng(seed)
    X, Y = rng.random((n, 3)), (rng.random((n, 3)) < 0.4).astype(int)
    groups = [None if rng.random() < 0.2 else f"film {g}" for g in rng.integers(0, 6, n)]
    return X, Y, groups, rng.integers(1, 4, n).astype(float)


def copies(n=30, seed=0):
    """Return duplicated rows with random labels."""
    rng, of = np.random.default_rng(seed), np.repeat(np.arange(n), 2)
    return rng.random((n, 3))[of], (rng.random((n, 4)) < 0.4).astype(int)[of], of


def loo_scores(X, Y, groups, phi, psi=naive.keep_all, weights=None):
    sets = [set(np.flatnonzero(y)) for y in Y]
    return [
        naive.label_weights(
            x, X.tolist(), sets, Y.shape[1], phi, psi, weights, absent=naive.own_group(i, groups)
        )
        for i, x in enumerate(X.tolist())
    ]


@pytest.mark.parametrize("case", WEIGHTING_CASES, ids=lambda case: case.name)
@pytest.mark.parametrize("small", [False, True], ids=["one block", "small blocks"])
@given(seed=SEEDS, weighted=st.booleans())
@settings(max_examples=8)
def test_sums_are_without_the_group(case, small, small_blocks, seed, weighted):
    X, Y, groups, w = problem(seed)
    w = w if weighted else np.ones(20)
    if small:
        small_blocks()
    model = SMLClassifier(RBF(1.5), normalizer=None, weighting=case.weighting)
    model.fit(X, Y, sample_weight=w, groups=groups)
    wanted = loo_scores(X, Y, groups, naive.rbf(1.5), case.psi, w.tolist())
    np.testing.assert_allclose(model.leave_one_out(), wanted, rtol=1e-7, atol=1e-9)


@given(seed=SEEDS)
@settings(max_examples=15)
def test_means_are_divided_by_what_is_left(seed):
    X, Y, groups, w = problem(seed)
    model = SMLClassifier(RBF(2.0), normalizer=None, influence="label_mean")
    model.fit(X, Y, sample_weight=w, groups=groups)
    sums = loo_scores(X, Y, groups, naive.rbf(2.0), weights=w.tolist())
    rest = [
        np.delete(w, own) @ np.delete(Y, own, axis=0)
        for own in (naive.own_group(i, groups) for i in range(20))
    ]
    wanted = [
        [f / c if c > 0 else 0.0 for f, c in zip(*pair, strict=True)] for pair in zip(sums, rest, strict=True)
    ]
    np.testing.assert_allclose(model.leave_one_out(), wanted, rtol=1e-7, atol=1e-12)


def dense(X):
    return {"similarity": Linear(), "X": X}


def sparse(X):
    return {"similarity": Linear(), "X": sp.csr_array(X)}


def nonzero(X):
    return {"similarity": Linear(), "X": sp.csr_array(X), "engine": Exact(visit="nonzero")}


def precomputed(X):
    return {"similarity": "precomputed", "X": X @ X.T}


def objects(X):
    return {"similarity": naive.dot, "X": X.tolist()}


@pytest.mark.parametrize(
    "kind", [dense, sparse, nonzero, precomputed, objects], ids=lambda kind: kind.__name__
)
def test_rows_of_every_kind_have_groups(kind):
    X, Y, groups, w = problem(3)
    given = kind(X)
    rows = given.pop("X")
    model = SMLClassifier(**given, normalizer=None).fit(rows, Y, sample_weight=w, groups=groups)
    wanted = loo_scores(X, Y, groups, naive.dot, weights=w.tolist())
    np.testing.assert_allclose(model.leave_one_out(), wanted, rtol=1e-9)


@pytest.mark.parametrize("case", WEIGHTING_CASES, ids=lambda case: case.name)
def test_rows_on_a_disk_have_groups(case, tmp_path, change_limits):
    change_limits(piece_rows=7, read_bytes=4 * 3 * 8)  # four rows at a time
    X, Y, groups, w = problem(6)
    for i, part in enumerate(np.array_split(X, 2)):
        np.save(tmp_path / f"part-{i}.npy", part)
    model = SMLClassifier(RBF(1.5), normalizer=None, weighting=case.weighting)
    model.fit(open_rows(tmp_path), Y, sample_weight=w, groups=groups)
    assert len(model._model.scorer.references.chunks) > 1
    wanted = loo_scores(X, Y, groups, naive.rbf(1.5), case.psi, w.tolist())
    np.testing.assert_allclose(model.leave_one_out(), wanted, rtol=1e-7, atol=1e-9)


def test_inducing_rows_on_a_disk_have_groups(tmp_path, change_limits):
    change_limits(piece_rows=7, block_rows=4)
    X, Y, groups, w = problem(6)
    np.save(tmp_path / "X.npy", X)
    on_disk, here = (
        SMLClassifier(RBF(1.5), influence=Ridge(0.3, inducing=5), random_state=0).fit(
            rows, Y, w, groups=groups
        )
        for rows in (open_rows(tmp_path / "X.npy"), X)
    )
    np.testing.assert_allclose(on_disk.leave_one_out(), here.leave_one_out(), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("tuning", ["loo", "validation"])
@pytest.mark.parametrize("influence", ["uniform", "label_mean"])
def test_the_search_scores_rows_without_their_groups(tuning, influence):
    X, Y, groups, w = problem(11, n=40)
    model = SMLClassifier(RBF(), normalizer=None, influence=influence, tuning=tuning)
    tuned = model.fit(X, Y, sample_weight=w, groups=groups).tuning_
    assert len(tuned.values) > 4
    some = Y.any(axis=1)
    for candidate, value in list(zip(tuned.candidates, tuned.values, strict=True))[::3]:
        fixed = SMLClassifier(RBF(candidate["gamma"]), normalizer=None, influence=influence)
        scores = fixed.fit(X, Y, sample_weight=w, groups=groups).leave_one_out()
        scores = (scores / np.maximum(scores.max(axis=1, keepdims=True), 1e-300))[some].round(10)
        each = [average_precision(y[None], s[None]) for y, s in zip(Y[some], scores, strict=True)]
        assert value == pytest.approx(np.average(each, weights=w[some]), abs=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        SMLClassifier(normalizer=None),
        SMLClassifier(normalizer=None, tuning=LeaveOneOut(max_rows=40), random_state=0),
        SMLClassifier(normalizer=None, tuning=Validation(share=1.0, literal=True), random_state=0),
        SMLClassifier(normalizer=None, influence=Ridge("auto"), random_state=0),
    ],
    ids=["sums", "a sample", "the paper's folds", "ridge"],
)
def test_copies_no_longer_flatter_the_search(model):
    X, Y, of = copies()
    assert max(model.fit(X, Y).tuning_.values) > 0.85
    assert max(model.fit(X, Y, groups=of).tuning_.values) < 0.8


def test_one_label_has_groups_too():
    X, Y, of = copies()
    model = SMLClassifier(normalizer=None)
    y = sp.csr_array(Y[:, :1])
    assert max(model.fit(X, y).tuning_.values) > 0.95
    assert max(model.fit(X, y, groups=of).tuning_.values) < 0.9


def test_auto_is_not_flattered_by_copies():
    X, Y, of = copies(20)
    given = [("l2", RBF(), "ridge"), ("l2", RBF(), "uniform")]
    board = AutoSMLClassifier(configurations=given, random_state=0).fit(X, Y, groups=of)
    assert board.leaderboard_["average_precision"].max() < 0.8
    assert (
        AutoSMLClassifier(configurations=given, random_state=0)
        .fit(X, Y)
        .leaderboard_["average_precision"]
        .max()
        > 0.9
    )
    plain = board.best_estimator_
    np.testing.assert_array_equal(plain._model.scorer.references.groups, of)


def test_rules_and_calibration_learn_from_rows_without_their_groups():
    X, Y, groups, w = problem(5, n=40)
    model = SMLClassifier(RBF(3.0), normalizer=None, label_rule="per_label", calibration="loo")
    model.fit(X, Y, sample_weight=w, groups=groups)
    scores, sizes = model.leave_one_out(), np.diff(sp.csr_array(Y).indptr)
    by_size = loo_scores(
        X, (sizes[:, None] == np.unique(sizes)).astype(int), groups, naive.rbf(3.0), weights=w
    )
    blocks = [TrainingBlock(ScoreBlock(scores, np.array(by_size), scores), sp.csr_array(Y), w)]
    rule = PerLabel().fit(np.unique(sizes), blocks)
    np.testing.assert_allclose(model.label_rule_.thresholds_, rule.thresholds_, rtol=1e-6)
    curves = type(model.calibration_)().fit(blocks, single=False).curves_
    shares = np.linspace(0.05, 0.95, 7)
    for one, other in zip(model.calibration_.curves_, curves, strict=True):
        np.testing.assert_allclose(one(shares), other(shares), rtol=1e-4)


def test_copies_do_not_vouch_for_each_other():
    rng = np.random.default_rng(0)
    sea, trees = rng.normal([1.0, 0.0], 0.05, (20, 2)), rng.normal([0.0, 1.0], 0.05, (20, 2))
    copies = np.tile([1.1, 0.2], (6, 1))  # nearest to the sea, and wrongly labeled
    X, y = np.vstack([copies, sea, trees]), [{"trees"}] * 6 + [{"sea"}] * 20 + [{"trees"}] * 20
    model = SMLClassifier(RBF(200.0), normalizer=None)
    wrong = set(range(6))
    assert not set(model.fit(X, y).suspicious_labels(top=4)["id"]) <= wrong
    doubtful = model.fit(X, y, groups=["copy"] * 6 + [None] * 40).suspicious_labels(top=4)
    assert set(doubtful["id"]) <= wrong


def test_what_is_typical_is_without_the_group():
    X, Y, of = copies(10)
    model = SMLClassifier(RBF(1.0), normalizer=None).fit(X, Y, groups=of)
    totals = [
        sum(naive.influences(x, X.tolist(), naive.rbf(1.0), absent=naive.own_group(i, of)))
        for i, x in enumerate(X)
    ]
    np.testing.assert_allclose(model._model.typical_totals, np.sort(totals))


@pytest.mark.parametrize("sampler", [UniformSampler(12), UniformSampler(12, per_query=True)], ids=repr)
def test_of_a_sample_the_group_is_left_out_too(sampler):
    X, Y, of = copies(10)
    Y = np.column_stack([Y, of == 4])
    model = SMLClassifier(RBF(1.0), sampler=sampler, random_state=0).fit(X, Y, groups=of)
    scores, ids = model.leave_one_out(), model.ids_
    assert (scores[np.isin(ids, np.flatnonzero(of == 4)), -1] == 0).all()
    assert scores[:, :-1].any()


@pytest.mark.parametrize(
    "influence",
    ["uniform", "label_mean", Ridge(0.3), Ridge(0.3, inducing=4), Ridge(0.3, mixing=True)],
    ids=repr,
)
@pytest.mark.parametrize("small", [False, True], ids=["one chunk", "small chunks"])
def test_groups_live_as_long_as_the_rows(influence, small, tmp_path, change_limits):
    """After updates, saving, mapping and pickling, leave-one-out equals that of a new fit."""
    if small:
        change_limits(tail_rows=8, piece_rows=5)
    X, Y, groups, w = problem(8, n=40)
    ids = [f"row {i}" for i in range(40)]

    def make():
        return SMLClassifier(RBF(1.0), normalizer=None, influence=influence, random_state=0)

    model = make().fit(X[:25], Y[:25], w[:25], ids[:25], groups[:25])
    model.partial_fit(X[25:33], Y[25:33], None, w[25:33], ids[25:33], groups[25:33])
    model.partial_fit(X[33:], Y[33:], None, w[33:], ids[33:], groups[33:])
    model.forget(ids[3:40:9])
    stays = np.setdiff1d(np.arange(40), np.arange(3, 40, 9))
    names = [groups[i] for i in stays]
    assert model._model.scorer.references.group_names.tolist() == names
    model.save(tmp_path / "model")
    kept = [
        model,
        load(tmp_path / "model"),
        load(tmp_path / "model", mmap=True),
        pickle.loads(pickle.dumps(model)),
    ]
    for each in kept:
        np.testing.assert_allclose(each.leave_one_out(), model.leave_one_out(), rtol=1e-9, atol=1e-12)
        assert each._model.scorer.references.group_names.tolist() == names
    fresh = make().fit(X[stays], Y[stays], w[stays], groups=names)
    held = getattr(influence, "inducing", None) == 4 or getattr(influence, "mixing", False)
    if not held:  # inducing rows and mixing stay, and a fresh fit chooses others
        np.testing.assert_allclose(model.leave_one_out(), fresh.leave_one_out(), rtol=1e-6, atol=1e-8)
    np.testing.assert_allclose(kept[1].retune().leave_one_out(), fresh.leave_one_out(), rtol=1e-6, atol=1e-8)


def test_a_later_batch_joins_a_known_group():
    X, Y, _, _ = problem(1)
    taught = SMLClassifier(RBF(1.0)).fit(X[:8], Y[:8])
    taught.partial_fit(X[8:14], Y[8:14], groups=["a", "a", "b", None, 3, 3])
    taught.partial_fit(X[14:18], Y[14:18], groups=np.array([3, 4, 4, 3]))
    taught.partial_fit(X[18:], Y[18:])
    groups = [None] * 8 + ["a", "a", "b", None, 3, 3, 3, 4, 4, 3, None, None]
    fresh = SMLClassifier(RBF(1.0)).fit(X, Y, groups=groups)
    np.testing.assert_allclose(taught.leave_one_out(), fresh.leave_one_out(), rtol=1e-12)
    assert len(np.unique(fresh._model.scorer.references.groups)) == 8 + 1 + 1 + 1 + 1 + 1 + 2


@pytest.mark.parametrize(
    "groups",
    [
        pd.Series(["a", "a", None, np.nan]),
        pd.Categorical(["a", "a", None, None]),
        np.array([1.0, 1.0, np.nan, np.nan]),
        pd.array([7, 7, None, None], dtype="Int64"),
        [("a", 1), ("a", 1), None, float("nan")],
    ],
    ids=lambda groups: type(groups).__name__,
)
def test_missing_names_are_groups_of_their_own(groups):
    X = np.array([[1.0], [1.0], [2.0], [3.0]])
    model = SMLClassifier(Linear(), normalizer=None).fit(X, [{"a"}] * 4, groups=groups)
    assert model._model.scorer.references.groups.tolist() == [0, 0, 1, 2]
    assert model.leave_one_out().ravel().tolist() == [5.0, 5.0, 10.0, 12.0]


def test_rows_without_weight_take_their_groups_along():
    X, Y, groups, w = problem(4)
    w[::3] = 0
    there = np.flatnonzero(w)
    one = SMLClassifier(RBF(1.0)).fit(X, Y, sample_weight=w, groups=groups)
    other = SMLClassifier(RBF(1.0)).fit(X[there], Y[there], w[there], groups=[groups[i] for i in there])
    np.testing.assert_array_equal(one.leave_one_out(), other.leave_one_out())


@pytest.mark.parametrize(
    ("groups", "error", "words"),
    [
        (["a"] * 3, ValueError, "X has 20 rows but groups has 3; they must be of the same length"),
        (
            [["a"]] * 20,
            ValueError,
            r"groups must be numbers, strings or other hashable names; row 0 has \['a'\]",
        ),
        (
            np.zeros(20, "M8[s]"),
            ValueError,
            r"groups must be .* got datetime64\[s\]; give e.g. groups.astype",
        ),
        (3, TypeError, "groups must be a list with a name for each row, got 3"),
    ],
    ids=["too few", "lists", "times", "a number"],
)
def test_what_is_no_list_of_names_is_refused(groups, error, words):
    X, Y, good, _ = problem(0)
    model = SMLClassifier(RBF(1.0)).fit(X, Y, groups=good)
    before = model.leave_one_out()
    for method in (model.fit, model.partial_fit, AutoSMLClassifier().fit):
        with pytest.raises(error, match=words):
            method(X, Y, groups=groups)
    np.testing.assert_array_equal(model.leave_one_out(), before)


def test_data_values_are_of_single_rows():
    X, Y, groups, _ = problem(0)
    with pytest.raises(ValueError, match="data_values leaves out single instances, and these are in groups"):
        SMLClassifier(RBF(1.0)).fit(X, Y, groups=groups).data_values()


def test_rows_on_a_cluster_have_no_groups():
    class Remote(LazyRows):
        remote = True

    space, Y = LabelSpace.learn([{"a"}, {"b"}])
    with pytest.raises(ValueError, match="groups are for rows on this machine"):
        drop_zero_weight_rows(Remote(), space, Y, None, range(2), ["x", "x"])

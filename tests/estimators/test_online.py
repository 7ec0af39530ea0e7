"""Any sequence of updates equals a new fit on the remaining rows, with the resolved values held."""

from __future__ import annotations

import copy
import itertools
import pickle
import threading
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import naive
from similarity_cases import SIMILARITY_CASES, WEIGHTING_CASES
from simlabel import SMLClassifier, load
from simlabel.ridge import RetuneWarning, Ridge
from simlabel.rules import Threshold
from simlabel.similarities import RBF, Linear, Quadratic
from simlabel.sums import Auto, Collapsed, Exact

NAMES = list("abcdefg")


@pytest.fixture
def small_chunks(change_limits):
    change_limits(tail_rows=8)
    change_limits(piece_rows=5)


class Life:
    """A model that is updated at random, and a plain list of the rows that it should have."""

    def __init__(self, model, rng, n_columns=3, dtype=float, sparse=False):
        self.rng, self.model, self.left = rng, model, {}
        self.n_columns, self.dtype, self.sparse = n_columns, dtype, sparse
        self.count = 0

    def batch(self, n, n_labels):
        X = self.rng.random((n, self.n_columns)).astype(self.dtype)
        y = [{NAMES[k] for k in range(n_labels) if self.rng.random() < 0.4} for _ in range(n)]
        weights = self.rng.integers(0, 3, n).astype(float)
        weights[0] = 1.0
        ids = [f"row {self.count + i}" if self.rng.random() < 0.5 else self.count + i for i in range(n)]
        self.count += n
        return X, y, weights, ids

    def teach(self, n, n_labels, first=False):
        X, y, weights, ids = self.batch(n, n_labels)
        given = sp.csr_array(X) if self.sparse else X
        method = self.model.fit if first else self.model.partial_fit
        method(given, y, sample_weight=weights, ids=ids)
        for row in zip(X, y, weights, ids, strict=True):
            if row[2] > 0:
                self.left[row[3]] = row

    def forget(self, share):
        names = [name for name in self.left if self.rng.random() < share][: len(self.left) - 1]
        self.model.forget(names)
        for name in names:
            del self.left[name]

    def rows(self):
        kept = list(self.left.values())
        return np.array([row[0] for row in kept]), [row[1] for row in kept], np.array([r[2] for r in kept])


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("teach"), st.integers(1, 9), st.integers(1, 7)),
        st.tuples(st.just("forget"), st.floats(0.0, 0.9)),
    ),
    max_size=8,
)


def live(life, steps):
    life.teach(12, 3, first=True)
    for what, *how in steps:
        getattr(life, what)(*how)


@pytest.mark.filterwarnings("ignore::simlabel.ridge.RetuneWarning")
@given(steps=STEPS, seed=st.integers(0, 2**32 - 1), sparse=st.booleans())
def test_any_sequence_equals_the_plain_loops(small_chunks, steps, seed, sparse):
    rng = np.random.default_rng(seed)
    life = Life(SMLClassifier(normalizer="l2"), rng, sparse=sparse)
    live(life, steps)
    model = life.model
    X, y, weights = life.rows()
    assert model.n_references_ == len(X)
    Q = rng.random((4, 3))
    numbers = [{NAMES.index(label) for label in labels} for labels in y]
    xs = [naive.unit_length(x) for x in X.tolist()]
    phi = naive.rbf(model.similarity_.gamma)
    scores = model.label_weights(Q)
    for q, row in zip(Q.tolist(), scores, strict=True):
        wanted = naive.label_weights(naive.unit_length(q), xs, numbers, 7, phi, weights=weights)
        by_name = dict(zip(model.classes_, row, strict=True))
        np.testing.assert_allclose([by_name.get(name, 0.0) for name in NAMES], wanted, rtol=1e-9, atol=1e-12)
    sizes = [naive.set_size(naive.unit_length(q), xs, numbers, phi, weights=weights) for q in Q.tolist()]
    assert model.predict_set_size(Q).tolist() == sizes


@given(steps=STEPS, seed=st.integers(0, 2**32 - 1), data=st.data())
@pytest.mark.filterwarnings("ignore::simlabel.rules.ShareWarning")
def test_any_sequence_equals_a_fresh_fit(small_chunks, steps, seed, data):
    case, which = data.draw(st.sampled_from(SIMILARITY_CASES)), data.draw(st.sampled_from(WEIGHTING_CASES))
    rng = np.random.default_rng(seed)
    life = Life(SMLClassifier(case.similarity, weighting=which.weighting, normalizer="minmax"), rng)
    live(life, steps)
    model = life.model
    X, y, weights = life.rows()
    assert model.calibration_ is None  # the first rows were too few, and that is held
    fresh = SMLClassifier(model.similarity_, weighting=which.weighting, normalizer=None, calibration=None)
    fresh.partial_fit(model.normalizer_.transform(X), y, classes=model.classes_, sample_weight=weights)
    Q = rng.random((4, 3))
    ready = model.normalizer_.transform(Q)
    assert model.classes_.tolist() == fresh.classes_.tolist()
    for method in ("label_weights", "decision_function", "predict_proba"):
        wanted = getattr(fresh, method)(ready)
        np.testing.assert_allclose(getattr(model, method)(Q), wanted, rtol=1e-8, atol=1e-10)
    if which.name != "row-function":  # there sums are near zero, and rounding decides
        assert model.predict(Q) == fresh.predict(ready)
        assert model.predict_sets(Q) == fresh.predict_sets(ready)


#: engine, similarity, sparse features: every way of summing exactly
WAYS = [
    (Exact(visit="all"), RBF(2.0), False),
    (Exact(visit="all"), Linear(), True),
    (Exact(visit="nonzero"), Linear(), True),
    (Collapsed(), Linear(), False),
    (Collapsed(), Linear(), True),
    (Collapsed(), Quadratic(), False),
    (Auto(), Quadratic(), False),
]


@pytest.mark.parametrize("influence", ["uniform", "label_mean"])
@pytest.mark.parametrize(("engine", "similarity", "sparse"), WAYS, ids=str)
@settings(max_examples=6)
@given(steps=STEPS, seed=st.integers(0, 2**32 - 1))
def test_any_sequence_with_every_engine(small_chunks, engine, similarity, sparse, influence, steps, seed):
    rng = np.random.default_rng(seed)
    life = Life(SMLClassifier(similarity, engine=engine, influence=influence, normalizer=None), rng)
    life.sparse = sparse
    live(life, steps)
    X, y, weights = life.rows()
    fresh = SMLClassifier(similarity, engine=Exact(visit="all"), influence=influence, normalizer=None)
    fresh.partial_fit(X, y, classes=life.model.classes_, sample_weight=weights)
    Q = rng.random((4, 3))
    wanted = fresh.label_weights(Q)
    given = sp.csr_array(Q) if sparse else Q
    np.testing.assert_allclose(life.model.label_weights(given), wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.filterwarnings("ignore::simlabel.ridge.RetuneWarning")  # of the first rows few may count
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15)
def test_retune_is_a_fit_on_what_is_left(small_chunks, seed):
    rng = np.random.default_rng(seed)
    for normalizer in ("l2", ["zscore", "l2"], "minmax"):
        life = Life(SMLClassifier(normalizer=normalizer, label_rule="threshold"), rng)
        live(life, [("teach", 9, 5), ("forget", 0.5), ("teach", 3, 7)])
        X, y, weights = life.rows()
        Q = rng.random((5, 3))
        fresh = clone(life.model).fit(X, y, sample_weight=weights)
        life.model.retune()
        assert life.model.similarity_.gamma == pytest.approx(fresh.similarity_.gamma, rel=1e-9)
        assert life.model.classes_.tolist() == fresh.classes_.tolist()
        scores, rule = fresh.label_weights(Q), fresh.label_rule_
        np.testing.assert_allclose(life.model.label_weights(Q), scores, rtol=1e-7)
        above = scores - (scores @ rule.coef_ + rule.intercept_)[:, None]
        clear = Q[(np.abs(above) > 1e-9).all(axis=1)]  # where a score is the threshold, rounding decides
        if len(clear):
            assert life.model.predict_sets(clear) == fresh.predict_sets(clear)
        numbers = [i for i in life.left if isinstance(i, int)]
        assert life.model._model.scorer.references.next_id > max(numbers, default=-1)


KINDS = {
    "array": lambda Y: Y,
    "bool": lambda Y: Y.astype(bool),
    "csr": sp.csr_array,
    "frame": lambda Y: pd.DataFrame(Y, columns=["x", "y", "z"]),
    "sets": lambda Y: [frozenset(np.flatnonzero(row).tolist()) for row in Y],
    "single": lambda Y: np.array(["no", "yes", "perhaps"])[Y.argmax(axis=1)],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_y(kind, rng):
    X, Y, Q = rng.random((30, 3)), (rng.random((30, 3)) < 0.5).astype(int), rng.random((6, 3))
    make = KINDS[kind]
    model = SMLClassifier(RBF(3.0)).fit(X[:20], make(Y[:20]))
    model.partial_fit(X[20:], make(Y[20:])).forget([3, 25])
    left = np.delete(np.arange(30), [3, 25])
    fresh = SMLClassifier(RBF(3.0)).fit(X[left], make(Y[left]))
    np.testing.assert_allclose(model.label_weights(Q), fresh.label_weights(Q), rtol=1e-9)
    one, other = model.predict(Q), fresh.predict(Q)
    assert type(one) is type(other)
    same = (one != other).nnz == 0 if kind == "csr" else np.array_equal(one, other)
    assert same


def test_new_labels_come_at_once(rng):
    X = np.eye(4)
    model = SMLClassifier(Linear()).fit(X[:2], [{"m"}, {"z"}])
    assert model.partial_fit(X[2:], [{"a", "z"}, {"q"}]).classes_.tolist() == ["a", "m", "q", "z"]
    assert model.predict(X[2:]) == [{"a", "z"}, {"q"}]
    single = SMLClassifier(Linear()).fit(X[:2], ["no", "yes"]).partial_fit(X[2:], ["perhaps", "never"])
    assert single.classes_.tolist() == ["never", "no", "perhaps", "yes"]
    assert single.predict(X).tolist() == ["no", "yes", "perhaps", "never"]
    frame = SMLClassifier(Linear()).fit(X[:2], pd.DataFrame({"z": [1, 0], "m": [0, 1]}))
    frame.partial_fit(X[2:], pd.DataFrame({"m": [0, 1], "a": [1, 0], "z": [1, 0]}))
    assert frame.predict(X).to_dict("list") == {"z": [1, 0, 1, 0], "m": [0, 1, 0, 1], "a": [0, 0, 1, 0]}


def test_what_the_threshold_has_learned_is_held(rng):
    X, Q = rng.random((20, 3)), rng.random((6, 3))
    y = [{NAMES[k] for k in range(1, 4) if rng.random() < 0.5} for _ in range(20)]
    y[0] = {"b", "c", "d"}
    model = SMLClassifier(RBF(2.0), label_rule=Threshold()).fit(X, y)
    learned = dict(zip(model.classes_, model.label_rule_.coef_, strict=True))
    model.partial_fit(X[:2] + 0.1, [{"a", "c"}, {"g"}])
    now = dict(zip(model.classes_, model.label_rule_.coef_, strict=True))
    assert now == {"a": 0.0, "g": 0.0} | learned
    scores = model.label_weights(Q)
    t = scores @ model.label_rule_.coef_ + model.label_rule_.intercept_
    assert [set(s) for s in model.predict(Q)] == [
        set(model.classes_[row > limit]) for row, limit in zip(scores, t, strict=True)
    ]


def test_classes_are_known_before_they_are_seen():
    X = np.eye(3)
    model = SMLClassifier(Linear()).partial_fit(X[:1], ["b"], classes=["a", "b", "c"])
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.label_weights(X[:1]).tolist() == [[0.0, 1.0, 0.0]]
    assert model.partial_fit(X[1:2], ["c"], classes=["a", "b", "c"]).predict(X[1:2]).tolist() == ["c"]
    with pytest.raises(ValueError, match=r"label 'x', which is not in classes=\['a', 'b', 'c'\]"):
        model.partial_fit(X[2:], ["x"], classes=["a", "b", "c"])
    assert model.partial_fit(X[2:], ["x"]).classes_.tolist() == ["a", "b", "c", "x"]
    sets = SMLClassifier(Linear()).partial_fit(X[:1], [{"b"}], classes=["b", "a"])
    assert sets.classes_.tolist() == ["a", "b"]
    with pytest.raises(ValueError, match=r"numbered from 0 to 1"):
        SMLClassifier(Linear()).partial_fit(X[:1], [[0, 1]], classes=[0, 1, 2])


def test_ids_are_numbers_by_default_and_never_given_twice(rng):
    X, y = np.eye(4), [{"a"}, {"b"}, {"a"}, {"b"}]
    model = SMLClassifier(Linear()).fit(X, y).forget([3])
    assert model.partial_fit(X[:2], y[:2]).ids_.tolist() == [0, 1, 2, 4, 5]
    named = SMLClassifier(Linear()).fit(X, y, ids=["p", "q", 7, "r"])
    assert named.partial_fit(X[:1], y[:1]).ids_.tolist() == ["p", "q", 7, "r", 8]
    weighted = SMLClassifier(Linear()).fit(X, y, sample_weight=[1, 0, 1, 0], ids=[10, 11, 12, 13])
    assert weighted.ids_.tolist() == [10, 12]


def test_ids_may_be_numpys():
    X, y = np.eye(4), [{"a"}, {"b"}, {"a"}, {"b"}]
    model = SMLClassifier(Linear()).fit(X, y)
    model.forget(model.ids_[1:2]).forget(np.int64(2))
    model.partial_fit(X[:2], y[:2], ids=[np.int64(9), np.str_("p")])
    assert model.ids_.tolist() == [0, 3, 9, "p"]
    with pytest.raises(ValueError, match="ids 9 are in use"):
        model.partial_fit(X[:1], y[:1], ids=[9])
    assert model.forget(["p", np.int64(9)]).ids_.tolist() == [0, 3]


def test_ids_are_known_to_copies_that_go_different_ways():
    X, y = np.eye(4), [{"a"}, {"b"}, {"a"}, {"b"}]
    one = SMLClassifier(Linear()).fit(X, y, ids=["p", "q", "r", 3])
    other = copy.copy(one)
    one.partial_fit(X[:1], y[:1], ids=["new"])
    other.partial_fit(X[:1], y[:1], ids=["new"]).forget(["p"])
    for model, used in ((one, {"p", "q", "r", 3, "new"}), (other, {"q", "r", 3, "new"})):
        for name in used:
            with pytest.raises(ValueError, match=f"ids {name!r} are in use"):
                model.partial_fit(X[:1], y[:1], ids=[name])
        assert set(model.ids_) == used
    other.partial_fit(X[:1], y[:1], ids=["p"])
    assert other.ids_.tolist() == ["q", "r", 3, "new", "p"]


GOOD_X, GOOD_Y = np.eye(3), [{"a"}, {"b"}, {"a"}]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda m: m.forget(["nobody", 1, 77]), KeyError, "id 'nobody', 77; nothing was changed"),
        (lambda m: m.forget([0, 0]), ValueError, "given twice: 0"),
        (lambda m: m.forget([0, 1, 2]), ValueError, "all 3 labeled rows"),
        (lambda m: m.forget(5), KeyError, "id 5"),
        (lambda m: m.partial_fit(GOOD_X, GOOD_Y, ids=[1, 2, 9]), ValueError, "ids 1, 2 are in use"),
        (lambda m: m.partial_fit(GOOD_X, GOOD_Y, ids=[5, 5, 9]), ValueError, "given twice: 5"),
        (lambda m: m.partial_fit(GOOD_X, GOOD_Y, ids=[5, None, 9]), ValueError, "row 1 has None"),
        (lambda m: m.partial_fit(GOOD_X, GOOD_Y, ids=[5, [], 9]), ValueError, r"row 1 has \[\]"),
        (lambda m: m.partial_fit(GOOD_X, GOOD_Y, ids=[5]), ValueError, "X has 3 rows but ids has 1"),
        (lambda m: m.partial_fit(GOOD_X[:2], GOOD_Y), ValueError, "X has 2 rows but y has 3"),
        (lambda m: m.partial_fit(GOOD_X[:, :2], GOOD_Y), ValueError, "expecting 3 features"),
        (lambda m: m.partial_fit(GOOD_X * np.nan, GOOD_Y), ValueError, "contains NaN"),
        (lambda m: m.partial_fit(GOOD_X, ["a", "b", "a"]), ValueError, "row 0 is 'a'"),
        (lambda m: m.partial_fit(GOOD_X, GOOD_Y, sample_weight=[0, 0, 0]), ValueError, "zero on every row"),
        (lambda m: m.partial_fit(GOOD_X, GOOD_Y, classes=["a"]), ValueError, "label 'b'.*not in classes"),
        (lambda m: m.partial_fit(-GOOD_X, GOOD_Y), ValueError, "Negative values"),
    ],
)
def test_what_fails_changes_nothing(call, error, message):
    model = SMLClassifier("jaccard", normalizer=None).fit(GOOD_X, GOOD_Y)
    if "in classes" in message:
        model.forget([1]).retune()  # so that b is not known
    state, scores = dict(vars(model)), model.label_weights(GOOD_X)
    with pytest.raises(error, match=message):
        call(model)
    assert vars(model) == state
    np.testing.assert_array_equal(model.label_weights(GOOD_X), scores)


def test_forms_of_y_must_stay():
    arrays = SMLClassifier(Linear()).fit(GOOD_X, np.eye(3, dtype=int))
    with pytest.raises(ValueError, match="y has 2 labels, but fit saw 3; columns without names"):
        arrays.partial_fit(GOOD_X, np.eye(3, dtype=int)[:, :2])
    with pytest.raises(ValueError, match="given as 'single', but fit saw 'array'"):
        arrays.partial_fit(GOOD_X, ["a", "b", "c"])
    frames = SMLClassifier(Linear()).fit(GOOD_X, pd.DataFrame(np.eye(3, dtype=int), columns=list("abc")))
    with pytest.raises(ValueError, match="no column 'c', which fit saw"):
        frames.partial_fit(GOOD_X, pd.DataFrame(np.eye(3, dtype=int)[:, :2], columns=list("ab")))
    with pytest.raises(ValueError, match="'no' and 0 cannot be sorted"):
        SMLClassifier(Linear()).fit(GOOD_X, [0, 1, 2]).partial_fit(GOOD_X, ["yes", "no", "no"])


def test_refused_where_it_has_no_meaning():
    model = SMLClassifier("precomputed").fit(np.eye(3), GOOD_Y)
    with pytest.raises(ValueError, match="partial_fit needs features"):
        model.partial_fit(np.eye(3), GOOD_Y)
    with pytest.raises(ValueError, match="forget needs features"):
        model.forget([0])
    assert model.retune().n_references_ == 3
    drawn = SMLClassifier(RBF(1.0), sampler=2, random_state=0).fit(GOOD_X, GOOD_Y)
    for call in (lambda m: m.partial_fit(GOOD_X, GOOD_Y), lambda m: m.forget([0])):
        with pytest.raises(ValueError, match="needs all references as they are: not with a sampler"):
            call(drawn)
    with pytest.raises(NotFittedError):
        SMLClassifier().forget([0])


def test_precision_and_kind_stay_as_they_were(rng):
    X, y = rng.random((6, 3)).astype(np.float32), [{"a"}, {"b"}] * 3
    model = SMLClassifier(RBF(1.0), normalizer="zscore").fit(X, y)
    model.partial_fit(sp.csr_array(rng.random((2, 3))), y[:2])
    assert model._model.scorer.references.X.dtype == np.float32
    assert model.label_weights(X).dtype == np.float32


def test_the_callers_batch_is_not_kept(rng):
    X, y = rng.random((6, 3)), [{"a"}, {"b"}] * 3
    model = SMLClassifier(RBF(1.0), normalizer=None).fit(X, y)
    batch = rng.random((1, 3))
    scores = model.partial_fit(batch, y[:1]).label_weights(X)
    batch[:] = 0.0
    np.testing.assert_array_equal(model.label_weights(X), scores)


def test_pickled_and_cloned_as_ever(rng):
    X, y = rng.random((6, 3)), [{"a"}, {"b"}] * 3
    model = SMLClassifier(RBF(1.0)).fit(X, y).partial_fit(X, y).forget([2])
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.label_weights(X), model.label_weights(X))
    assert again.partial_fit(X, y).n_references_ == 17
    assert not clone(model).__sklearn_is_fitted__()


def test_two_predict_while_a_third_teaches(rng, small_chunks):
    """Each reference has a column of its own, so that the sum shows exactly which were there."""
    X = np.ones((1, 2))
    model = SMLClassifier(Linear(), normalizer=None).fit(X, [{"a", "b"}])
    done, wrong, seen = threading.Event(), [], set()
    all_have_begun = threading.Barrier(3)

    def predict():
        for turn in itertools.count():
            last = done.is_set()
            a, b = model.label_weights(X)[0]
            seen.add(float(a))
            if a != b or a % 2:
                wrong.append((a, b))
            if turn == 0:
                all_have_begun.wait()
            if last:
                return

    threads = [threading.Thread(target=predict) for _ in range(2)]
    for thread in threads:
        thread.start()
    all_have_begun.wait()
    for _ in range(60):
        model.partial_fit(np.ones((3, 2)), [{"a", "b"}] * 3)
        model.forget(model.ids_[-2:].tolist())
    done.set()
    for thread in threads:
        thread.join()
    assert not wrong
    assert seen >= {2.0, 2.0 * 61}
    assert model.label_weights(X)[0, 0] == 2 * 61


def test_teachers_do_not_undo_each_other():
    model = SMLClassifier(Linear(), normalizer=None).fit(np.ones((1, 2)), [{"a"}])

    def teach():
        for _ in range(25):
            model.partial_fit(np.ones((1, 2)), [{"a"}])

    threads = [threading.Thread(target=teach) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.n_references_ == 76
    assert sorted(model.ids_.tolist()) == list(range(76))


@pytest.mark.filterwarnings("ignore::simlabel.ridge.RetuneWarning")
def test_inducing_rows_that_teaching_draws_are_those_of_a_fresh_fit(rng, change_limits, tmp_path):
    change_limits(exact_bytes=3 * 8 * 30**2, inducing_rows=10)
    X, Y, Q = rng.random((40, 3)), (rng.random((40, 3)) < 0.4).astype(int), rng.random((9, 3))

    def model(seed):
        return SMLClassifier(RBF(2.0), influence=Ridge(0.5), normalizer=None, random_state=seed)

    drawn = {}
    for seed in (0, 1):
        few = model(seed).fit(X[:30], Y[:30])
        few.save(tmp_path / "few.simlabel")
        fresh = model(seed).fit(X, Y)
        for grown in (few, load(tmp_path / "few.simlabel")):
            grown.partial_fit(X[30:], Y[30:])
            used = grown._model.scorer.solved.used.tolist()
            assert len(used) == 10
            assert used == fresh._model.scorer.solved.used.tolist()
            scores = fresh.label_weights(Q)
            np.testing.assert_allclose(grown.label_weights(Q), scores, rtol=1e-6, atol=1e-9)
        drawn[seed] = used
    assert drawn[0] != drawn[1]


def test_what_was_chosen_on_few_rows_is_said_once_per_doubling(rng):
    X = rng.normal(size=(100, 3))
    y = [{"a"} if x[0] > 0 else {"b"} for x in X]
    model, said = SMLClassifier(), {}
    for stop in range(5, 101, 5):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.partial_fit(X[stop - 5 : stop], y[stop - 5 : stop])
        for one in caught:
            assert one.category is RetuneWarning
            said[stop] = str(one.message)
    assert list(said) == [20, 40, 80]
    assert said[40] == "gamma was chosen on 5 rows, and there are 40 now; retune() chooses again."
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.retune().partial_fit(X, y)
        SMLClassifier(RBF(2.0)).partial_fit(X[:5], y[:5]).partial_fit(X, y)

"""What is saved comes back as it was, predicts the same, and lives on."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from safetensors.numpy import load_file
from sklearn.base import clone

import simlabel
from similarity_cases import SIMILARITY_CASES, WEIGHTING_CASES
from simlabel import SMLClassifier, load
from simlabel.model.persistence import read_file, register, write_file
from simlabel.ridge import Ridge
from simlabel.rules import LeaveOneOutCalibration, OperatingPointRule, PerLabel
from simlabel.similarities import RBF, Function, Linear, OnColumns, Similarity
from simlabel.sums import CustomWeighting

NAMES = list("abcde")
# shares of what a function makes of similarities are saved all the same
pytestmark = pytest.mark.filterwarnings("ignore::simlabel.rules.ShareWarning")


def problem(rng, n=24):
    X = rng.random((n, 4))
    y = [{name for name in NAMES if rng.random() < 0.4} for _ in range(n)]
    y[0] = set(NAMES)
    return X, y, rng.random((5, 4))


def register_functions(stage):
    for name in ("fn", "left", "right"):
        part = getattr(stage, name, None)
        if callable(part) and not hasattr(part, "get_params"):
            register(f"test {id(part)}", part)
        elif part is not None:
            register_functions(part)


def same(one, other, Q, rtol=0.0):
    np.testing.assert_allclose(one.label_weights(Q), other.label_weights(Q), rtol=rtol)
    np.testing.assert_allclose(one.predict_proba(Q), other.predict_proba(Q), rtol=rtol)
    assert one.predict_sets(Q) == other.predict_sets(Q)
    assert one.classes_.tolist() == other.classes_.tolist()
    assert one.ids_.tolist() == other.ids_.tolist()


PAIRS = [(case, WEIGHTING_CASES[0]) for case in SIMILARITY_CASES]
PAIRS += [(SIMILARITY_CASES[0], which) for which in WEIGHTING_CASES[1:]]


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(("case", "which"), PAIRS, ids=str)
def test_every_similarity_and_weighting(case, which, mmap, rng, tmp_path):
    X, y, Q = problem(rng)
    model = SMLClassifier(case.similarity, weighting=which.weighting, normalizer=["minmax", "l2"])
    model.fit(X[:20], y[:20]).partial_fit(X[20:], y[20:]).forget([1, 21])
    register_functions(case.similarity)
    register_functions(which.weighting)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", mmap=mmap)
    same(again, model, Q)
    assert repr(again.get_params()) == repr(model.get_params())
    assert again.tuning_ == model.tuning_


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    "make",
    [
        np.asarray,
        lambda X: X.astype(np.float32),
        lambda X: X.astype(">f8"),
        sp.csr_array,
        sp.csr_matrix,
        lambda X: pd.DataFrame(X, columns=["w", "x", "y", "z"]),
        np.asfortranarray,
    ],
    ids=["float64", "float32", "big-endian", "csr_array", "csr_matrix", "frame", "fortran"],
)
@pytest.mark.parametrize("rule", ["set_size", "threshold"])
def test_every_kind_of_x_lives_on(make, mmap, rule, rng, tmp_path):
    X, y, Q = problem(rng)
    model = SMLClassifier(normalizer=["zscore"], label_rule=rule, random_state=3).fit(make(X[:20]), y[:20])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", mmap=mmap)
    rtol = 1e-12 if np.isfortran(np.asarray(make(X))) else 0.0  # in a file rows lie one after the other
    same(again, model, make(Q), rtol)
    for each in (again, model):
        each.partial_fit(make(X[20:]), y[20:]).forget([0, 22])
    same(again, model, make(Q), rtol)
    again.save(tmp_path / "model")  # the file that is mapped is replaced, not written to
    same(load(tmp_path / "model", mmap=mmap), model, make(Q), rtol)
    same(again.retune(), model.retune(), make(Q), rtol)


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"influence": "ridge", "calibration": "loo", "label_rule": "per_label"},
        {"influence": Ridge(0.3, inducing=7, mixing=True), "label_rule": PerLabel(thresholds={0: 0.4})},
        {"influence": "label_mean", "label_rule": "auto", "tuning": "loo"},
        {"calibration": LeaveOneOutCalibration(enough=3), "label_rule": "cutoff"},
        {"influence": "ridge", "label_rule": OperatingPointRule("recall", 0.8)},
    ],
    ids=["ridge", "inducing", "label_mean", "calibrated", "aimed"],
)
def test_what_was_learned_lives_on(options, mmap, rng, tmp_path):
    X, y, Q = problem(rng, n=40)
    model = SMLClassifier(**options, random_state=1).fit(X[:30], y[:30])
    model.save(tmp_path / "model")
    again = load(tmp_path / "model", mmap=mmap)
    same(again, model, Q)
    # in memory each pair is touched once, which sums in another order
    np.testing.assert_allclose(again.leave_one_out(), model.leave_one_out(), rtol=1e-12)
    assert again.explain(Q).to_frame().equals(model.explain(Q).to_frame())
    for each in (again, model):
        each.partial_fit(X[30:], y[30:]).forget([3, 31])
    same(again, model, Q, rtol=1e-9)


FORMS = {
    "int": lambda Y: Y,
    "bool": lambda Y: Y.astype(bool),
    "float32": lambda Y: Y.astype(np.float32),
    "csr": sp.csr_array,
    "csc_matrix": sp.csc_matrix,
    "lil": sp.lil_array,
    "pandas": lambda Y: pd.DataFrame(Y, columns=NAMES),
    "polars": lambda Y: pl.DataFrame(Y, schema=NAMES),
    "frozensets": lambda Y: [frozenset(np.flatnonzero(row).tolist()) for row in Y],
    "tuples": lambda Y: [tuple(f"label {k}" for k in np.flatnonzero(row)) for row in Y],
    "text classes": lambda Y: np.array(["no", "yes", "perhaps"])[Y[:, :3].argmax(axis=1)],
    "int classes": lambda Y: Y.sum(axis=1),
    "float classes": lambda Y: np.array([0.0, 1.0])[Y[:, 0]],
    "object classes": lambda Y: np.array(["no", "yes"], dtype=object)[Y[:, 0]],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_kind_of_y(form, rng, tmp_path):
    X, Y, Q = rng.random((20, 3)), (rng.random((20, 5)) < 0.4).astype(int), rng.random((6, 3))
    model = SMLClassifier(RBF(3.0)).fit(X, FORMS[form](Y))
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    mine, theirs = again.predict(Q), model.predict(Q)
    assert type(mine) is type(theirs)
    assert getattr(mine, "dtype", None) == getattr(theirs, "dtype", None)
    assert again.classes_.dtype == model.classes_.dtype
    if sp.issparse(mine):
        mine, theirs = mine.toarray(), theirs.toarray()
    assert np.array_equal(mine, theirs)


def test_label_names_come_back_as_they_were(tmp_path):
    labels = [
        "sea",
        "né",
        3,
        2**80,
        -1.5,
        float("inf"),
        True,
        ("a", 1, (None, 2.5)),
        np.int64(7),
        np.str_("s"),
    ]
    X = np.eye(len(labels))
    model = SMLClassifier(Linear()).fit(
        X, [{label} for label in labels], ids=[("row", i) for i in range(len(labels))]
    )
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.classes_.tolist() == model.classes_.tolist()
    assert [type(label) for label in again.classes_] == [type(label) for label in labels]
    assert again.ids_.tolist() == model.ids_.tolist()
    assert again.predict(X) == model.predict(X)


def test_objects_with_a_registered_function(tmp_path):
    def overlap(a, b):
        return len(set(a) & set(b)) / len(set(a) | set(b))

    rows = ["sea", "tree", frozenset({("e", 1)})]
    model = SMLClassifier(overlap).fit(rows, [{"water"}, {"plant"}, {"graph"}])
    with pytest.raises(
        TypeError, match=r"similarity is the Python function 'overlap'.*register\('some name'"
    ):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())
    register("overlap of letters", overlap)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.predict(rows) == model.predict(rows)
    assert again.partial_fit(["seas"], [{"water"}]).n_references_ == 4

    def other(a, b):
        return 1.0

    register("overlap of letters", other)
    assert load(tmp_path / "model").similarity_.fn is other


def rename(path, name, other):
    """Put another name of a registered function or class in a file."""
    state, arrays = read_file(path)
    state = json.loads(json.dumps(state).replace(f'"name": "{name}"', f'"name": "{other}"'))
    write_file(path, state, {each: arrays.whole(each) for each in arrays.entries})


def test_a_function_that_is_not_registered_here(tmp_path):
    def mine(a, b):
        return 1.0

    register("mine", mine)
    SMLClassifier(Function(mine)).fit(np.eye(2), [{"a"}, {"b"}]).save(tmp_path / "model")
    rename(tmp_path / "model", "mine", "theirs")
    with pytest.raises(
        ValueError, match=r"registered as 'theirs'; call .*register\('theirs', function\) before load"
    ):
        load(tmp_path / "model")


class Overlap(Similarity):
    """A similarity of a user's own, which learns."""

    form = "dot"
    fitted_state = ("mean_",)

    def __init__(self, scale=1.0, other=None):
        self.scale, self.other = scale, other

    def check(self):
        if self.scale <= 0:
            raise ValueError("the scale is not above 0.")

    def fit(self, X, feature_names=None, sample_weight=None):
        fitted = clone(self)
        fitted.mean_ = float(np.mean(X))
        return fitted

    def finish(self, T, q_side, x_side):
        return T * self.scale + self.mean_


def test_a_class_of_similarities_is_saved_by_the_name_it_is_registered_under(rng, tmp_path):
    X, y, Q = problem(rng)
    model = SMLClassifier(2 * Overlap(0.5, other=RBF(1.0)) + Linear()).fit(X, y)
    with pytest.raises(TypeError, match=r"of a class of your own: .*register\('some name', Overlap\)"):
        model.save(tmp_path / "model")
    register("overlap", Overlap)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert repr(again.similarity_) == repr(model.similarity_)
    same(again, model, Q)
    rename(tmp_path / "model", "overlap", "other overlap")
    with pytest.raises(ValueError, match=r"a Python class registered as 'other overlap'; call .*, class\)"):
        load(tmp_path / "model")
    rename(tmp_path / "model", "other overlap", "overlap")
    register("overlap", len)
    with pytest.raises(ValueError, match="no class of similarities"):
        load(tmp_path / "model")


class Strange:
    def __repr__(self):
        return "<strange>"


@pytest.mark.parametrize(
    ("options", "labels", "message"),
    [
        ({"weighting": CustomWeighting(np.sqrt)}, None, "weighting.fn is the Python function 'sqrt'"),
        ({"label_rule": lambda s: s > 0.1}, None, "label_rule is the Python function '<lambda>'"),
        ({"random_state": np.random.RandomState(0)}, None, r"random_state is RandomState.*cannot hold"),
        ({}, [{Strange()}, {"b"}], r"labels\[0\] is <strange>, a Strange"),
        ({}, [{("a", Strange())}, {"b"}], r"labels\[0\]\[1\] is <strange>"),
    ],
)
def test_what_a_file_cannot_hold_is_named(options, labels, message, tmp_path):
    model = SMLClassifier(**{"similarity": RBF(1.0), **options}).fit(np.eye(2), labels or [{"a"}, {"b"}])
    with pytest.raises(TypeError, match=message):
        model.save(tmp_path / "model")
    assert not list(tmp_path.iterdir())


def test_transformers_are_refused_with_advice(tmp_path, rng):
    from sklearn.preprocessing import StandardScaler

    model = SMLClassifier(RBF(1.0), normalizer=StandardScaler()).fit(np.eye(2), [{"a"}, {"b"}])
    with pytest.raises(TypeError, match=r"normalizer is StandardScaler.*save it on its own.*'zscore'"):
        model.save(tmp_path / "model")


def test_columns_with_a_normalizer_of_their_own(tmp_path, rng):
    X, y, Q = problem(rng)
    both = OnColumns(RBF(), [0, 1], "zscore") + OnColumns(Linear(), slice(2, None, None), ["minmax", "l2"])
    model = SMLClassifier(both, normalizer=None).fit(X, y)
    model.save(tmp_path / "model")
    same(load(tmp_path / "model"), model, Q)


def test_any_tool_for_safetensors_reads_the_arrays(tmp_path, rng):
    X, y, _ = problem(rng)
    SMLClassifier(RBF(1.0), normalizer=None).fit(X.astype(np.float32), y).save(tmp_path / "model")
    arrays = load_file(tmp_path / "model")
    np.testing.assert_array_equal(arrays["chunks/0/X"], X.astype(np.float32))
    assert {name.split("/")[-1] for name in arrays} >= {"X", "Y.data", "Y.indices", "Y.indptr", "weights"}


def test_nothing_of_the_forgotten_is_in_the_file(tmp_path, rng):
    X, y, _ = problem(rng)
    ways = [("l2", "uniform"), ("minmax", "uniform"), (None, "uniform"), (None, Ridge(0.3))]
    for normalizer, influence in ways:
        model = SMLClassifier(RBF(1.0), normalizer=normalizer, influence=influence).fit(X, y)
        secret = rng.random((1, 4))
        model.partial_fit(secret, [{"a", "secret label"}], ids=["secret id"])
        ready = secret if model.normalizer_ is None else model.normalizer_.transform(secret)
        traces = [secret.tobytes(), ready.tobytes(), b"secret id"]
        model.save(tmp_path / "model")
        held = (tmp_path / "model").read_bytes()
        assert ready.tobytes() in held
        assert b"secret id" in held
        model.forget(["secret id"]).save(tmp_path / "model")
        held = (tmp_path / "model").read_bytes()
        assert not any(trace in held for trace in traces)
        assert not any(trace in pickle.dumps(model) for trace in traces)  # in no array, list or set either
        # the name stays in classes_, with score 0, until values are chosen anew
        assert b"secret label" in held
        model.retune().save(tmp_path / "model")
        assert b"secret label" not in (tmp_path / "model").read_bytes()


def test_nothing_of_a_forgotten_inducing_row_is_in_the_file(tmp_path, rng):
    """Also where scores are sums over a few references (Nystroem), of which it was one."""
    X, y, _ = problem(rng, n=40)
    names = [f"row number {i}" for i in range(40)]
    model = SMLClassifier(RBF(1.0), normalizer=None, influence=Ridge(0.3, inducing=7), random_state=0)
    model.fit(X, y, ids=names)
    removed = model._model.scorer.solved.used[2]
    traces = [X[removed].tobytes(), names[removed].encode() + b'"']
    model.save(tmp_path / "model")
    assert all(trace in (tmp_path / "model").read_bytes() for trace in traces)
    model.forget([names[removed]]).save(tmp_path / "model")
    assert not any(trace in (tmp_path / "model").read_bytes() for trace in traces)
    assert X[removed].tobytes() not in pickle.dumps(model)


def test_the_package_never_unpickles():
    """No way of loading that runs code is so much as imported."""
    forbidden = re.compile(
        r"\b(pickle|cloudpickle|dill|marshal|shelve)\b|joblib\.load|allow_pickle\s*=\s*True|\beval\(|\bexec\("
    )
    found = [
        f"{path.name}: {line.strip()}"
        for path in Path(simlabel.__file__).parent.rglob("*.py")
        for line in path.read_text().splitlines()
        if forbidden.search(line)
    ]
    assert not found


def test_the_header_is_json_that_names_no_module(tmp_path, rng):
    X, y, _ = problem(rng)
    SMLClassifier().fit(X, y).save(tmp_path / "model")
    raw = (tmp_path / "model").read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert json.loads(header["__metadata__"]["state"])["model"]["similarity"]["class"] == "similarities.RBF"


def test_one_long_name_among_short_ones_is_loaded(tmp_path):
    """An array of texts of one length would take 1,000 times the bytes of the file."""
    y = np.array([f"class {k % 100}" for k in range(400)] + ["x" * 20_000])
    X = np.random.default_rng(0).random((len(y), 2))
    model = SMLClassifier("linear").fit(X, y)
    model.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert again.predict(X).tolist() == model.predict(X).tolist()
    assert again.classes_.tolist() == model.classes_.tolist()

"""Labels are renamed, merged, split and removed without a refit."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from simlabel import SMLClassifier, load
from simlabel.labels import PartialLabels
from simlabel.ridge import Ridge
from simlabel.rules import PerLabel
from simlabel.similarities import RBF

INFLUENCES = {"uniform": "uniform", "label_mean": "label_mean", "ridge": Ridge(0.3, mixing=False)}
NAMES = ["a", "b", "c", "d"]


def problem(seed, n=20):
    rng = np.random.default_rng(seed)
    y = [set(rng.choice(NAMES, rng.integers(1, 4), replace=False).tolist()) for _ in range(n)]
    y[0] = set(NAMES)
    return rng.normal(size=(n, 3)), y


def model(influence="uniform", **more):
    return SMLClassifier(
        RBF(0.7),
        normalizer=None,
        influence=INFLUENCES[influence],
        label_rule=PerLabel(shrinkage=20.0, minimum=0),
        **more,
    )


def merged(one):
    return (one - {"a", "b"}) | ({"ab"} if one & {"a", "b"} else set())


CHANGES = {
    "merge": (lambda m: m.merge_labels(["a", "b"], into="ab"), lambda i, one: merged(one)),
    "merge into": (
        lambda m: m.merge_labels(["a"], into="c"),
        lambda i, one: (one - {"a"}) | ({"c"} if "a" in one else set()),
    ),
    "split": (
        lambda m: m.split_label("a", "new", [0]),
        lambda i, one: (one - {"a"}) | {"new"} if i == 0 else one,
    ),
    "split into": (
        lambda m: m.split_label("a", "d", [0]),
        lambda i, one: (one - {"a"}) | {"d"} if i == 0 else one,
    ),
    "retire": (lambda m: m.remove_labels(["a", "d"]), lambda i, one: one - {"a", "d"}),
    "rename": (lambda m: m.rename_labels({"a": "z"}), lambda i, one: {"z" if x == "a" else x for x in one}),
}


@pytest.mark.parametrize("influence", INFLUENCES)
@pytest.mark.parametrize("change", CHANGES)
@given(seed=st.integers(0, 10**6))
@settings(max_examples=5)
def test_as_a_fresh_fit_on_changed_labels(influence, change, seed):
    act, by_hand = CHANGES[change]
    X, y = problem(seed)
    assume(sum("a" in one for one in y) > 1)  # otherwise a split leaves "a" in classes_, without rows
    changed = act(model(influence).fit(X, y))
    fresh = model(influence).fit(X, [by_hand(i, one) for i, one in enumerate(y)])
    assert set(changed.classes_) == set(fresh.classes_)
    order = [changed.classes_.tolist().index(name) for name in fresh.classes_]
    Q = np.random.default_rng(seed + 1).normal(size=(8, 3))
    for found, wanted in (
        (changed.label_weights(Q), fresh.label_weights(Q)),
        (changed.leave_one_out(), fresh.leave_one_out()),
    ):
        np.testing.assert_allclose(found[:, order], wanted, rtol=1e-7, atol=1e-9)
    if change != "rename":
        assert changed.predict(Q) == fresh.predict(Q)
    changed.partial_fit(X[:1], [{"c", "brand new"}])
    fresh.partial_fit(X[:1], [{"c", "brand new"}])
    np.testing.assert_allclose(
        pd.DataFrame(changed.label_weights(Q), columns=changed.classes_)[fresh.classes_.tolist()],
        fresh.label_weights(Q),
        rtol=1e-7,
        atol=1e-9,
    )


def test_frames_and_classes():
    X, y = problem(1)
    Y = pd.DataFrame({name: [int(name in one) for one in y] for name in NAMES})
    fitted = model().fit(X, Y).merge_labels(["a", "b"], into="ab").rename_labels({"c": "see"})
    assert list(fitted.predict(X).columns) == ["ab", "see", "d"]
    single = SMLClassifier(RBF(0.7)).fit(X, ["a", "b", "c", "d"] * 5)
    assert set(single.merge_labels(["a", "b"], into="ab").predict(X)) <= {"ab", "c", "d"}
    with pytest.raises(ValueError, match="one class per row"):
        single.remove_labels(["c"])
    with pytest.raises(ValueError, match="Classes must have one type"):
        single.rename_labels({"c": 7})


def test_what_is_unknown_stays_so():
    X, y = problem(2)
    y[1] = PartialLabels({"c"}, absent={"a"})
    fitted = model().fit(X, y).merge_labels(["a", "b"], into="ab")
    references, names = fitted._model.scorer.references, fitted.classes_.tolist()
    assert references.unknown.toarray()[1].tolist() == [name in ("ab", "d") for name in names]
    y[1] = PartialLabels({"c"}, absent={"a", "b"})
    fitted = model().fit(X, y).merge_labels(["a", "b"], into="ab")
    assert fitted._model.scorer.references.unknown.toarray()[1].tolist() == [name == "d" for name in names]


def test_a_changed_model_is_saved(tmp_path):
    X, y = problem(3)
    fitted = model("ridge").fit(X, y).merge_labels(["a", "b"], into="ab").rename_labels({"c": "a"})
    fitted.save(tmp_path / "m.simlabel")
    assert load(tmp_path / "m.simlabel").predict(X) == fitted.predict(X)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda m: m.rename_labels({"x": "y"}), "There is no label 'x'; the labels are"),
        (lambda m: m.rename_labels({"a": "b"}), "Two labels would be called 'b'; merge_labels"),
        (lambda m: m.merge_labels([], into="ab"), "Name a label"),
        (lambda m: m.remove_labels(NAMES), "all labels of the model"),
    ],
)
def test_what_cannot_be_done_is_said_and_changes_nothing(change, words):
    X, y = problem(4)
    fitted = model().fit(X, y)
    before = fitted.label_weights(X)
    with pytest.raises(ValueError, match=words):
        change(fitted)
    np.testing.assert_array_equal(fitted.label_weights(X), before)
    assert fitted.classes_.tolist() == NAMES


def test_labels_without_the_row_are_refused():
    X, y = problem(5)
    y[3] = {"b"}
    with pytest.raises(ValueError, match="1 of these instances do not have the label 'a'"):
        model().fit(X, y).split_label("a", "new", [0, 3])
    with pytest.raises(ValueError, match="columns of an array, which have no names"):
        model().fit(X, np.ones((20, 2), dtype=int) * (np.arange(20)[:, None] % 2)).remove_labels([0])
    with pytest.raises(KeyError, match="id 99; nothing was changed"):
        model().fit(X, y).split_label("a", "new", [99])
    with pytest.raises(TypeError, match="labels must be a list"):
        model().fit(X, y).remove_labels("ab")

"""exchange() removes and adds rows in one step, and solves for the influence once."""

from __future__ import annotations

import numpy as np
import pytest

from film_tables import films
from simlabel import SMLClassifier, Tagger
from simlabel.ridge import Ridge


def problem(rng, n=30):
    X = rng.normal(size=(n, 4))
    return X, [{"ab"[int(x[0] > 0)], "cd"[int(x[1] > 0)]} for x in X], [f"r{k}" for k in range(n)]


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"influence": Ridge(0.3)},
        {"influence": Ridge(0.3, mixing=True)},
        {"influence": Ridge(0.3, inducing=12)},
        {"engine": "collapsed", "similarity": "quadratic"},
        {"sketch": "random_features", "similarity": "rbf", "random_state": 0},
    ],
    ids=str,
)
def test_exchange_is_forget_and_teach(rng, given):
    X, y, names = problem(rng)
    options = {"similarity": "linear", "normalizer": "l2", **given}
    one, two = (SMLClassifier(**options).fit(X[:24], y[:24], ids=names[:24]) for _ in range(2))
    for _ in range(2):  # the second change of a model begins where the first has left
        removed, X_new, y_new = ["r3", "r20"], X[24:27], [{"a"}, {"b", "new"}, set()]
        one.replace_rows(removed, X_new, y_new, ids=["r3", "r20", "r99"])
        two.forget(removed).partial_fit(X_new, y_new, ids=["r3", "r20", "r99"])
        assert one.ids_.tolist() == two.ids_.tolist()
        np.testing.assert_allclose(one.label_weights(X), two.label_weights(X), rtol=1e-7, atol=1e-9)
        assert one.predict_sets(X) == two.predict_sets(X)
        for model in (one, two):
            model.forget(["r99"])


def test_a_table_too():
    table = films(30, 0)
    tags = table.pop("tags")
    one, two = (Tagger(columns={"id": "ignore"}, empty="none").fit(table, tags) for _ in range(2))
    new = table.iloc[:2].assign(synopsis="zebra quagga")
    one.replace_rows([3, 4], new, tags[:2], ids=[3, 40])
    two.forget([3, 4]).partial_fit(new, tags[:2], ids=[3, 40])
    np.testing.assert_allclose(one.predict_proba(table), two.predict_proba(table), rtol=1e-7, atol=1e-9)
    assert one.encoder_.used_slots_ == two.encoder_.used_slots_


@pytest.mark.parametrize("change", ["replace_rows", "correct"])
def test_what_is_learned_is_solved_for_once(rng, change):
    X, y, names = problem(rng)
    calls = []

    class Counted(Ridge):
        def updated(self, *args):
            calls.append(1)
            return super().updated(*args)

    model = SMLClassifier("linear", influence=Counted(0.3)).fit(X, y, ids=names)
    if change == "replace_rows":
        model.replace_rows(["r1"], X[:1], [{"a"}], ids=["r1"])
    else:
        model.correct(["r1"], [{"a"}])
    assert calls == [1]


@pytest.mark.parametrize(
    ("removed", "ids", "message"),
    [(["z"], ["z"], "'z'"), (["r1"], ["r2"], "r2"), ([f"r{k}" for k in range(30)], ["q"], "all 30")],
)
def test_what_cannot_be_exchanged_changes_nothing(rng, removed, ids, message):
    X, y, names = problem(rng)
    model = SMLClassifier("linear").fit(X, y, ids=names)
    before = model.label_weights(X)
    with pytest.raises((ValueError, KeyError), match=message):
        model.replace_rows(removed, X[:1], [{"a"}], ids=ids)
    np.testing.assert_array_equal(model.label_weights(X), before)


def test_none_may_go(rng):
    X, y, names = problem(rng)
    one, two = (SMLClassifier("linear").fit(X[:20], y[:20], ids=names[:20]) for _ in range(2))
    one.replace_rows([], X[20:], y[20:], ids=names[20:])
    two.partial_fit(X[20:], y[20:], ids=names[20:])
    np.testing.assert_array_equal(one.label_weights(X), two.label_weights(X))

"""Tagger: tables in, label sets out, and all other methods."""

from __future__ import annotations

import json
import pickle
import threading

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from film_tables import films
from simlabel import SMLClassifier, Tagger, load
from simlabel.tables import NUMBERS, TableWarning

TEXTS = ["a shark at sea", "the sea and a boat", "a wedding in May", "love and a wedding", "shark love"]
TAGS = ["sea, horror", "sea", "romance", "romance", "horror, romance"]
ASKED = ["a boat and a shark", "a wedding", None]


@pytest.fixture(scope="module")
def fitted():
    """Return a tagger of films, and new films."""
    table = films(60, 0)
    return Tagger(id_column="id", empty="none").fit(table.drop(columns="tags"), table["tags"]), films(12, 1)


def same(one, other, X, rtol=1e-9):
    np.testing.assert_allclose(one.label_weights(X), other.label_weights(X), rtol=rtol, atol=1e-12)
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=rtol, atol=1e-12)
    assert one.predict_sets(X) == other.predict_sets(X)


def test_films_are_tagged(fitted):
    tagger, new = fitted
    assert tagger.label_separator_ == "|"
    kinds = {column.name: column.kind for column in tagger.encoder_.columns_}
    assert kinds == {
        "id": "id",
        "title": "text",
        "synopsis": "text",
        "Länge": "number",
        "section": "category",
        "released": "date",
    }
    assert tagger.ids_[0] == "tt0-0"
    assert tagger.score(new.drop(columns="tags"), new["tags"]) >= 0.6
    assert set(tagger.encoder_.weights) == {"title", "synopsis", "section", NUMBERS}


def test_rows_in_parts_and_columns_in_any_order(fitted):
    tagger, new = fitted
    whole = tagger.label_weights(new.drop(columns="tags"))
    turned = new[[*new.columns[::-1]]].drop(columns="tags")
    np.testing.assert_allclose(tagger.label_weights(turned), whole, rtol=1e-12)
    one_by_one = [tagger.label_weights(turned[i : i + 1])[0] for i in range(len(new))]
    np.testing.assert_allclose(one_by_one, whole, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(tagger.label_weights(pl.DataFrame(turned)), whole, rtol=1e-12)
    np.testing.assert_allclose(tagger.label_weights(turned.to_dict("records")), whole, rtol=1e-12)


def test_absent_and_new_columns_are_told_and_predicted(fitted):
    tagger, new = fitted
    with pytest.warns(TableWarning, match="'tags', 'extra' is new and is ignored"):
        assert len(tagger.predict(new.assign(extra=1))) == 12
    with pytest.warns(TableWarning, match="'synopsis' is missing and is treated as empty"):
        assert len(tagger.predict(new.drop(columns=["synopsis", "tags"]))) == 12
    with pytest.raises(ValueError, match="none of the columns that the model was fitted on"):
        tagger.predict(new[["id"]])


def test_row_order_does_not_matter():
    table, new = films(40, 0), films(5, 1).drop(columns="tags")
    one = Tagger(empty="none").fit(table.drop(columns="tags"), table["tags"])
    turned = table[::-1]
    other = Tagger(empty="none").fit(turned.drop(columns="tags"), turned["tags"])
    assert one.encoder_.weights == other.encoder_.weights
    np.testing.assert_allclose(one.label_weights(new), other.label_weights(new), rtol=1e-6, atol=1e-9)


@given(st.permutations(["title", "synopsis", "Länge", "section", "released", "id"]), st.randoms())
@settings(max_examples=4)
def test_the_order_of_columns_at_fit_does_not_matter(order, chance):
    table, new = films(30, 0), films(5, 1).drop(columns="tags")
    rows = chance.sample(range(30), 30)
    one = Tagger(calibration=None, empty="none").fit(table.drop(columns="tags"), table["tags"])
    other = Tagger(calibration=None, empty="none").fit(table[order].iloc[rows], table["tags"].iloc[rows])
    assert other.encoder_.weights == one.encoder_.weights
    np.testing.assert_allclose(other.decision_function(new), one.decision_function(new), rtol=1e-6, atol=1e-9)
    assert other.predict(new) == one.predict(new)


def test_saved_and_loaded_is_the_same_and_lives_on(fitted, tmp_path):
    tagger, new = pickle.loads(pickle.dumps(fitted))
    X = new.drop(columns="tags")
    tagger.save(tmp_path / "model")
    again = load(tmp_path / "model")
    assert type(again) is Tagger
    assert again.label_separator_ == "|"
    assert repr(again.get_params()) == repr(tagger.get_params())
    pd.testing.assert_frame_equal(again.encoder_.to_frame(), tagger.encoder_.to_frame())
    same(again, tagger, X, rtol=0)
    for each in (tagger, again):
        each.partial_fit(X[:6], new["tags"][:6]).forget(["tt0-3", "tt1-2"])
    same(again, tagger, X)
    assert again.score(X, new["tags"]) == tagger.score(X, new["tags"])
    same(again.retune(), tagger.retune(), X)


def test_taught_and_forgotten_equals_a_fresh_fit_with_what_was_resolved_held(fitted):
    tagger, new = pickle.loads(pickle.dumps(fitted))
    before = tagger.encoder_
    tagger.partial_fit(new[:6].assign(synopsis="zebra crossing").drop(columns="tags"), new["tags"][:6])
    tagger.forget(["tt0-1", "tt1-2", "tt1-5"])
    references = tagger._model.scorer.references
    rows = tagger.encoder_.encode(references.raw[:])
    np.testing.assert_allclose(references.X[:].toarray(), rows.toarray(), rtol=1e-12)
    fresh = SMLClassifier(tagger.similarity_, normalizer=None, influence=tagger.influence_)
    fresh.fit(rows, references.Y.toarray())
    requested = pd.DataFrame(references.raw[:8], columns=list(before.names_))
    np.testing.assert_allclose(
        tagger.label_weights(requested), fresh.label_weights(rows[:8]), rtol=1e-7, atol=1e-9
    )
    old, now = (dict(zip(v.terms, v.weights, strict=True)) for v in (_words(before), _words(tagger.encoder_)))
    assert all(now[word] == weight for word, weight in old.items() if word in now)
    assert now["zebra"] == pytest.approx(np.log((1 + 60) / 2) + 1, rel=1e-12)


def _words(encoder):
    return next(c for c in encoder.fitted_ if c.column.name == "synopsis").vocabularies[0]


def test_what_only_forgotten_rows_had_is_nowhere(tmp_path):
    secret, others = "Zwölf-Quaggas äß", "quagga"
    table = [
        {"t": t, "k": k, "m": m} for t, k, m in zip(TEXTS, "aabba", ["x|y", "x", "y", "x", "y"], strict=True)
    ]
    message = {"t": f"the {secret} at sea", "k": f"{secret} k", "m": f"x|{secret} m"}
    tagger = Tagger({"k": "category", "m": "multi"}).fit([*table, message], [*TAGS, "sea"])
    tagger.save(tmp_path / "before")
    needles = [s for word in (secret, secret.casefold(), others) for s in (word, json.dumps(word)[1:-1])]
    assert any(n.encode() in (tmp_path / "before").read_bytes() for n in needles)
    assert others.encode() in pickle.dumps(tagger)
    tagger.forget([5])
    tagger.save(tmp_path / "after")
    shown = f"{tagger.explain(table)}{tagger.describe()}".casefold()
    for where in ((tmp_path / "after").read_bytes(), pickle.dumps(tagger), shown.encode()):
        for needle in needles:
            assert needle.encode() not in where


def test_label_separator_is_used_by_all(tmp_path):
    tagger = Tagger(empty="none").fit(TEXTS, ["sea;horror", "sea", None, "romance", float("nan")])
    assert tagger.label_separator_ == ";"
    tagger.save(tmp_path / "model")
    for each in (tagger, load(tmp_path / "model")):
        each.partial_fit(["a shark in a boat", "quiet"], ["sea;new", None])
        assert each.classes_.tolist() == ["horror", "new", "romance", "sea"]
        assert each.leave_one_out().shape == (7, 4)
        expected = ";".join(sorted(each.predict(["a shark at sea"])[0]))
        assert each.score(["a shark at sea"], [expected]) == 1.0
        assert 0.0 <= each.score(["quiet"], [None]) <= 1.0


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (["sea", "sea", "love", "love", None], set),
        ([["sea"], ["sea"], [], None, ["love"]], set),
        ([{"sea"}, {"sea"}, set(), {"love"}, {"love"}], set),
        (np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1]]), np.ndarray),
        ([[1, 0], [1, 0], [0, 1], [0, 1], [1, 1]], np.ndarray),
        (pd.DataFrame({"sea": [1, 1, 0, 0, 1], "love": [0, 0, 1, 1, 1]}), pd.Series),
        ([2, 2, 1, 1, 2], np.integer),
    ],
    ids=["texts", "lists", "sets", "array", "rows of 0 and 1", "frame", "classes"],
)
def test_every_form_of_labels(y, kind, tmp_path):
    tagger = Tagger(empty="none").fit(TEXTS, y)
    found = tagger.predict(ASKED)
    assert isinstance(found.iloc[0] if hasattr(found, "iloc") else found[0], kind)
    assert tagger.classes_.tolist() in (["love", "sea"], ["sea", "love"], [0, 1], [1, 2])
    assert 0.0 <= tagger.score(TEXTS, y) <= 1.0
    tagger.save(tmp_path / "model")
    same(load(tmp_path / "model"), tagger, ASKED, rtol=0)


def test_a_column_of_labels_is_warned_of():
    table = pd.DataFrame({"text": TEXTS * 3, "genre": TAGS * 3})
    with pytest.warns(TableWarning, match="column 'genre' holds the labels themselves.*'genre': 'ignore'"):
        Tagger().fit(table, TAGS * 3)


def squared_error(Y, scores):
    return -float(np.mean((np.asarray(scores) - Y.toarray()) ** 2))


def test_groups_change_the_weights():
    """Duplicates make a column of noise look informative, unless whole groups are left out."""
    rng = np.random.default_rng(0)
    words = [["sea", "boat", "fish"], ["love", "kiss", "ring"]]
    message = [" ".join(rng.choice(words[i % 2], 3)) for i in range(40)]
    noise = [" ".join(rng.choice([f"n{k}" for k in range(8)], 4, replace=False)) for _ in range(40)]
    given = [["sea", "love"][i % 2 if i % 8 > 1 else 1 - i % 2] for i in range(40)]
    groups = np.repeat(np.arange(40), 2)
    rows, y = [{"noise": noise[i], "plot": message[i]} for i in groups], [given[i] for i in groups]
    tagger = Tagger({"noise": "text", "plot": "text"}, criterion=squared_error, calibration=None)
    plain, grouped = (dict(tagger.fit(rows, y, groups=each).encoder_.weights) for each in (None, groups))
    assert plain["noise"] == plain["plot"]
    assert grouped["noise"] < 0.2 * grouped["plot"]


@pytest.mark.parametrize(
    ("options", "X", "error", "said"),
    [
        ({"columns": "text"}, TEXTS, TypeError, "columns must be a dict"),
        ({"columns": {"text": ["x"]}}, TEXTS, ValueError, "is no kind of column"),
        ({"columns": {"t": "text"}}, TEXTS, ValueError, "no column 't'"),
        ({"id_column": "id"}, TEXTS, ValueError, "there is no column 'id'"),
        ({"n_jobs": 0}, TEXTS, ValueError, "n_jobs must not be 0"),
        ({"verbose": 3}, TEXTS, ValueError, "verbose"),
        ({}, TEXTS[:4], ValueError, "X has 4 rows but y has 5"),
        ({}, [], ValueError, "the table has no rows"),
    ],
    ids=str,
)
def test_wrong_parameters_change_nothing(options, X, error, said):
    tagger = Tagger().fit(TEXTS, TAGS)
    before = tagger.label_weights(ASKED)
    tagger.set_params(**options)
    with pytest.raises(error, match=said):
        tagger.fit(X, TAGS)
    np.testing.assert_array_equal(tagger.label_weights(ASKED), before)


def test_rows_that_can_be_read_only_once():
    tagger = Tagger(id_column="id").fit(({"id": i, "t": t} for i, t in enumerate(TEXTS)), TAGS)
    tagger.partial_fit(({"id": 7, "t": t} for t in ["a whale"]), ["sea"])
    assert tagger.ids_.tolist() == [0, 1, 2, 3, 4, 7]
    assert len(tagger.predict({"t": t} for t in ASKED[:2])) == 2


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize(
    ("X", "y"),
    [
        (["a"], ["q"]),
        (["a b", "a c", "d"], ["q", "q", "q"]),
        (["a b", "a c", "d"], [None, None, None]),
        ([{"a": f"x{i} y", "b": i, "c": -(i**2)} for i in range(4)], [None] * 4),
        ([None, None], ["q", "r"]),
        (["word " * 2000, "x" * 10_000, None], ["q", "r", "q, r"]),
        ([{f"c{k}": (i * k) % 3 for k in range(100)} for i in range(8)], ["q", "r"] * 4),
    ],
    ids=[
        "one row",
        "same labels",
        "no labels",
        "no labels for many columns",
        "all missing",
        "long cells",
        "many columns",
    ],
)
def test_extremes(X, y, jobs, tmp_path):
    tagger = Tagger(n_jobs=jobs, empty="none").fit(X, y)
    assert len(tagger.predict(X)) == len(X)
    tagger.save(tmp_path / "model")
    same(load(tmp_path / "model"), tagger, X, rtol=0)


def test_predictions_while_it_is_taught():
    """Every prediction comes from one state: before or after a row was added."""
    tagger = Tagger(n_jobs=1).fit(TEXTS, TAGS)
    new = [f"new{i} word{i}" for i in range(12)]
    states = [tagger.label_weights(ASKED)]
    other = pickle.loads(pickle.dumps(tagger))
    states += [other.partial_fit([text], ["sea"]).label_weights(ASKED) for text in new]
    seen, errors, done = [], [], threading.Event()

    def ask():
        try:
            while not done.is_set():
                seen.append(tagger.label_weights(ASKED))
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for text in new:
        tagger.partial_fit([text], ["sea"])
    done.set()
    for thread in threads:
        thread.join()
    assert not errors
    assert all(any(np.allclose(each, state, rtol=1e-9) for state in states) for each in seen)
    np.testing.assert_allclose(tagger.label_weights(ASKED), states[-1], rtol=1e-9)

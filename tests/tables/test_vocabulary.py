"""Changes of rows: weights of terms are held, terms of forgotten rows only are removed."""

from __future__ import annotations

import math
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from simlabel.tables import TableEncoder, table_cells

TEXTS = st.lists(st.text("abc ä", max_size=8), min_size=1, max_size=4)


def encoder_of(texts):
    return TableEncoder({"text": "text"}).fit(table_cells(texts))


def weights(encoder):
    """Weight and number of rows of each word."""
    words = encoder.fitted_[0].vocabularies[0]
    return {t: (w, n) for t, w, n in zip(words.terms, words.weights, words.counts.tolist(), strict=True)}


def test_known_words_keep_their_weight_and_new_words_get_that_of_one_row():
    before = encoder_of(["sea sun", "sea", "wood"])
    after, X = before.taught(table_cells(["sea new", "new sea"]).rows)
    old, new = weights(before), weights(after)
    assert {word: new[word][0] for word in old} == {word: weight for word, (weight, _) in old.items()}
    assert new["sea"][1] == 4
    assert new["new"] == (math.log(4 / 2) + 1, 2)
    assert old["wood"][0] == new["new"][0]
    np.testing.assert_array_equal(
        X.toarray(), after.encode(table_cells(["sea new", "new sea"]).rows).toarray()
    )


@given(first=TEXTS, more=TEXTS)
def test_teaching_then_forgetting_restores_the_encoder(first, more):
    before, rows = encoder_of(first), table_cells(more).rows
    queries = table_cells([*first, *more]).rows
    after = before.taught(rows)[0].forgotten(rows)
    assert weights(after) == weights(before)
    np.testing.assert_array_equal(after.encode(queries).toarray(), before.encode(queries).toarray())
    taught = before.taught(rows)[0]
    lengths = [each.encode(queries).sum(axis=1) for each in (taught, _one_by_one(before, rows))]
    np.testing.assert_allclose(*lengths, rtol=1e-12)


def _one_by_one(encoder, rows):
    for row in rows:
        encoder, _ = encoder.taught([row])
    return encoder


def test_terms_of_forgotten_rows_only_are_removed():
    table = {
        "t": ["sea sun", "zebra sun"],
        "k": ["a", "quagga"],
        "m": ["x|y", "x|okapi"],
        "u": ["a.b", "gnu.c"],
    }
    encoder = TableEncoder({"k": "category", "m": "multi", "u": "url"}).fit(table_cells(table))
    fewer = encoder.forgotten([("zebra sun", "quagga", "x|okapi", "gnu.c")])
    left = pickle.dumps(fewer)
    for word in ("zeb", "quagga", "okapi", "gnu"):
        assert word.encode() in pickle.dumps(encoder)
        assert word.encode() not in left
    assert b"sun" in left


def test_a_constant_is_not_quoted_once_rows_are_forgotten():
    encoder = TableEncoder().fit(table_cells({"t": ["sea"], "n": [1]}))
    taught, _ = encoder.taught(table_cells({"t": ["wood"], "n": [2]}).rows)
    assert b"sea" in pickle.dumps(taught)
    assert b"sea" not in pickle.dumps(taught.forgotten([("sea", 1)]))


def test_more_new_words_than_reserved_columns():
    encoder = encoder_of(["sea"])
    many = table_cells([" ".join(f"w{i}" for i in range(3000))]).rows
    taught, X = encoder.taught(many)
    assert taught.width_ > encoder.width_
    assert X.shape[1] == taught.width_
    taught.check()
    np.testing.assert_allclose(X.multiply(X).sum(), 1.0, rtol=1e-12)

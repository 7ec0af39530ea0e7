"""Words, characters, items and parts of addresses, against plain loops."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

import naive_tables
from simlabel.tables import ANALYZES

CHARACTERS = st.one_of(
    st.sampled_from("ab cd  e\n.,-'_ÄßﬁİΣ海の猫ไทย가3"), st.characters(exclude_categories=["Cs"])
)
TEXTS = st.lists(st.text(CHARACTERS, max_size=25), min_size=1, max_size=5)


def read(counted):
    """Return the counts of each row as a dict."""
    rows = []
    for i in range(counted.counts.shape[0]):
        places = slice(*counted.counts.indptr[i : i + 2])
        terms = (counted.terms[k] for k in counted.counts.indices[places])
        rows.append(dict(zip(terms, counted.counts.data[places].tolist(), strict=True)))
    return rows


@given(TEXTS)
def test_words_and_characters_match_plain_loops(texts):
    words, characters = ANALYZES["text"](texts, "")
    assert read(words) == [Counter(naive_tables.words(text)) for text in texts]
    assert read(characters) == [Counter(naive_tables.characters(text)) for text in texts]


def test_pairs_stay_within_a_text():
    words, _ = ANALYZES["text"](["one two", None, "three", ("four", "five")], "")
    assert [sorted(row) for row in read(words)] == [
        ["one", "one two", "two"],
        [],
        ["three"],
        ["five", "four", "four five"],
    ]


@pytest.mark.parametrize("text", ["海の猫", "ภาษา", "東京タワー"], ids=["Han and kana", "Thai", "katakana"])
def test_without_spaces_one_to_three_characters(text):
    words, characters = ANALYZES["text"]([text], "")
    assert read(words) == [{}]
    assert {len(term) for term in characters.terms} == {1, 2, 3}
    assert set(characters.terms) == {text[i : i + n] for n in (1, 2, 3) for i in range(len(text) - n + 1)}


@pytest.mark.parametrize(
    ("kind", "separator", "cells", "expected"),
    [
        (
            "category",
            "",
            ["Sci-Fi ", "\N{FULLWIDTH LATIN CAPITAL LETTER T}v", 3, 3.0, None],
            [["sci-fi"], ["tv"], ["3"], ["3"], []],
        ),
        ("yes/no", "", ["Yes", "no"], [["yes"], ["no"]]),
        (
            "multi",
            "|",
            ["Sea| sun|", "sea", ("Sun", "sea"), None],
            [["sea", "sun"], ["sea"], ["sea", "sun"], []],
        ),
        ("url", "", [None, ("www.b.de",)], [[], ["*b", "*de", "b.de"]]),
        (
            "url",
            "",
            ["https://www.a.org/x/y-z/3/4"],
            [["*3", "*4", "*a", "*org", "*x", "*y", "*z", "a.org", "a.org/x", "a.org/x/y-z"]],
        ),
    ],
)
def test_other_columns(kind, separator, cells, expected):
    (found,) = ANALYZES[kind](cells, separator)
    assert [sorted(row) for row in read(found)] == expected

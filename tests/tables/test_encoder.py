"""Encoded rows equal those of plain loops and of scikit-learn, and depend only on the cells."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.feature_extraction.text import TfidfVectorizer

import naive_tables
from simlabel.tables import NUMBERS, Cells, TableEncoder, TableWarning, table_cells

TEXTS = [
    "A shark, a shark!",
    "the SHARK of 1975",
    "海の猫 and ßtraße",
    "",
    "x",
    "a-b c_d don't",
    "news news news",
]
CELLS = st.none() | st.text("ab cäß.海の", max_size=12)


def named(encoder, rows):
    """Encoded rows as dicts by (column, term), without zeros."""
    names, X = encoder.feature_names(), encoder.encode(rows)
    return [
        {names[k]: v for k, v in zip(X.indices[a:b].tolist(), X.data[a:b].tolist(), strict=True) if v}
        for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)
    ]


def close(found, expected):
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, rel=1e-12, abs=1e-15)


def text_rows(known, queries, column="t", weight=1.0):
    """Encode a column of texts with the terms and weights of known ones."""
    words = naive_tables.idf([naive_tables.words(text or "") for text in known])
    characters = naive_tables.idf([naive_tables.characters(text or "") for text in known])
    blocks = [naive_tables.text_block(text or "", words, characters) for text in queries]
    return [
        {
            kind: {(column, t): math.sqrt(weight) * v for (k, t), v in block.items() if k == kind}
            for kind in ("word", "gram")
        }
        for block in blocks
    ]


def parts(encoder, rows):
    """Separate words and characters: a term may be both."""
    X = encoder.encode(rows).toarray()
    found = []
    for row in X:
        one = {}
        for kind, vocabulary in zip(("word", "gram"), encoder.fitted_[0].vocabularies, strict=True):
            values = row[vocabulary.slots]
            one[kind] = {("t", t): v for t, v in zip(vocabulary.terms, values.tolist(), strict=True) if v}
        found.append(one)
    return found


@given(known=st.lists(CELLS, min_size=1, max_size=5), queries=st.lists(CELLS, min_size=1, max_size=3))
def test_texts_match_plain_loops(known, queries):
    known, queries = table_cells({"t": known}), table_cells({"t": queries})
    encoder = TableEncoder({"t": "text"}, {"t": 2.5}).fit(known)
    expected = text_rows(known.column("t"), queries.column("t"), weight=2.5)
    for one, other in zip(parts(encoder, queries.rows), expected, strict=True):
        for kind in ("word", "gram"):
            assert one[kind] == pytest.approx(other[kind], rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(
    ("part", "options"),
    [
        (0, {"ngram_range": (1, 2), "token_pattern": r"(?u)\w+"}),
        (1, {"analyzer": "char_wb", "ngram_range": (3, 5)}),
    ],
    ids=["words", "characters"],
)
def test_texts_match_scikit_learn(part, options):
    texts = [text for text in TEXTS if text.isascii()] * 2 + ["sharks and news of 1975, in a-b"]
    encoder = TableEncoder({"text": "text"}).fit(table_cells(texts))
    vocabulary = encoder.fitted_[0].vocabularies[part]
    theirs = TfidfVectorizer(sublinear_tf=True, **options).fit(texts)
    queries = [*texts, "an unknown shark"]
    X = encoder.encode(table_cells(queries).rows)[:, vocabulary.slots].toarray()
    both = np.array([bool(text.strip()) for text in queries])[:, None]
    expected = theirs.transform(queries).toarray()
    order = [theirs.vocabulary_[term] for term in vocabulary.terms.tolist()]
    assert len(order) == len(theirs.vocabulary_)
    np.testing.assert_allclose(X * np.sqrt(2.0) * both, expected[:, order], rtol=1e-12, atol=1e-15)


@given(
    st.lists(st.none() | st.integers(-50, 50) | st.floats(-1e3, 1e3), min_size=2, max_size=30),
    st.none() | st.floats(-2e3, 2e3),
)
def test_numbers_match_plain_loops(known, queries):
    values = [float(v) for v in known if v is not None] or [0.0]
    encoder = TableEncoder({"n": "number"}).fit(table_cells({"n": known}))
    spread = float(np.std(values))
    if 0 < spread <= 1e-9 * max(1.0, max(map(abs, values))):
        return  # as good as constant
    expected = naive_tables.number_block(queries, values)
    block = encoder.encode(table_cells({"n": [queries]}).rows).toarray()[0]
    dense = np.zeros(encoder.width_)
    knots = encoder.fitted_[0].knots[0].tolist()
    for name, value in expected.items():
        if name == "size":
            dense[0] = value
        elif name == "missing":
            dense[10] = value
        else:
            at = int(np.argmin(np.abs(np.array(knots) - float(name.removeprefix("about ")))))
            dense[1 + knots.index(knots[at])] += value
    np.testing.assert_allclose(block, dense, rtol=1e-9, atol=1e-9)


def test_all_blocks_together():
    """Blocks have the square root of their weight; numbers share one; an empty cell adds nothing."""
    table = table_cells(
        {
            "t": ["a shark", "a whale", None],
            "kind": ["tv", "film", "tv"],
            "tags": ["a|b", "b", None],
            "n": [1.0, 2.0, None],
            "when": ["2024-05-01", "2023-12-31", None],
        }
    )
    encoder = TableEncoder({"t": "text", "kind": "category"}, {"t": 4.0, "tags": 0.0, NUMBERS: 0.25}).fit(
        table
    )
    X = encoder.encode(table.rows)
    squared = (X.multiply(X)).sum(axis=1)
    blocks = dict(encoder.blocks(table.rows))
    assert set(blocks) == {"t", "kind", "tags", NUMBERS}
    lengths = {name: block.multiply(block).sum(axis=1) for name, block in blocks.items()}
    np.testing.assert_allclose(lengths["t"], [1, 1, 0], rtol=1e-12)
    np.testing.assert_allclose(
        squared, 4 * lengths["t"] + lengths["kind"] + 0.25 * lengths[NUMBERS], rtol=1e-12
    )
    missing = 0.5 * (1 / 2 + 1 / 8)  # one number out of one, one sign for the four of a date
    np.testing.assert_allclose(lengths[NUMBERS][2], missing, rtol=1e-12)
    alone = TableEncoder({"t": "text"}).fit(table_cells({"t": table.column("t")}))
    mine = [{k[1]: v / 2 for k, v in row.items() if k[0] == "t"} for row in named(encoder, table.rows)]
    close(mine, [{k[1]: v for k, v in row.items()} for row in named(alone, [row[:1] for row in table.rows])])


def test_encoding_does_not_depend_on_the_order_of_rows_or_columns():
    table = table_cells({"t": TEXTS, "n": [1, None, 3, 4, 5, 6, 7], "k": list("aabbcca")})
    encoder = TableEncoder({"t": "text", "k": "category"}).fit(table)
    whole = named(encoder, table.rows)
    close([named(encoder, [row])[0] for row in table.rows], whole)
    close(named(encoder, table.rows[::-1]), whole[::-1])
    turned = table_cells({name: table.column(name) for name in ("k", "t", "n")})
    assert encoder.aligned(turned) == table.rows
    other = TableEncoder({"t": "text", "k": "category"}).fit(Cells(turned.names, turned.rows[::-1]))
    close(named(other, turned.rows), whole)


def test_missing_and_new_columns_warn():
    encoder = TableEncoder().fit(table_cells({"t": ["a b", "c d"], "n": [1, 2], "same": [1, 1]}))
    with pytest.warns(TableWarning, match="column 'n' is missing and is treated as empty"):
        assert encoder.aligned(table_cells({"t": ["a"], "same": [1]})) == [("a", None, 1)]
    with pytest.warns(TableWarning, match="column 'new', 'more' is new and is ignored"):
        assert encoder.aligned(table_cells({"new": [0], "n": [3], "t": ["a"], "more": [0]})) == [
            ("a", 3, None)
        ]
    with pytest.raises(
        ValueError, match="none of the columns that the model was fitted on: 't', 'n'; it has 'x'"
    ):
        encoder.aligned(table_cells({"x": [1]}))
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # what is left out is not missed
        assert encoder.aligned(table_cells({"n": [3], "t": ["a"]})) == [("a", 3, None)]


def test_table_without_used_columns_accepts_any_other():
    encoder = TableEncoder().fit(table_cells({"same": [1, 1]}))
    with pytest.warns(TableWarning, match="'x' is new"):
        rows = encoder.aligned(table_cells({"x": ["a"]}))
    assert encoder.encode(rows).nnz == 0


def test_cells_without_known_terms_are_counted():
    encoder = TableEncoder({"k": "category"}).fit(table_cells({"t": ["a b", "c d"], "k": ["x", "y"]}))
    assert encoder.unseen([("qq", "x"), (None, "z"), ("a", "z")]) == {"t": 1, "k": 2}


SCRIPT = """
import hashlib
from simlabel.tables import TableEncoder, table_cells
table = table_cells({texts!r})
encoder = TableEncoder({{"text": "text"}}).fit(table)
X = encoder.encode(table.rows)
print(hashlib.sha256(X.data.tobytes() + X.indices.tobytes() + X.indptr.tobytes()).hexdigest())
"""


def test_encoding_is_the_same_in_another_process():
    table = table_cells(TEXTS)
    X = TableEncoder({"text": "text"}).fit(table).encode(table.rows)
    mine = hashlib.sha256(X.data.tobytes() + X.indices.tobytes() + X.indptr.tobytes()).hexdigest()
    environment = os.environ | {"PYTHONHASHSEED": "1", "PYTHONIOENCODING": "utf-8"}  # strings hash otherwise
    command = [sys.executable, "-c", SCRIPT.format(texts=TEXTS)]
    theirs = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert theirs.stdout.strip() == mine


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"columns": "text"}, TypeError, "columns must be a dict by column names, got 'text'"),
        ({"weights": [1.0]}, TypeError, r"weights must be a dict by column names, got \[1.0\]"),
        ({"weights": {"t": -1.0}}, ValueError, r"weights\['t'\]"),
        ({"weights": {"u": 1.0}}, ValueError, "there is no block 'u'; there are 't'"),
        ({"columns": {"u": "text"}}, ValueError, "no column 'u'"),
    ],
    ids=str,
)
def test_wrong_parameters(options, error, message):
    with pytest.raises(error, match=message):
        TableEncoder(**options).fit(table_cells({"t": ["a b", "c d"]}))

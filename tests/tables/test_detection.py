"""Detection of column kinds, with their reasons."""

from __future__ import annotations

import random

import pytest

from simlabel.tables import KINDS, Cells, detect_columns, guess_separator, table_cells

MANY = range(40)


def kind_of(values, name="column", **given):
    (column,) = detect_columns(table_cells({name: list(values)}), {name: given["kind"]} if given else None)
    return column


def supports(values, name="column", **given):
    column = kind_of(values, name, **given)
    return column.kind, column.reason


CASES = {
    "54 among titles": (["Jaws", "54", "Alien"], ("text", "3 of 3 distinct, 1 word on average")),
    "numbers": ([1, 2.5, None], ("number", "1 to 2.5, 1 missing")),
    "numbers as texts": (["1", "1,234.5", "n/a", "-"], ("number", "1 to 1234.5")),
    "decimal comma": (["83,0", "1.234,5", "90,25"], ("number", "83 to 1234.5, decimal comma")),
    "per cent": (["12 %", "7%"], ("number", "7 to 12")),
    "few odd ones": (
        [*map(str, range(0, 80, 2)), "?!"],
        ("number", "0 to 78, 1 that are not numbers treated as missing"),
    ),
    "iso dates": (["2024-05-01", "2023-12-31"], ("date", "2023-12-31 to 2024-05-01")),
    "dotted dates": (["1.5.2024", "31.12.2023 14:30"], ("date", "2023-12-31 to 2024-05-01")),
    "month first": (["5/1/2024", "12/31/2023"], ("date", "2023-12-31 to 2024-05-01")),
    "day first": (["1/5/2024", "31/12/2023"], ("date", "2023-12-31 to 2024-05-01")),
    "names of months": (
        [" August 14, 2020", "Feb 3, 2019", "1 december 2021", "14 Aug 2020", None],
        ("date", "2019-02-03 to 2021-12-01, 1 missing"),
    ),
    "no month": (["Juno 14, 2020", "Mayor 1, 2019"], ("multi", "2.0 values a row, separated by ','")),
    "no day of that month": (
        ["April 31, 2020", "Feb 30, 2019"],
        ("multi", "2.0 values a row, separated by ','"),
    ),
    "dates within texts": (
        ["on August 14, 2020", "until August 15, 2021"],
        ("multi", "2.0 values a row, separated by ','"),
    ),
    "yes and no": (["Yes", "no", None], ("yes/no", "no or yes, 1 missing")),
    "booleans": ([True, False], ("yes/no", "false or true")),
    "addresses": (["http://a.org/x", "www.b.org"], ("url", "addresses")),
    "numbered ids": ([f"tt{i:04}" for i in MANY], ("id", "40 of 40 distinct: left out")),
    "random ids": ([f"{hash((i, 7)) % 16**12:012x}" for i in MANY], ("id", "40 of 40 distinct: left out")),
    "row numbers": (MANY, ("id", "40 different whole numbers: left out")),
    "constant": (["x", "x"], ("constant", "always 'x'")),
    "empty": ([None, float("nan"), " "], ("constant", "all cells are empty")),
    "one value or none": (["new", None, "new"], ("category", "1 values, 1 missing")),
    "lists": ([["a", "b"], [], ["a"]], ("multi", "lists of values, 1 missing")),
    "bars": (["a|b", "b", "c|a|b"], ("multi", "2.0 values a row, separated by '|'")),
    "semicolons": (["a; b", "b", "c; a"], ("multi", "1.7 values a row, separated by ';'")),
    "commas": (["Tom Hanks, Meg Ryan", "Meg Ryan"], ("multi", "1.5 values a row, separated by ','")),
    "codes": (
        ["libc6 zlib1g", "libc6", "zlib1g libx11-6"] * 8,
        ("multi", "1.7 values a row, separated by ' '"),
    ),
    "categories": (["tv", "film", "tv", "film", "tv"], ("category", "2 values")),
    "short sentences with commas": (
        [
            "Hello, where is my order",
            "Printer broken, please help",
            "no mail, and no calendar",
            "Slow, always",
        ],
        ("text", "4 of 4 distinct, 4 words on average"),
    ),
    "small words with commas": (
        ["red, blue", "blue, green", "green, red, gray"],
        ("multi", "2.3 values a row, separated by ','"),
    ),
    "sentences": (
        ["He came, saw all of Gaul, and won.", "It is a long day, and nothing at all to do."],
        ("text", "2 of 2 distinct, 10 words on average"),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_kind_and_reason(case):
    values, expected = CASES[case]
    assert supports(values) == expected


def test_a_number_with_an_umlaut_and_a_decimal_comma():
    column = kind_of(["83,0", "90", None], name="Länge")
    assert (column.kind, column.decimal) == ("number", ",")


def test_large_numbers_named_id_are_left_out():
    values = random.Random(0).sample(range(10**6), 40)
    assert supports(values, name="user_id")[0] == "id"
    assert supports(values, name="price")[0] == "number"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("values", [["a", "b|c"], [1, 2], [None, None]], ids=str)
def test_given_kind_is_used(kind, values):
    assert supports(values, kind=kind) == (kind, "as given")


def test_format_is_detected_for_given_kinds():
    assert kind_of(["83,0", "ninety"], kind="number").decimal == ","
    assert kind_of(["5/13/2024", "soon", "later"], kind="date").order == "month first"
    assert kind_of(["a;b", "b", "c"], kind="multi").separator == ";"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"plot": "text"}, "no column 'plot'; the table has 'title'"),
        ({"title": "prose"}, "'prose' is no kind"),
    ]
    + [
        ({"title": wrong}, "is no kind of column, for 'title'; kinds are number")
        for wrong in (["text"], 3, None)
    ],
    ids=str,
)
def test_invalid_kinds(given, message):
    with pytest.raises(ValueError, match=message):
        detect_columns(Cells(("title",), [("Jaws",)]), given)


@pytest.mark.parametrize(
    ("texts", "separator"),
    [
        (["sea|sun", "sun"], "|"),
        (["sea;sun", "sun"], ";"),
        (["sea, sun", "sun"], ","),
        (["sea\nsun", "sun"], "\n"),
        (["sea / sun", "sun"], " / "),
        (["sea", "sun"], ""),
        (["a, b|c", "c|d", "d|a, b"], "|"),
        ([f"City {i}, Country {i}" for i in MANY], ""),  # nothing recurs
        (["sea and sun"] * 30, ""),
    ],
    ids=repr,
)
def test_guess_separator(texts, separator):
    assert guess_separator(texts) == separator

"""What a column holds, found out from its cells, with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from simlabel.tables._cells import Cell, Cells
from simlabel.tables._separators import ENOUGH, separator_of
from simlabel.tables._terms import has_unspaced, listed, split
from simlabel.tables._values import YES_NO, decimal_of, is_absent, moment, number

#: kinds that a user can ask for -> what each is
KINDS = {
    "number": "a quantity",
    "yes/no": "one of two words for yes and no",
    "category": "one of some values",
    "multi": "several values, in a list or with a separator between them",
    "date": "a date, with or without a time",
    "text": "words in any language",
    "url": "addresses of web pages",
    "id": "what a row is called: left out",
    "constant": "always the same: left out",
    "ignore": "left out",
}
#: kinds that say nothing about a row
LEFT_OUT = ("id", "constant", "ignore")

_URL = re.compile(r"^(?:https?://|ftp://|www\.)\S+$", re.IGNORECASE)
_ID_NAME = re.compile(r"(?:^|[\W_])(?:id|ids|uuid|guid|key|nr|no|index)$|^(?:id|Id|ID)$|[a-z]I[dD]$")
_HEX = re.compile(r"^[0-9a-fA-F]{8,}$|^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$")
_DIGITS = re.compile(r"\d+")
_NEARLY_ALL = 0.95
_SHORT_WORDS = 4.0  # on average, of a category
_LOOKED_AT = 2000  # cells of a long column that are read closely


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, why it is taken for that, and how its cells are read.

    Attributes
    ----------
    name, kind, reason : str
    separator : str
        Between the values of a "multi" column; empty for lists.
    decimal : str
        Of a "number", the decimal sign.
    order : str
        Of a "date", "day first" or "month first" where that must be known.
    """

    file_key: ClassVar[str] = "tables.Column"

    name: str
    kind: str
    reason: str = ""
    separator: str = ""
    decimal: str = "."
    order: str = ""

    def check(self) -> None:
        """Raise ValueError where a part is not what it must be."""
        texts = (self.name, self.kind, self.reason, self.separator, self.decimal, self.order)
        if not all(isinstance(each, str) for each in texts):
            raise ValueError("Column: all parts are texts.")
        if self.kind not in KINDS and self.kind != "embedding":
            raise ValueError(f"Column: {self.kind[:60]!r} is no kind of column.")
        if self.decimal not in (".", ",") or self.order not in ("", "day first", "month first"):
            raise ValueError(f"Column: numbers with {self.decimal[:60]!r}, dates {self.order[:60]!r}.")


def detect_columns(cells: Cells, given: Mapping[str, Any] | None = None) -> list[Column]:
    """The kind of every column.

    Parameters
    ----------
    given : dict of name to kind, optional
        Kinds that the user says; the others are found out.

    Examples
    --------
    >>> films = Cells(("title", "minutes"), [("Jaws", "124"), ("Alien", "117,5"), ("54", None)])
    >>> for column in detect_columns(films):
    ...     print(f"{column.name}: {column.kind}, {column.reason}")
    title: text, 3 of 3 distinct, 1 word on average
    minutes: number, 117.5 to 124, decimal comma, 1 missing
    """
    wanted = check_kinds(given or {}, cells.names)
    return [_column(name, cells.column(name), wanted.get(name)) for name in cells.names]


def check_kinds(given: Mapping[str, Any], names: Sequence[str]) -> dict[str, str]:
    """Kinds that a user gave for columns of these names, or an error that says what there is."""
    for name, kind in given.items():
        if name not in names:
            raise ValueError(
                f"columns: there is no column {name!r}; the table has {', '.join(map(repr, names))}."
            )
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(
                f"columns: {kind!r} is no kind of column, for {name!r}; kinds are {', '.join(KINDS)}."
            )
    return dict(given)


def _column(name: str, values: Sequence[Cell], wanted: str | None) -> Column:
    facts = _Facts(name, values)
    if wanted in (None, "number") and _are_vectors(facts.there):
        raise ValueError(
            f"column {name!r} holds lists of numbers, such as {facts.strings[0][:40]!r}: they would be read "
            f"as words. Give vectors (embeddings) as a matrix (an array, .npz) to AutoSMLClassifier "
            f"or `simlabel fit`; or say what the column is: 'multi' if the numbers are codes, or 'ignore'."
        )
    if wanted is not None:
        return replace(_as_said(facts, wanted), kind=wanted, reason="as you said")
    for look in _LOOKS:
        found = look(facts)
        if found is not None:
            missing = "" if not facts.missing or found.kind == "constant" else f", {facts.missing:,} missing"
            return replace(found, reason=found.reason + missing)
    return Column(name, "text", facts.words)


class _Facts:
    """What is counted about the cells of a column."""

    def __init__(self, name: str, values: Sequence[Cell]) -> None:
        self.name = name
        there = [value for value in values if value is not None]
        self.n, self.missing = len(there), len(values) - len(there)
        self.distinct = len(set(there))
        self.there = there[:: -(-len(there) // _LOOKED_AT) or 1]
        self.strings = [" ".join(v) if isinstance(v, tuple) else str(v) for v in self.there]
        self.n_words = sum(len(text.split()) for text in self.strings) / max(1, len(self.strings))

    @property
    def given(self) -> list[Cell]:
        """The cells that do not say that there is nothing."""
        return [value for value in self.there if not is_absent(value)]

    @property
    def words(self) -> str:
        """How distinct the cells are, and how long."""
        mean, what = round(self.n_words), "word"
        if sum(map(has_unspaced, self.strings)) > 0.5 * len(self.strings):
            mean, what = round(sum(map(len, self.strings)) / len(self.strings)), "character"
        return f"{self.distinct:,} of {self.n:,} distinct, {mean} {what}{'s' * (mean != 1)} on average"

    @property
    def all_differ(self) -> bool:
        """Whether no two of many are alike."""
        return self.n >= ENOUGH and self.distinct >= 0.99 * self.n


def _are_vectors(cells: Sequence[Cell]) -> bool:
    """Whether nearly all cells are lists of several numbers."""
    lists = [list(c) if isinstance(c, tuple) else listed(c) if isinstance(c, str) else None for c in cells]
    vectors = sum(
        each is not None and len(each) > 1 and all(number(item) is not None for item in each)
        for each in lists
    )
    return vectors > 0 and vectors >= _NEARLY_ALL * len(cells)


def _as_said(facts: _Facts, kind: str) -> Column:
    """How the cells of a column are read whose kind the user names, however many are not of that kind."""
    decimal = decimal_of(facts.given) if kind == "number" else None
    order = _order(facts.given) if kind == "date" else ""
    separator = separator_of(facts.strings) if kind == "multi" else None
    return Column(facts.name, kind, separator=separator or "", decimal=decimal or ".", order=order)


def _constant(facts: _Facts) -> Column | None:
    if not facts.there:
        return Column(facts.name, "constant", "all cells are empty")
    if facts.distinct == 1 and not facts.missing:
        return Column(facts.name, "constant", f"always {facts.strings[0][:30]!r}")
    return None


def _lists(facts: _Facts) -> Column | None:
    if any(isinstance(value, tuple) for value in facts.there):
        return Column(facts.name, "multi", "lists of values")
    return None


def _yes_no(facts: _Facts) -> Column | None:
    words = {text.strip().casefold() for text in facts.strings}
    if 0 < len(words) <= 2 and words <= YES_NO.keys():
        return Column(facts.name, "yes/no", " or ".join(sorted(words)))
    return None


def _numbers(facts: _Facts) -> Column | None:
    cells = facts.given
    decimal = decimal_of(cells)
    if decimal is None:
        return None
    found = [each for each in (number(value, decimal) for value in cells) if each is not None]
    odd = len(cells) - len(found)
    if odd and (len(cells) < ENOUGH or len(found) < _NEARLY_ALL * len(cells)):
        return None
    whole = all(value.is_integer() for value in found)
    if whole and facts.all_differ and not odd:
        ordered = sorted(found)
        if _ID_NAME.search(facts.name) or ordered[-1] - ordered[0] == facts.n - 1:
            return Column(facts.name, "id", f"{facts.distinct:,} different whole numbers: left out")
    reason = f"{min(found):g} to {max(found):g}"
    reason += ", decimal comma" if decimal == "," else ""
    reason += f", {odd} that are none count as missing" if odd else ""
    return Column(facts.name, "number", reason, decimal=decimal)


def _dates(facts: _Facts) -> Column | None:
    cells = facts.given
    best = _order(cells)
    found = [each for each in (moment(c, best) for c in cells) if each is not None]
    if not found or len(found) < _NEARLY_ALL * len(cells):
        return None
    return Column(facts.name, "date", f"{min(found):%Y-%m-%d} to {max(found):%Y-%m-%d}", order=best)


def _order(cells: Sequence[Cell]) -> str:
    """How most of the cells are dates."""
    orders = ("day first", "month first")
    return max(orders, key=lambda order: sum(moment(c, order) is not None for c in cells))


def _urls(facts: _Facts) -> Column | None:
    found = sum(bool(_URL.match(text.strip())) for text in facts.strings)
    return Column(facts.name, "url", "addresses") if found >= 0.9 * len(facts.strings) else None


def _ids(facts: _Facts) -> Column | None:
    """Names that differ only in their numbers, or are random: what they share says nothing."""
    if not facts.all_differ or any(" " in text.strip() for text in facts.strings):
        return None
    numbered = len({_DIGITS.sub("", text) for text in facts.strings}) <= max(3, 0.05 * len(facts.strings))
    if numbered or all(_HEX.match(text) for text in facts.strings):
        return Column(facts.name, "id", f"{facts.distinct:,} of {facts.n:,} distinct: left out")
    return None


def _multi(facts: _Facts) -> Column | None:
    found = separator_of(facts.strings)
    if found is None:
        return None
    items = [item for text in facts.strings for item in split(text, found)]
    mean = len(items) / len(facts.strings)
    reason = f"{mean:.1f} values a row, separated by {found!r}"
    return Column(facts.name, "multi", reason, separator=found)


def _categories(facts: _Facts) -> Column | None:
    few = facts.distinct <= max(10, 0.5 * facts.n)
    if few and facts.n_words <= _SHORT_WORDS and facts.distinct < facts.n:
        return Column(facts.name, "category", f"{facts.distinct:,} values")
    return None


_LOOKS = (_constant, _lists, _yes_no, _numbers, _dates, _urls, _ids, _multi, _categories)

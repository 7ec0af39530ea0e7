"""What kind of values a column holds, detected from its cells, with the reason."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from simlabel.tables._cells import YES_NO, Cell, Cells, detect_decimal, is_missing_number, moment, number
from simlabel.tables._lists import ENOUGH, as_list, feature_separator, split
from simlabel.tables._text import has_unspaced, whole_text

#: kinds that a user can ask for -> what each means
KINDS = {
    "number": "a quantity",
    "yes/no": "true or false",
    "category": "one of some values",
    "multi": "several values, in a list or with a separator between them",
    "date": "a date, with or without a time",
    "text": "words in any language",
    "url": "web addresses",
    "id": "an identifier: left out",
    "constant": "always the same: left out",
    "ignore": "left out",
}
#: kinds that are not used as features
EXCLUDED_KINDS = ("id", "constant", "ignore")

_URL = re.compile(r"^(?:https?://|ftp://|www\.)\S+$", re.IGNORECASE)
_ID_NAME = re.compile(r"(?:^|[\W_])(?:id|ids|uuid|guid|key|nr|no|index)$|^(?:id|Id|ID)$|[a-z]I[dD]$")
_HEX = re.compile(r"^[0-9a-fA-F]{8,}$|^[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}$")
_DIGITS = re.compile(r"\d+")
_NEARLY_ALL = 0.95  # share of the cells
_SHORT_WORDS = 4.0  # on average, of a category
_MOST_CELLS = 2000  # of a long column, evenly spaced
_TITLES = ("title", "name", "subject", "headline", "summary", "titel", "betreff", "titre", "título", "标题")


@dataclass(frozen=True)
class Column:
    """A column: its name, its kind, the reason for it, and how its cells are read.

    Attributes
    ----------
    name, kind, reason : str
    separator : str
        Between the values of a "multi" column; empty for lists.
    decimal : str
        Decimal sign of a "number" column.
    order : str
        "day first" or "month first" for a "date" column where the order matters.
    """

    file_key: ClassVar[str] = "tables.Column"

    name: str
    kind: str
    reason: str = ""
    separator: str = ""
    decimal: str = "."
    order: str = ""

    def check(self) -> None:
        """Raise ValueError if an attribute is invalid."""
        texts = (self.name, self.kind, self.reason, self.separator, self.decimal, self.order)
        if not all(isinstance(each, str) for each in texts):
            raise ValueError("Column: all attributes must be texts.")
        if self.kind not in KINDS and self.kind != "embedding":
            raise ValueError(f"Column: {self.kind[:60]!r} is no kind of column.")
        if self.decimal not in (".", ",") or self.order not in ("", "day first", "month first"):
            raise ValueError(f"Column: decimal is {self.decimal[:60]!r}, order is {self.order[:60]!r}.")


def detect_columns(cells: Cells, given: Mapping[str, Any] | None = None) -> list[Column]:
    """Detect the kind of every column.

    Parameters
    ----------
    given : dict of name to kind, optional
        Kinds that the user names; those of the other columns are detected.

    Examples
    --------
    >>> films = Cells(("title", "minutes"), [("Jaws", "124"), ("Alien", "117,5"), ("54", None)])
    >>> for column in detect_columns(films):
    ...     print(f"{column.name}: {column.kind}, {column.reason}")
    title: text, 3 of 3 distinct, 1 word on average
    minutes: number, 117.5 to 124, decimal comma, 1 missing
    """
    given = given or {}
    for name, kind in given.items():
        if name not in cells.names:
            raise ValueError(
                f"columns: there is no column {name!r}; the table has {', '.join(map(repr, cells.names))}."
            )
        if not isinstance(kind, str) or kind not in KINDS:
            raise ValueError(
                f"columns: {kind!r} is no kind of column, for {name!r}; kinds are {', '.join(KINDS)}."
            )
    return [_column(name, cells.column(name), given.get(name)) for name in cells.names]


def title_column(cells: Cells, columns: Sequence[Column], given: str | None = "auto") -> str | None:
    """Return the column that identifies rows to a reader: as given, by its name, or the shortest text.

    Examples
    --------
    >>> films = Cells(("plot", "Title"), [("a shark hunts swimmers", "Jaws")])
    >>> title_column(films, [Column("plot", "text"), Column("Title", "text")])
    'Title'
    """
    if given != "auto":
        if given is not None and given not in cells.names:
            raise ValueError(f"title_column: there is no column {given!r}; there are {list(cells.names)}.")
        return given
    useful = [column for column in columns if column.kind != "constant"]
    named = {column.name.strip().casefold(): column.name for column in reversed(useful)}
    for title in _TITLES:
        if title in named:
            return named[title]
    texts = [column.name for column in useful if column.kind in ("text", "embedding")]
    return min(texts, key=lambda name: sum(len(str(c)) for c in cells.column(name) if c), default=None)


def _column(name: str, values: Sequence[Cell], given: str | None) -> Column:
    facts = _Facts(name, values)
    if given in (None, "number") and _are_vectors(facts.cells):
        raise ValueError(
            f"column {name!r} holds lists of numbers, such as {facts.texts[0][:40]!r}: they would be read "
            f"as words. Pass vectors (embeddings) as a matrix (an array, .npz) to AutoSMLClassifier "
            f"or `simlabel fit`; or set its kind: 'multi' if the numbers are codes, or 'ignore'."
        )
    if given is not None:
        decimal = detect_decimal(facts.present) if given == "number" else None
        order = _date_order(facts.present) if given == "date" else ""
        separator = feature_separator(facts.texts) if given == "multi" else None
        return Column(name, given, "as given", separator or "", decimal or ".", order)
    for detect in _DETECTORS:
        found = detect(facts)
        if found is not None:
            missing = "" if not facts.missing or found.kind == "constant" else f", {facts.missing:,} missing"
            return replace(found, reason=found.reason + missing)
    return Column(name, "text", facts.words)


class _Facts:
    """Statistics of the cells of a column, of at most 2,000 cells where they are read closely."""

    def __init__(self, name: str, values: Sequence[Cell]) -> None:
        self.name = name
        filled = [value for value in values if value is not None]
        self.n, self.missing = len(filled), len(values) - len(filled)
        self.distinct = len(set(filled))
        self.cells = filled[:: -(-len(filled) // _MOST_CELLS) or 1]
        self.present = [value for value in self.cells if not is_missing_number(value)]
        self.texts = [whole_text(c) for c in self.cells]
        self.n_words = sum(len(text.split()) for text in self.texts) / max(1, len(self.texts))
        self.all_unique = self.n >= ENOUGH and self.distinct >= 0.99 * self.n

    @property
    def words(self) -> str:
        """How many cells are distinct, and how long they are."""
        mean, what = round(self.n_words), "word"
        if sum(map(has_unspaced, self.texts)) > 0.5 * len(self.texts):
            mean, what = round(sum(map(len, self.texts)) / len(self.texts)), "character"
        return f"{self.distinct:,} of {self.n:,} distinct, {mean} {what}{'s' * (mean != 1)} on average"


def _are_vectors(cells: Sequence[Cell]) -> bool:
    """Return whether nearly all cells are lists of at least two numbers."""
    lists = [list(c) if isinstance(c, tuple) else as_list(c) if isinstance(c, str) else None for c in cells]
    vectors = sum(
        each is not None and len(each) > 1 and all(number(item) is not None for item in each)
        for each in lists
    )
    return vectors > 0 and vectors >= _NEARLY_ALL * len(cells)


def _constant(facts: _Facts) -> Column | None:
    if not facts.cells:
        return Column(facts.name, "constant", "all cells are empty")
    if facts.distinct == 1 and not facts.missing:
        return Column(facts.name, "constant", f"always {facts.texts[0][:30]!r}")
    return None


def _lists(facts: _Facts) -> Column | None:
    are_lists = any(isinstance(value, tuple) for value in facts.cells)
    return Column(facts.name, "multi", "lists of values") if are_lists else None


def _boolean_column(facts: _Facts) -> Column | None:
    words = {text.strip().casefold() for text in facts.texts}
    if 0 < len(words) <= 2 and words <= YES_NO.keys():
        return Column(facts.name, "yes/no", " or ".join(sorted(words)))
    return None


def _numbers(facts: _Facts) -> Column | None:
    decimal = detect_decimal(facts.present)
    if decimal is None:
        return None
    found = [each for each in (number(value, decimal) for value in facts.present) if each is not None]
    odd = len(facts.present) - len(found)
    if odd and (len(facts.present) < ENOUGH or len(found) < _NEARLY_ALL * len(facts.present)):
        return None
    least, most = min(found), max(found)
    whole = not odd and facts.all_unique and all(value.is_integer() for value in found)
    if whole and (_ID_NAME.search(facts.name) or most - least == facts.n - 1):
        return Column(facts.name, "id", f"{facts.distinct:,} different whole numbers: left out")
    reason = f"{least:g} to {most:g}" + ", decimal comma" * (decimal == ",")
    reason += f", {odd} that are not numbers treated as missing" if odd else ""
    return Column(facts.name, "number", reason, decimal=decimal)


def _dates(facts: _Facts) -> Column | None:
    order = _date_order(facts.present)
    found = [each for each in (moment(c, order) for c in facts.present) if each is not None]
    if not found or len(found) < _NEARLY_ALL * len(facts.present):
        return None
    return Column(facts.name, "date", f"{min(found):%Y-%m-%d} to {max(found):%Y-%m-%d}", order=order)


def _date_order(cells: Sequence[Cell]) -> str:
    """Return the order of day and month in which most of the cells are dates."""
    orders = ("day first", "month first")
    return max(orders, key=lambda order: sum(moment(c, order) is not None for c in cells))


def _urls(facts: _Facts) -> Column | None:
    found = sum(bool(_URL.match(text.strip())) for text in facts.texts)
    return Column(facts.name, "url", "addresses") if found >= 0.9 * len(facts.texts) else None


def _ids(facts: _Facts) -> Column | None:
    """Detect names that differ only in their numbers, and hexadecimal ones: parts of them mean nothing."""
    if not facts.all_unique or any(" " in text.strip() for text in facts.texts):
        return None
    numbered = len({_DIGITS.sub("", text) for text in facts.texts}) <= max(3, 0.05 * len(facts.texts))
    if numbered or all(_HEX.match(text) for text in facts.texts):
        return Column(facts.name, "id", f"{facts.distinct:,} of {facts.n:,} distinct: left out")
    return None


def _multi(facts: _Facts) -> Column | None:
    found = feature_separator(facts.texts)
    if found is None:
        return None
    mean = sum(len(split(text, found)) for text in facts.texts) / len(facts.texts)
    return Column(facts.name, "multi", f"{mean:.1f} values a row, separated by {found!r}", separator=found)


def _categories(facts: _Facts) -> Column | None:
    few = facts.distinct <= max(10, 0.5 * facts.n)
    if few and facts.n_words <= _SHORT_WORDS and facts.distinct < facts.n:
        return Column(facts.name, "category", f"{facts.distinct:,} values")
    return None


_DETECTORS = (_constant, _lists, _boolean_column, _numbers, _dates, _urls, _ids, _multi, _categories)

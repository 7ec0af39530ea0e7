"""Cells of a table as plain values, and the numbers, dates and truth values that they stand for."""

from __future__ import annotations

import json
import math
import numbers
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import numpy as np

Cell = str | int | float | tuple[str, ...] | None
Row = tuple[Cell, ...]

#: column name of a plain list of texts
TEXT = "text"
#: words for "missing" in a column of numbers, dates or truth values
ABSENT = frozenset(
    ["na", "n/a", "nan", "null", "none", "?", "-", "--", "nil", "unknown", "<na>", "nat", "#n/a"]
)
#: words for true and false
YES_NO = {"yes": 1, "no": 0, "true": 1, "false": 0, "y": 1, "n": 0, "t": 1, "f": 0, "ja": 1, "nein": 0}
YES_NO |= {"oui": 1, "non": 0, "sí": 1, "si": 1, "on": 1, "off": 0}

_EXACT = 2**53  # larger integers are identifiers, not quantities: a float could not hold them
_POINT = re.compile(r"[+-]?(?:\d{1,3}(?:,\d{3})+|\d+|(?=\.\d))(?:\.\d*)?(?:[eE][+-]?\d+)?")
_COMMA = re.compile(r"[+-]?(?:\d{1,3}(?:\.\d{3})+|\d+|(?=,\d))(?:,\d*)?(?:[eE][+-]?\d+)?")
_SPACES = dict.fromkeys(map(ord, " \u00a0\u202f\u2009"))
_NAMES = "january february march april may june july august september october november december"
_MONTHS = {name[:length]: i for i, name in enumerate(_NAMES.split(), 1) for length in (3, len(name))}
_MONTH = f"(?P<m>(?i:{'|'.join(_MONTHS)}))"  # English in every locale
_DATES = [
    (re.compile(r"(?P<y>\d{4})[-/.](?P<m>\d{1,2})[-/.](?P<d>\d{1,2})"), ""),
    (re.compile(r"(?P<d>\d{1,2})\.(?P<m>\d{1,2})\.(?P<y>\d{4})"), ""),
    (re.compile(r"(?P<d>\d{1,2})[/-](?P<m>\d{1,2})[/-](?P<y>\d{4})"), "day first"),
    (re.compile(r"(?P<m>\d{1,2})[/-](?P<d>\d{1,2})[/-](?P<y>\d{4})"), "month first"),
    (re.compile(rf"{_MONTH} +(?P<d>\d{{1,2}}),? +(?P<y>\d{{4}})"), ""),
    (re.compile(rf"(?P<d>\d{{1,2}}) +{_MONTH},? +(?P<y>\d{{4}})"), ""),
]
_CLOCK = re.compile(r"[T ]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)?\s*(?:Z|UTC|[+-]\d{2}:?\d{2})?")


@dataclass(frozen=True)
class Cells:
    """A table: its column names, and for each row one cell per column; None for an empty cell."""

    names: tuple[str, ...]
    rows: list[Row]

    def column(self, name: str) -> list[Cell]:
        """Return the cells of one column."""
        at = self.names.index(name)
        return [row[at] for row in self.rows]


def table_cells(X: Any) -> Cells:
    """Read a data frame (pandas, polars, pyarrow), a list of dicts, a dict of columns, a 2-D array, or texts.

    Examples
    --------
    >>> table_cells([{"title": "Jaws", "year": 1975}, {"title": "Alien", "year": None}])
    Cells(names=('title', 'year'), rows=[('Jaws', 1975), ('Alien', None)])
    >>> table_cells(["a shark", "an alien"]).names
    ('text',)
    """
    if isinstance(X, Cells):
        return X
    if hasattr(X, "collect") and hasattr(X, "lazy"):
        X = X.collect()  # a polars LazyFrame
    if hasattr(X, "to_pydict"):
        X = X.to_pydict()  # a pyarrow Table
    if isinstance(X, str | bytes) or X is None:
        raise _no_table(X)
    if hasattr(X, "columns") and hasattr(X, "iloc"):
        return _from_columns(X.columns, [X.iloc[:, k].tolist() for k in range(len(X.columns))])
    if hasattr(X, "columns") and hasattr(X, "get_columns"):
        return _from_columns(X.columns, [column.to_list() for column in X.get_columns()])
    if getattr(X, "ndim", 1) == 2:  # before dicts: a DOK matrix is one, too
        width = int(X.shape[1])
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        return _from_columns(range(width), [X[:, k].tolist() for k in range(width)])
    if isinstance(X, Mapping):
        return _from_columns(X, [_as_list(values) for values in X.values()])
    return _from_rows(_as_list(X))


def _from_rows(rows: list[Any]) -> Cells:
    dicts = [isinstance(row, Mapping) for row in rows]
    if rows and all(dicts):
        keys = list(dict.fromkeys(name for row in rows for name in row))
        return _from_columns(keys, [[row.get(key) for row in rows] for key in keys])
    lists = [isinstance(row, list | np.ndarray) for row in rows]
    if any(dicts) or any(lists):
        wrong = dicts.index(False) if any(dicts) else lists.index(True)
        raise TypeError(
            f"row {wrong} is {rows[wrong]!r:.60}: a list must hold texts, or dicts with a value for each "
            f"column. Pass lists of values as a data frame, which names its columns."
        )
    return _from_columns([TEXT], [rows])


def _no_table(X: Any) -> TypeError:
    return TypeError(f"a table is a data frame, a list of dicts or a list of texts; got {X!r:.60}.")


def values_of(column: Any) -> list[Any]:
    """Return the values of a list, an array, a series, or another iterable; TypeError for anything else."""
    for name in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, name):
            column = getattr(column, name)()
    return list(column)


def _as_list(values: Any) -> list[Any]:
    try:
        return values_of(values)
    except TypeError:
        raise _no_table(values) from None


def _from_columns(given: Iterable[Any], columns: list[list[Any]]) -> Cells:
    names = [_encodable(str(name)) for name in given]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the table has two columns called {twice!r}: rename one of them.")
    if not names:
        raise ValueError("the table has 0 feature(s): it needs at least one column.")
    lengths = {len(column) for column in columns}
    if len(lengths) > 1:
        raise ValueError(f"the columns of the table have different lengths: {sorted(lengths)}.")
    return Cells(tuple(names), list(zip(*map(_read, names, columns), strict=True)))


def _read(name: str, values: list[Any]) -> list[Cell]:
    found: list[Cell] = []
    try:
        for value in values:
            found.append(cell(value))
    except Exception as error:  # a foreign object, or one that contains itself, may raise anything
        kind = type(values[len(found)]).__name__
        raise ValueError(
            f"column {name!r}, row {len(found)}: a cell of type {kind} cannot be read as a text, a number, a "
            f"date or a list of these: {error}"
        ) from error
    return found


def cell(value: Any) -> Cell:
    """Return a value as a plain cell: a text, a number, a tuple of texts, or None if it is empty.

    Examples
    --------
    >>> cell("  "), cell(float("nan")), cell(True), cell(["a", None, "b"]), cell(date(2024, 5, 1))
    (None, None, 'True', ('a', 'b'), '2024-05-01')
    """
    kind = type(value)
    if kind is str:
        return _encodable(value) if value.strip() else None
    if value is None:
        return None
    if kind is float or kind is int:
        return _number(value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return cell(value[()])
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        return _items(value)
    if isinstance(value, numbers.Number) and not isinstance(value, complex | np.timedelta64):
        return _number(int(value) if isinstance(value, numbers.Integral) else float(value))  # type: ignore[arg-type]
    return _other(value)


def _items(values: Iterable[Any]) -> Cell:
    found = map(cell, sorted(values, key=str) if isinstance(values, set | frozenset) else values)
    texts = [" ".join(c) if isinstance(c, tuple) else "" if c is None else str(c).strip() for c in found]
    return tuple(text for text in texts if text) or None


def _other(value: Any) -> Cell:
    if isinstance(value, bytes):
        return cell(value.decode("utf-8", errors="replace"))
    if isinstance(value, Mapping):
        return cell(json.dumps(value, default=str, ensure_ascii=False))
    text = value.isoformat() if isinstance(value, date | time) else str(value)
    return cell(text) if isinstance(value, str) or text not in ("NaT", "<NA>") else None


def _number(value: float) -> Cell:
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    return value if math.isfinite(value) else None


def _encodable(text: str) -> str:
    """Replace unpaired surrogates, which cannot be encoded in a file."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", errors="replace").decode("utf-8")
    return text


def is_missing_number(value: Cell) -> bool:
    """Return whether a cell is empty or holds a word for "missing"."""
    return value is None or (isinstance(value, str) and value.strip().casefold() in ABSENT)


def number(value: Cell, decimal: str = ".") -> float | None:
    """Return the number in a cell, written with a decimal point or comma; None if there is none.

    Examples
    --------
    >>> number("1,234.5"), number("83,0"), number("83,0", ","), number("1.234,5", ","), number(" 12 % ")
    (1234.5, None, 83.0, 1234.5, 12.0)
    """
    if isinstance(value, int | float):
        return float(value)
    if not isinstance(value, str):
        return None
    text = value.strip().translate(_SPACES).removesuffix("%")
    if not (_POINT if decimal == "." else _COMMA).fullmatch(text):
        return None
    plain = text.replace(",", "") if decimal == "." else text.replace(".", "").replace(",", ".")
    found = float(plain)
    return found if math.isfinite(found) else None


def detect_decimal(values: Sequence[Cell]) -> str | None:
    """Return the decimal sign with which most of the cells are numbers; None if no cell is a number."""
    counts = {sign: sum(number(value, sign) is not None for value in values) for sign in ".,"}
    best = max(counts, key=lambda sign: counts[sign])
    return best if counts[best] else None


def moment(value: Cell, order: str = "") -> datetime | None:
    """Return the date and time in a cell; `order` tells how to read 3/4/2024.

    Examples
    --------
    >>> print(moment("2024-05-01"), moment("1.5.2024 14:30"), moment("5/1/2024", "month first"), moment("?"))
    2024-05-01 00:00:00 2024-05-01 14:30:00 2024-05-01 00:00:00 None
    >>> print(moment("May 1, 2024"), moment("1 May 2024"), moment("The 1 May 2024"))
    2024-05-01 00:00:00 2024-05-01 00:00:00 None
    """
    if not isinstance(value, str):
        return None
    text = value.strip()
    for pattern, needed in _DATES:
        found = pattern.match(text)
        if found is None or (needed and needed != (order or "day first")):
            continue
        rest = text[found.end() :]
        clock = _CLOCK.fullmatch(rest) if rest else None
        if rest and clock is None:
            continue
        hours = [int(part or 0) for part in clock.groups()] if clock else [0, 0, 0]
        name = found["m"].lower()
        month = _MONTHS[name] if name in _MONTHS else int(name)
        try:
            return datetime(int(found["y"]), month, int(found["d"]), *hours)  # type: ignore[arg-type]
        except ValueError:
            continue
    return None


def parse_bool(cell: Cell) -> bool | None:
    """Return the truth value of a cell (1, true, yes; 0, false, no); None if it is neither.

    Examples
    --------
    >>> parse_bool("1"), parse_bool(0.0), parse_bool("True"), parse_bool(None), parse_bool("2")
    (True, False, True, None, None)
    """
    value = number(cell)
    if value is None and isinstance(cell, str):
        value = YES_NO.get(cell.strip().casefold())
    return bool(value) if value in (0, 1) else None

"""Numbers and dates as people write them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from datetime import datetime

from simlabel.tables._cells import Cell

#: words that mean "nothing" in a column of numbers, dates, or yes and no
ABSENT = frozenset(
    ["na", "n/a", "nan", "null", "none", "?", "-", "--", "nil", "unknown", "<na>", "nat", "#n/a"]
)
#: words that mean yes or no
YES_NO = {"yes": 1, "no": 0, "true": 1, "false": 0, "y": 1, "n": 0, "t": 1, "f": 0, "ja": 1, "nein": 0}
YES_NO |= {"oui": 1, "non": 0, "sí": 1, "si": 1, "on": 1, "off": 0}

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


def is_absent(value: Cell) -> bool:
    """Whether a cell of a column of numbers says that there is none."""
    return value is None or (isinstance(value, str) and value.strip().casefold() in ABSENT)


def number(value: Cell, decimal: str = ".") -> float | None:
    """The number that a cell is, written with a decimal point or comma; None where it is none.

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


def decimal_of(values: Iterable[Cell]) -> str | None:
    """The decimal sign with which most of the cells are numbers; None where hardly any are."""
    cells = [value for value in values if not is_absent(value)]
    counts = {sign: sum(number(value, sign) is not None for value in cells) for sign in ".,"}
    best = max(counts, key=lambda sign: counts[sign])
    return best if counts[best] else None


def moment(value: Cell, order: str = "") -> datetime | None:
    """The date, and time if there is one, that a cell is; `order` says how 3/4/2024 is meant.

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
    for pattern, meant in _DATES:
        found = pattern.match(text)
        if found is None or (meant and meant != (order or "day first")):
            continue
        rest = text[found.end() :]
        clock = _CLOCK.fullmatch(rest) if rest else None
        if rest and clock is None:
            continue
        hours = [int(part or 0) for part in clock.groups()] if clock else [0, 0, 0]
        name, year, day = found["m"].lower(), int(found["y"]), int(found["d"])
        month = _MONTHS[name] if name in _MONTHS else int(name)
        try:
            return datetime(year, month, day, *hours)  # type: ignore[arg-type]
        except ValueError:
            continue
    return None


def yes_or_no(cell: Cell) -> bool | None:
    """Whether a cell means yes (1, true, yes) or no (0, false, no); None where it is neither.

    Examples
    --------
    >>> yes_or_no("1"), yes_or_no(0.0), yes_or_no("True"), yes_or_no(None), yes_or_no("2")
    (True, False, True, None, None)
    """
    value = number(cell)
    if value is None and isinstance(cell, str):
        value = YES_NO.get(cell.strip().casefold())
    return bool(value) if value in (0, 1) else None

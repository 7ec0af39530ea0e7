"""Whatever people call a table -> names of columns and rows of plain cells."""

from __future__ import annotations

import json
import math
import numbers
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from typing import Any

import numpy as np

Cell = str | int | float | tuple[str, ...] | None
Row = tuple[Cell, ...]

#: what a plain list of texts becomes
TEXT = "text"
_EXACT = 2**53  # whole numbers beyond are names, not quantities


@dataclass(frozen=True)
class Cells:
    """A table: names of its columns, and for each row a cell of every column; None where there is nothing."""

    names: tuple[str, ...]
    rows: list[Row]

    def column(self, name: str) -> list[Cell]:
        """The cells of one column."""
        at = self.names.index(name)
        return [row[at] for row in self.rows]


def table_cells(X: Any) -> Cells:
    """Read a frame of pandas, polars or pyarrow, a list of dicts, a dict of columns, a 2-D array, or texts.

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
        X = X.collect()  # a LazyFrame
    if hasattr(X, "to_pydict"):
        X = X.to_pydict()  # a pyarrow Table
    if isinstance(X, str | bytes) or X is None:
        raise TypeError(f"a table is a frame, a list of dicts or a list of texts; got {X!r:.60}.")
    if hasattr(X, "columns") and (hasattr(X, "iloc") or hasattr(X, "get_columns")):
        return _from_columns([str(name) for name in X.columns], _frame_columns(X))
    if getattr(X, "ndim", 1) == 2:  # before dicts, which a sparse matrix by keys is too
        width = int(X.shape[1])
        X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
        return _from_columns([str(k) for k in range(width)], [X[:, k].tolist() for k in range(width)])
    if isinstance(X, Mapping):
        return _from_columns([str(name) for name in X], [_listed(values) for values in X.values()])
    rows = _listed(X)
    dicts = [isinstance(row, Mapping) for row in rows]
    if rows and all(dicts):
        keys = list(dict.fromkeys(name for row in rows for name in row))
        return _from_columns([str(key) for key in keys], [[row.get(key) for row in rows] for key in keys])
    lists = [isinstance(row, list | np.ndarray) for row in rows]
    if any(dicts) or any(lists):
        wrong = dicts.index(False) if any(dicts) else lists.index(True)
        raise TypeError(
            f"row {wrong} is {rows[wrong]!r:.60}: a list is a list of texts, or of dicts with a value for "
            f"each column. Give lists of values as a frame, whose columns have names."
        )
    return _from_columns([TEXT], [rows])


def _frame_columns(X: Any) -> list[list[Any]]:
    if hasattr(X, "iloc"):
        return [X.iloc[:, k].tolist() for k in range(len(X.columns))]
    return [column.to_list() for column in X.get_columns()]


def _listed(values: Any) -> list[Any]:
    if hasattr(values, "tolist"):
        values = values.tolist()
    elif hasattr(values, "to_list"):
        values = values.to_list()
    if not isinstance(values, Sequence | set | frozenset) or isinstance(values, str):
        try:
            values = list(values)
        except TypeError:
            raise TypeError(
                f"a table is a frame, a list of dicts or a list of texts; got {values!r:.60}."
            ) from None
    return list(values)


def _from_columns(given: list[str], columns: list[list[Any]]) -> Cells:
    names = [_clean(name) for name in given]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the table has two columns called {twice!r}; rename one of them.")
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
    except Exception as error:  # whatever a foreign object, or one that holds itself, does when it is read
        kind = type(values[len(found)]).__name__
        raise ValueError(
            f"column {name!r}, row {len(found)}: a cell of type {kind} cannot be read as a text, a number, a "
            f"date or a list of these: {error}"
        ) from error
    return found


def cell(value: Any) -> Cell:
    """One value as a table keeps it: a text, a number, a tuple of texts, or None for nothing.

    Examples
    --------
    >>> cell("  "), cell(float("nan")), cell(True), cell(["a", None, "b"]), cell(date(2024, 5, 1))
    (None, None, 'True', ('a', 'b'), '2024-05-01')
    """
    kind = type(value)
    if kind is str:
        return _clean(value) if value.strip() else None
    if value is None:
        return None
    if kind is float or kind is int:
        return _number(value)
    if isinstance(value, bool | np.bool_):
        return str(bool(value))
    if isinstance(value, str):
        return cell(str(value))
    if isinstance(value, datetime | date | time | np.datetime64):
        return _moment(value)
    if isinstance(value, numbers.Number) and not isinstance(value, complex | np.timedelta64):
        return _number(int(value) if isinstance(value, numbers.Integral) else float(value))  # type: ignore[arg-type]
    if isinstance(value, bytes):
        return cell(value.decode("utf-8", errors="replace"))
    if isinstance(value, Mapping):
        return _clean(json.dumps(value, default=str, ensure_ascii=False))
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return cell(value[()])
    if isinstance(value, list | tuple | set | frozenset | np.ndarray):
        items = [
            _as_text(item)
            for item in (sorted(value, key=str) if isinstance(value, set | frozenset) else value)
        ]
        return tuple(item for item in items if item) or None
    return cell(str(value)) if str(value) not in ("<NA>", "NaT") else None


def _as_text(item: Any) -> str:
    plain = cell(item)
    return "" if plain is None else " ".join(plain) if isinstance(plain, tuple) else str(plain).strip()


def _number(value: float) -> Cell:
    if isinstance(value, int):
        return value if abs(value) <= _EXACT else str(value)
    return value if math.isfinite(value) else None


def _moment(value: Any) -> Cell:
    text = str(value) if isinstance(value, np.datetime64) else value.isoformat()
    return None if text == "NaT" else text


def _clean(text: str) -> str:
    """Without halves of surrogate pairs, which no file can hold."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-8", errors="replace").decode("utf-8")
    return text

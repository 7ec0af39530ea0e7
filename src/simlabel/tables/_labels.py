"""Labels in tables: texts with separators, lists, empty cells; and columns that contain the labels."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import IntArray, is_missing
from simlabel.labels import PartialLabels
from simlabel.tables._cells import Cells, cell, values_of
from simlabel.tables._detection import EXCLUDED_KINDS
from simlabel.tables._encoder import TableEncoder
from simlabel.tables._lists import guess_separator, split
from simlabel.tables._text import plain

_SETS = (set, frozenset, list, tuple, np.ndarray)
_LEAKING = 0.9  # share of rows whose cell has all labels and at most one other value
_MAX_ROWS = 2000


def separator_for(y: Any, wanted: str | None) -> str | None:
    """Return the separator between the labels of a row if y is a column of texts; None if there is none.

    Parameters
    ----------
    wanted : str or None
        "auto" to detect it; None if each text is one label.

    Examples
    --------
    >>> separator_for(["Drama, Crime", "Crime"], "auto"), separator_for(["Drama", "Crime"], "auto")
    (',', None)
    """
    if wanted is not None and (not isinstance(wanted, str) or not wanted):
        raise ValueError(f"label_separator must be a text, None or 'auto', got {wanted!r}.")
    if wanted != "auto":
        return wanted
    return guess_separator([text for text in _texts(y) or [] if text is not None]) or None


def label_sets(y: Any, separator: str | None) -> Any:
    """Return label sets for a column of texts or lists, which may have empty cells; other y unchanged.

    Examples
    --------
    >>> label_sets(["Drama, Crime", None], ",") == [{"Drama", "Crime"}, set()]
    True
    """
    texts = _texts(y)
    if texts is not None:
        return [set(split(text, separator or "")) for text in texts]
    rows = _column(y)
    if not rows or not all(_is_label_set(row) or is_missing(row) for row in rows):
        return y
    return [
        row if isinstance(row, PartialLabels) else set(row) if isinstance(row, _SETS) else set()
        for row in rows
    ]


def tagged_rows(y: Any, empty: str) -> IntArray | None:
    """Return the positions of the rows that have been tagged; None if all rows count.

    Parameters
    ----------
    empty : {"untagged", "none"}
        Meaning of an empty cell of a column of labels. An empty set or list always means no label.

    Examples
    --------
    >>> tagged_rows(["sea", None, "", "sun"], "untagged").tolist()
    [0, 3]
    >>> tagged_rows([{"sea"}, set()], "untagged")
    """
    if empty not in ("untagged", "none"):
        raise ValueError(f"empty must be 'untagged' or 'none', got {empty!r}.")
    if empty == "none" or label_sets(y, None) is y:
        return None
    rows = _column(y) or []
    empties = [not row.strip() if isinstance(row, str) else is_missing(row) for row in rows]
    if all(empties):
        raise ValueError(f"y: all {len(rows)} rows are untagged: pass the labels of some.")
    return np.flatnonzero(np.logical_not(empties)) if any(empties) else None


def _is_label_set(row: Any) -> bool:
    """Return whether a row holds label names; a list with a number is a row of an indicator matrix."""
    if isinstance(row, set | frozenset | PartialLabels):
        return True
    return isinstance(row, _SETS) and all(isinstance(each, str) or is_missing(each) for each in row)


def _texts(y: Any) -> list[str | None] | None:
    """Return the texts of a column of texts, None for an empty cell; None for any other y."""
    rows = _column(y)
    if not rows or not any(isinstance(row, str) for row in rows):
        return None
    if not all(isinstance(row, str) or is_missing(row) for row in rows):
        return None
    found = [cell(row) for row in rows]
    return [each if isinstance(each, str) else None for each in found]


def _column(y: Any) -> list[Any] | None:
    """Return the values of one column: a list, a series, a 1-D array; None for any other y."""
    other = sp.issparse(y) or hasattr(y, "columns") or isinstance(y, str | dict)
    try:
        return None if other or getattr(y, "ndim", 1) != 1 else values_of(y)
    except TypeError:
        return None


def leaking_columns(cells: Cells, encoder: TableEncoder, classes: Any, Y: sp.csr_array) -> list[str]:
    """Return the columns that contain the labels of nearly every row, and little else."""
    names = [plain(str(label)) for label in classes.tolist()]
    labeled = np.flatnonzero(np.diff(Y.indptr))
    rows = labeled[:: -(-len(labeled) // _MAX_ROWS) or 1].tolist()
    truth = [{names[k] for k in Y.indices[Y.indptr[i] : Y.indptr[i + 1]]} for i in rows]
    if len({frozenset(each) for each in truth}) < 2:
        return []  # if all rows have the same labels, nothing leaks
    found = []
    for column in encoder.columns_:
        if column.kind in (*EXCLUDED_KINDS, "number", "date"):
            continue
        values = cells.column(column.name)
        held = [{plain(item) for item in _items(values[i], column.separator)} for i in rows]
        leaking = sum(
            labels <= items and len(items) <= len(labels) + 1
            for labels, items in zip(truth, held, strict=True)
        )
        if leaking >= _LEAKING * len(rows):
            found.append(column.name)
    return found


def _items(value: Any, separator: str) -> list[str]:
    """Return the values of a cell, by the separator of its column or else by a guess."""
    if value is None or isinstance(value, tuple) or separator:
        return split(value, separator)
    return split(value, guess_separator([str(value)]))

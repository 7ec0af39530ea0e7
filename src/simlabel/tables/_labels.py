"""Labels as tables hold them: texts with separators, lists, empty cells; and columns that give them away."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import is_missing
from simlabel.labels import Partial
from simlabel.tables._cells import Cells, cell
from simlabel.tables._encoder import TableEncoder
from simlabel.tables._kinds import LEFT_OUT
from simlabel.tables._separators import guess_separator
from simlabel.tables._terms import plain, split

_SETS = (set, frozenset, list, tuple, np.ndarray)
_KNOWN = (*_SETS, Partial)
_GIVEN_AWAY = 0.9  # of the rows: their labels are all there, and nearly nothing else
_LOOKED_AT = 2000


def separator_for(y: Any, wanted: str | None) -> str | None:
    """What stands between the labels of a row where y is a column of texts; None where nothing does.

    Parameters
    ----------
    wanted : str or None
        "auto" to find out; None where each text is one label.

    Examples
    --------
    >>> separator_for(["Drama, Crime", "Crime"], "auto"), separator_for(["Drama", "Crime"], "auto")
    (',', None)
    """
    if wanted is not None and (not isinstance(wanted, str) or not wanted):
        raise ValueError(f"label_separator must be a text, None or 'auto', got {wanted!r}.")
    texts = _texts(y)
    if wanted != "auto" or texts is None:
        return None if wanted == "auto" else wanted
    return guess_separator([text for text in texts if text is not None]) or None


def label_sets(y: Any, separator: str | None) -> Any:
    """A column of texts, or of lists with empty cells, as label sets; any other form of y as it is.

    Examples
    --------
    >>> label_sets(["Drama, Crime", None], ",") == [{"Drama", "Crime"}, set()]
    True
    """
    texts = _texts(y)
    if texts is not None:
        return [set(split(text, separator or "")) for text in texts]
    rows = _column(y)
    if not rows or not all(_names(row) if isinstance(row, _KNOWN) else is_missing(row) for row in rows):
        return y
    return [
        row if isinstance(row, Partial) else set(row) if isinstance(row, _SETS) else set() for row in rows
    ]


def tagged_rows(y: Any, empty: str) -> npt.NDArray[np.int64] | None:
    """Return the positions of the rows that have been tagged; None where all rows count.

    Parameters
    ----------
    empty : {"untagged", "none"}
        What an empty cell of a column of labels means. An empty set or list always means no label.

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
        raise ValueError(f"y: all {len(rows)} rows are untagged; give the labels of some.")
    return np.flatnonzero(np.logical_not(empties)) if any(empties) else None


def _names(row: Any) -> bool:
    """Whether these are names of labels; a list that holds a number is a row of a 0/1 matrix."""
    return isinstance(row, set | frozenset | Partial) or all(
        isinstance(each, str) or is_missing(each) for each in row
    )


def _texts(y: Any) -> list[str | None] | None:
    """The texts of a column of texts, None for an empty cell; None for any other form of y."""
    rows = _column(y)
    if not rows or not any(isinstance(row, str) for row in rows):
        return None
    if not all(isinstance(row, str) or is_missing(row) for row in rows):
        return None
    found = [cell(row) for row in rows]
    return [each if isinstance(each, str) else None for each in found]


def _column(y: Any) -> list[Any] | None:
    """The values of what is one column: a list, a series, an array of one dimension."""
    if sp.issparse(y) or hasattr(y, "columns") or y is None or isinstance(y, str | dict):
        return None
    if getattr(y, "ndim", 1) != 1:
        return None
    y = y.to_pylist() if hasattr(y, "to_pylist") else y
    values = y.to_list() if hasattr(y, "to_list") else y.tolist() if hasattr(y, "tolist") else y
    try:
        return list(values)
    except TypeError:
        return None


def leaking_columns(cells: Cells, encoder: TableEncoder, classes: Any, Y: sp.csr_array) -> list[str]:
    """Columns that hold the labels of nearly every row, as values or words, and little beside."""
    names = [plain(str(label)) for label in classes.tolist()]
    labelled = np.flatnonzero(np.diff(Y.indptr))
    rows = labelled[:: -(-len(labelled) // _LOOKED_AT) or 1].tolist()
    truth = [{names[k] for k in Y.indices[Y.indptr[i] : Y.indptr[i + 1]]} for i in rows]
    if len({frozenset(each) for each in truth}) < 2:
        return []  # where all rows have the same labels, nothing is given away
    found = []
    for column in encoder.columns_:
        if column.kind in (*LEFT_OUT, "number", "date"):
            continue
        values = cells.column(column.name)
        held = [{plain(item) for item in _items(values[i], column.separator)} for i in rows]
        given = sum(
            labels <= items and len(items) <= len(labels) + 1
            for labels, items in zip(truth, held, strict=True)
        )
        if given >= _GIVEN_AWAY * len(rows):
            found.append(column.name)
    return found


def _items(value: Any, separator: str) -> list[str]:
    """The values of a cell, by its column's separator or else by any that is usual."""
    if value is None or isinstance(value, tuple) or separator:
        return split(value, separator)
    return split(value, guess_separator([str(value)]))

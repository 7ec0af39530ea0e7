"""Recognize and validate the forms of y: arrays, sparse matrices, data frames and label sets."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.validation import AnyArray, BoolArray, check_sparse, is_missing
from simlabel.labels._unknown import MaskedIndicator, PartialLabels

Indicator = Any  # csr_array of int8 with entries 1, (n_rows, n_labels): scipy has no types
UnknownEntries = Any  # csr_array of the unknown entries; None if all are known
SETS = (set, frozenset, list, tuple)
ROW_TYPES = (*SETS, PartialLabels)
#: name of a frame's form in model files -> library, and dtype of predictions
FRAMES: dict[str, tuple[str, type[np.generic]]] = {
    "pandas": ("pandas", np.int8),
    "polars": ("polars", np.int8),
    "pandas, bool": ("pandas", np.bool_),
    "polars, bool": ("polars", np.bool_),
}
_NO_CLASSES = {"M": "Dates", "m": "Durations", "c": "Complex data", "V": "Records", "S": "Bytes"}


def frame_library(y: Any) -> str | None:
    """Return the data frame library of y, or None."""
    library = type(y).__module__.partition(".")[0]
    is_frame = type(y).__name__ == "DataFrame" and library in ("pandas", "polars")
    return library if is_frame else None


def make_frame(form: str, Y: AnyArray, names: AnyArray, index: Any) -> Any:
    """Return Y as a data frame of one of the `FRAMES`."""
    library, dtype = FRAMES[form]
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(Y.astype(dtype), columns=list(names), index=index)
    import polars as pl

    return pl.DataFrame(Y.astype(dtype), schema=list(names))


def plain_lists(y: Any) -> Any:
    """Convert a list column of pandas, polars or pyarrow to lists; return other forms unchanged."""
    if isinstance(y, list | tuple | np.ndarray) or getattr(y, "ndim", 1) != 1:
        return y
    to_list = getattr(y, "to_pylist", None) or getattr(y, "to_list", None)
    rows = y if to_list is None else to_list()
    if not isinstance(rows, list) or not any(isinstance(row, list | np.ndarray) for row in rows):
        return y
    missing = next((i for i, row in enumerate(rows) if is_missing(row)), None)
    if missing is not None:
        raise ValueError(
            f"y: row {missing} is missing, where a list of labels is expected. Leave the row out, or give an "
            f"empty list if no label applies."
        )
    return [row.tolist() if isinstance(row, np.ndarray) else row for row in rows]


def is_label_sets(y: Any) -> bool:
    """Whether the rows are label sets: sets always are, lists and tuples if they hold strings."""
    if isinstance(y, np.ndarray) and (y.dtype != object or y.ndim != 1):
        return False
    try:
        rows = list(y)
    except TypeError:
        return False
    if not rows or not all(isinstance(row, ROW_TYPES) for row in rows):
        return False
    if any(isinstance(row, set | frozenset | PartialLabels) for row in rows):
        return True
    labels = [label for row in rows for label in row]
    texts = [isinstance(label, str) for label in labels]
    return any(texts) and all(
        text or is_missing(label) for text, label in zip(texts, labels, strict=True)
    )  # a missing name is reported later


def check_names_known(names: Iterable[Any], rows: Iterable[Any]) -> None:
    """Raise ValueError with the row if a label set contains a missing value."""
    if not any(map(is_missing, names)):
        return
    row, name = next((i, name) for i, row in enumerate(rows) for name in named_in(row) if is_missing(name))
    raise ValueError(
        f"Input y contains NaN (first at row {row}: {name!r} in a label set), which is not a label. Remove "
        f"it from the set; write a row with unknown labels as Partial(present, absent)."
    )


def named_in(row: Any) -> Iterable[Any]:
    """Return the labels that a row names as present or absent."""
    return chain(row.present, row.absent) if isinstance(row, PartialLabels) else row


def set_type(rows: Iterable[Any]) -> type:
    """Return the common type of the label sets, ignoring `PartialLabels` rows; set if there is none."""
    kinds = {type(row) for row in rows} - {PartialLabels}
    return kinds.pop() if len(kinds) == 1 else set


def as_array(y: Any) -> AnyArray:
    """Convert y to a 1-D or 2-D array; masked entries become NaN, which a 1-D y must not have."""
    if np.ma.isMaskedArray(y):
        numbers = y.dtype.kind in "biuf"
        hidden = np.ma.getmaskarray(y)
        plain = np.ma.getdata(y)
        if hidden.any():
            y = plain.astype(np.float64 if numbers else object)
            y[hidden] = np.nan if numbers else None
    try:
        array = np.asarray(y)
    except ValueError as error:
        raise ValueError(
            "y is neither a 0/1 matrix nor a list of label sets: its rows differ in length. "
            "Write label sets as sets, e.g. [{1, 4}, {2}], or as lists of strings."
        ) from error
    if array.ndim not in (1, 2):
        raise ValueError(
            f"Unknown label type: y of shape {array.shape}. Expected (n,) with one class per row, "
            f"(n, n_labels) of 0/1, or a list of label sets."
        )
    if array.dtype == object and array.ndim == 1:
        array = _as_one_type(array)
    elif array.dtype.kind == "f" and array.ndim == 1 and isinstance(y, list | tuple):
        _refuse_rounded(y, array)
    if array.dtype.kind in _NO_CLASSES:
        rather = "np.char.decode(y)" if array.dtype.kind == "S" else "y.astype(str)"
        raise ValueError(
            f"Unknown label type: {_NO_CLASSES[array.dtype.kind]} not supported in y, which holds "
            f"{array.dtype}. Give classes as whole numbers or strings, e.g. {rather}."
        )
    if array.ndim == 1 or array.shape[1] == 1:
        check_not_missing(array)
    return array


def _as_one_type(array: AnyArray) -> AnyArray:
    """Convert an object array to numbers or text; other types are not valid classes."""
    check_not_missing(array)
    kinds = {type(value.item() if isinstance(value, np.generic) else value) for value in array.tolist()}
    if kinds <= {str} or not kinds:
        return array
    if len(kinds) == 1 and kinds <= {int, bool, float}:
        _refuse_rounded(array.tolist(), array)
        return array.astype(kinds.pop())
    named = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ValueError(
        f"Unknown label type: y holds objects of type {named}. Give one class per row as whole numbers or as "
        f"strings, all of one type, e.g. [str(value) for value in y]; label sets as sets."
    )


def _refuse_rounded(values: Iterable[Any], array: AnyArray) -> None:
    """Raise ValueError for integers that fit no common integer type: as floats some would be equal."""
    if array.dtype.kind not in "fO" or any(type(value) is not int for value in values):
        return
    largest = max(array.tolist(), key=abs)
    if array.dtype.kind == "f" or not -(2**63) <= largest < 2**63:
        raise ValueError(
            f"Unknown label type: y holds whole numbers as large as {int(largest)}, which do not all fit one "
            f"integer type. Give them as strings, e.g. [str(value) for value in y]."
        )


def check_not_missing(array: AnyArray, first: int = 0) -> None:
    """Raise ValueError at the first missing label; `first` is the number of row 0."""
    missing = _missing(array)
    if array.dtype.kind == "f":
        missing = ~np.isfinite(array)
    if missing is not None and missing.any():
        where = np.argwhere(missing)[0]
        value = array[tuple(where)]
        what = "infinity" if isinstance(value, float) and np.isinf(value) else "NaN"
        raise ValueError(
            f"Input y contains {what} (first at row {first + where[0]}: {value}). "
            f"Every row needs known labels."
        )


def _missing(array: AnyArray) -> BoolArray | None:
    """Return a mask of missing values; None if the dtype has none."""
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype == object:
        return np.array([is_missing(v) for v in array.ravel()], dtype=bool).reshape(array.shape)
    return None


def check_indicator_dense(array: AnyArray, names: AnyArray | None) -> tuple[Indicator, UnknownEntries]:
    """Convert a 0/1 array to CSR matrices of present and unknown entries; reject other values.

    The array may be memory-mapped, so it is read in blocks. NaN, None and pandas.NA mean unknown.
    """
    step = max(1, limits().block_entries // max(1, array.shape[1]))
    parts = [
        _check_indicator_block(array[first : first + step], names, first)
        for first in range(0, max(1, array.shape[0]), step)
    ]
    Y, unknown = (_stacked([part[which] for part in parts]) for which in (0, 1))
    return Y, unknown if unknown.nnz else None


def _stacked(parts: list[Indicator]) -> Indicator:
    return parts[0] if len(parts) == 1 else sp.csr_array(sp.vstack(parts, format="csr"))


def _check_indicator_block(
    array: AnyArray, names: AnyArray | None, first: int
) -> tuple[Indicator, UnknownEntries]:
    missing = _missing(array)
    if missing is not None and missing.any():
        array = array.copy()
        array[missing] = 0
    else:
        missing = None
    if array.dtype.kind not in "biuf":
        try:
            if array.dtype.kind in _NO_CLASSES:
                raise TypeError  # astype would convert them to numbers
            array = array.astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(f"y must hold 0 and 1, got an array of {array.dtype}.") from None
    check_not_missing(array, first)
    wrong = (array != 0) & (array != 1)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        label = int(column) if names is None else names[column]
        raise ValueError(
            f"Unknown label type: y must hold only 0 and 1, "
            f"got {array[row, column].item()!r} at row {first + row}, label {label!r}."
        )
    nothing = sp.csr_array(array.shape, dtype=np.int8)
    return _from_dense(array), nothing if missing is None else _from_dense(missing)


def _from_dense(array: AnyArray) -> Indicator:
    flat = np.flatnonzero(array)  # faster than scipy's conversion of a dense array
    ends = np.cumsum(np.count_nonzero(array, axis=1))
    columns = (flat % max(1, array.shape[1])).astype(np.int32)
    indptr = np.concatenate([[0], ends]).astype(np.int32 if len(flat) < 2**31 else np.int64)
    return sp.csr_array((np.ones(len(flat), dtype=np.int8), columns, indptr), shape=array.shape)


def check_indicator_sparse(y: Any) -> Indicator:
    """Convert a sparse 0/1 matrix to CSR; reject other values."""
    Y = sp.csr_array(check_sparse(y, "y"), copy=True)
    Y.eliminate_zeros()
    wrong = Y.data != 1
    if wrong.any():
        entry = int(np.argmax(wrong))
        row = int(np.searchsorted(Y.indptr, entry, side="right") - 1)
        raise ValueError(
            f"Unknown label type: y must hold only 0 and 1, "
            f"got {Y.data[entry].item()!r} at row {row}, label {Y.indices[entry]}."
        )
    return Y.astype(np.int8)


def check_masked(y: MaskedIndicator) -> tuple[Indicator, UnknownEntries]:
    """Return the present and the unknown entries of a `MaskedIndicator`."""
    Y, known = check_indicator_sparse(y.true), check_indicator_sparse(y.known)
    Y.sort_indices()
    open_ = sp.csr_array(Y - Y.multiply(known))
    open_.eliminate_zeros()
    if open_.nnz:
        row = int(np.flatnonzero(np.diff(open_.indptr))[0])
        raise ValueError(
            f"Known: label {open_.indices[open_.indptr[row]]} is true in row {row} but not known there: "
            f"mark every true entry as known."
        )
    return Y, complement(known)


def complement(known: Indicator) -> UnknownEntries:
    """Return ones at the zero entries; None if there are no zero entries."""
    n, n_labels = known.shape
    if known.nnz == n * n_labels:
        return None
    step = max(1, limits().block_entries // max(1, n_labels))
    return _stacked([_from_dense(known[at : at + step].toarray() == 0) for at in range(0, max(1, n), step)])

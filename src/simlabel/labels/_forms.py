"""Read y of any form: an indicator matrix, label names and unknown entries, with errors that name the row."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from simlabel._utils.limits import limits
from simlabel._utils.rows import joined
from simlabel._utils.validation import (
    AnyArray,
    BoolArray,
    check_sparse,
    collect_lazy,
    is_missing,
    object_array,
)
from simlabel.labels._unknown import MaskedIndicator, PartialLabels, UnknownLabels, ones_at

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
    others = [label for row in rows for label in row if not isinstance(label, str)]
    # a missing name is reported later
    return sum(map(len, rows)) > len(others) and all(map(is_missing, others))


def named_in(row: Any) -> Iterable[Any]:
    """Return the labels that a row names as present or absent."""
    return chain(row.present, row.absent) if isinstance(row, PartialLabels) else row


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
    starts = range(0, max(1, array.shape[0]), step)
    parts = [_check_indicator_block(array[first : first + step], names, first) for first in starts]
    present, missing = zip(*parts, strict=True)
    unknown = joined(missing)
    return joined(present), unknown if unknown.nnz else None


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
            f"MaskedIndicator: label {open_.indices[open_.indptr[row]]} is true in row {row} but not known "
            f"there: mark every true entry as known."
        )
    n, n_labels = known.shape
    if known.nnz == n * n_labels:
        return Y, None
    step = max(1, limits().block_entries // max(1, n_labels))
    parts = [_from_dense(known[at : at + step].toarray() == 0) for at in range(0, max(1, n), step)]
    return Y, joined(parts)


def names_of(rows: Sequence[Any]) -> AnyArray:
    """Return the sorted labels of label sets."""
    names: dict[Hashable, None] = {}
    for i, row in enumerate(rows):
        try:
            names |= dict.fromkeys(named_in(row))
        except TypeError:
            raise ValueError(
                f"y must hold sets of labels, which are numbers, strings or other hashable names; row {i} is "
                f"{row!r}."
            ) from None
    if any(map(is_missing, names)):
        named = ((i, name) for i, row in enumerate(rows) for name in named_in(row))
        row, name = next((i, name) for i, name in named if is_missing(name))
        raise ValueError(
            f"Input y contains NaN (first at row {row}: {name!r} in a label set), which is not a label. "
            f"Remove it from the set; write a row with unknown labels as PartialLabels(present, absent)."
        )
    return sorted_names(names)


def sorted_names(labels: Iterable[Hashable]) -> AnyArray:
    """Return the distinct labels, sorted if they are comparable."""
    seen = list(dict.fromkeys(labels))
    with contextlib.suppress(TypeError):  # names that cannot be compared keep their order
        seen = sorted(seen)  # type: ignore[type-var]
    return name_array(seen)


def name_array(names: Iterable[Hashable]) -> AnyArray:
    """Return names of any type as an object array."""
    return object_array(list(names))


def sort_of(classes: AnyArray) -> str:
    """Return the kind of the names; only names of one kind can be sorted together."""
    return {"U": "text", "S": "bytes", "O": "objects"}.get(classes.dtype.kind, "numbers")


Kind = Literal["single", "array", "sparse", "frame", "sets"]


class ParsedLabels(NamedTuple):
    """Labels found in y; the first three fields are those of `LabelSpace`."""

    kind: Kind
    classes: AnyArray
    container: Any
    Y: Indicator
    unknown: UnknownLabels | None


def parse_y(y: Any) -> ParsedLabels:
    """Read y of any form; raise ValueError with the position of invalid values."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = plain_lists(collect_lazy(y))
    if isinstance(y, MaskedIndicator):
        Y, entries = check_masked(y)
        form = (type(y.true), y.true.dtype)
        return ParsedLabels("sparse", np.arange(Y.shape[1]), form, Y, _closed(entries))
    if sp.issparse(y):
        Y = check_indicator_sparse(y)
        return ParsedLabels("sparse", np.arange(Y.shape[1]), (type(y), y.dtype), Y, None)
    library = type(y).__module__.partition(".")[0]
    if type(y).__name__ == "DataFrame" and library in ("pandas", "polars"):
        names, array = name_array(y.columns), y.to_numpy()
        Y, entries = check_indicator_dense(array, names)
        frame = f"{library}, bool" if _is_bool(array) else library
        return ParsedLabels("frame", names, frame, Y, _closed(entries))
    if is_label_sets(y):
        rows = list(y)
        names, kinds = names_of(rows), {type(row) for row in rows} - {PartialLabels}
        container = kinds.pop() if len(kinds) == 1 else set
        return ParsedLabels("sets", names, container, *encoded_sets(names, rows))
    array = as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as one class per row. "
            "For one label, present or absent, pass a one-column DataFrame, a sparse matrix or sets.",
            DataConversionWarning,
            stacklevel=5,
        )
        array = array[:, 0]
    if array.ndim == 1:
        check_classification_targets(array)
        classes, columns = np.unique(array, return_inverse=True)
        Y = ones_at(np.arange(len(array)), columns, (len(array), len(classes)))
        return ParsedLabels("single", classes, None, Y, None)
    Y, entries = check_indicator_dense(array, None)
    dtype = y.dtype if np.ma.isMaskedArray(y) else array.dtype
    return ParsedLabels("array", np.arange(array.shape[1]), dtype, Y, _closed(entries))


def encoded_sets(classes: AnyArray, rows: Sequence[Any]) -> tuple[Indicator, UnknownLabels | None]:
    """Encode label sets as an indicator of `classes`, with the unknown entries."""
    Y = _places_of(classes, [row.present if isinstance(row, PartialLabels) else row for row in rows])
    open_rows = np.array([isinstance(row, PartialLabels) for row in rows], dtype=bool)
    if not open_rows.any():
        return Y, None
    absent = _places_of(classes, [row.absent if isinstance(row, PartialLabels) else () for row in rows])
    some = np.flatnonzero(open_rows)
    at, columns = np.nonzero((Y + absent)[some].toarray() == 0)
    return Y, UnknownLabels(ones_at(some[at], columns, Y.shape), open_rows)


def _places_of(classes: AnyArray, rows: Sequence[Any]) -> Indicator:
    """Return the indicator of the labels in each row."""
    position = {label: k for k, label in enumerate(classes.tolist())}
    sets = [row if isinstance(row, set | frozenset) else set(row) for row in rows]
    row_of = np.repeat(np.arange(len(sets)), [len(row) for row in sets])
    labels = chain.from_iterable(sets)
    column_of = np.fromiter((position[label] for label in labels), np.int64, len(row_of))
    return ones_at(row_of, column_of, (len(sets), len(classes)))


def _closed(entries: UnknownEntries) -> UnknownLabels | None:
    """Return unknown entries of a matrix, in which labels added later are absent."""
    return None if entries is None else UnknownLabels(entries, np.zeros(entries.shape[0], dtype=bool))


def _is_bool(array: AnyArray) -> bool:
    """Whether the known entries are booleans."""
    if array.dtype != object:
        return array.dtype == bool
    known = [value for value in array.ravel() if not is_missing(value)]
    return 0 < len(known) < array.size and all(isinstance(value, bool | np.bool_) for value in known)

"""The forms in which users write y: what they are, and whether they hold what they should."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.validation import check_sparse, is_missing
from simlabel.labels._unknown import Known, Partial

Names = npt.NDArray[Any]
Indicator = Any  # csr_array of int8 with entries 1, (n_rows, n_labels): scipy has no types
Entries = Any  # csr_array likewise, of entries that are unknown; None where all are known
SETS = (set, frozenset, list, tuple)
ROWS = (*SETS, Partial)
#: forms of frames, as a model file calls them -> library, and dtype of what is given back
FRAMES: dict[str, tuple[str, type[np.generic]]] = {
    "pandas": ("pandas", np.int8),
    "polars": ("polars", np.int8),
    "pandas, bool": ("pandas", np.bool_),
    "polars, bool": ("polars", np.bool_),
}
_NO_CLASSES = {"M": "Dates", "m": "Durations", "c": "Complex data", "V": "Records", "S": "Bytes"}


def frame_library(y: Any) -> str | None:
    """The data frame library that y comes from, or None."""
    library = type(y).__module__.partition(".")[0]
    is_frame = type(y).__name__ == "DataFrame" and library in ("pandas", "polars")
    return library if is_frame else None


def make_frame(form: str, Y: npt.NDArray[Any], names: Names, index: Any) -> Any:
    """A frame of one of the `FRAMES`."""
    library, dtype = FRAMES[form]
    if library == "pandas":
        import pandas as pd

        return pd.DataFrame(Y.astype(dtype), columns=list(names), index=index)
    import polars as pl

    return pl.DataFrame(Y.astype(dtype), schema=list(names))


def plain_lists(y: Any) -> Any:
    """Return a column of lists, of pandas, polars or pyarrow, as lists; any other form of y as it is."""
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
    """Whether the rows are sets of names: sets always are, lists and tuples when they hold strings."""
    if isinstance(y, np.ndarray) and (y.dtype != object or y.ndim != 1):
        return False
    try:
        rows = list(y)
    except TypeError:
        return False
    if not rows or not all(isinstance(row, ROWS) for row in rows):
        return False
    if any(isinstance(row, set | frozenset | Partial) for row in rows):
        return True
    labels = [label for row in rows for label in row]
    texts = [isinstance(label, str) for label in labels]
    return any(texts) and all(
        text or is_missing(label) for text, label in zip(texts, labels, strict=True)
    )  # a name that is not known is told as such


def check_names_known(names: Iterable[Any], rows: Iterable[Any]) -> None:
    """Refuse label sets where one of the names stands for a label that is not known; say in which row."""
    if not any(map(is_missing, names)):
        return
    row, name = next((i, name) for i, row in enumerate(rows) for name in named_in(row) if is_missing(name))
    raise ValueError(
        f"Input y contains NaN (first at row {row}: {name!r} in a label set), which is no label. Leave it "
        f"out of the set; a row of which not all labels are known is a Partial(present, absent)."
    )


def named_in(row: Any) -> Iterable[Any]:
    """The labels that a row speaks of."""
    return chain(row.present, row.absent) if isinstance(row, Partial) else row


def set_type(rows: Iterable[Any]) -> type:
    """The type that all label sets have, else set; a row that is known in part has none."""
    kinds = {type(row) for row in rows} - {Partial}
    return kinds.pop() if len(kinds) == 1 else set


def as_array(y: Any) -> npt.NDArray[Any]:
    """y as an array of one or two dimensions; what is masked is NaN, of which one dimension has none."""
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


def _as_one_type(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Objects as what they are: numbers, or text; anything else is no class."""
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


def _refuse_rounded(values: Iterable[Any], array: npt.NDArray[Any]) -> None:
    """Refuse whole numbers that no integer type holds together: as floats some would become equal."""
    if array.dtype.kind not in "fO" or any(type(value) is not int for value in values):
        return
    largest = max(array.tolist(), key=abs)
    if array.dtype.kind == "f" or not -(2**63) <= largest < 2**63:
        raise ValueError(
            f"Unknown label type: y holds whole numbers as large as {int(largest)}, which do not all fit one "
            f"integer type. Give them as strings, e.g. [str(value) for value in y]."
        )


def check_not_missing(array: npt.NDArray[Any], first: int = 0) -> None:
    """Refuse labels that are not known, and say where the first is; row 0 is called `first`."""
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


def _missing(array: npt.NDArray[Any]) -> npt.NDArray[np.bool_] | None:
    """Where values are not known; None where they always are."""
    if array.dtype.kind == "f":
        return np.isnan(array)
    if array.dtype == object:
        return np.array([is_missing(v) for v in array.ravel()], dtype=bool).reshape(array.shape)
    return None


def check_indicator_dense(array: npt.NDArray[Any], names: Names | None) -> tuple[Indicator, Entries]:
    """A 0/1 array as CSR, with what is unknown in it, or an error that says where it is something else.

    It is read part by part, since it may be mapped. NaN, None and pandas.NA are unknown.
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
    array: npt.NDArray[Any], names: Names | None, first: int
) -> tuple[Indicator, Entries]:
    missing = _missing(array)
    if missing is not None and missing.any():
        array = array.copy()
        array[missing] = 0
    else:
        missing = None
    if array.dtype.kind not in "biuf":
        try:
            if array.dtype.kind in _NO_CLASSES:
                raise TypeError  # numpy would make numbers of them
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


def _from_dense(array: npt.NDArray[Any]) -> Indicator:
    flat = np.flatnonzero(array)  # row by row: quicker than what scipy makes of a dense array
    ends = np.cumsum(np.count_nonzero(array, axis=1))
    columns = (flat % max(1, array.shape[1])).astype(np.int32)
    indptr = np.concatenate([[0], ends]).astype(np.int32 if len(flat) < 2**31 else np.int64)
    return sp.csr_array((np.ones(len(flat), dtype=np.int8), columns, indptr), shape=array.shape)


def check_indicator_sparse(y: Any) -> Indicator:
    """A sparse 0/1 matrix as CSR, or an error that says where it is not."""
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


def check_known(y: Known) -> tuple[Indicator, Entries]:
    """What is true of two sparse matrices, and what is unknown."""
    Y, known = check_indicator_sparse(y.true), check_indicator_sparse(y.known)
    Y.sort_indices()
    open_ = sp.csr_array(Y - Y.multiply(known))
    open_.eliminate_zeros()
    if open_.nnz:
        row = int(np.flatnonzero(np.diff(open_.indptr))[0])
        raise ValueError(
            f"Known: label {open_.indices[open_.indptr[row]]} is true in row {row}, where it is not known; "
            f"what is true must be known."
        )
    return Y, complement(known)


def complement(known: Indicator) -> Entries:
    """Ones where there are none; None where there is none to be."""
    n, n_labels = known.shape
    if known.nnz == n * n_labels:
        return None
    step = max(1, limits().block_entries // max(1, n_labels))
    return _stacked([_from_dense(known[at : at + step].toarray() == 0) for at in range(0, max(1, n), step)])

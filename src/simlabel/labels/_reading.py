"""Read any form of y into an indicator matrix, label names and unknown entries."""

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

from simlabel._utils.validation import AnyArray, collect_lazy, is_missing, object_array
from simlabel.labels._forms import (
    Indicator,
    UnknownEntries,
    as_array,
    check_indicator_dense,
    check_indicator_sparse,
    check_masked,
    check_names_known,
    frame_library,
    is_label_sets,
    named_in,
    plain_lists,
    set_type,
)
from simlabel.labels._unknown import MaskedIndicator, PartialLabels, UnknownLabels, ones_at


def names_of(rows: Sequence[Any]) -> AnyArray:
    """Return the sorted labels of label sets."""
    try:
        names = dict.fromkeys(chain.from_iterable(map(named_in, rows)))
    except TypeError:
        bad = next(i for i, row in enumerate(rows) if not _is_set(row))
        raise ValueError(
            f"y must hold sets of labels, which are numbers, strings or other hashable names; row {bad} is "
            f"{rows[bad]!r}."
        ) from None
    check_names_known(names, rows)
    return sorted_names(names)


def _is_set(row: Any) -> bool:
    """Whether all labels are hashable; the type of a tuple does not tell."""
    try:
        return len(set(row)) >= 0
    except TypeError:
        return False


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
        return ParsedLabels(
            "sparse", np.arange(Y.shape[1]), (type(y.true), y.true.dtype), Y, _closed(entries)
        )
    if sp.issparse(y):
        Y = check_indicator_sparse(y)
        return ParsedLabels("sparse", np.arange(Y.shape[1]), (type(y), y.dtype), Y, None)
    library = frame_library(y)
    if library is not None:
        names = name_array(y.columns)
        array = y.to_numpy()
        Y, entries = check_indicator_dense(array, names)
        form = f"{library}, bool" if _is_bool(array) else library
        return ParsedLabels("frame", names, form, Y, _closed(entries))
    if is_label_sets(y):
        rows = list(y)
        names = names_of(rows)
        return ParsedLabels("sets", names, set_type(rows), *encoded_sets(names, rows))
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
        shape = (len(array), len(classes))
        Y = ones_at(np.arange(len(array)), columns, shape)
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

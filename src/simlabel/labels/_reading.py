"""From any form in which users write y to an indicator, and what is unknown of it."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import chain
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import DataConversionWarning
from sklearn.utils.multiclass import check_classification_targets

from simlabel._utils.validation import collected, is_missing
from simlabel.labels._forms import (
    Entries,
    Indicator,
    Names,
    as_array,
    check_indicator_dense,
    check_indicator_sparse,
    check_known,
    frame_library,
    is_label_sets,
    plain_lists,
    set_type,
)
from simlabel.labels._names import name_array, names_of
from simlabel.labels._unknown import Known, Partial, UnknownLabels, ones_at

Kind = Literal["single", "array", "sparse", "frame", "sets"]


class Found(NamedTuple):
    """Labels that were found in y: the first three as `LabelSpace` has them."""

    kind: Kind
    classes: Names
    container: Any
    Y: Indicator
    unknown: UnknownLabels | None


def found_labels(y: Any) -> Found:
    """What y holds, whatever its form; an error says where it is none."""
    if y is None:
        raise ValueError("requires y to be passed, but the target y is None")
    y = plain_lists(collected(y))
    if isinstance(y, Known):
        Y, entries = check_known(y)
        return Found("sparse", np.arange(Y.shape[1]), (type(y.true), y.true.dtype), Y, _closed(entries))
    if sp.issparse(y):
        Y = check_indicator_sparse(y)
        return Found("sparse", np.arange(Y.shape[1]), (type(y), y.dtype), Y, None)
    library = frame_library(y)
    if library is not None:
        names = name_array(y.columns)
        array = y.to_numpy()
        Y, entries = check_indicator_dense(array, names)
        form = f"{library}, bool" if _is_bool(array) else library
        return Found("frame", names, form, Y, _closed(entries))
    if is_label_sets(y):
        rows = list(y)
        names = names_of(rows)
        return Found("sets", names, set_type(rows), *encoded_sets(names, rows))
    array = as_array(y)
    if array.ndim == 2 and array.shape[1] == 1:
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected; it is read as one class per row. "
            "For one label, present or absent, give a one-column DataFrame, a sparse matrix or sets.",
            DataConversionWarning,
            stacklevel=5,
        )
        array = array[:, 0]
    if array.ndim == 1:
        check_classification_targets(array)
        classes, columns = np.unique(array, return_inverse=True)
        shape = (len(array), len(classes))
        Y = ones_at(np.arange(len(array)), columns, shape)
        return Found("single", classes, None, Y, None)
    Y, entries = check_indicator_dense(array, None)
    dtype = y.dtype if np.ma.isMaskedArray(y) else array.dtype
    return Found("array", np.arange(array.shape[1]), dtype, Y, _closed(entries))


def encoded_sets(classes: Names, rows: Sequence[Any]) -> tuple[Indicator, UnknownLabels | None]:
    """Label sets as an indicator of these labels, and what is unknown in them."""
    Y = _places_of(classes, [row.present if isinstance(row, Partial) else row for row in rows])
    open_rows = np.array([isinstance(row, Partial) for row in rows], dtype=bool)
    if not open_rows.any():
        return Y, None
    absent = _places_of(classes, [row.absent if isinstance(row, Partial) else () for row in rows])
    some = np.flatnonzero(open_rows)
    at, columns = np.nonzero((Y + absent)[some].toarray() == 0)
    return Y, UnknownLabels(ones_at(some[at], columns, Y.shape), open_rows)


def _places_of(classes: Names, rows: Sequence[Any]) -> Indicator:
    """The labels that rows name."""
    position = {label: k for k, label in enumerate(classes.tolist())}
    sets = [row if isinstance(row, set | frozenset) else set(row) for row in rows]
    row_of = np.repeat(np.arange(len(sets)), [len(row) for row in sets])
    labels = chain.from_iterable(sets)
    column_of = np.fromiter((position[label] for label in labels), np.int64, len(row_of))
    return ones_at(row_of, column_of, (len(sets), len(classes)))


def _closed(entries: Entries) -> UnknownLabels | None:
    """Entries of a matrix: what it does not name is not there."""
    return None if entries is None else UnknownLabels(entries, np.zeros(entries.shape[0], dtype=bool))


def _is_bool(array: npt.NDArray[Any]) -> bool:
    """Whether what is known of these are truth values."""
    if array.dtype != object:
        return array.dtype == bool
    known = [value for value in array.ravel() if not is_missing(value)]
    return 0 < len(known) < array.size and all(isinstance(value, bool | np.bool_) for value in known)

"""What comes beside X, one for each row: weights, what the rows are called, what they belong to."""

from __future__ import annotations

import numbers
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation._matrices import FloatArray


def is_missing(value: Any) -> bool:
    """Whether a value stands for one that is not known: None, NaN, NaT, pandas.NA; no array does."""
    if getattr(value, "ndim", 0):
        return False
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # pandas.NA has no truth, a signalling NaN no order
        return True


def check_same_length(n_rows: int, other: Any, name: str) -> None:
    """Refuse a companion of X (y, weights, ids) with another number of rows."""
    length = other.shape[0] if hasattr(other, "shape") else len(other)
    if length != n_rows:
        raise ValueError(f"X has {n_rows} rows but {name} has {length}; they must be of the same length.")


_MOST_COPIES = 2.0**53  # beyond, one more is none more


def check_sample_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Check weights, which mean repetition: finite, not negative, not all zero."""
    if sample_weight is None:
        return None
    try:
        if isinstance(sample_weight, numbers.Number):
            weights = np.full(n_rows, float(sample_weight))  # type: ignore[arg-type]
        else:
            weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"sample_weight must be numbers, one for each row; got {sample_weight!r}.") from None
    if weights.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar, got an array of shape {weights.shape}.")
    check_same_length(n_rows, weights, "sample_weight")
    bad = ~np.isfinite(weights) | (weights < 0)
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(
            f"sample_weight must be finite and not negative; row {row} has {weights[row]}. "
            f"A weight says how many times the row is counted."
        )
    if not weights.any():
        raise ValueError("sample_weight is zero on every row; at least one must be positive.")
    if weights.sum() > _MOST_COPIES:
        raise ValueError(
            f"sample_weight adds up to {weights.sum():g}, more rows than can be counted ({_MOST_COPIES:g}). "
            f"A weight says how many times the row is counted; divide all of them by the largest."
        )
    return weights


def check_ids(ids: Any, n_rows: int | None, *, name: str = "ids") -> npt.NDArray[Any]:
    """Check what rows are called: hashable, none twice; int64 for whole numbers, else objects.

    There is one for each of `n_rows`, or any number of them where that is None; a text or a number is one.

    Examples
    --------
    >>> check_ids(["a", "b", "a"], 3)
    Traceback (most recent call last):
        ...
    ValueError: ids must differ; given twice: 'a' (rows 0 and 2).
    >>> check_ids("R07", None)
    array(['R07'], dtype=object)
    """
    if n_rows is None and is_one_id(ids):
        ids = [ids]
    names = _names(ids, n_rows, name, missing=False)
    if len(set(names)) < len(names):
        first, *others = (value for value, count in Counter(names).items() if count > 1)
        one, two = [row for row, value in enumerate(names) if value == first][:2]
        more = f", and {_some(others)}" if others else ""
        raise ValueError(f"{name} must differ; given twice: {first!r} (rows {one} and {two}){more}.")
    return _as_array(names)


def is_one_id(ids: Any) -> bool:
    """Whether this is what one row is called, and no list of such."""
    return isinstance(ids, str | int | np.generic)


def check_groups(groups: Any, n_rows: int) -> npt.NDArray[Any] | None:
    """Check which group each row belongs to: hashable; one that is missing is None, a group of its own.

    Examples
    --------
    >>> check_groups(["film", float("nan"), "film"], 3)
    array(['film', None, 'film'], dtype=object)
    """
    return None if groups is None else _as_array(_names(groups, n_rows, "groups", missing=True))


def _names(values: Any, n_rows: int | None, name: str, *, missing: bool) -> list[Any]:
    """Plain hashable values, one for each row; None for what is missing, where that may be."""
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "O") in "cmMV":  # as lists, some are numbers of another meaning
        raise ValueError(
            f"{name} must be whole numbers, strings or other hashable names, got {dtype}; "
            f"give e.g. {name}.astype(str)."
        )
    listed = next((m for m in ("tolist", "to_list") if hasattr(values, m)), None)
    names = values if listed is None else getattr(values, listed)()
    if not isinstance(names, Iterable):
        raise TypeError(f"{name} must be a list with a name for each row, got {values!r}.")
    names = list(names)
    if n_rows is not None:
        check_same_length(n_rows, names, name)
    # numpy's numbers and texts are plain ones too
    names = [each.item() if isinstance(each, np.generic) else each for each in names]
    for i, value in enumerate([] if set(map(type, names)) <= {int, str} else names):
        if is_missing(value) and missing:
            names[i] = None
        elif not isinstance(value, Hashable) or is_missing(value):
            raise ValueError(
                f"{name} must be numbers, strings or other hashable names; row {i} has {value!r}."
            )
    return names


def _as_array(names: list[Any]) -> npt.NDArray[Any]:
    """int64 for whole numbers, else objects."""
    if set(map(type, names)) <= {int} and all(-(2**63) <= value < 2**63 - 1 for value in names):
        return np.array(names, dtype=np.int64)
    return object_array(names)


def object_array(values: list[Any]) -> npt.NDArray[Any]:
    """A list as an array of objects; tuples are values, not rows."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def check_known(positions: npt.NDArray[np.int64], names: list[Hashable]) -> None:
    """Refuse ids that are not there, and list them."""
    wrong = [name for name, at in zip(names, positions.tolist(), strict=True) if at < 0]
    if wrong:
        raise KeyError(f"No labelled instance has the id {_some(wrong)}; nothing was changed.")


def check_unused(used: list[Hashable]) -> None:
    """Refuse ids that are there already, and list them."""
    if used:
        raise ValueError(
            f"The ids {_some(used)} are in use; forget them first, or leave ids out to have them numbered."
        )


def _some(names: list[Hashable]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")

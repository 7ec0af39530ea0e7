"""Check input: X, y, weights, ids and parameters of stages; errors quote the wrong value."""

from __future__ import annotations

import numbers
import sys
from collections import Counter
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from simlabel._utils.limits import limits
from simlabel._utils.text import format_names

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
AnyArray = npt.NDArray[Any]
# An array, a CSR matrix, a list of objects, or lazily loaded rows. SciPy has no types, and the operations
# have different names, so that no type describes all of them.
Rows = Any


def check_features(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Check a matrix of features; CSR stays CSR, float32 stays float32, the rest becomes float64.

    Parameters
    ----------
    estimator : object
        With `reset`, its ``n_features_in_`` and ``feature_names_in_`` are set; otherwise X must match them.
    X : array-like, sparse or data frame, (n_rows, n_features)
        The input.
    reset : bool
        True in fit.

    Returns
    -------
    array or CSR, (n_rows, n_features)
    """
    rows = check_matrix(X, "X", estimator)
    if not reset and rows.shape[1] == estimator.n_features_in_ and _has_names_of(estimator, X):
        return rows  # validate_data would compute the tags of the estimator
    validate_data(estimator, X, reset=reset, skip_check_array=True)  # names and number of features
    return rows


def _has_names_of(estimator: Any, X: Any) -> bool:
    """Return whether X has the feature names of the estimator, or neither has names."""
    names, columns = getattr(estimator, "feature_names_in_", None), getattr(X, "columns", None)
    if names is None or columns is None:
        return names is None and columns is None and not hasattr(X, "__dataframe__")
    return list(names) == list(columns)


def check_matrix(X: Any, name: str, estimator: Any = None) -> Rows:
    """Check a matrix of finite numbers; CSR stays CSR, float32 stays float32, the rest becomes float64."""
    rows = X = check_sparse(X, name) if sp.issparse(X) else X
    if not _is_plain(X):
        try:
            rows = check_array(
                X,
                accept_sparse="csr",
                dtype=[np.float64, np.float32],
                ensure_all_finite=False,
                estimator=estimator,
                input_name=name,
            )
        except ValueError as error:
            if not str(error).startswith("could not convert string to float"):
                raise
            raise ValueError(
                f"Input {name} contains text{_first_text(X)}, and features are numbers: {error}. Encode such "
                f"columns first, e.g. in a sklearn.compose.ColumnTransformer. Function(...), its sums and "
                f"its multiples compare texts, without OnColumns, where {name} is a plain list of them."
            ) from None
    check_finite(rows, name)
    return rows


def _first_text(X: Any) -> str:
    """Describe the first cell that cannot be converted to a number."""
    cells = np.asarray(X, dtype=object)
    for row, values in enumerate(cells if cells.ndim == 2 else ()):
        for column, value in enumerate(values):
            try:
                float(value)
            except TypeError:  # a missing value is no text
                continue
            except ValueError:
                name = list(getattr(X, "columns", range(len(values))))[column]
                return f" (first at row {row}, column {name!r}: {value!r})"
    return ""


def collect_lazy(X: Any) -> Any:
    """Convert a polars LazyFrame or a pyarrow Table to a frame; return anything else unchanged."""
    if type(X).__name__ in ("Table", "RecordBatch") and type(X).__module__.startswith("pyarrow"):
        return X.to_pandas()
    lazy = type(X).__name__ == "LazyFrame" and type(X).__module__.startswith("polars")
    return X.collect() if lazy else X


def check_sparse(X: Any, name: str) -> Any:
    """Return a sparse matrix as valid CSR: entries within its shape, sorted, without duplicates.

    Duplicate entries are summed. The matrix of the caller is not changed.

    Examples
    --------
    >>> twice = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(1, 2))
    >>> check_sparse(twice, "X").data
    array([3.])
    >>> twice.coords[1][0] = 7
    >>> check_sparse(twice, "X")
    Traceback (most recent call last):
        ...
    ValueError: Input X is a damaged coo matrix of shape (1, 2): axis 1 index 7 exceeds matrix dimension 2...
    """
    if X.ndim != 2:
        raise ValueError(f"Input {name} must have two dimensions; it is sparse, of shape {X.shape}.")
    exact = np.result_type(X.dtype, np.int64) if X.dtype.kind in "iu" else X.dtype  # for sums of duplicates
    rows = X
    try:
        if X.format == "coo":
            rows = type(X)((X.data.astype(exact, copy=False), X.coords), shape=X.shape)
        elif hasattr(X, "check_format"):  # a new object: the check would change the arrays of the caller
            rows = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
            rows.check_format(full_check=True)
            if (np.diff(rows.indptr) < 0).any():  # not checked by scipy if the last is negative
                raise ValueError("index pointer values must form a non-decreasing sequence")
        rows = rows.tocsr()
        rows.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(
            f"Input {name} is a damaged {X.format} matrix of shape {X.shape}: {error}. Build it again from "
            f"its rows, columns and values, e.g. with scipy.sparse.coo_array, which checks them."
        ) from None
    if not rows.has_canonical_format:
        rows = rows.astype(exact, copy=True)
        rows.sum_duplicates()
    return rows


def _is_plain(X: Any) -> bool:
    """Whether an array needs no conversion, which is faster to test than to convert."""
    plain = type(X) is np.ndarray and X.dtype in (np.float64, np.float32) and X.dtype.isnative
    return bool(plain and X.ndim == 2 and X.size > 0)


def check_finite(X: Rows, name: str, first: int = 0) -> None:
    """Check that there is no NaN or infinity; errors count rows from `first`."""
    values = X.data if sp.issparse(X) else X
    step = max(1, limits().block_entries // max(1, values.shape[-1] if values.ndim > 1 else 1))
    for start in range(0, len(values), step):
        block = values[start : start + step]
        if np.isfinite(block).all():
            continue
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(block))[0])
        value = block[where]
        row, column = _position(X, start + where[0], where[1:])
        what = "NaN" if np.isnan(value) else "infinity"
        raise ValueError(
            f"Input {name} contains {what} (first at row {first + row}, column {column}: {value}). "
            f"Impute or drop such rows first, e.g. with sklearn.impute.SimpleImputer."
        )


def _position(X: Rows, first: int, rest: tuple[int, ...]) -> tuple[int, int]:
    if sp.issparse(X):
        return int(np.searchsorted(X.indptr, first, side="right") - 1), int(X.indices[first])
    return first, rest[0] if rest else 0


def check_nonnegative(X: Rows, similarity: str) -> None:
    """Check that features are not negative, for similarities that require it."""
    values = X.data if sp.issparse(X) else X
    if values.size and values.min() < 0:
        flat = int(np.argmin(values))
        if sp.issparse(X):
            row, column = _position(X, flat, ())
        else:
            row, column = (int(i) for i in np.unravel_index(flat, X.shape))
        raise ValueError(
            f"Negative values in data passed to {similarity}, which is defined for features >= 0 "
            f"(lowest: {values.min()} at row {row}, column {column}). Use normalizer='minmax', or RBF."
        )


def is_missing(value: Any) -> bool:
    """Whether a value is missing: None, NaN, NaT or pandas.NA; arrays are not."""
    if getattr(value, "ndim", 0):
        return False
    try:
        return value is None or bool(value != value)
    except (
        TypeError,
        ValueError,
        ArithmeticError,
    ):  # pandas.NA has no truth value, and a signaling NaN cannot be compared
        return True


def check_same_length(n_rows: int, other: Any, name: str) -> None:
    """Check that y, weights or ids have as many rows as X."""
    length = other.shape[0] if hasattr(other, "shape") else len(other)
    if length != n_rows:
        raise ValueError(f"X has {n_rows} rows but {name} has {length}; they must be of the same length.")


_MAX_COPIES = 2.0**53  # larger floats do not change when 1 is added


def check_sample_weight(sample_weight: Any, n_rows: int) -> FloatArray | None:
    """Check weights, which are numbers of repetitions: finite, not negative, not all zero."""
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
    if weights.sum() > _MAX_COPIES:
        raise ValueError(
            f"sample_weight adds up to {weights.sum():g}, more rows than can be counted ({_MAX_COPIES:g}). "
            f"A weight says how many times the row is counted; divide all of them by the largest."
        )
    return weights


def check_ids(ids: Any, n_rows: int | None, *, name: str = "ids") -> npt.NDArray[Any]:
    """Check ids of rows: hashable and distinct; return int64 for integers, else objects.

    There must be `n_rows` ids; if that is None, any number of them, and a text or a number is one id.

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
        more = f", and {_listed(others)}" if others else ""
        raise ValueError(f"{name} must differ; given twice: {first!r} (rows {one} and {two}){more}.")
    return _as_array(names)


def is_one_id(ids: Any) -> bool:
    """Whether this is a single id and not a list of ids."""
    return isinstance(ids, str | int | np.generic)


def check_groups(groups: Any, n_rows: int) -> npt.NDArray[Any] | None:
    """Check the groups of rows: hashable; a missing one becomes None, which is a group of its own.

    Examples
    --------
    >>> check_groups(["film", float("nan"), "film"], 3)
    array(['film', None, 'film'], dtype=object)
    """
    return None if groups is None else _as_array(_names(groups, n_rows, "groups", missing=True))


def _names(values: Any, n_rows: int | None, name: str, *, missing: bool) -> list[Any]:
    """Return one hashable Python value per row; None for missing ones, if `missing` are allowed."""
    dtype = getattr(values, "dtype", None)
    if getattr(dtype, "kind", "O") in "cmMV":  # lists of them are numbers with another meaning
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
    # convert scalars of NumPy
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
    """Return an array of int64 for integers, else of objects."""
    if set(map(type, names)) <= {int} and all(-(2**63) <= value < 2**63 - 1 for value in names):
        return np.array(names, dtype=np.int64)
    return object_array(names)


def object_array(values: list[Any]) -> npt.NDArray[Any]:
    """Return a list as a 1-D array of objects, tuples included."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _listed(names: list[Hashable]) -> str:
    return format_names([repr(name) for name in names], 20)


def check_known(positions: npt.NDArray[np.int64], names: list[Hashable]) -> None:
    """Check that all ids were found; an error lists the others."""
    wrong = [name for name, at in zip(names, positions.tolist(), strict=True) if at < 0]
    if wrong:
        raise KeyError(f"No labeled instance has the id {_listed(wrong)}; nothing was changed.")


def check_unused(used: list[Hashable]) -> None:
    """Check that no id is in use; an error lists those that are."""
    if used:
        raise ValueError(
            f"The ids {_listed(used)} are in use; forget them first, or leave ids out to have them numbered."
        )


def check_number(
    owner: str,
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    integer: bool = False,
    also: tuple[Any, ...] = (),
) -> None:
    """Check one numeric parameter of a stage; the error quotes the wrong value.

    Examples
    --------
    >>> check_number("RBF", "gamma", -1.0, above=0, also=("auto",))
    Traceback (most recent call last):
        ...
    ValueError: RBF: gamma must be a number above 0 or 'auto', got -1.0.
    """
    if (value is None or isinstance(value, str)) and value in also:
        return
    kind: Any = numbers.Integral if integer else numbers.Real
    far = 2**63 - 1 if integer else sys.float_info.max
    real = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    fits = real and -far <= value <= far
    if fits and above is not None:
        fits = value > above
    if fits and at_least is not None:
        fits = value >= at_least
    if fits:
        return
    bound = f" above {above:g}" if above is not None else ""
    bound += f" of at least {at_least:g}" if at_least is not None else ""
    bound += f" up to {far:g}" if real and value > far else ""
    choices = "".join(f" or {choice!r}" for choice in also)
    noun = "a whole number" if integer else "a number"
    raise ValueError(f"{owner}: {name} must be {noun}{bound}{choices}, got {value!r}.")


def check_flag(owner: str, name: str, value: Any) -> None:
    """Check a boolean parameter of a stage.

    Examples
    --------
    >>> check_flag("Jaccard", "weighted", "yes")
    Traceback (most recent call last):
        ...
    ValueError: Jaccard: weighted must be True or False, got 'yes'.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{owner}: {name} must be True or False, got {value!r}.")


def check_numbers(
    owner: str,
    name: str,
    value: Any,
    shape: tuple[int | None, ...],
    *,
    kinds: str = "f",
    finite: bool = True,
    above: float = -np.inf,
    at_least: float = -np.inf,
    at_most: float = np.inf,
) -> None:
    """Check a fitted array: its type, its shape (None for any length) and its range.

    Examples
    --------
    >>> check_numbers("ZScore", "scale_", np.array([1.0, 0.0]), (2,), above=0)
    Traceback (most recent call last):
        ...
    ValueError: ZScore: scale_ has the value 0.0 where it must be a finite number above 0.
    """
    fits = isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == len(shape)
    if not fits or any(want not in (None, have) for want, have in zip(shape, value.shape, strict=True)):
        requested = ", ".join("any" if length is None else str(length) for length in shape)
        known = hasattr(value, "dtype") and hasattr(value, "shape")
        what = f"{value.dtype} of shape {value.shape}" if known else repr(value)[:60]
        raise ValueError(f"{owner}: {name} must be an array of shape ({requested}), got {what}.")
    wrong = ~((value >= at_least) & (value <= at_most) & ((value > above) | np.isneginf(above)))
    wrong |= ~np.isfinite(value) if finite else np.isnan(value)
    if wrong.any():
        words = "a finite number" if finite else "a number"
        words += f" above {above:g}" if np.isfinite(above) else ""
        words += f" of at least {at_least:g}" if np.isfinite(at_least) else ""
        words += f" of at most {at_most:g}" if np.isfinite(at_most) else ""
        raise ValueError(f"{owner}: {name} has the value {value[wrong][0]} where it must be {words}.")

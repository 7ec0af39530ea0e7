"""The one place that checks what users hand in, and words the errors."""

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

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.int64]
Rows = Any  # a dense array, a CSR matrix or array, or a list of objects: numpy has no word for it

_FINITE_BLOCK = 1 << 22  # entries looked at in one go, so that no mask as large as X is made


def check_features(estimator: Any, X: Any, *, reset: bool) -> Rows:
    """Check a matrix of features; CSR stays CSR, float32 stays float32, the rest becomes float64.

    Parameters
    ----------
    estimator : object
        Gets ``n_features_in_`` and ``feature_names_in_`` when `reset`; is compared with them otherwise.
    X : array-like, sparse or data frame, (n_rows, n_features)
        What the user gave.
    reset : bool
        True in fit.

    Returns
    -------
    array or CSR, (n_rows, n_features)
    """
    rows = check_matrix(X, "X", estimator)
    if not reset and _has_nothing_to_compare(estimator, X):
        return rows
    validate_data(estimator, X, reset=reset, skip_check_array=True)  # names and number of features
    return rows


def check_matrix(X: Any, name: str, estimator: Any = None) -> Rows:
    """Check a matrix of finite numbers; CSR stays CSR, float32 stays float32, the rest becomes float64."""
    rows = X = check_sparse(X, name) if sp.issparse(X) else X
    if not _is_plain(X):
        rows = check_array(
            X,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            ensure_all_finite=False,
            estimator=estimator,
            input_name=name,
        )
    check_finite(rows, name)
    return rows


def check_sparse(X: Any, name: str) -> Any:
    """A sparse matrix as CSR that loops may trust: entries within its shape, sorted, one for each place.

    Several entries for one place are legal, and mean their sum. The caller's matrix stays as it is.

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
    exact = np.result_type(X.dtype, np.int64) if X.dtype.kind in "iu" else X.dtype  # sums need more digits
    rows = X
    try:
        if X.format == "coo":
            rows = type(X)((X.data.astype(exact, copy=False), X.coords), shape=X.shape)
        elif hasattr(X, "check_format"):  # of a new object: the check would cut and cast the caller's arrays
            rows = type(X)((X.data, X.indices, X.indptr), shape=X.shape)
            rows.check_format(full_check=True)
        rows = rows.tocsr()
        rows.check_format(full_check=True)
    except (ValueError, IndexError) as error:
        raise ValueError(
            f"Input {name} is a damaged {X.format} matrix of shape {X.shape}: {error}. Build it anew from "
            f"its rows, columns and values, e.g. with scipy.sparse.coo_array, which checks them."
        ) from None
    if not rows.has_canonical_format:
        rows = rows.astype(exact, copy=True)
        rows.sum_duplicates()
    return rows


def is_missing(value: Any) -> bool:
    """Whether a value stands for one that is not known: None, NaN, NaT, pandas.NA."""
    try:
        return value is None or bool(value != value)
    except (TypeError, ValueError, ArithmeticError):  # pandas.NA has no truth, a signalling NaN no order
        return True


def _has_nothing_to_compare(estimator: Any, X: Any) -> bool:
    """Whether X has neither names nor another number of columns: likewise."""
    named = hasattr(estimator, "feature_names_in_")
    return _is_plain(X) and not named and X.shape[1] == estimator.n_features_in_


def _is_plain(X: Any) -> bool:
    """Whether there is nothing to convert: asking costs less than scikit-learn's questions."""
    plain = type(X) is np.ndarray and X.dtype in (np.float64, np.float32) and X.dtype.isnative
    return bool(plain and X.ndim == 2 and X.size > 0)


def check_finite(X: Rows, name: str, first: int = 0) -> None:
    """Refuse NaN and infinity, and say where the first one is; row 0 is called `first`."""
    values = X.data if sp.issparse(X) else X
    step = max(1, _FINITE_BLOCK // max(1, values.shape[-1] if values.ndim > 1 else 1))
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
    """Refuse negative features where a similarity is not defined for them."""
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


def check_same_length(n_rows: int, other: Any, name: str) -> None:
    """Refuse a companion of X (y, weights, ids) with another number of rows."""
    length = other.shape[0] if hasattr(other, "shape") else len(other)
    if length != n_rows:
        raise ValueError(f"X has {n_rows} rows but {name} has {length}; they must be of the same length.")


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
    return weights


def check_ids(ids: Any, n_rows: int | None, *, name: str = "ids") -> npt.NDArray[Any]:
    """Check what rows are called: hashable, none twice; int64 for whole numbers, else objects.

    There is one for each of `n_rows`, or any number of them where that is None.

    Examples
    --------
    >>> check_ids(["a", "b", "a"], 3)
    Traceback (most recent call last):
        ...
    ValueError: ids must differ; given twice: 'a'.
    """
    dtype = getattr(ids, "dtype", None)
    if getattr(dtype, "kind", "O") in "cmMV":  # as lists, some are numbers of another meaning
        raise ValueError(
            f"{name} must be whole numbers, strings or other hashable names, got {dtype}; "
            f"give e.g. {name}.astype(str)."
        )
    names = ids.tolist() if hasattr(ids, "tolist") else ids.to_list() if hasattr(ids, "to_list") else ids
    if not isinstance(names, Iterable):
        raise TypeError(f"{name} must be a list of what the rows are called, got {ids!r}.")
    names = list(names)
    if n_rows is not None:
        check_same_length(n_rows, names, name)
    kinds = set(map(type, names))
    if any(issubclass(kind, np.generic) for kind in kinds):  # numpy's numbers and texts are plain ones too
        names = [name.item() if isinstance(name, np.generic) else name for name in names]
        kinds = set(map(type, names))
    for i, value in enumerate([] if kinds <= {int, str} else names):
        if not isinstance(value, Hashable) or is_missing(value):
            raise ValueError(
                f"{name} must be numbers, strings or other hashable names; row {i} has {value!r}."
            )
    if len(set(names)) < len(names):
        twice = [value for value, count in Counter(names).items() if count > 1]
        raise ValueError(f"{name} must differ; given twice: {_some(twice)}.")
    if kinds <= {int} and all(-(2**63) <= value < 2**63 - 1 for value in names):
        return np.array(names, dtype=np.int64)
    array = np.empty(len(names), dtype=object)
    array[:] = names
    return array


def check_known(positions: npt.NDArray[np.int64], names: list[Any]) -> None:
    """Refuse ids that are not there, and list them."""
    wrong = [name for name, at in zip(names, positions.tolist(), strict=True) if at < 0]
    if wrong:
        raise KeyError(f"No labelled instance has the id {_some(wrong)}; nothing was forgotten.")


def check_unused(used: list[Any]) -> None:
    """Refuse ids that are there already, and list them."""
    if used:
        raise ValueError(
            f"The ids {_some(used)} are in use; forget them first, or leave ids out to have them numbered."
        )


def _some(names: list[Any]) -> str:
    shown = ", ".join(repr(name) for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")


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
    """Check one parameter of a stage and quote the value that does not fit.

    Examples
    --------
    >>> check_number("RBF", "gamma", -1.0, above=0, also=("auto",))
    Traceback (most recent call last):
        ...
    ValueError: RBF: gamma must be a number above 0 or 'auto', got -1.0.
    """
    if any(value is choice or (isinstance(value, str) and value == choice) for choice in also):
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
    """Check a parameter that is True or False.

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
    """Check an array that a stage has learnt: what it holds, its shape (None for any length), its range.

    Examples
    --------
    >>> check_numbers("ZScore", "scale_", np.array([1.0, 0.0]), (2,), above=0)
    Traceback (most recent call last):
        ...
    ValueError: ZScore: scale_ has the value 0.0 where it must be a finite number above 0.
    """
    fits = isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == len(shape)
    if not fits or any(want not in (None, have) for want, have in zip(shape, value.shape, strict=True)):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        known = hasattr(value, "dtype") and hasattr(value, "shape")
        what = f"{value.dtype} of shape {value.shape}" if known else repr(value)[:60]
        raise ValueError(f"{owner}: {name} must be an array of shape ({wanted}), got {what}.")
    wrong = ~((value >= at_least) & (value <= at_most) & ((value > above) | np.isneginf(above)))
    wrong |= ~np.isfinite(value) if finite else np.isnan(value)
    if wrong.any():
        words = "a finite number" if finite else "a number"
        words += f" above {above:g}" if np.isfinite(above) else ""
        words += f" of at least {at_least:g}" if np.isfinite(at_least) else ""
        words += f" of at most {at_most:g}" if np.isfinite(at_most) else ""
        raise ValueError(f"{owner}: {name} has the value {value[wrong][0]} where it must be {words}.")


def dense_rows(X: Rows) -> Rows:
    """A block of rows as a dense array; lists of objects stay as they are. Never for a whole matrix."""
    return X.toarray() if sp.issparse(X) else X


def take_rows(X: Rows, rows: npt.NDArray[np.integer]) -> Rows:
    """Some rows of an array, a sparse matrix or a list of objects."""
    return X[rows] if hasattr(X, "shape") else [X[i] for i in rows]

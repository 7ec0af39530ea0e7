"""X: a matrix of finite numbers, dense or sparse."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_array, validate_data

from simlabel._utils.limits import limits

FloatArray = npt.NDArray[np.floating[Any]]
IntArray = npt.NDArray[np.int64]
# An array, a CSR matrix, a list of objects, or rows that are read when needed. scipy has no types, and
# what is a product of rows for one kind has another name for the next, so no type says what all can do.
Rows = Any


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
    """Where the first text is that is no number, in words."""
    cells = np.asarray(X, dtype=object)
    for row, values in enumerate(cells if cells.ndim == 2 else ()):
        for column, value in enumerate(values):
            try:
                float(value)
            except ValueError:
                name = list(getattr(X, "columns", range(len(values))))[column]
                return f" (first at row {row}, column {name!r}: {value!r})"
    return ""


def collected(X: Any) -> Any:
    """A polars LazyFrame or a pyarrow Table as a frame; anything else as it is."""
    if type(X).__name__ in ("Table", "RecordBatch") and type(X).__module__.startswith("pyarrow"):
        return X.to_pandas()
    lazy = type(X).__name__ == "LazyFrame" and type(X).__module__.startswith("polars")
    return X.collect() if lazy else X


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

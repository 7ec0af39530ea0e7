"""Leakage that makes results look better than they are: duplicates across the split, ids among features."""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, IntArray
from simlabel.datasets import Dataset
from simlabel.experiments import Split, select_rows
from simlabel.model.inspection import rounded_row_keys

_FEW = 20  # columns that together are 1 in every row: fewer are a category
_DIFFERENT = 0.95  # share of rows in which a text differs from all others


def shared_rows(data: Dataset, split: Split) -> int:
    """Return how many test rows are equal to a training row in all features.

    Examples
    --------
    >>> Y = sp.csr_array(np.array([[1], [0], [1]], dtype=np.int8))
    >>> data = Dataset("d", np.array([[1.0], [2.0], [1.0]]), Y, "a", "x")
    >>> shared_rows(data, Split("own", np.array([0, 1]), np.array([2])))
    1
    """
    train, test = (_keys(select_rows(data.X, rows)) for rows in (split.train, split.test))
    return int(np.isin(test, train).sum())


def _keys(X: object) -> IntArray:
    if isinstance(X, pd.DataFrame):
        return pd.util.hash_pandas_object(X, index=False).to_numpy().astype(np.int64)
    return rounded_row_keys(X)


def identifiers(data: Dataset) -> str | None:
    """Describe an id among the features; return None where none is found.

    It finds a strictly increasing integer column, a column of short texts that are different in nearly all
    rows, and a one-hot code: binary columns of which each row has one, with few rows each.

    Examples
    --------
    >>> Y = sp.csr_array(np.ones((60, 1), dtype=np.int8))
    >>> words = np.random.default_rng(0).random((60, 2))
    >>> rows = np.hstack([words, np.eye(30)[np.arange(60) % 30]])
    >>> identifiers(Dataset("d", rows, Y, "a", [str(k) for k in range(32)]))
    '30 binary columns, of which every row has one: a one-hot id, columns 2 to 31'
    """
    if isinstance(data.X, pd.DataFrame):
        return _text_id(data.X)
    return _counting_column(data) or _one_hot_id(data)


def _text_id(frame: pd.DataFrame) -> str | None:
    for name in frame.columns:
        cells = frame[name].astype(str)
        short = cells.str.len().mean() < 40 and not cells.str.contains(" ").mean() > 0.5
        if short and cells.nunique() >= _DIFFERENT * len(cells):
            return f"column {name!r} is different in nearly every row: an id"
    return None


def _counting_column(data: Dataset) -> str | None:
    if sp.issparse(data.X) or data.n_rows < 3:
        return None
    steps = np.diff(data.X[:, (np.floor(data.X) == data.X).all(axis=0)], axis=0)
    growing = np.flatnonzero((steps > 0).all(axis=0))
    return f"an integer column increases from row to row: an id ({len(growing)})" if len(growing) else None


def _one_hot_id(data: Dataset) -> str | None:
    """Find a run of 0/1 columns whose sum is 1 in every row, with few rows each.

    Neighboring columns are added up as long as no row has more than one of them.
    """
    X = sp.csc_array(data.X)
    is_binary = np.array([(X.data[a:b] == 1).all() for a, b in zip(X.indptr[:-1], X.indptr[1:], strict=True)])
    seen: FloatArray = np.zeros(data.n_rows)
    start, most = 0, max(5.0, data.n_rows / _FEW)
    for column in range(X.shape[1]):
        rows = X.indices[X.indptr[column] : X.indptr[column + 1]]
        fits = is_binary[column] and 0 < len(rows) <= most
        if not fits or seen[rows].any():
            seen[:] = 0
            start = column + 1
            if not fits:
                continue
            start = column
        seen[rows] = 1
        if seen.all() and column + 1 - start >= _FEW:
            return (
                f"{column + 1 - start} binary columns, of which every row has one: a one-hot id, "
                f"columns {start} to {column}"
            )
    return None

"""Merge equal columns of sparse rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, IntArray


@dataclass(frozen=True)
class MergedColumns:
    """The distinct columns, and the one that represents each column.

    Attributes
    ----------
    kept : array, (n_kept,)
        One of each set of equal columns that have entries in two rows or more, the fullest first.
    copies : array, (n_kept,)
        The number of columns equal to it.
    of_column : array, (n_columns,)
        The position in `kept` of the representative of each column; -1 if the column has one entry at most.
    """

    kept: IntArray
    copies: IntArray
    of_column: IntArray


def merge_equal_columns(Z: sp.csr_array) -> MergedColumns:
    """Find the columns of sparse rows that have the same numbers in the same rows.

    Most terms of texts occur in one row only. Many of the others are equal, such as the character n-grams of
    a rare word. The fullest come first, so that they are adjacent in the cache.

    Examples
    --------
    >>> Z = np.array([[1.0, 2.0, 1.0, 0.0], [3.0, 2.0, 3.0, 5.0], [0.0, 1.0, 0.0, 0.0]])
    >>> found = merge_equal_columns(sp.csr_array(Z))
    >>> found.kept.tolist(), found.copies.tolist(), found.of_column.tolist()
    ([1, 0], [1, 2], [1, 0, 1, -1])
    """
    counts = np.bincount(Z.indices, minlength=Z.shape[1])
    # equal columns have equal sums, bit by bit; others differ except with a probability of about 2^-100
    mark = np.random.default_rng(0).random((Z.shape[0], 2))
    marks = np.ascontiguousarray(sp.csr_array(Z.T) @ mark).view(np.complex128).ravel()
    shared = np.flatnonzero(counts > 1)
    _, first, which, copies = np.unique(
        marks[shared], return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(-counts[shared[first]], kind="stable")
    places = np.empty_like(order)
    places[order] = np.arange(len(order))
    of_column = np.full(Z.shape[1], -1)
    of_column[shared] = places[which]
    return MergedColumns(shared[first][order], copies[order], of_column)


def n_shared_columns(Z: sp.csr_array) -> int:
    """Return the number of columns with entries in two rows or more."""
    return int(np.count_nonzero(np.bincount(Z.indices, minlength=Z.shape[1]) > 1))


def unshared_column_squares(Z: sp.csr_array, merged: MergedColumns) -> FloatArray:
    """Return the sum of squares of each row's entries in columns with no other entry, (n_rows, 1)."""
    rows = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
    alone = merged.of_column[Z.indices] < 0
    return np.bincount(rows[alone], Z.data[alone] ** 2, minlength=Z.shape[0]).astype(np.float64)[:, None]

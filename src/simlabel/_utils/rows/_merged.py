"""Columns of sparse rows that are alike: one of them stands for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, IntArray


@dataclass(frozen=True)
class MergedColumns:
    """Which columns are kept, and what stands for the others.

    Attributes
    ----------
    kept : array, (n_kept,)
        One of each kind of columns that have entries in two rows or more, the fullest first.
    copies : array, (n_kept,)
        How many columns of each kind there are.
    of_column : array, (n_columns,)
        The place in `kept` of what stands for each column; -1 where it has one entry at most.
    """

    kept: IntArray
    copies: IntArray
    of_column: IntArray


def merged_columns(Z: sp.csr_array) -> MergedColumns:
    """Find the columns of sparse rows that have the same numbers in the same rows.

    Most terms of texts are in one row only. Of the others many are alike, as the runs of characters of a
    rare word are. The fullest come first, side by side in the cache.

    Examples
    --------
    >>> Z = np.array([[1.0, 2.0, 1.0, 0.0], [3.0, 2.0, 3.0, 5.0], [0.0, 1.0, 0.0, 0.0]])
    >>> found = merged_columns(sp.csr_array(Z))
    >>> found.kept.tolist(), found.copies.tolist(), found.of_column.tolist()
    ([1, 0], [1, 2], [1, 0, 1, -1])
    """
    counts = np.bincount(Z.indices, minlength=Z.shape[1])
    # equal columns have equal sums, bit by bit; others differ, but for a chance of about 2^-100
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
    """How many columns have entries in two rows or more."""
    return int(np.count_nonzero(np.bincount(Z.indices, minlength=Z.shape[1]) > 1))


def alone_in_rows(Z: sp.csr_array, merged: MergedColumns) -> FloatArray:
    """The sum of squares of each row's entries in columns that nobody else has, (n_rows, 1)."""
    rows = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
    alone = merged.of_column[Z.indices] < 0
    return np.bincount(rows[alone], Z.data[alone] ** 2, minlength=Z.shape[0]).astype(np.float64)[:, None]

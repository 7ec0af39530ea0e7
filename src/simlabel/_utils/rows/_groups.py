"""Rows that belong together, such as copies of one source: none of them may speak for another."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray, Rows

Groups = npt.NDArray[Any] | None  # int64 or any objects

Codes = npt.NDArray[np.int64]  # a number for each group, without a gap


def group_codes(names: npt.NDArray[Any]) -> Codes:
    """Numbers in place of the names of groups; whoever has None is a group of its own.

    Examples
    --------
    >>> group_codes(np.array(["b", None, "a", "b", None], dtype=object))
    array([0, 2, 1, 0, 3])
    """
    if names.dtype != object:
        return np.unique(names, return_inverse=True)[1].astype(np.int64)
    known: dict[Any, int] = {}
    codes = np.array([-1 if name is None else known.setdefault(name, len(known)) for name in names.tolist()])
    alone = codes < 0
    codes[alone] = len(known) + np.arange(np.count_nonzero(alone))
    return codes.astype(np.int64)


def equal_groups(codes: Codes) -> Iterator[npt.NDArray[np.int64]]:
    """The rows of all groups of one size, (n_groups, size), size after size.

    Examples
    --------
    >>> [rows.tolist() for rows in equal_groups(np.array([0, 2, 1, 0]))]
    [[[2], [1]], [[0, 3]]]
    """
    order, sizes = np.argsort(codes, kind="stable"), np.bincount(codes)
    starts = np.cumsum(sizes) - sizes
    for size in np.unique(sizes).tolist():
        yield order[starts[sizes == size, None] + np.arange(size)]


def group_sums(codes: Codes, weights: FloatArray, targets: Rows) -> Rows:
    """Weighted sum of the rows of each group, (n_groups, width), dense or sparse as the rows are."""
    return sp.csr_array((weights, (codes, np.arange(len(codes))))) @ targets

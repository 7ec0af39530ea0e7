"""Learned influence where whole groups of rows are left out, all of their weight.

With A = (S + lambda W^-1)^-1, the scores of a group G in a solution without it are short of the targets by
(A_GG)^-1 (A (Y - mean))_G. In terms of features, whose fit has the hat matrix H W, they are short by
(1 - H_GG W_G)^-1 times what the fit to all rows leaves over. The mean is the one without the group. Groups
of one size are solved for together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import Codes, blocks, equal_groups, group_sums
from simlabel._utils.threads import held_blas
from simlabel._utils.validation import FloatArray, Rows

Positions = npt.NDArray[np.int64]
#: for some rows: their features, in which the penalty is 1, (n, m), and what the fit leaves over, (n, width)
Fitted = Callable[[Positions], tuple[FloatArray, FloatArray]]
#: for the rows of groups of one size, (n_groups, size), their parts of A, (n_groups, size, size)
Within = Callable[[Positions], FloatArray]


class MeansWithoutGroups:
    """Weighted mean of the targets of all rows but a group; 0 where the group is all there is."""

    def __init__(self, targets: Rows, weights: FloatArray, groups: Codes) -> None:
        self.groups, self.total = groups, float(weights.sum())
        self.sums = np.asarray(weights @ targets).ravel()
        self.of_group, self.weight = group_sums(groups, weights, targets), np.bincount(groups, weights)

    def __call__(self, rows: Positions) -> FloatArray:
        """For some rows, each without its group, (n_rows, width)."""
        groups = self.groups[rows]
        gone = self.of_group[groups]
        kept = self.sums - (gone.toarray() if sp.issparse(gone) else gone)
        rest = (self.total - self.weight[groups])[:, None]
        return np.divide(kept, rest, out=np.zeros_like(kept), where=rest > 1e-12 * self.total)


def scores_without_groups(
    within: Within,
    AY1: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    groups: Codes,
) -> FloatArray:
    """Scores of each row with its group left out, (n, width), from parts of A and its products.

    Parameters
    ----------
    within : callable
        For the rows of groups of one size, (n_groups, size), their parts of A = (S + lambda W^-1)^-1,
        (n_groups, size, size).
    AY1 : array, (n, width + 1)
        A times the targets and a column of ones.

    Examples
    --------
    >>> T = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> A = np.linalg.inv(np.full((4, 4), 0.5) + np.eye(4))
    >>> AY1 = A @ np.column_stack([T, np.ones(4)])
    >>> scores_without_groups(parts_of(A), AY1, T, np.ones(4), np.array([0, 0, 1, 1])).ravel()
    array([1. , 1. , 0.5, 0.5])
    """
    means, width = MeansWithoutGroups(targets, weights, groups), targets.shape[1]
    left_out = np.empty(targets.shape)
    for same in equal_groups(groups):
        size = same.shape[1]
        for some in blocks(len(same), max(1, limits().block_entries // (size * (size + width)))):
            rows = same[some]
            over = AY1[rows, :-1] - AY1[rows, -1:] * means(rows[:, 0])[:, None, :]
            left_out[rows] = targets[rows] - np.linalg.solve(within(rows), over)
    return left_out


def parts_of(A: FloatArray) -> Within:
    """What gives the parts of a matrix that groups of one size have, (n_groups, size, size)."""
    return lambda rows: A[rows[:, :, None], rows[:, None, :]]


def residuals_without_groups(
    fitted: Fitted, weights: FloatArray, groups: Codes
) -> Iterator[tuple[Positions, FloatArray]]:
    """Rows, and what is left over of each where its group is left out, (n_rows, width), in blocks."""
    for same in equal_groups(groups):
        size = same.shape[1]
        if size > limits().block_rows:
            for rows in same:
                yield from _of_large_group(fitted, weights, rows)
            continue
        for some in blocks(len(same), limits().block_rows // size):
            rows = same[some]
            phi, over = fitted(rows.ravel())
            # row by row in memory, and on one thread: else many small products wait for each other
            phi, over = (np.ascontiguousarray(each).reshape(*rows.shape, -1) for each in (phi, over))
            with held_blas(1):
                leverage = phi @ phi.transpose(0, 2, 1) * weights[rows][:, None, :]
                left = np.linalg.solve(np.eye(size) - leverage, over)
            yield rows.ravel(), left.reshape(rows.size, -1)


def _of_large_group(
    fitted: Fitted, weights: FloatArray, rows: Positions
) -> Iterator[tuple[Positions, FloatArray]]:
    """The same by a system as large as the features: the group is passed over twice, never held whole."""
    parts = [rows[part] for part in blocks(len(rows), limits().block_rows)]
    within: Any = 0.0
    towards: Any = 0.0
    for part in parts:
        phi, over = fitted(part)
        weighted = phi.T * weights[part]
        within, towards = within + weighted @ phi, towards + weighted @ over
    step = scipy.linalg.solve(np.eye(len(within)) - within, towards, assume_a="pos")
    for part in parts:
        phi, over = fitted(part)
        yield part, over + phi @ step

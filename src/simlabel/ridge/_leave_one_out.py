"""Leave-one-out scores of ridge in closed form: without a row, without its group, without its own words.

With A = (S + lambda W^-1)^-1, the score of row i without one copy of it differs from its target by the
residual over 1 - leverage (Allen 1974); the mean is taken without the row, in which the residual is linear.
Without a group G, scores differ from the targets by (A_GG)^-1 (A (Y - mean))_G. In terms of features, whose
fit has the hat matrix H W, they differ by (1 - H_GG W_G)^-1 times the residuals of the fit to all rows.
Groups of one size are solved for together.

If columns are words of the training rows, a new row has no column that none of them has, and all of its
length is in shared columns. A training row that is left out must be treated in the same way, or its scores
are too small: by a third if half of its squared length is in words of its own. So its own columns, which no
other row has, are removed, and the row is scaled back to its length. The influence of the others follows
from V_(-G) = V - A_:G (A_GG)^-1 V_G, with the mean without G.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, equal_groups, group_sums, squared_lengths
from simlabel._utils.threads import limit_blas_threads
from simlabel._utils.validation import FloatArray, IntArray, Rows

#: row positions -> their features at penalty 1, (n, m), and the residuals of the fit, (n, width)
Fitted = Callable[[IntArray], tuple[FloatArray, FloatArray]]
#: rows of groups of one size, (n_groups, size) -> their blocks of A, (n_groups, size, size)
Within = Callable[[IntArray], FloatArray]


@dataclass(frozen=True)
class RidgeSolution:
    """Influence V (n, width), the mean of the targets (width,), and leave-one-out scores (n, width).

    `inverse` is (S + lambda W^-1)^-1, (n, n), if it was computed; `residual` the largest relative residual of
    an iterative solution.
    """

    V: FloatArray
    mean: FloatArray
    loo_scores: FloatArray
    inverse: FloatArray | None = None
    residual: float | None = None


def closed_form_loo_scores(
    AY1: FloatArray, diagonal: FloatArray, targets: FloatArray, weights: FloatArray, penalty: float
) -> FloatArray:
    """Return the scores of each row without one copy of it, (n, width).

    Parameters
    ----------
    AY1 : array, (n, width + 1)
        A times the targets and a column of ones.
    diagonal : array, (n,)
        Diagonal of A.
    """
    left = np.minimum(weights, 1.0)[:, None]
    rest = weights.sum() - left
    total = weights @ targets - left * targets
    means = np.divide(total, rest, out=np.zeros_like(total), where=rest > 1e-12)
    residuals = (penalty / weights)[:, None] * (AY1[:, :-1] - AY1[:, -1:] * means)
    leverage = (1.0 - penalty * diagonal / weights) / weights
    return targets - residuals / (1.0 - left * leverage[:, None])


class MeansWithoutGroups:
    """Weighted mean of the targets of all rows but a group; 0 if there are no others."""

    def __init__(self, targets: Rows, weights: FloatArray, groups: IntArray) -> None:
        self.groups, self.total = groups, float(weights.sum())
        self.sums = np.asarray(weights @ targets).ravel()
        self.of_group, self.weight = group_sums(groups, weights, targets), np.bincount(groups, weights)

    def __call__(self, rows: IntArray) -> FloatArray:
        """Return the means for some rows, each without its group, (n_rows, width)."""
        groups = self.groups[rows]
        removed = self.of_group[groups]
        sums = self.sums - (removed.toarray() if sp.issparse(removed) else removed)
        rest = (self.total - self.weight[groups])[:, None]
        return np.divide(sums, rest, out=np.zeros_like(sums), where=rest > 1e-12 * self.total)


def _by_group_size(
    AY1: FloatArray, targets: Rows, weights: FloatArray, groups: IntArray
) -> Iterator[tuple[IntArray, FloatArray, FloatArray]]:
    """Yield rows of groups of one size, (n_groups, size), the means without them, and A (Y - mean)."""
    means, width = MeansWithoutGroups(targets, weights, groups), targets.shape[1]
    for same in equal_groups(groups):
        size = same.shape[1]
        for some in blocks(len(same), max(1, limits().block_entries // (size * (size + width)))):
            rows = same[some]
            mean = means(rows[:, 0])[:, None, :]
            yield rows, mean, AY1[rows, :-1] - AY1[rows, -1:] * mean


def scores_without_groups(
    within: Within, AY1: FloatArray, targets: FloatArray, weights: FloatArray, groups: IntArray
) -> FloatArray:
    """Return the scores of each row without its group, (n, width).

    Parameters
    ----------
    within : callable
        Blocks of A = (S + lambda W^-1)^-1 that belong to groups of one size.
    AY1 : array, (n, width + 1)
        A times the targets and a column of ones.

    Examples
    --------
    >>> T = np.array([[1.0], [0.0], [1.0], [1.0]])
    >>> A = np.linalg.inv(np.full((4, 4), 0.5) + np.eye(4))
    >>> AY1 = A @ np.column_stack([T, np.ones(4)])
    >>> scores_without_groups(blocks_of(A), AY1, T, np.ones(4), np.array([0, 0, 1, 1])).ravel()
    array([1. , 1. , 0.5, 0.5])
    """
    loo_scores = np.empty(targets.shape)
    for rows, _, over in _by_group_size(AY1, targets, weights, groups):
        loo_scores[rows] = targets[rows] - np.linalg.solve(within(rows), over)
    return loo_scores


def sums_without_groups(
    within: Within, AY1: FloatArray, targets: Rows, weights: FloatArray, groups: IntArray
) -> tuple[FloatArray, FloatArray]:
    """Return for each row, without its group, the mean of the targets and the sum of the influence.

    Parameters are those of `scores_without_groups`. Both arrays are (n, width).
    """
    total = AY1.sum(axis=0)
    means, sums = np.empty(targets.shape), np.empty(targets.shape)
    for rows, mean, over in _by_group_size(AY1, targets, weights, groups):
        lost = (AY1[rows, -1:] * np.linalg.solve(within(rows), over)).sum(axis=1, keepdims=True)
        means[rows], sums[rows] = mean, total[:-1] - total[-1] * mean - lost
    return means, sums


def blocks_of(A: FloatArray) -> Within:
    """Return a function that takes the blocks of groups out of a matrix."""
    return lambda rows: A[rows[:, :, None], rows[:, None, :]]


def residuals_without_groups(
    fitted: Fitted, weights: FloatArray, groups: IntArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield blocks of rows, and their residuals in the fit without their group, (n_rows, width)."""
    for same in equal_groups(groups):
        size = same.shape[1]
        if size > limits().block_rows:
            for rows in same:
                yield from _of_large_group(fitted, weights, rows)
            continue
        for some in blocks(len(same), limits().block_rows // size):
            rows = same[some]
            phi, over = fitted(rows.ravel())
            # C order, and one thread: many small products would wait for each other
            phi, over = (np.ascontiguousarray(each).reshape(*rows.shape, -1) for each in (phi, over))
            with limit_blas_threads(1):
                leverage = phi @ phi.transpose(0, 2, 1) * weights[rows][:, None, :]
                left = np.linalg.solve(np.eye(size) - leverage, over)
            yield rows.ravel(), left.reshape(rows.size, -1)


def _of_large_group(
    fitted: Fitted, weights: FloatArray, rows: IntArray
) -> Iterator[tuple[IntArray, FloatArray]]:
    """Solve a system of the size of the features, in two passes over blocks of the group."""
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


def is_vocabulary(X: Rows) -> bool:
    """Return whether columns may be words of these rows: sparse, and no column is empty.

    If some columns are empty, they were reserved for more than these rows have, and a new row may use them.
    """
    return sp.issparse(X) and bool((np.bincount(X.indices[X.data != 0], minlength=X.shape[1]) > 0).all())


def without_own_columns(X: sp.csr_array, weights: FloatArray, groups: IntArray | None) -> sp.csr_array:
    """Return the rows with zeros in columns that no other row has, none outside the group.

    A row of weight above 1 has copies, which share its columns; a group is left out with all of its weight.

    Examples
    --------
    >>> X = sp.csr_array([[3.0, 4.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    >>> without_own_columns(X, np.ones(3), None).toarray()[0]
    array([0., 4., 0.])
    """
    codes = np.arange(X.shape[0]) if groups is None else groups
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    there = X.data != 0
    first, last = np.full(X.shape[1], len(codes)), np.full(X.shape[1], -1)
    np.minimum.at(first, X.indices[there], codes[row[there]])
    np.maximum.at(last, X.indices[there], codes[row[there]])
    own = (first == last)[X.indices]
    shared = X.astype(np.float64)  # a copy
    shared.data[own if groups is not None else own & (weights[row] <= 1.0)] = 0.0
    return shared


def length_ratio(X: sp.csr_array, shared: sp.csr_array) -> FloatArray:
    """Return the factors that scale shared columns back to the length of the rows; 0 if there are none."""
    before, after = squared_lengths(X), squared_lengths(shared)
    return np.sqrt(np.divide(before, after, out=np.zeros(len(before)), where=after > 0))


@dataclass(frozen=True)
class OwnColumnCorrection:
    """Correct leave-one-out scores of similarities <x, z> + constant for rows without their own columns.

    A row that is longer in shared columns has larger inner products by the same factor.

    Attributes
    ----------
    times : array, (n_rows,)
        Factor of each row.
    constant : float
    """

    times: FloatArray
    constant: float

    @classmethod
    def of(
        cls, X: sp.csr_array, weights: FloatArray, groups: IntArray | None, constant: float
    ) -> OwnColumnCorrection:
        """Return the correction of all rows, each left out alone or with its group."""
        return cls(length_ratio(X, without_own_columns(X, weights, groups)), constant)

    @classmethod
    def of_fold(cls, X: sp.csr_array, others: sp.csr_array, constant: float) -> OwnColumnCorrection:
        """Return the correction of rows that are left out together."""
        known = np.bincount(others.indices[others.data != 0], minlength=X.shape[1]) > 0
        return cls(length_ratio(X, sp.csr_array(X.multiply(known[None, :]))), constant)

    def __call__(self, scores: FloatArray, means: FloatArray, sums: FloatArray) -> FloatArray:
        """Correct scores of whole rows, given the means and the sums of influence of the other rows."""
        base = means + self.constant * sums
        return base + (scores - base) * self.times[:, None]


def scores_without_own_columns(
    solution: RidgeSolution,
    X: sp.csr_array,
    similarities: Callable[[sp.csr_array], FloatArray],
    targets: Rows,
    weights: FloatArray,
    groups: IntArray | None,
) -> FloatArray:
    """Return leave-one-out scores of rows without their own columns, (n, width).

    Parameters
    ----------
    solution : RidgeSolution
        With the inverse, and the scores of whole rows.
    X : sparse, (n, n_features)
        All references.
    similarities : callable
        Returns the similarities of some rows to all references, (n_rows, n).
    targets, weights, groups
        As in `ridge_solution`.
    """
    A = solution.inverse
    assert A is not None
    shared = without_own_columns(X, weights, groups)
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    rows = np.unique(row[shared.data != X.data])
    shared = sp.csr_array(sp.diags_array(length_ratio(X[rows], shared[rows])) @ shared[rows])
    codes = np.arange(len(A)) if groups is None else groups
    means, A1 = MeansWithoutGroups(targets, weights, codes), A.sum(axis=1)
    loo_scores = solution.loo_scores.copy()
    for some in blocks(len(rows), max(1, limits().block_entries // len(A))):
        away = rows[some]
        S = similarities(shared[some])
        S[codes[away, None] == codes] = 0.0
        mean_without = means(away)
        # the influence of all rows was solved for with another mean
        scores = mean_without + S @ solution.V - (S @ A1)[:, None] * (mean_without - solution.mean)
        if groups is None:  # A is symmetric
            removed = (solution.V[away] - A1[away, None] * (mean_without - solution.mean)) / np.diag(A)[
                away, None
            ]
            scores -= np.einsum("ij,ij->i", S, A[away])[:, None] * removed
        for code in np.unique(codes[away]) if groups is not None else ():
            G, queries = np.flatnonzero(codes == code), codes[away] == code
            shift = np.outer(A1[G], means(G[:1]) - solution.mean)
            removed = np.linalg.solve(A[np.ix_(G, G)], solution.V[G] - shift)
            scores[queries] -= S[queries] @ A[:, G] @ removed
        loo_scores[away] = scores
    return loo_scores

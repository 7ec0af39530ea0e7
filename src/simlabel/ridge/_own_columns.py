"""Leave-one-out where columns are words of the very rows: what only one row has is unknown without it.

A vocabulary is made of the training texts, so that a new text has no column that none of them has, and all of
its length is in columns that are shared. A training row that is left out must be asked in the same way, or
its scores are too small: by a third where half of a row's squared length is in words of its own. So columns
that no other row has (none outside its group) go, and the row is brought back to its length.

The influence of the others is that without the row, in closed form: with A = (S + lambda W^-1)^-1 and G the
rows that are left out, V_(-G) = V - A_:G (A_GG)^-1 V_G, where the mean that was taken off is that without G.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.arithmetic import squared_lengths
from simlabel._utils.limits import limits
from simlabel._utils.rows import Codes, blocks, equal_groups
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge._closed_form import RidgeSolution
from simlabel.ridge._groups import MeansWithoutGroups, Within


def is_vocabulary(X: Rows) -> bool:
    """Whether columns may be words of these rows: sparse, and each is in one of them.

    Where columns were laid out for more than these rows have, so that some are in none, a new row may have
    what no row has, and its length counts it.
    """
    return sp.issparse(X) and bool((np.bincount(X.indices[X.data != 0], minlength=X.shape[1]) > 0).all())


def own_entries(X: sp.csr_array, weights: FloatArray, groups: Codes | None) -> npt.NDArray[np.bool_]:
    """Which stored entries are in a column that no other row has, none outside the group, (nnz,).

    A row of weight above 1 has copies, which share its columns; a group is left out with all of its weight.
    """
    codes = np.arange(X.shape[0]) if groups is None else groups
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    there = X.data != 0
    first, last = np.full(X.shape[1], len(codes)), np.full(X.shape[1], -1)
    np.minimum.at(first, X.indices[there], codes[row[there]])
    np.maximum.at(last, X.indices[there], codes[row[there]])
    own = there & (first == last)[X.indices]
    return own if groups is not None else own & (weights[row] <= 1.0)


def longer(X: sp.csr_array, shared: sp.csr_array) -> FloatArray:
    """What brings what rows share to the length of the rows, (n_rows,); 0 where they share nothing."""
    before, after = squared_lengths(X), squared_lengths(shared)
    return np.sqrt(np.divide(before, after, out=np.zeros(len(before)), where=after > 0))


def rows_as_asked(
    X: sp.csr_array, weights: FloatArray, groups: Codes | None
) -> tuple[IntArray, sp.csr_array]:
    """Positions of the rows that have columns of their own, and these rows without them, at their length.

    Examples
    --------
    >>> X = sp.csr_array([[3.0, 4.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    >>> rows, asked = rows_as_asked(X, np.ones(3), None)
    >>> rows, asked.toarray()
    (array([0]), array([[0., 5., 0.]]))
    """
    shared, own = _without_own(X, weights, groups)
    rows = np.flatnonzero(np.diff(np.concatenate([[0], np.cumsum(own)])[X.indptr]))
    shared = shared[rows]
    return rows, sp.csr_array(sp.diags_array(longer(X[rows], shared)) @ shared)


def _without_own(
    X: sp.csr_array, weights: FloatArray, groups: Codes | None
) -> tuple[sp.csr_array, npt.NDArray[np.bool_]]:
    own, shared = own_entries(X, weights, groups), X.astype(np.float64)  # a copy
    shared.data[own] = 0.0
    return shared, own


@dataclass(frozen=True)
class AskedLinearly:
    """Leave-one-out scores of similarities <x, z> + constant, of rows without what only they have.

    Such a row is longer in what it shares, and so is what its products add to a score; the constant adds the
    sum of the others' influence as before.

    Attributes
    ----------
    times : array, (n_rows,)
        By how much each row is longer.
    constant : float
    """

    times: FloatArray
    constant: float

    @classmethod
    def of(cls, X: sp.csr_array, weights: FloatArray, groups: Codes | None, constant: float) -> AskedLinearly:
        """Of all rows, each left out, or with its group."""
        return cls(longer(X, _without_own(X, weights, groups)[0]), constant)

    @classmethod
    def beside(cls, X: sp.csr_array, others: sp.csr_array, constant: float) -> AskedLinearly:
        """Of rows that are left out together, beside the others."""
        known = np.bincount(others.indices[others.data != 0], minlength=X.shape[1]) > 0
        return cls(longer(X, sp.csr_array(X.multiply(known[None, :]))), constant)

    def __call__(self, scores: FloatArray, means: FloatArray, sums: FloatArray) -> FloatArray:
        """From scores of the rows as they are, and the others' means and sums of influence."""
        base = means + self.constant * sums
        return base + (scores - base) * self.times[:, None]


def sums_without(
    within: Within, AY1: FloatArray, targets: Rows, weights: FloatArray, codes: Codes
) -> tuple[FloatArray, FloatArray]:
    """For each row, without its group: the mean of the targets, and the sum of the others' influence.

    Parameters
    ----------
    within, AY1, targets, weights
        As in `scores_without_groups`.
    codes : array of int, (n,)
        Number of the group of each.

    Returns
    -------
    tuple of array, (n, width)
    """
    means_of, total = MeansWithoutGroups(targets, weights, codes), AY1.sum(axis=0)
    means, sums = np.empty(targets.shape), np.empty(targets.shape)
    for same in equal_groups(codes):
        size = same.shape[1]
        for some in blocks(len(same), max(1, limits().block_entries // (size * (size + targets.shape[1])))):
            rows = same[some]
            mean = means_of(rows[:, 0])
            over = AY1[rows, :-1] - AY1[rows, -1:] * mean[:, None, :]
            lost = (AY1[rows, -1:] * np.linalg.solve(within(rows), over)).sum(axis=1)
            means[rows] = mean[:, None, :]
            sums[rows] = (total[:-1] - total[-1] * mean - lost)[:, None, :]
    return means, sums


def scores_as_asked(
    solution: RidgeSolution,
    X: sp.csr_array,
    similarities: Callable[[sp.csr_array], FloatArray],
    targets: FloatArray,
    weights: FloatArray,
    groups: Codes | None,
) -> FloatArray:
    """Leave-one-out scores of rows that are asked without the columns that only they have, (n, width).

    Parameters
    ----------
    solution : RidgeSolution
        With the inverse.
    X : sparse, (n, n_features)
        All references.
    similarities : callable
        Of some rows to all references, (n_rows, n).
    targets, weights, groups
        As in `ridge_solution`.
    """
    A = solution.inverse
    assert A is not None
    rows, asked = rows_as_asked(X, weights, groups)
    codes = np.arange(len(A)) if groups is None else groups
    means, A1 = MeansWithoutGroups(targets, weights, codes), A.sum(axis=1)
    left_out = solution.left_out.copy()
    for some in blocks(len(rows), max(1, limits().block_entries // len(A))):
        away = rows[some]
        S = similarities(asked[some])
        S[codes[away, None] == codes] = 0.0
        mean = means(away)
        # the influence of all was solved for with another mean
        scores = mean + S @ solution.V - (S @ A1)[:, None] * (mean - solution.mean)
        for code in np.unique(codes[away]):
            G, asking = np.flatnonzero(codes == code), codes[away] == code
            off = means(G[:1]) - solution.mean
            gone = np.linalg.solve(A[np.ix_(G, G)], solution.V[G] - np.outer(A1[G], off))
            scores[asking] -= S[asking] @ A[:, G] @ gone
        left_out[away] = scores
    return left_out

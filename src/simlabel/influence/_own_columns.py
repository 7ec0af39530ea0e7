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

import numpy as np
import scipy.sparse as sp

from simlabel.influence._closed_form import RidgeSolution
from simlabel.influence._groups import MeansWithoutGroups
from simlabel.rows import Codes, blocks
from simlabel.support.arithmetic import squared_lengths
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, IntArray, Rows


def is_vocabulary(X: Rows) -> bool:
    """Whether columns may be words of these rows: sparse, and each is in one of them.

    Where columns were laid out for more than these rows have, so that some are in none, a new row may have
    what no row has, and its length counts it.
    """
    return sp.issparse(X) and bool((np.bincount(X.indices[X.data != 0], minlength=X.shape[1]) > 0).all())


def rows_as_asked(
    X: sp.csr_array, weights: FloatArray, groups: Codes | None
) -> tuple[IntArray, sp.csr_array]:
    """Positions of the rows that have columns of their own, and these rows without them, at their length.

    A row of weight above 1 has copies, which share its columns.

    Examples
    --------
    >>> X = sp.csr_array([[3.0, 4.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]])
    >>> rows, asked = rows_as_asked(X, np.ones(3), None)
    >>> rows, asked.toarray()
    (array([0]), array([[0., 5., 0.]]))
    """
    codes = np.arange(X.shape[0]) if groups is None else groups
    row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    there = X.data != 0
    first, last = np.full(X.shape[1], len(codes)), np.full(X.shape[1], -1)
    np.minimum.at(first, X.indices[there], codes[row[there]])
    np.maximum.at(last, X.indices[there], codes[row[there]])
    own = there & (first == last)[X.indices]
    if groups is None:
        own &= weights[row] <= 1.0
    rows = np.unique(row[own])
    shared = X.astype(np.float64)  # a copy
    shared.data[own] = 0.0
    shared = shared[rows]
    before, after = squared_lengths(X[rows]), squared_lengths(shared)
    scale = np.sqrt(np.divide(before, after, out=np.zeros(len(rows)), where=after > 0))
    return rows, sp.csr_array(sp.diags_array(scale) @ shared)


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

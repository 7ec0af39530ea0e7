"""Label sets and scores within a hierarchy, given as A: A[k, j] = 1 where label j is k or above it."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray
from simlabel.labels._unknown import UnknownLabels


def closed(A: sp.csr_array, Y: sp.csr_array) -> sp.csr_array:
    """Rows with all labels above theirs, (n_rows, n_labels)."""
    Y = sp.csr_array(Y @ A, dtype=np.int8)
    Y.data[:] = 1
    Y.sort_indices()
    return Y


def still_unknown(A: sp.csr_array, Y: sp.csr_array, unknown: UnknownLabels) -> UnknownLabels:
    """What the hierarchy does not say of closed rows: nothing below an absent label can be there."""
    possible = sp.csr_array(Y + unknown.entries)
    of_all = np.diff(A.indptr)  # how many labels must be possible for each to be so
    rows, columns = unknown.entries.nonzero()
    met = np.asarray((possible @ A.T)[rows, columns]).ravel()
    open_ = (met == of_all[columns]) & (np.asarray(Y[rows, columns]).ravel() == 0)
    ones = np.ones(int(open_.sum()), dtype=np.int8)
    entries = sp.csr_array((ones, (rows[open_], columns[open_])), shape=Y.shape)
    entries.sort_indices()
    return UnknownLabels(entries, unknown.open_rows)


def raised(A: sp.csr_array, scores: FloatArray) -> FloatArray:
    """No label below those that it is above, (n_rows, n_labels)."""
    below = sp.csc_array(A)
    out = scores.copy()
    for j in np.flatnonzero(np.diff(below.indptr) > 1).tolist():
        out[:, j] = scores[:, below.indices[below.indptr[j] : below.indptr[j + 1]]].max(axis=1)
    return out


def completed(A: sp.csr_array, Y: sp.csr_array, ranking: FloatArray) -> sp.csr_array:
    """Predicted sets with all labels above theirs, each row's entries strongest first, wider ones before."""
    Y = closed(A, Y)
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
    strength = raised(A, ranking)[rows, Y.indices]
    order = np.lexsort((np.diff(A.indptr)[Y.indices], -strength, rows))
    return sp.csr_array((Y.data, Y.indices[order], Y.indptr), shape=Y.shape)

"""The inverse of a matrix that has gained or lost rows and columns, by blocks."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import FloatArray
from simlabel.ridge._closed_form import positive_definite_inverse


def grown_inverse(A: FloatArray, B: FloatArray, C: FloatArray) -> FloatArray:
    """The inverse of [[M, B], [B.T, C]], where A is that of M.

    Examples
    --------
    >>> M = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> np.allclose(grown_inverse(np.array([[0.5]]), M[:1, 1:], M[1:, 1:]), np.linalg.inv(M))
    True
    """
    AB = A @ B
    Z = positive_definite_inverse(C - B.T @ AB, np.zeros(len(C)))
    corner = AB @ Z
    return np.block([[A + corner @ AB.T, -corner], [-corner.T, Z]])


def shrunk_inverse(A: FloatArray, kept: npt.NDArray[np.int64]) -> FloatArray:
    """The inverse of M[kept, kept], where A is that of M.

    Examples
    --------
    >>> M = np.array([[2.0, 1.0], [1.0, 3.0]])
    >>> np.allclose(shrunk_inverse(np.linalg.inv(M), np.array([1])), [[1 / 3]])
    True
    """
    gone = np.setdiff1d(np.arange(len(A)), kept)
    if not len(gone):
        return A
    across = A[np.ix_(kept, gone)]
    return A[np.ix_(kept, kept)] - across @ np.linalg.solve(A[np.ix_(gone, gone)], across.T)

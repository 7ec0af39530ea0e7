"""<x, z> / (|x| |z|)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import power_sums
from simlabel._utils.rows import squared_lengths
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities._base import Similarity

_ROUNDING = 64  # times the precision: the rounding error of a sum of 20,000 squares after the division


def unit_rows(X: Rows) -> Rows:
    """Scale rows to unit length; zero rows stay zero, and X itself is returned if all have it.

    Rows that a normalizer has scaled have unit length up to rounding, and are left unchanged.
    """
    squares = squared_lengths(X)
    off = (np.abs(squares - 1.0) > _ROUNDING * np.finfo(X.dtype).eps) & (squares > 0.0)
    if not off.any():
        return X
    lengths = np.where(off, np.sqrt(squares), 1.0)
    if not sp.issparse(X):
        return (X / lengths[:, None]).astype(X.dtype, copy=False)
    X = sp.csr_array(X)
    units = (X.data / np.repeat(lengths, np.diff(X.indptr))).astype(X.dtype, copy=False)
    return sp.csr_array((units, X.indices, X.indptr), shape=X.shape)


class Cosine(Similarity):
    """The cosine of the angle between two rows; 0 if one of them is zero.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[3.0, 0.0]], [[1.0, 0.0], [0.0, 2.0]], [[1.0], [1.0]], Cosine())
    array([[1.]])
    """

    name = "cosine"
    file_key = "similarities.Cosine"
    form = "dot"
    positive_definite = True
    column_sum = "cosine"
    sums_in_panels = staticmethod(power_sums)
    panel_parameters = (1.0, 0.0)
    views = (unit_rows,)

    def never_negative(self, rows: bool) -> bool:
        """Whether no feature is below 0: then no angle is above 90 degrees."""
        return rows

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """Return 0, the cosine of rows without a common column."""
        return np.zeros(len(side))

    def expanded_width(self, n_features: int) -> int:
        """Return the number of columns."""
        return n_features

    def expanded(self, rows: Rows) -> Rows:
        """Return the unit rows themselves."""
        return rows

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Return products of rows at unit length."""
        return X * q

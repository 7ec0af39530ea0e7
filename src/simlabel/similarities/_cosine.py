"""<x, z> / (|x| |z|)."""

from __future__ import annotations

import numpy as np
from sklearn.preprocessing import normalize

from simlabel._kernels import power_sums
from simlabel.similarities._base import Similarity, View
from simlabel.support.validation import FloatArray, Rows


def unit_rows(X: Rows) -> Rows:
    """Rows at unit length; a zero row stays zero."""
    return normalize(X)


class Cosine(Similarity):
    """The cosine of the angle between two rows; 0 where one of them is zero.

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

    def views(self) -> tuple[View, ...]:
        """Rows are brought to unit length first."""
        return (unit_rows,)

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """0: rows with nothing in common are not alike."""
        return np.zeros(len(side))

    def expanded_width(self, n_features: int) -> int:
        """The columns themselves."""
        return n_features

    def expanded(self, rows: Rows) -> Rows:
        """Unit rows as they are."""
        return rows

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Products of rows at unit length."""
        return X * q

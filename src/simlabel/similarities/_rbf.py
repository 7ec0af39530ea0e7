"""exp(-gamma * squared distance)."""

from __future__ import annotations

from typing import Any

import numpy as np

from simlabel._utils.kernels import rbf_from_products, rbf_sums
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities._bandwidth import Bandwidth
from simlabel.similarities._grids import mean_squared_distance


class RBF(Bandwidth):
    """``exp(-gamma * |x - z|^2)``, the similarity of the paper's experiments.

    Parameters
    ----------
    gamma : float or "auto"
        Bandwidth; ``"auto"`` is resolved at fit by the classifier's `tuning`.

    See Also
    --------
    Laplacian : With the sum of differences: robust to outliers.
    simlabel.tuning.LeaveOneOut : Another way of choosing gamma.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[0.0]], [[0.0], [2.0]], [[1.0], [1.0]], RBF(gamma=0.5)).round(4)
    array([[1.1353]])
    """

    name = "rbf"
    file_key = "similarities.RBF"
    form = "dot"
    column_sum = "squared distance"
    sums_in_panels = staticmethod(rbf_sums)

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Inner products and squared lengths to similarities, in place."""
        rbf_from_products(T, q_side, x_side, T.dtype.type(self.gamma))
        return T

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """exp(-gamma * squared length)."""
        return np.exp(-float(self.gamma) * side)

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Squared differences."""
        return (X - q) ** 2

    def mean_distance(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> float:
        """Mean squared distance, in closed form."""
        return mean_squared_distance(X, sample_weight)

    def relative_error(self, dtype: np.dtype[Any], largest_square: float) -> float:
        """Squared distances from products lose digits as gamma grows."""
        return float(16 * np.finfo(dtype).eps * float(self.gamma) * largest_square)

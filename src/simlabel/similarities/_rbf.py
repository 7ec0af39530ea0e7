"""exp(-gamma * squared distance)."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from simlabel._kernels import rbf_from_products
from simlabel._validation import FloatArray, Rows, check_number
from simlabel.similarities._base import Grid, Similarity
from simlabel.similarities._grids import bandwidth_grid, mean_squared_distance


class RBF(Similarity):
    """exp(-gamma * |x - z|^2), the similarity of the paper's experiments.

    Parameters
    ----------
    gamma : float or "auto"
        Bandwidth; ``"auto"`` is resolved at fit by the classifier's `tuning`.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[0.0]], [[0.0], [2.0]], [[1.0], [1.0]], RBF(gamma=0.5)).round(4)
    array([[1.1353]])
    """

    name = "rbf"
    form = "dot"
    positive_definite = True
    column_sum = "squared distance"

    def __init__(self, gamma: float | Literal["auto"] = "auto") -> None:
        self.gamma = gamma

    def check(self) -> None:
        """Raise ValueError where gamma is not positive."""
        check_number("RBF", "gamma", self.gamma, above=0, also=("auto",))

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

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """A log grid around 1 / (mean squared distance)."""
        if self.gamma != "auto":
            return {}
        return {"gamma": bandwidth_grid(mean_squared_distance(X, sample_weight))}

    def relative_error(self, dtype: np.dtype[Any], largest_square: float) -> float:
        """Squared distances from products lose digits as gamma grows."""
        return float(16 * np.finfo(dtype).eps * float(self.gamma) * largest_square)

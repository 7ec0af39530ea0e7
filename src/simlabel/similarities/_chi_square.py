"""exp(-gamma * chi-square distance)."""

from __future__ import annotations

from typing import Any

import numpy as np

from simlabel._utils.kernels import HARMONIC, chi_square_distances, chi_square_sums
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities._bandwidth import Bandwidth
from simlabel.similarities._coordinate import CoordinateSimilarity
from simlabel.similarities._grids import sampled_rows

_SMALLEST_32, _LARGEST_32 = 1e-6, 1e18  # a row's sum, the largest of all


class ChiSquare(Bandwidth, CoordinateSimilarity):
    """exp(-gamma * sum of (x - z)^2 / (x + z)), for histograms and other features >= 0.

    Parameters
    ----------
    gamma : float or "auto"
        Bandwidth; ``"auto"`` is resolved at fit by the classifier's `tuning`.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[0.0]], [[0.0], [2.0]], [[1.0], [1.0]], ChiSquare(gamma=0.5)).round(4)
    array([[1.3679]])
    """

    name = "chi_square"
    file_key = "similarities.ChiSquare"
    column_sum = "chi-square distance"
    nonnegative_input = True
    sums = staticmethod(chi_square_distances)
    common_term = HARMONIC
    sums_in_panels = staticmethod(chi_square_sums)

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Squared differences over sums; 0 where both are 0."""
        both = X + q
        return np.divide((X - q) ** 2, both, out=np.zeros_like(both), where=both > 0)

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """exp(-gamma * sum of sizes)."""
        return np.exp(-float(self.gamma) * side)

    def from_common(self, common: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """(x - z)^2 / (x + z) = x + z - 4 x z / (x + z)."""
        return np.maximum(q_side[:, None] + x_side[None, :] - 4.0 * common, 0.0)

    def relative_error(self, dtype: np.dtype[Any], largest_square: float) -> float:
        """float32 is for sums of a row that are neither tiny nor huge: sums of two numbers are multiplied."""
        plain = dtype == np.float64 or _SMALLEST_32 < largest_square < _LARGEST_32
        return 0.0 if plain else float("inf")

    def mean_distance(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> float:
        """Mean chi-square distance, taken over at most 1,000 rows."""
        return self.mean_statistic(*sampled_rows(X, sample_weight, seed))

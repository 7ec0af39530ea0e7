"""exp(-gamma * chi-square distance)."""

from __future__ import annotations

from typing import Literal

import numpy as np

from simlabel._kernels import chi_square_distances, negative_exponential
from simlabel._validation import FloatArray, Rows, check_number
from simlabel.similarities._base import Grid
from simlabel.similarities._coordinate import CoordinateSimilarity
from simlabel.similarities._grids import bandwidth_grid, sampled_rows


class ChiSquare(CoordinateSimilarity):
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
    positive_definite = True
    column_sum = "chi-square distance"
    nonnegative_input = True
    sums = staticmethod(chi_square_distances)

    def __init__(self, gamma: float | Literal["auto"] = "auto") -> None:
        self.gamma = gamma

    def check(self) -> None:
        """Raise ValueError where gamma is not positive."""
        check_number("ChiSquare", "gamma", self.gamma, above=0, also=("auto",))

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Chi-square distances to similarities, in place."""
        negative_exponential(T, T.dtype.type(self.gamma))
        return T

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Squared differences over sums; 0 where both are 0."""
        both = X + q
        return np.divide((X - q) ** 2, both, out=np.zeros_like(both), where=both > 0)

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """A log grid around 1 / (mean chi-square distance), taken over at most 1,000 rows."""
        if self.gamma != "auto":
            return {}
        return {"gamma": bandwidth_grid(self.mean_statistic(*sampled_rows(X, sample_weight, seed)))}

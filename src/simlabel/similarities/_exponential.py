"""exp(-gamma * distance): RBF, Laplacian, ChiSquare."""

from __future__ import annotations

from typing import Any

import numpy as np

from simlabel._utils.kernels import (
    HARMONIC,
    SMALLER,
    chi_square_distances,
    chi_square_sums,
    l1_distances,
    laplacian_sums,
    negative_exponential,
    rbf_from_products,
    rbf_sums,
)
from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.similarities._base import CoordinateSimilarity, Grid, Parameter, Similarity
from simlabel.similarities._grids import bandwidth_grid, mean_l1_distance, mean_squared_distance, sampled_rows

_SMALLEST_32, _LARGEST_32 = 1e-6, 1e18  # bounds on the largest sum of a row for chi-square in float32


class _Exponential(Similarity):
    """Base class of exp(-gamma * distance)."""

    positive_definite = True

    def __init__(self, gamma: Parameter = "auto") -> None:
        self.gamma = gamma

    @property
    def panel_parameters(self) -> tuple[Parameter, ...]:
        """Gamma."""
        return (self.gamma,)

    def never_negative(self, rows: bool) -> bool:
        """Return True: an exponential is above 0."""
        return True

    def check(self) -> None:
        """Raise ValueError if gamma is not positive."""
        check_number(type(self).__name__, "gamma", self.gamma, above=0, also=("auto",))

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Turn distances into similarities, in place."""
        negative_exponential(T, T.dtype.type(self.gamma))
        return T

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """Return exp(-gamma * side): rows without a common column are at the distance of their sides' sum."""
        return np.exp(-float(self.gamma) * side)

    def mean_distance(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> float:
        """Return the mean distance over pairs of rows."""
        raise TypeError(f"{type(self).__name__} does not define a mean distance.")

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """Return a log grid around 1 / (mean distance)."""
        if self.gamma != "auto":
            return {}
        return {"gamma": bandwidth_grid(self.mean_distance(X, sample_weight, seed))}


class RBF(_Exponential):
    """``exp(-gamma * |x - z|^2)``, the similarity of the paper's experiments.

    Parameters
    ----------
    gamma : float or "auto"
        Bandwidth; ``"auto"`` is resolved at fit by the classifier's `tuning`.

    See Also
    --------
    Laplacian : Uses the sum of absolute differences; robust to outliers.
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
        """Turn inner products and squared lengths into similarities, in place."""
        rbf_from_products(T, q_side, x_side, T.dtype.type(self.gamma))
        return T

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Return squared differences."""
        return (X - q) ** 2

    def mean_distance(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> float:
        """Return the mean squared distance, in closed form."""
        return mean_squared_distance(X, sample_weight)

    def relative_error(self, dtype: np.dtype[Any], largest_square: float) -> float:
        """Bound the relative error: squared distances from products lose digits as gamma grows."""
        return float(16 * np.finfo(dtype).eps * float(self.gamma) * largest_square)


class Laplacian(_Exponential, CoordinateSimilarity):
    """exp(-gamma * sum of absolute differences): less sensitive to single columns than RBF.

    Parameters
    ----------
    gamma : float or "auto"
        Bandwidth; ``"auto"`` is resolved at fit by the classifier's `tuning`.

    See Also
    --------
    RBF : Uses squared differences.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[0.0]], [[0.0], [2.0]], [[1.0], [1.0]], Laplacian(gamma=0.5)).round(4)
    array([[1.3679]])
    """

    name = "laplacian"
    file_key = "similarities.Laplacian"
    column_sum = "L1 distance"
    sums = staticmethod(l1_distances)
    common_term = SMALLER
    sums_in_panels = staticmethod(laplacian_sums)

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Return absolute differences."""
        return np.abs(X - q)

    def from_common(self, common: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Use ``|x| + |z| - 2 min(|x|, |z|)`` where signs are the same, else ``|x| + |z|``."""
        return np.maximum(q_side[:, None] + x_side[None, :] - 2.0 * common, 0.0)

    def mean_distance(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> float:
        """Return the mean L1 distance, in closed form."""
        return mean_l1_distance(X, sample_weight)


class ChiSquare(_Exponential, CoordinateSimilarity):
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
        """Return squared differences over sums; 0 where both are 0."""
        both = X + q
        return np.divide((X - q) ** 2, both, out=np.zeros_like(both), where=both > 0)

    def from_common(self, common: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Use (x - z)^2 / (x + z) = x + z - 4 x z / (x + z)."""
        return np.maximum(q_side[:, None] + x_side[None, :] - 4.0 * common, 0.0)

    def relative_error(self, dtype: np.dtype[Any], largest_square: float) -> float:
        """Refuse float32 for tiny or huge sums of a row: sums of two numbers are multiplied."""
        safe = dtype == np.float64 or _SMALLEST_32 < largest_square < _LARGEST_32
        return 0.0 if safe else float("inf")

    def mean_distance(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> float:
        """Return the mean chi-square distance of at most 1,000 rows."""
        return self.mean_statistic(*sampled_rows(X, sample_weight, seed))

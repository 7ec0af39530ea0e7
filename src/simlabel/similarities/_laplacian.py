"""exp(-gamma * L1 distance)."""

from __future__ import annotations

import numpy as np

from simlabel._utils.kernels import SMALLER, l1_distances, laplacian_sums
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities._bandwidth import Bandwidth
from simlabel.similarities._coordinate import CoordinateSimilarity
from simlabel.similarities._grids import mean_l1_distance


class Laplacian(Bandwidth, CoordinateSimilarity):
    """exp(-gamma * sum of absolute differences): less impressed by one odd column than RBF.

    Parameters
    ----------
    gamma : float or "auto"
        Bandwidth; ``"auto"`` is resolved at fit by the classifier's `tuning`.

    See Also
    --------
    RBF : With squared differences.

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
        """Absolute differences."""
        return np.abs(X - q)

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """exp(-gamma * sum of sizes)."""
        return np.exp(-float(self.gamma) * side)

    def from_common(self, common: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """``|x| + |z| - 2 min(|x|, |z|)`` where signs are the same, else ``|x| + |z|``."""
        return np.maximum(q_side[:, None] + x_side[None, :] - 2.0 * common, 0.0)

    def mean_distance(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> float:
        """Mean L1 distance, in closed form."""
        return mean_l1_distance(X, sample_weight)

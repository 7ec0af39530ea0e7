"""What similarities that sum over coordinates share."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import ClassVar

import numpy as np

from simlabel._utils.kernels import in_panels, tile_rows
from simlabel._utils.rows import dense_rows
from simlabel._utils.validation import FloatArray, Rows
from simlabel.similarities._base import Similarity


class CoordinateSimilarity(Similarity):
    """A function of a sum over coordinates.

    A subclass gives `sums`, a kernel (X, panels of Q, rows of a tile, out) that fills `out` with the sums.
    """

    form = "coordinate"
    sums: ClassVar[Callable[[FloatArray, FloatArray, int, FloatArray], None]]

    @property
    def statistic_key(self) -> Hashable:
        """Similarities with the same sums share them."""
        return self.form, id(type(self).sums)

    def mean_statistic(self, X: Rows, weights: FloatArray) -> float:
        """Mean of the sums over all pairs of rows, pair by pair."""
        X = np.ascontiguousarray(dense_rows(X), dtype=np.float64)
        out: FloatArray = np.empty((X.shape[0], X.shape[0]))
        type(self).sums(X, in_panels(X), tile_rows(X.shape[1], X.dtype), out)
        share = weights / weights.sum()
        return float(share @ out @ share)

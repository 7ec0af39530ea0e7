"""The labelled instances that a model sums over."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._validation import FloatArray, Rows


@dataclass(frozen=True)
class References:
    """Labelled instances, normalized.

    Attributes
    ----------
    X : rows, (n_references, n_features)
        Features as the similarity compares them.
    Y : csr_array of 0/1, (n_references, n_labels)
        Label sets.
    weights : array, (n_references,)
        How many times each counts.
    """

    X: Rows
    Y: sp.csr_array
    weights: FloatArray

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The set sizes that occur, in rising order."""
        return np.unique(np.diff(self.Y.indptr)).astype(np.int64)

    @cached_property
    def influence(self) -> sp.csr_array:
        """[Y | one-hot of the set size], times the weights: labels and sizes in one pass."""
        n = self.Y.shape[0]
        size_of = np.searchsorted(self.sizes, np.diff(self.Y.indptr))
        onehot = sp.csr_array((np.ones(n), size_of, np.arange(n + 1)), shape=(n, len(self.sizes)))
        V: Any = sp.hstack([self.Y.astype(np.float64), onehot], format="csr")
        V.data = V.data * np.repeat(self.weights, np.diff(V.indptr))
        return V

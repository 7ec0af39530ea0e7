"""Trees as arrays of nodes: which leaf a row falls into, and in how many trees two rows share one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._kernels._compile import ordered_kernel
from simlabel._kernels._types import Floats

Numbers = npt.NDArray[np.int64]


@ordered_kernel
def find_leaves(
    X: Floats, feature: Numbers, threshold: Floats, left: Numbers, right: Numbers, roots: Numbers, out: Floats
) -> None:
    """out[i, t] = the node of tree t in which row i ends; a node without a left child is a leaf."""
    for i in range(X.shape[0]):
        for t in range(len(roots)):
            node = roots[t]
            while left[node] >= 0:
                node = left[node] if X[i, feature[node]] <= threshold[node] else right[node]
            out[i, t] = node


@ordered_kernel
def agreements(X: Floats, P: Floats, step: int, out: Floats) -> None:
    """out[j, i] = in how many columns reference j and query i, which come in panels, are equal."""
    width = P.shape[2]
    counts = np.zeros(width, X.dtype)
    for p in range(P.shape[0]):
        most = min(width, out.shape[1] - p * width)
        for j in range(X.shape[0]):
            counts[:] = 0
            for k in range(X.shape[1]):
                for lane in range(width):
                    counts[lane] += X[j, k] == P[p, k, lane]
            for lane in range(most):
                out[j, p * width + lane] = counts[lane]

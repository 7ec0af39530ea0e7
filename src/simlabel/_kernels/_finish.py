"""From a block of statistics to a block of similarities, in place."""

from __future__ import annotations

from typing import Any

from simlabel._kernels._compile import ordered_kernel
from simlabel._kernels._exponential import LOG2E, power_of_two


@ordered_kernel
def rbf_from_products(T: Any, q_squares: Any, x_squares: Any, gamma: Any) -> None:
    """T[i, j] = exp(-gamma * (q_squares[i] + x_squares[j] - 2 T[i, j])); gamma has T's dtype."""
    zero, log2e = T.dtype.type(0), T.dtype.type(LOG2E)
    for i in range(T.shape[0]):
        q = gamma * q_squares[i]
        for j in range(T.shape[1]):
            # to base 2 only at the end: before, whole numbers cancel without rounding, and ties are ties
            exponent = (gamma + gamma) * T[i, j] - q - gamma * x_squares[j]
            # rounding may put equal rows at a distance below zero
            T[i, j] = power_of_two(zero if exponent > zero else exponent * log2e)


@ordered_kernel
def negative_exponential(T: Any, gamma: Any) -> None:
    """T = exp(-gamma * T) for T >= 0; gamma has T's dtype."""
    factor = T.dtype.type(-gamma * LOG2E)
    for i in range(T.shape[0]):
        for j in range(T.shape[1]):
            T[i, j] = power_of_two(factor * T[i, j])

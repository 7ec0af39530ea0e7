"""From a block of statistics to a block of similarities, in place."""

from __future__ import annotations

from typing import Any

from simlabel._kernels._compile import ordered_kernel
from simlabel._kernels._exponential import exp_of_negative


@ordered_kernel
def rbf_from_products(T: Any, q_squares: Any, x_squares: Any, gamma: Any) -> None:
    """T[i, j] = exp(-gamma * (q_squares[i] + x_squares[j] - 2 T[i, j])); gamma has T's dtype."""
    zero = T.dtype.type(0)
    for i in range(T.shape[0]):
        q = gamma * q_squares[i]
        for j in range(T.shape[1]):
            exponent = (gamma + gamma) * T[i, j] - q - gamma * x_squares[j]
            # rounding may put equal rows at a distance below zero
            T[i, j] = exp_of_negative(zero if exponent > zero else exponent)


@ordered_kernel
def negative_exponential(T: Any, gamma: Any) -> None:
    """T = exp(-gamma * T) for T >= 0; gamma has T's dtype."""
    for i in range(T.shape[0]):
        for j in range(T.shape[1]):
            T[i, j] = exp_of_negative(-gamma * T[i, j])

"""(<x, z> + c)^d, with Linear and Quadratic as its named special cases."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._validation import FloatArray, Rows, check_number, dense_rows
from simlabel.similarities._base import Similarity


def whole_power(S: FloatArray, exponent: int) -> FloatArray:
    """S ** exponent for a whole exponent >= 1, by repeated squaring; may overwrite `S`."""
    result: FloatArray | None = None
    while exponent > 1:
        if exponent % 2:
            result = S.copy() if result is None else np.multiply(result, S, out=result)
        np.multiply(S, S, out=S)
        exponent //= 2
    return S if result is None else np.multiply(result, S, out=result)


def _products_of_two(X: FloatArray) -> list[FloatArray]:
    """x_a * x_b for b >= a, with sqrt(2) where a is not b: a block of columns for each a."""
    root = np.ones(X.shape[1], dtype=X.dtype)
    root[1:] = np.sqrt(2.0)
    return [X[:, a:] * (X[:, a : a + 1] * root[: X.shape[1] - a]) for a in range(X.shape[1])]


class Polynomial(Similarity):
    """(<x, z> + c)^d.

    Parameters
    ----------
    degree : int
        d, at least 1.
    coef0 : float
        c, not negative: it trades higher-order terms for lower-order ones.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1.0], [1.0]], Polynomial(degree=2, coef0=1.0))
    array([[13.]])
    """

    name = "polynomial"
    form = "dot"
    positive_definite = True

    def __init__(self, degree: int = 2, coef0: float = 1.0) -> None:
        self.degree = degree
        self.coef0 = coef0

    def check(self) -> None:
        """Raise ValueError where the degree is no whole number or c is negative."""
        check_number(type(self).__name__, "degree", self.degree, at_least=1, integer=True)
        check_number(type(self).__name__, "coef0", self.coef0, at_least=0)

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Inner products to similarities, in place."""
        if self.coef0:
            T += T.dtype.type(self.coef0)
        return whole_power(T, self.degree)

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """c^(d / 2)."""
        return np.full(len(side), float(self.coef0) ** (self.degree / 2))

    def expanded_width(self, n_features: int) -> int | None:
        """Degree 1: the columns and a constant; degree 2: also all products of two columns."""
        constant = int(self.coef0 > 0)
        if self.degree == 1:
            return n_features + constant
        if self.degree == 2:
            return n_features * (n_features + 1) // 2 + constant * (n_features + 1)
        return None

    def expanded(self, rows: Rows) -> Rows:
        """(c, sqrt(2c) x, x_a^2, sqrt(2) x_a x_b) for degree 2, (sqrt(c), x) for degree 1."""
        scale = np.sqrt(2.0 * self.coef0) if self.degree == 2 else 1.0
        constant = self.coef0 if self.degree == 2 else np.sqrt(self.coef0)
        parts: list[Any] = []
        if self.coef0 > 0:
            parts.append(np.full((rows.shape[0], 1), constant))
        if self.degree == 1 or self.coef0 > 0:
            parts.append(rows * scale)
        if self.degree == 2:
            parts = [dense_rows(part) for part in parts] + _products_of_two(dense_rows(rows))
        if len(parts) == 1:
            return parts[0]
        return sp.hstack(parts, format="csr") if sp.issparse(rows) and self.degree == 1 else np.hstack(parts)

    def largest(self, largest_square: float) -> float:
        """(largest squared length + c)^d."""
        return float((largest_square + self.coef0) ** self.degree)


class Linear(Polynomial):
    """<x, z>: the polynomial of degree 1 with c = 0.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1.0], [1.0]], Linear())
    array([[3.]])
    """

    name = "linear"

    def __init__(self) -> None:
        self.degree = 1
        self.coef0 = 0.0


class Quadratic(Polynomial):
    """(<x, z> + c)^2: the polynomial of degree 2.

    Parameters
    ----------
    coef0 : float
        c, not negative.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1.0], [1.0]], Quadratic())
    array([[13.]])
    """

    name = "quadratic"

    def __init__(self, coef0: float = 1.0) -> None:
        self.degree = 2
        self.coef0 = coef0

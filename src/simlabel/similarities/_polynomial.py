"""(<x, z> + c)^d, with Linear and Quadratic as its named special cases."""

from __future__ import annotations

import numpy as np

from simlabel._validation import FloatArray, check_number
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

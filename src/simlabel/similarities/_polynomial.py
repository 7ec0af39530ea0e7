"""(<x, z> + c)^d, with Linear and Quadratic as its named special cases."""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import power_sums
from simlabel._utils.rows import dense_rows
from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.similarities._base import Grid, Parameter, Similarity
from simlabel.similarities._grids import mean_square

_DEGREES = (1, 2, 3, 4, 6, 8)
_SHARES = (0.0, 0.25, 1.0, 4.0)  # of the mean squared length


def whole_power(S: FloatArray, exponent: int) -> FloatArray:
    """Return ``S ** exponent`` for an integer exponent >= 1, by repeated squaring; may overwrite `S`."""
    result: FloatArray | None = None
    while exponent > 1:
        if exponent % 2:
            result = S.copy() if result is None else np.multiply(result, S, out=result)
        np.multiply(S, S, out=S)
        exponent //= 2
    return S if result is None else np.multiply(result, S, out=result)


def _products_of_two(X: FloatArray) -> list[FloatArray]:
    """Return x_a * x_b for b >= a, times sqrt(2) if a is not b: a block of columns for each a."""
    root = np.ones(X.shape[1], dtype=X.dtype)
    root[1:] = np.sqrt(2.0)
    return [X[:, a:] * (X[:, a : a + 1] * root[: X.shape[1] - a]) for a in range(X.shape[1])]


class Polynomial(Similarity):
    """(<x, z> + c)^d.

    Parameters
    ----------
    degree : int or "auto"
        d, at least 1; ``"auto"`` is resolved at fit by the classifier's `tuning`.
    coef0 : float or "auto"
        c, not negative: larger values give lower-order terms more weight. ``"auto"`` as for `degree`.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1.0], [1.0]], Polynomial(degree=2, coef0=1.0))
    array([[13.]])
    """

    name = "polynomial"
    file_key = "similarities.Polynomial"
    form = "dot"
    positive_definite = True
    column_sum = "inner product"
    sums_in_panels = staticmethod(power_sums)

    def __init__(self, degree: int | Literal["auto"] = 2, coef0: float | Literal["auto"] = 1.0) -> None:
        self.degree = degree
        self.coef0 = coef0

    def check(self) -> None:
        """Raise ValueError if the degree is not an integer >= 1 or c is negative."""
        check_number(type(self).__name__, "degree", self.degree, at_least=1, integer=True, also=("auto",))
        check_number(type(self).__name__, "coef0", self.coef0, at_least=0, also=("auto",))

    def grids(self, X: Rows, sample_weight: FloatArray | None, seed: int) -> dict[str, Grid]:
        """Return degrees up to 8, and c around the mean squared length of a row."""
        grids = {}
        if self.degree == "auto":
            grids["degree"] = Grid(_DEGREES)
        if self.coef0 == "auto":
            square = mean_square(X, sample_weight) or 1.0
            grids["coef0"] = Grid(tuple(share * square for share in _SHARES), at_mean=_SHARES.index(1.0))
        return grids

    def never_negative(self, rows: bool) -> bool:
        """Whether the power is even or no feature is negative."""
        return rows or int(self.degree) % 2 == 0

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Turn inner products into similarities, in place."""
        if self.coef0 != 0:
            T += T.dtype.type(self.coef0)
        return whole_power(T, int(self.degree))

    @property
    def panel_parameters(self) -> tuple[Parameter, ...]:
        """Degree and constant."""
        return self.degree, self.coef0

    def column_terms(self, q: FloatArray, X: FloatArray) -> FloatArray:
        """Return products of features."""
        return X * q

    def zero_product_factor(self, side: FloatArray) -> FloatArray:
        """Return c^(d / 2)."""
        return np.full(len(side), float(self.coef0) ** (int(self.degree) / 2))

    def expanded_width(self, n_features: int) -> int | None:
        """Count columns and a constant for degree 1; also all products of two columns for degree 2."""
        constant = int(float(self.coef0) > 0)
        if self.degree == 1:
            return n_features + constant
        if self.degree == 2:
            return n_features * (n_features + 1) // 2 + constant * (n_features + 1)
        return None

    def expanded(self, rows: Rows) -> Rows:
        """Return (c, sqrt(2c) x, x_a^2, sqrt(2) x_a x_b) for degree 2, (sqrt(c), x) for degree 1."""
        c, square = float(self.coef0), self.degree == 2
        parts: list[Rows] = []
        if c > 0:
            parts.append(np.full((rows.shape[0], 1), c if square else np.sqrt(c)))
        if c > 0 or not square:
            parts.append(rows * (np.sqrt(2.0 * c) if square else 1.0))
        if square:
            parts = [dense_rows(part) for part in parts] + _products_of_two(dense_rows(rows))
        if len(parts) == 1:
            return parts[0]
        return sp.hstack(parts, format="csr") if sp.issparse(rows) and not square else np.hstack(parts)

    def largest(self, largest_square: float) -> float:
        """Return (largest squared length + c)^d."""
        return float((largest_square + float(self.coef0)) ** int(self.degree))


class Linear(Polynomial):
    """<x, z>: the polynomial of degree 1 with c = 0.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1.0], [1.0]], Linear())
    array([[3.]])
    """

    name = "linear"
    file_key = "similarities.Linear"

    def __init__(self) -> None:
        super().__init__(1, 0.0)


class Quadratic(Polynomial):
    """(<x, z> + c)^2: the polynomial of degree 2.

    Parameters
    ----------
    coef0 : float or "auto"
        c, not negative.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1.0], [1.0]], Quadratic())
    array([[13.]])
    """

    name = "quadratic"
    file_key = "similarities.Quadratic"

    def __init__(self, coef0: float | Literal["auto"] = 1.0) -> None:
        super().__init__(2, coef0)

"""Samplers: sums over a sample of the references, whose expectation is the sum over all.

References are drawn with replacement. One that is drawn c times in n draws, with probability p each,
gets the weight c / (n p): so the expected sum is the sum over all references, for any distribution with
positive probabilities.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._utils.registry import Registry
from simlabel._utils.validation import FloatArray, IntArray, Rows, check_flag, check_number

__all__ = [
    "SAMPLERS",
    "Balanced",
    "Distribution",
    "Sampler",
    "UniformSampler",
    "draw",
    "resolve_sampler",
]


def draw(
    p: FloatArray, n: int, rng: np.random.Generator, order: IntArray | None = None
) -> tuple[IntArray, FloatArray]:
    """Draw `n` times from range(len(p)).

    Parameters
    ----------
    p : array, (n_rows,)
        Probabilities.
    order : array of int, (n_rows,), optional
        The order in which rows are drawn from (`content_order`); their own order by default.

    Returns
    -------
    rows : array of int
        The rows drawn, each once, in increasing order.
    scales : array
        Weight of each row drawn.

    Examples
    --------
    >>> rows, scales = draw(np.array([0.5, 0.5]), 8, np.random.default_rng(0))
    >>> rows, float(scales.sum())
    (array([0, 1]), 2.0)
    """
    order = np.arange(len(p)) if order is None else order
    rows, counts = np.unique(rng.choice(order, size=n, p=p[order]), return_counts=True)
    return rows, counts / (n * p[rows])


class Sampler(BaseEstimator):
    """Base class of distributions over the references.

    Parameters
    ----------
    n : int
        Number of draws.
    per_query : bool
        False: draw once, at fit; the other references are dropped. True: draw for each query, as the paper
        describes; the same query always gets the same sample.
    """

    name: ClassVar[str]

    def __init__(self, n: int = 1000, per_query: bool = False) -> None:
        self.n = n
        self.per_query = per_query

    def check(self) -> None:
        """Raise ValueError if a parameter is invalid."""
        check_number(type(self).__name__, "n", self.n, at_least=1, integer=True)
        check_flag(type(self).__name__, "per_query", self.per_query)

    def weights(self, X: Rows, Y: sp.csr_array) -> npt.ArrayLike:
        """Return numbers proportional to the probabilities, (n_references,)."""
        raise TypeError(f"{type(self).__name__} does not define weights.")

    def probabilities(self, X: Rows, Y: sp.csr_array) -> FloatArray:
        """Return the probability of each reference, (n_references,)."""
        p = np.asarray(self.weights(X, Y), dtype=np.float64)
        if p.shape != (Y.shape[0],):
            raise ValueError(
                f"{type(self).__name__}: expected a number for each of the {Y.shape[0]} references, "
                f"got shape {p.shape}."
            )
        bad = ~np.isfinite(p) | (p <= 0)
        if bad.any():
            row = int(np.argmax(bad))
            raise ValueError(
                f"{type(self).__name__}: reference {row} has probability {p[row]}; each must be above 0, "
                f"since one that is never drawn would be missing from the sums. Drop it from X instead."
            )
        return p / p.sum()


class UniformSampler(Sampler):
    """Draw every reference with the same probability.

    Parameters
    ----------
    n : int
        Number of draws.
    per_query : bool
        Draw for each query.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[0.0, 1.0], [1.0, 0.0]] * 50, [{"a"}, {"b"}] * 50
    >>> SMLClassifier("linear", sampler=UniformSampler(20), random_state=0).fit(X, y).n_references_ <= 20
    True
    """

    name = "uniform"
    file_key = "sampling.Uniform"

    def weights(self, X: Rows, Y: sp.csr_array) -> FloatArray:
        """Return ones."""
        return np.ones(Y.shape[0])


class Balanced(Sampler):
    """Draw rare labels as often as frequent ones.

    A reference's probability is the sum of 1 / frequency over its labels; the empty set is a label.

    Parameters
    ----------
    n : int
        Number of draws.
    per_query : bool
        Draw for each query.

    Examples
    --------
    >>> Y = sp.csr_array([[1, 0], [1, 0], [1, 0], [0, 1]])
    >>> Balanced().probabilities(None, Y).round(3)
    array([0.167, 0.167, 0.167, 0.5  ])
    """

    name = "balanced"
    file_key = "sampling.Balanced"

    def weights(self, X: Rows, Y: sp.csr_array) -> FloatArray:
        """Return the sum of 1 / frequency over the labels of each row."""
        frequencies = np.maximum(1.0, np.asarray(Y.sum(axis=0), dtype=np.float64).ravel())
        weights = np.asarray(Y @ (1.0 / frequencies)).ravel()
        empty = np.diff(Y.indptr) == 0
        weights[empty] = 1.0 / max(1, empty.sum())
        return weights


class Distribution(Sampler):
    """Draw from any distribution.

    Parameters
    ----------
    p : array, (n_references,), or callable
        Numbers proportional to the probabilities, or a function ``p(X, Y)`` of the normalized
        references and their label sets (a CSR matrix) that returns them, e.g. importances.
    n : int
        Number of draws.
    per_query : bool
        Draw for each query.

    Examples
    --------
    >>> Distribution(lambda X, Y: [1, 3]).probabilities(None, sp.csr_array([[1], [1]]))
    array([0.25, 0.75])
    """

    name = "distribution"
    file_key = "sampling.Distribution"

    def __init__(
        self,
        p: npt.ArrayLike | Callable[[Rows, sp.csr_array], npt.ArrayLike] | None = None,
        n: int = 1000,
        per_query: bool = False,
    ) -> None:
        super().__init__(n, per_query)
        self.p = p

    def check(self) -> None:
        """Raise ValueError if there is no distribution."""
        super().check()
        if self.p is None:
            raise ValueError("Distribution: give p, an array of probabilities or a function p(X, Y) of them.")

    def weights(self, X: Rows, Y: sp.csr_array) -> npt.ArrayLike:
        """Return `p`, or its values if it is a function."""
        assert self.p is not None  # see `check`
        return self.p(X, Y) if callable(self.p) else self.p


SAMPLERS: Registry[Sampler] = Registry(
    "sampler", Sampler, [UniformSampler, Balanced, Distribution], from_callable=Distribution
)


def resolve_sampler(spec: Any) -> Sampler:
    """Turn a number of references, a name, an object, an array or a function into a sampler."""
    if type(spec) is not bool and isinstance(spec, numbers.Integral):
        spec = UniformSampler(int(spec))
    elif isinstance(spec, np.ndarray):
        spec = Distribution(spec)
    sampler = SAMPLERS.resolve(spec)
    sampler.check()
    return sampler

"""Weightings psi: how much a similarity counts, depending on its value or rank."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._utils.registry import Registry
from simlabel._utils.validation import FloatArray, check_number
from simlabel.similarities import whole_power

__all__ = ["WEIGHTINGS", "Power", "TopK", "Cutoff", "CustomWeighting", "Weighting"]

Scope = Literal["entry", "row"]

_NEIGHBORS = (5, 10, 20, 50, 100, 200, 500)


class Weighting(BaseEstimator):
    """Base class of functions psi of a block of similarities.

    `scope` is what psi of an entry depends on: that entry alone, or all entries of its row. The latter
    cannot be applied block by block.
    """

    name: ClassVar[str]
    scope: Scope = "entry"

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""

    def apply(self, S: FloatArray) -> FloatArray:
        """Return psi(S), (n_queries, n_references); may overwrite `S`."""
        return S

    def never_negative(self, similarities: bool) -> bool:
        """Whether no result is below 0; `similarities` states whether no similarity is."""
        return similarities

    def grids(self, n_references: int) -> dict[str, tuple[float, ...]]:
        """Return candidates for each parameter that is ``"auto"``."""
        return {}


class Power(Weighting):
    """S ** exponent; a negative similarity keeps its sign.

    Parameters
    ----------
    exponent : float
        Values above 1 give similar references more weight, values below 1 less.

    Examples
    --------
    >>> Power(2).apply(np.array([[0.5, -0.5]]))
    array([[ 0.25, -0.25]])
    """

    name = "power"
    file_key = "weightings.Power"

    def __init__(self, exponent: float = 2.0) -> None:
        self.exponent = exponent

    def check(self) -> None:
        """Raise ValueError if the exponent is not positive."""
        check_number("Power", "exponent", self.exponent, above=0)

    def apply(self, S: FloatArray) -> FloatArray:
        """Return S to the power."""
        sign = np.sign(S) if S.size and S.min() < 0 else None
        magnitude = S if sign is None else np.abs(S, out=S)
        if float(self.exponent).is_integer():
            magnitude = whole_power(magnitude, int(self.exponent))
        else:
            magnitude = np.power(magnitude, S.dtype.type(self.exponent), out=magnitude)
        return magnitude if sign is None else np.multiply(magnitude, sign, out=magnitude)


class Cutoff(Weighting):
    """Set similarities below a minimum to 0.

    Parameters
    ----------
    minimum : float
        The smallest similarity that counts.

    Examples
    --------
    >>> Cutoff(0.3).apply(np.array([[0.5, 0.2]]))
    array([[0.5, 0. ]])
    """

    name = "cutoff"
    file_key = "weightings.Cutoff"

    def __init__(self, minimum: float = 0.01) -> None:
        self.minimum = minimum

    def check(self) -> None:
        """Raise ValueError if the minimum is not a number."""
        check_number("Cutoff", "minimum", self.minimum)

    def never_negative(self, similarities: bool) -> bool:
        """Whether the minimum or the similarities are >= 0."""
        return similarities or self.minimum >= 0

    def apply(self, S: FloatArray) -> FloatArray:
        """Set smaller entries to 0."""
        S[self.minimum > S] = 0
        return S


class TopK(Weighting):
    """Sum over the k most similar references only.

    A reference of weight w counts as w neighbors; the last one may count in part. Of equally similar
    references the first ones count.

    Parameters
    ----------
    k : int or "auto"
        Number of neighbors; ``"auto"`` is resolved at fit by the classifier's `tuning`.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> similarity_sums([[1.0]], [[1.0], [3.0], [2.0]], [[1.0], [1.0], [1.0]], "linear", weighting=TopK(2))
    array([[5.]])
    """

    name = "top_k"
    file_key = "weightings.TopK"
    scope = "row"

    def __init__(self, k: int | Literal["auto"] = 10) -> None:
        self.k = k

    def check(self) -> None:
        """Raise ValueError if k is not a positive integer."""
        check_number("TopK", "k", self.k, at_least=1, integer=True, also=("auto",))

    def grids(self, n_references: int) -> dict[str, tuple[float, ...]]:
        """Return numbers of neighbors below the number of references."""
        if self.k != "auto":
            return {}
        return {"k": tuple(k for k in _NEIGHBORS if k < n_references) or (1,)}


class CustomWeighting(Weighting):
    """Any function of a block of similarities.

    Parameters
    ----------
    fn : callable
        ``fn(S) -> array`` of the same shape, (n_queries, n_references). S may be changed in place.
    scope : {"entry", "row"}
        ``"row"`` if an entry's result depends on others of its row: the function then gets whole rows,
        which takes memory.

    Examples
    --------
    >>> CustomWeighting(np.sqrt).apply(np.array([[0.25, 0.0]]))
    array([[0.5, 0. ]])
    """

    name = "custom"
    file_key = "weightings.Custom"

    def __init__(self, fn: Callable[[FloatArray], Any], scope: Scope = "entry") -> None:
        self.fn = fn
        self.scope = scope

    def check(self) -> None:
        """Raise if `fn` or `scope` is invalid."""
        if not callable(self.fn):
            raise TypeError(f"CustomWeighting: fn must be callable, got {self.fn!r}.")
        if self.scope not in ("entry", "row"):
            raise ValueError(f"CustomWeighting: scope must be 'entry' or 'row', got {self.scope!r}.")

    def never_negative(self, similarities: bool) -> bool:
        """Return False: nothing is known about the function."""
        return False

    def apply(self, S: FloatArray) -> FloatArray:
        """Call the function and check its result."""
        shape, dtype = S.shape, S.dtype
        result = np.asarray(self.fn(S), dtype=dtype)
        if result.shape != shape:
            raise ValueError(
                f"weighting {self.fn!r} returned shape {result.shape} for {shape}; expected the same."
            )
        return result


WEIGHTINGS: Registry[Weighting] = Registry(
    "weighting", Weighting, [Power, TopK, Cutoff], from_callable=CustomWeighting
)

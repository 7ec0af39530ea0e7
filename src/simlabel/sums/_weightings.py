"""Power, top-k, cutoff, and any function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._utils.arithmetic import whole_power
from simlabel._utils.registry import Registry
from simlabel._utils.validation import FloatArray, check_number

Scope = Literal["entry", "row"]

_NEIGHBOURS = (5, 10, 20, 50, 100, 200, 500)


class Weighting(BaseEstimator):
    """Base class: psi of a block of similarities.

    `scope` says what psi of one entry depends on: that entry alone, or all entries of its row;
    the latter cannot be applied block by block.
    """

    name: ClassVar[str]
    scope: Scope = "entry"

    def check(self) -> None:
        """Raise ValueError where a parameter is out of range."""

    def apply(self, S: FloatArray) -> FloatArray:
        """psi(S), (n_queries, n_references); may overwrite `S`."""
        return S

    def never_negative(self, similarities: bool) -> bool:
        """Whether nothing below 0 comes out; `similarities` says whether nothing below 0 goes in."""
        return similarities

    def grids(self, n_references: int) -> dict[str, tuple[float, ...]]:
        """Candidates for each parameter that is ``"auto"``."""
        return {}


class Power(Weighting):
    """S ** exponent; a negative similarity keeps its sign.

    Parameters
    ----------
    exponent : float
        Above 1 sharpens, below 1 flattens.

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
        """Raise ValueError where the exponent is not positive."""
        check_number("Power", "exponent", self.exponent, above=0)

    def apply(self, S: FloatArray) -> FloatArray:
        """Raise to the power."""
        sign = np.sign(S) if S.size and S.min() < 0 else None
        magnitude = S if sign is None else np.abs(S, out=S)
        if float(self.exponent).is_integer():
            magnitude = whole_power(magnitude, int(self.exponent))
        else:
            magnitude = np.power(magnitude, S.dtype.type(self.exponent), out=magnitude)
        return magnitude if sign is None else np.multiply(magnitude, sign, out=magnitude)


class Cutoff(Weighting):
    """Similarities below a minimum count nothing.

    Parameters
    ----------
    minimum : float
        The least similarity that counts.

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
        """Raise ValueError where the minimum is no number."""
        check_number("Cutoff", "minimum", self.minimum)

    def never_negative(self, similarities: bool) -> bool:
        """A cut at 0 or above leaves nothing below 0."""
        return similarities or self.minimum >= 0

    def apply(self, S: FloatArray) -> FloatArray:
        """Zero what is below."""
        S[self.minimum > S] = 0
        return S


class TopK(Weighting):
    """Only the k most similar references count, as much as they are similar.

    A reference of weight w counts as w neighbours; the last one may count in part. Of equally
    similar references those that were given first count.

    Parameters
    ----------
    k : int or "auto"
        How many; ``"auto"`` is resolved at fit by the classifier's `tuning`.

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
        """Raise ValueError where k is not a positive whole number."""
        check_number("TopK", "k", self.k, at_least=1, integer=True, also=("auto",))

    def grids(self, n_references: int) -> dict[str, tuple[float, ...]]:
        """From few neighbours to many, as far as there are references."""
        if self.k != "auto":
            return {}
        return {"k": tuple(k for k in _NEIGHBOURS if k < n_references) or (1,)}


class CustomWeighting(Weighting):
    """Any function of a block of similarities.

    Parameters
    ----------
    fn : callable
        ``fn(S) -> array`` of the same shape, (n_queries, n_references). S may be changed in place.
    scope : {"entry", "row"}
        ``"row"`` if an entry's result depends on others of its row: the function then gets whole
        rows, which costs memory.

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
        """Raise where `fn` or `scope` is not understood."""
        if not callable(self.fn):
            raise TypeError(f"CustomWeighting: fn must be callable, got {self.fn!r}.")
        if self.scope not in ("entry", "row"):
            raise ValueError(f"CustomWeighting: scope must be 'entry' or 'row', got {self.scope!r}.")

    def never_negative(self, similarities: bool) -> bool:
        """Not known of a function."""
        return False

    def apply(self, S: FloatArray) -> FloatArray:
        """Call the function and check what it returns."""
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


def resolve_weighting(spec: object) -> Weighting | None:
    """Turn a name, an object or a callable into a weighting; None stays None."""
    return None if spec is None else WEIGHTINGS.resolve(spec)

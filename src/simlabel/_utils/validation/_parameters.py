"""Parameters of stages, and what stages have learnt."""

from __future__ import annotations

import numbers
import sys
from typing import Any

import numpy as np


def check_number(
    owner: str,
    name: str,
    value: Any,
    *,
    above: float | None = None,
    at_least: float | None = None,
    integer: bool = False,
    also: tuple[Any, ...] = (),
) -> None:
    """Check one parameter of a stage and quote the value that does not fit.

    Examples
    --------
    >>> check_number("RBF", "gamma", -1.0, above=0, also=("auto",))
    Traceback (most recent call last):
        ...
    ValueError: RBF: gamma must be a number above 0 or 'auto', got -1.0.
    """
    if any(value is choice or (isinstance(value, str) and value == choice) for choice in also):
        return
    kind: Any = numbers.Integral if integer else numbers.Real
    far = 2**63 - 1 if integer else sys.float_info.max
    real = isinstance(value, kind) and not isinstance(value, bool | np.bool_)
    fits = real and -far <= value <= far
    if fits and above is not None:
        fits = value > above
    if fits and at_least is not None:
        fits = value >= at_least
    if fits:
        return
    bound = f" above {above:g}" if above is not None else ""
    bound += f" of at least {at_least:g}" if at_least is not None else ""
    bound += f" up to {far:g}" if real and value > far else ""
    choices = "".join(f" or {choice!r}" for choice in also)
    noun = "a whole number" if integer else "a number"
    raise ValueError(f"{owner}: {name} must be {noun}{bound}{choices}, got {value!r}.")


def check_flag(owner: str, name: str, value: Any) -> None:
    """Check a parameter that is True or False.

    Examples
    --------
    >>> check_flag("Jaccard", "weighted", "yes")
    Traceback (most recent call last):
        ...
    ValueError: Jaccard: weighted must be True or False, got 'yes'.
    """
    if not isinstance(value, bool | np.bool_):
        raise ValueError(f"{owner}: {name} must be True or False, got {value!r}.")


def check_numbers(
    owner: str,
    name: str,
    value: Any,
    shape: tuple[int | None, ...],
    *,
    kinds: str = "f",
    finite: bool = True,
    above: float = -np.inf,
    at_least: float = -np.inf,
    at_most: float = np.inf,
) -> None:
    """Check an array that a stage has learnt: what it holds, its shape (None for any length), its range.

    Examples
    --------
    >>> check_numbers("ZScore", "scale_", np.array([1.0, 0.0]), (2,), above=0)
    Traceback (most recent call last):
        ...
    ValueError: ZScore: scale_ has the value 0.0 where it must be a finite number above 0.
    """
    fits = isinstance(value, np.ndarray) and value.dtype.kind in kinds and value.ndim == len(shape)
    if not fits or any(want not in (None, have) for want, have in zip(shape, value.shape, strict=True)):
        wanted = ", ".join("any" if length is None else str(length) for length in shape)
        known = hasattr(value, "dtype") and hasattr(value, "shape")
        what = f"{value.dtype} of shape {value.shape}" if known else repr(value)[:60]
        raise ValueError(f"{owner}: {name} must be an array of shape ({wanted}), got {what}.")
    wrong = ~((value >= at_least) & (value <= at_most) & ((value > above) | np.isneginf(above)))
    wrong |= ~np.isfinite(value) if finite else np.isnan(value)
    if wrong.any():
        words = "a finite number" if finite else "a number"
        words += f" above {above:g}" if np.isfinite(above) else ""
        words += f" of at least {at_least:g}" if np.isfinite(at_least) else ""
        words += f" of at most {at_most:g}" if np.isfinite(at_most) else ""
        raise ValueError(f"{owner}: {name} has the value {value[wrong][0]} where it must be {words}.")

"""What was measured of a promise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np

Truths = Sequence[Set[Any]]
Sets = Sequence[tuple[Any, ...] | None]


@dataclass(frozen=True)
class Measured:
    """A share that was measured, beside the one that was promised.

    Attributes
    ----------
    promised, value : float
    error : float
        Standard error of the value.
    n : int
        What it is the mean of: rows, or for labels by themselves, labels that occur.
    size : float
        Mean number of labels in a set.
    abstained : int
        Rows that were left to a person.
    lowest : tuple of (label, share, n_rows) or None
        The label that does worst, where each is promised by itself.
    """

    promised: float
    value: float
    error: float
    n: int
    size: float
    abstained: int
    lowest: tuple[Any, float, int] | None = None


def measured(promised: float, shares: Iterable[float], sets: Sets, **more: Any) -> Measured:
    """The mean of some shares, with its standard error; NaN where there are none."""
    values, sizes = np.array(list(shares)), [len(each) for each in sets if each is not None]
    n = len(values)
    return Measured(
        promised,
        float(values.mean()) if n else math.nan,
        float(values.std(ddof=1) / math.sqrt(n)) if n > 1 else math.nan,
        n,
        float(np.mean(sizes)) if sizes else math.nan,
        len(sets) - len(sizes),
        **more,
    )


def hits(truth: Set[Any], found: tuple[Any, ...] | None) -> int:
    """How many true labels are in a set; None misses none."""
    return len(truth) if found is None else sum(label in truth for label in found)

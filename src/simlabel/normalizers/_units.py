"""Columns in units of their own: one or few of them may be all that is compared."""

from __future__ import annotations

import numpy as np

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.limits import limits
from simlabel._utils.rows import content_order, spaced_rows
from simlabel._utils.validation import Rows
from simlabel.normalizers._base import Normalizer

_ENOUGH = 10  # rows: of fewer, one column may be ahead by chance
_DECIDES = 0.95  # of all squared lengths, or of all squared distances
_FEW = 0.05  # of the columns that vary


class UnitsWarning(SimlabelWarning):
    """One column, or very few of many, decide how rows compare, because of the units they are measured in."""


def told_units(X: Rows, normalizer: Normalizer | None, names: object = None) -> str | None:
    """Return the text of a warning if very few columns decide all distances, else None.

    Very few are one column, or at most a twentieth of the columns that vary, with at least 95% of the squared
    lengths of all rows, or without a normalizer of the squared distances.

    Parameters
    ----------
    X : rows, (n_rows, n_features)
        As they came; only dense ones in memory are looked at.
    normalizer : Normalizer or None
        What is done to them. One that learns brings columns to one scale.
    names : array of str, optional
        Of the columns.

    Examples
    --------
    >>> rows = np.array([[41.0, 1.8, 52000.0], [33.0, 1.7, 48000.0], [60.0, 1.6, 11000.0]])
    >>> told_units(np.repeat(rows, 4, axis=0), None, ["age", "height", "income"])[:52]
    "column 'income' makes up 100.0% of squared distances"
    """
    if not isinstance(X, np.ndarray) or X.ndim != 2 or X.shape[1] < 3 or len(X) < _ENOUGH:
        return None
    if normalizer is not None and normalizer.learns:
        return None
    some = X[spaced_rows(content_order(X), limits().compared_rows)].astype(np.float64)
    spread = some.var(axis=0)
    varying = np.count_nonzero(spread)
    if varying < 3:
        return None
    size = spread if normalizer is None else spread + some.mean(axis=0) ** 2
    largest = np.argsort(-size, kind="stable")
    shares = np.cumsum(size[largest]) / size.sum()
    m = int(np.searchsorted(shares, _DECIDES)) + 1
    if m > max(1.0, _FEW * varying):
        return None
    named = ", ".join(repr(k if names is None else names[k]) for k in largest[:m].tolist())  # type: ignore[index]
    subject = f"column {named} makes" if m == 1 else f"columns {named} ({m} of {X.shape[1]}) make"
    of = "distances" if normalizer is None else "lengths"
    return (
        f"{subject} up {shares[m - 1]:.1%} of squared {of}: the others hardly count, in their units; "
        f"normalizer='auto' or 'zscore' brings columns to one scale."
    )

"""Columns in units of their own: one of them may be all that is compared."""

from __future__ import annotations

import numpy as np

from simlabel.normalization._base import Normalizer
from simlabel.support.advice import SimlabelWarning
from simlabel.support.limits import limits
from simlabel.support.validation import Rows

_ENOUGH = 10  # rows: of fewer, one column may be ahead by chance
_DECIDES = 0.95  # of all squared lengths, or of all squared distances


class UnitsWarning(SimlabelWarning):
    """One column is nearly all that rows are compared by, because of the unit that it is measured in."""


def told_units(X: Rows, normalizer: Normalizer | None, names: object = None) -> str | None:
    """A line for a warning, with the way out, where one column decides all distances; None elsewhere.

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
    some = X[:: -(-len(X) // limits().compared_rows)].astype(np.float64)
    spread = some.var(axis=0)
    if np.count_nonzero(spread) < 3:
        return None
    size = spread if normalizer is None else spread + some.mean(axis=0) ** 2
    k = int(np.argmax(size))
    share = size[k] / size.sum()
    if not share >= _DECIDES:
        return None
    name = k if names is None else names[k]  # type: ignore[index]
    of = "distances" if normalizer is None else "lengths"
    return (
        f"column {name!r} makes up {share:.1%} of squared {of}: the others hardly count, in their units; "
        f"normalizer='auto' or 'zscore' brings columns to one scale."
    )

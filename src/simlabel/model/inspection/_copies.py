"""Test rows that are copies of labelled rows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.advice import DataWarning, advise
from simlabel._utils.rows import dense_rows, is_lazy, n_rows
from simlabel._utils.validation import Rows
from simlabel.model._model import Model

_MANY, _SHARE = 10, 0.05  # copies, and their share of the rows: fewer do not change a figure
_SAMPLED = 1000  # rows that tell how much a column varies


def advise_on_copies(model: Model, X: Rows) -> None:
    """Warn where rows on which a model is judged are copies of those that it was fitted on.

    Parameters
    ----------
    X : rows
        Checked queries.
    """
    references = model.scorer.references.X
    if is_lazy(references) or is_lazy(X) or model.columns is not None or not hasattr(references, "shape"):
        return  # what is not at hand is not read again for this
    known, asked = references[:], model.normalized(X)
    if sp.issparse(known):
        asked = sp.csr_array(asked)
    advise_on_shared_rows(known, asked)


def advise_on_shared_rows(train: Rows, test: Rows) -> None:
    """Warn where many rows of one matrix are rows of another, and chance does not explain it."""
    shared = int(np.isin(row_keys(test), row_keys(train)).sum())
    if shared < max(_MANY, _SHARE * n_rows(test)) or _is_chance(train):
        return
    advise(
        f"{shared:,} of the {n_rows(test):,} rows that are judged are copies of rows that were learnt from, "
        f"and figures look better than they are: drop copies, or keep them on one side.",
        DataWarning,
    )


def row_keys(X: Rows) -> npt.NDArray[np.int64]:
    """A number for each row of a matrix, the same for equal rows, (n_rows,).

    The last digits do not count: what a normalizer makes of a row depends in them on how rows lie in memory.

    Examples
    --------
    >>> one, other, same = row_keys(np.array([[1.0, 2.0], [1.0, 3.0], [1.0, 2.0]])).tolist()
    >>> one == same, one == other
    (True, False)
    """
    hashed: Iterable[int]
    if sp.issparse(X):
        bounds = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        places, values = X.indices.astype(np.int64), _without_last_digits(X.data)
        hashed = (hash((places[a:b].tobytes(), values[a:b].tobytes())) for a, b in bounds)
    else:
        hashed = (hash(row.tobytes()) for row in _without_last_digits(np.ascontiguousarray(X)))
    return np.fromiter(hashed, np.int64, n_rows(X))


def _without_last_digits(values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Numbers to 32 of the 52 bits behind their first, as whole numbers."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.int64)
    return (bits + (1 << 19)) >> 20


def _is_chance(X: Rows) -> bool:
    """Whether columns vary so little that equal rows are to be expected.

    If they were independent, two of n rows would be equal as soon as their entropies add up to less than
    2 log2(n) bits.
    """
    n = n_rows(X)
    some = dense_rows(X[np.linspace(0, n - 1, min(n, _SAMPLED)).astype(int)])
    needed, found = 2.0 * np.log2(max(n, 2)), 0.0
    for column in some.T:
        _, counts = np.unique(column, return_counts=True)
        shares = counts / len(column)
        found -= float(shares @ np.log2(shares))
        if found >= needed:
            return False
    return True

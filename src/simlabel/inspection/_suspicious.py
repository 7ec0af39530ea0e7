"""Labels that the neighbourhood contradicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.support.validation import FloatArray, Rows

Titles = Callable[[npt.NDArray[np.integer]], list[str] | None]

if TYPE_CHECKING:
    import pandas as pd


def suspicious_labels(
    probabilities: FloatArray,
    Y: Rows,
    ids: npt.NDArray[Any],
    labels: npt.NDArray[Any],
    top: int | None = None,
    titles: Titles | None = None,
    unknown: sp.csr_array | None = None,
) -> pd.DataFrame:
    """Every label of every instance, the most doubtful first.

    Parameters
    ----------
    probabilities : array, (n_rows, n_labels)
        Of each label, with the row itself left out.
    Y : 0/1 array or sparse, (n_rows, n_labels)
        What was given.
    ids, labels : array
        Names of the rows and of the labels.
    top : int, optional
        How many to list; all by default.
    titles : callable, optional
        ``titles(positions)`` says by what rows are shown beside their ids.
    unknown : sparse of ones, (n_rows, n_labels), optional
        What was not given at all, and is not listed.

    Returns
    -------
    frame
        ``id``, with titles ``title``, ``label``, ``given`` (whether the instance has the label),
        ``probability``, and ``suspicion``: how far the probability is from what was given, 0 to 1.

    Examples
    --------
    >>> P, Y = np.array([[0.9, 0.1], [0.2, 0.7]]), np.array([[1, 0], [1, 1]])
    >>> doubtful = suspicious_labels(P, Y, np.array(["x", "y"]), np.array(["sea", "trees"]), top=1)
    >>> print(doubtful.to_string())
      id label  given  probability  suspicion
    0  y   sea   True          0.2        0.8
    """
    import pandas as pd

    given = (Y.toarray() if sp.issparse(Y) else np.asarray(Y)).astype(bool)
    suspicion = np.where(given, 1.0 - probabilities, probabilities)
    if unknown is not None:
        suspicion = np.where(unknown.toarray() > 0, -1.0, suspicion)
        listed = suspicion.size - unknown.nnz
        top = listed if top is None else min(top, listed)
    order = np.argsort(-suspicion, axis=None, kind="stable")[:top]
    rows, columns = np.unravel_index(order, suspicion.shape)
    return pd.DataFrame(
        {
            "id": ids[rows],
            **({} if titles is None else {"title": titles(rows)}),
            "label": labels[columns],
            "given": given[rows, columns],
            "probability": probabilities[rows, columns],
            "suspicion": suspicion[rows, columns],
        }
    )

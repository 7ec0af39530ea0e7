"""Labels that the neighbourhood contradicts."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import expit, logit

from simlabel._utils.validation import FloatArray, Rows

Titles = Callable[[npt.NDArray[np.integer]], list[str] | None]

if TYPE_CHECKING:
    import pandas as pd

_FEW = 5.0  # rows of a label that count as much as the prior


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
        ``probability``, and ``suspicion``, 0 to 1: how strong the evidence is that this is an error.
        0.5 where there is none.

    Notes
    -----
    A label of few rows gets a low probability almost everywhere, also where it is right. So the log-odds
    of the probability count by how many other rows tell about the label: m / (m + 5), where m is the number
    of other rows that have it (or that do not have it, if these are fewer). What is left goes to the prior:
    even odds for a tag that was given, the label's base rate for one that was not.

    Examples
    --------
    >>> Y = np.array([[1, 1], [1, 0], [1, 0], [0, 0], [0, 0], [0, 0]])  # only row "a" has "rare"
    >>> P = np.array([[0.1, 0.1], [0.9, 0.1], [0.9, 0.1], [0.1, 0.1], [0.1, 0.1], [0.1, 0.1]])
    >>> doubtful = suspicious_labels(P, Y, np.array([*"abcdef"]), np.array(["sea", "rare"]), top=2)
    >>> print(doubtful.round(3).to_string())
      id label  given  probability  suspicion
    0  a   sea   True          0.1      0.652
    1  a  rare   True          0.1      0.500
    """
    import pandas as pd

    given = (Y.toarray() if sp.issparse(Y) else np.asarray(Y)).astype(bool)
    known = np.ones(given.shape, dtype=bool) if unknown is None else unknown.toarray() == 0
    suspicion = np.where(known, _suspicion(probabilities, given, known), -1.0)
    if unknown is not None:
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


def _suspicion(
    probabilities: FloatArray, given: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_]
) -> FloatArray:
    """How strong the evidence of an error is in each pair of row and label, 0 to 1."""
    having = (given & known).sum(axis=0) - (given & known)  # other rows with the label
    others = known.sum(axis=0) - known
    few = np.minimum(having, others - having)
    trust = few / (few + _FEW)
    tiny = np.finfo(np.float64).eps
    odds = logit(np.clip(probabilities, tiny, 1.0 - tiny))
    base = logit((having + 0.5) / (others + 1.0))
    return np.asarray(expit(np.where(given, -trust * odds, base + trust * (odds - base))))

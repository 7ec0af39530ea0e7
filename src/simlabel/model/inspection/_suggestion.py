"""Which instances to label next: those whose labels would settle most of the doubt."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.linalg

from simlabel._utils.limits import limits
from simlabel._utils.rows import take_rows
from simlabel._utils.validation import FloatArray, Rows
from simlabel.ridge import Stages
from simlabel.sums import prepare

_NOISE = 0.1  # how much of an instance's variance its label leaves, beside its similarity to itself


def uncertainty(probabilities: FloatArray) -> FloatArray:
    """Mean over the labels of the binary entropy, between 0 and 1, (n_rows,).

    Examples
    --------
    >>> uncertainty(np.array([[0.5, 0.5], [1.0, 0.5], [0.0, 1.0]]))
    array([1. , 0.5, 0. ])
    """
    p = np.clip(probabilities, 1e-12, 1.0 - 1e-12)
    entropy = -(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p))
    doubt: FloatArray = np.round(entropy.mean(axis=1), 9)
    return doubt


def suggest(doubt: FloatArray, pool: Rows, known: Rows, stages: Stages, n: int) -> npt.NDArray[np.int64]:
    """Pick instances one by one: each would settle most of the doubt that is left.

    Similarities are read as the covariances of a Gaussian process. To label x lowers the variance at
    z by C(z, x)^2 / (C(x, x) + noise), where C is what the labelled instances, and those picked before,
    leave of the similarities; it counts as much as z is in doubt. So what is picked is typical of
    doubtful instances, and unlike what is labelled or picked.

    Parameters
    ----------
    doubt : array, (n_pool,)
        How uncertain the label set of each is.
    pool : rows, (n_pool, n_features)
        Normalized. Of more than 2,000 the most doubtful are looked at.
    known : rows, (n_references, n_features)
        Labelled instances, normalized.
    stages : Stages
        How they are compared.
    n : int
        How many to pick.

    Returns
    -------
    array of int, (n,)
        Rows of the pool, in the order in which they were picked.
    """
    rows = np.sort(np.argsort(-doubt, kind="stable")[: max(n, limits().compared_rows)])
    C, noise = _left_over(take_rows(pool, rows), known, stages)
    weights = doubt[rows]
    picked: list[int] = []
    for _ in range(min(n, len(rows))):
        spread = np.maximum(np.diag(C), 0.0) + noise
        settled = weights @ C**2 / spread
        settled[picked] = -1.0  # below all that can still be picked
        best = int(np.argmax(settled))
        picked.append(best)
        C -= np.outer(C[:, best], C[best] / spread[best])
    return rows[picked]


def _left_over(pool: Rows, known: Rows, stages: Stages) -> tuple[FloatArray, float]:
    """Covariances of the pool given what is labelled, (n_pool, n_pool), and the variance of the noise."""

    some, labelled = (prepare(rows, [stages.similarity]) for rows in (pool, known))
    S = stages.similarities(pool, some)
    noise = _NOISE * max(float(np.diag(S).mean()), np.finfo(np.float64).tiny)
    own, across = stages.similarities(known, labelled), stages.similarities(known, some)
    own[np.diag_indices_from(own)] += noise
    C = S - across.T @ scipy.linalg.solve(own, across, assume_a="sym", check_finite=False)
    return (C + C.T) / 2, noise

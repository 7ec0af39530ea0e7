"""Which instances to label next: in doubt, typical of the pool, and unlike each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._validation import FloatArray, Rows, take_rows
from simlabel.engines import Exact, Job, Keep, Sum, n_rows, prepare
from simlabel.similarities import Similarity

_AT_MOST = 2000  # rows of the pool that the others are compared with


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


def suggest(
    doubt: FloatArray, pool: Rows, similarity: Similarity, n: int, n_jobs: int | None = None
) -> npt.NDArray[np.int64]:
    """Pick instances one by one: in doubt, typical of the pool, and unlike those picked before.

    Doubt alone picks outliers, from which little follows for others; so it is multiplied by the mean
    similarity to the pool, and by one minus the similarity to the nearest that was picked.

    Parameters
    ----------
    doubt : array, (n_pool,)
        How uncertain the label set of each is.
    pool : rows, (n_pool, n_features)
        Normalized.
    n : int
        How many to pick.

    Returns
    -------
    array of int, (n,)
        Rows of the pool, in the order in which they were picked.
    """
    count = n_rows(pool)
    prepared = prepare(pool, [similarity])
    left = doubt * _density(pool, similarity, n_jobs)
    picked: list[int] = []
    for _ in range(min(n, count)):
        best = int(np.argmax(left))
        picked.append(best)
        row = take_rows(pool, np.array([best]))
        s = Exact().reduce(row, prepared, [Job(similarity, None, Keep(count))], n_jobs=n_jobs)[0][0]
        own = max(float(s[best]), np.finfo(np.float64).tiny)
        left = left * (1.0 - np.clip(s.astype(np.float64) / own, 0.0, 1.0))
        left[picked] = -1.0  # below all that can still be picked
    return np.array(picked, dtype=np.int64)


def _density(pool: Rows, similarity: Similarity, n_jobs: int | None) -> FloatArray:
    """Mean similarity to the pool, or to evenly spaced rows of a large one; not below zero."""
    count = n_rows(pool)
    rows = np.unique(np.linspace(0, count - 1, min(count, _AT_MOST)).astype(np.int64))
    prepared = prepare(take_rows(pool, rows), [similarity])
    job = Job(similarity, None, Sum(np.full((len(rows), 1), 1.0 / len(rows))))
    mean = Exact().reduce(pool, prepared, [job], n_jobs=n_jobs)[0][:, 0].astype(np.float64)
    return np.maximum(mean, 0.0)

"""Which instances to label next: those whose label set is in doubt, and unlike each other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._validation import FloatArray, Rows, take_rows
from simlabel.engines import Exact, Job, Keep, n_rows, prepare
from simlabel.similarities import Similarity


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
    """Pick instances one by one: the most doubtful, less so the more similar it is to one picked before.

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
    left, picked = doubt.astype(np.float64), []
    prepared = prepare(pool, [similarity])
    job = Job(similarity, None, Keep(count))
    for _ in range(min(n, count)):
        best = int(np.argmax(left))
        picked.append(best)
        s = Exact().reduce(take_rows(pool, np.array([best])), prepared, [job], n_jobs=n_jobs)[0][0]
        own = max(float(s[best]), np.finfo(np.float64).tiny)
        left = left * (1.0 - np.clip(s.astype(np.float64) / own, 0.0, 1.0))
        left[picked] = -1.0  # below all that can still be picked
    return np.array(picked, dtype=np.int64)

"""Rows that a model has not seen: how novel they are, and which to label next."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from simlabel._utils.limits import limits
from simlabel._utils.rows import take_rows
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.model._scorer import Scorer, total_similarity
from simlabel.ridge import Stages
from simlabel.sums import prepare

_NOISE = 0.1  # variance of the noise in a label, as a share of the mean self-similarity


def novelty(scorer: Scorer, Q: Rows, typical: FloatArray) -> FloatArray:
    """Return the share of the labeled instances with a larger total similarity than each query.

    Parameters
    ----------
    Q : rows, (n_queries, n_features)
        Normalized.
    typical : array
        From `Model.typical_totals`: leave-one-out totals of the labeled instances, in increasing order.

    Returns
    -------
    array, (n_queries,)
        0: as usual as can be; 1: less similar to all than any labeled instance is.
    """
    above = len(typical) - np.searchsorted(typical, total_similarity(scorer, Q, None), side="right")
    return above / len(typical)


def uncertainty(probabilities: FloatArray) -> FloatArray:
    """Return the mean binary entropy of the labels of each row, between 0 and 1, (n_rows,).

    Examples
    --------
    >>> uncertainty(np.array([[0.5, 0.5], [1.0, 0.5], [0.0, 1.0]]))
    array([1. , 0.5, 0. ])
    """
    p = np.clip(probabilities, 1e-12, 1.0 - 1e-12)
    entropy = -(p * np.log2(p) + (1.0 - p) * np.log2(1.0 - p))
    return np.asarray(np.round(entropy.mean(axis=1), 9))


def suggest_rows(doubt: FloatArray, pool: Rows, known: Rows, stages: Stages, n: int) -> IntArray:
    """Pick instances one by one: each would reduce the remaining uncertainty most.

    Similarities are taken as the covariances of a Gaussian process. Labeling x reduces the variance at
    z by C(z, x)^2 / (C(x, x) + noise), where C is the covariance given the labeled instances and those
    picked before; the reduction is weighted by the uncertainty of z. So picks are typical of uncertain
    instances, and unlike what is labeled or picked.

    Parameters
    ----------
    doubt : array, (n_pool,)
        How uncertain the label set of each is.
    pool : rows, (n_pool, n_features)
        Normalized. If they are more than 2,000, the most uncertain are considered.
    known : rows, (n_references, n_features)
        Labeled instances, normalized.
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
    C, noise = _posterior(take_rows(pool, rows), known, stages)
    picked: list[int] = []
    for _ in range(min(n, len(rows))):
        spread = np.maximum(np.diag(C), 0.0) + noise
        reduction = doubt[rows] @ C**2 / spread
        reduction[picked] = -1.0  # below all that can still be picked
        best = int(np.argmax(reduction))
        picked.append(best)
        C -= np.outer(C[:, best], C[best] / spread[best])
    return rows[picked]


def _posterior(pool: Rows, known: Rows, stages: Stages) -> tuple[FloatArray, float]:
    """Return the covariances of the pool given the labeled rows, and the variance of the noise."""
    some, labeled = (prepare(rows, [stages.similarity]) for rows in (pool, known))
    S = stages.similarities(pool, some)
    noise = _NOISE * max(float(np.diag(S).mean()), np.finfo(np.float64).tiny)
    own, across = stages.similarities(known, labeled), stages.similarities(known, some)
    own[np.diag_indices_from(own)] += noise
    C = S - across.T @ scipy.linalg.solve(own, across, assume_a="sym", check_finite=False)
    return (C + C.T) / 2, noise

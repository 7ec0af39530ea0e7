"""Bayesian signed-rank test: how likely one rival is practically better than another."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simlabel.support.validation import FloatArray

REGION = 0.01  # of average precision: less is as good as equal
_PRIOR = 0.5  # weight of the row that stands for "no difference"
_SAMPLES, _SEED, _BLOCK = 20_000, 0, 2000


@dataclass(frozen=True)
class Practical:
    """Probabilities that the first is practically better, that both are as good as equal, and the second.

    `n_sets` is of how many sets these are.
    """

    better: float
    equal: float
    worse: float
    n_sets: int


def signed_rank(differences: FloatArray, *, region: float = REGION, samples: int = _SAMPLES) -> Practical:
    """The test of Benavoli, Corani, Demsar and Zaffalon (2017), on the differences of each set.

    The weight of each set is drawn from a Dirichlet distribution, with one row more that is no difference.
    For each draw it is asked whether the mean of a random pair of rows lies most often above, in, or below
    the region; the shares of the draws are the probabilities.

    Parameters
    ----------
    differences : array, (n_sets,)
        First less second, of a criterion of which more is better.
    region : float
        Differences up to this are as good as none.
    samples : int
        Draws, always the same ones.

    Examples
    --------
    >>> signed_rank(np.array([0.05, 0.04, 0.06, 0.05, 0.07])).better > 0.95
    True
    """
    rows = np.concatenate([[0.0], np.asarray(differences, dtype=np.float64)])
    random = np.random.default_rng(_SEED)
    alpha = np.concatenate([[_PRIOR], np.ones(len(rows) - 1)])
    means = (rows[:, None] + rows[None, :]) / 2.0
    where = np.stack([means > region, np.abs(means) <= region, means < -region]).astype(np.float64)
    counts = np.zeros(3)
    for start in range(0, samples, _BLOCK):
        weights = random.dirichlet(alpha, min(_BLOCK, samples - start))
        shares = np.stack([np.einsum("si,ij,sj->s", weights, part, weights, optimize=True) for part in where])
        counts += np.bincount(shares.argmax(axis=0), minlength=3)
    better, equal, worse = (counts / samples).tolist()
    return Practical(better, equal, worse, len(rows) - 1)

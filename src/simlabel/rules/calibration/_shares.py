"""The share of the similarity that speaks for a label: probabilities without calibration."""

from __future__ import annotations

import numpy as np
import scipy.special

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.validation import FloatArray
from simlabel.rules._base import ScoreBlock

_ROUNDING = 1e-5  # of the whole similarity: what sums in single precision may be off


class ShareWarning(SimlabelWarning):
    """Shares of the similarity were asked for as probabilities, and are none."""


def label_shares(scores: ScoreBlock) -> FloatArray:
    """f_k over the whole similarity, strictly inside (0, 1)."""
    ranking, total = _double(scores)
    return _inside(np.divide(ranking, total, out=np.zeros_like(ranking), where=total > 0))


def n_outside(scores: ScoreBlock) -> int:
    """How many of the shares would lie outside [0, 1], or are not defined, but for rounding."""
    ranking, total = _double(scores)
    rounding = _ROUNDING * np.abs(total)
    return int(np.count_nonzero((ranking < -rounding) | (ranking > total + rounding)))


def squeezed(scores: ScoreBlock, scale: float) -> FloatArray:
    """Sums of any sign as numbers strictly inside (0, 1), in the same order."""
    return _inside(scipy.special.expit(scores.ranking.astype(np.float64) / scale))


def _double(scores: ScoreBlock) -> tuple[FloatArray, FloatArray]:
    """Scores, (n_queries, n_labels), and the whole similarity, (n_queries, 1), in double precision."""
    return scores.ranking.astype(np.float64), scores.total


def _inside(shares: FloatArray) -> FloatArray:
    edge = np.finfo(np.float64).eps
    return np.clip(shares, edge, 1.0 - edge)


def class_shares(scores: ScoreBlock) -> FloatArray:
    """Shares that sum to 1 and rank as the scores do, also where similarities are negative."""
    weights = scores.ranking.astype(np.float64)
    if weights.shape[1] == 2:
        margin = binary_margin(weights)
        return np.column_stack([(1.0 - margin) / 2.0, (1.0 + margin) / 2.0])
    weights = weights - np.minimum(weights.min(axis=1, keepdims=True), 0.0)
    total = weights.sum(axis=1, keepdims=True)
    even = np.full_like(weights, 1.0 / weights.shape[1])
    return np.divide(weights, total, out=even, where=total > 0)


def binary_margin(weights: FloatArray) -> FloatArray:
    """(F1 - F0) / (|F1| + |F0|), 0 where both are 0; (n_queries,)."""
    total = np.abs(weights).sum(axis=1)
    difference = weights[:, 1] - weights[:, 0]
    return np.divide(difference, total, out=np.zeros_like(difference), where=total > 0)

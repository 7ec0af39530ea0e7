"""From measured losses to a threshold: conformal risk control, and Learn-then-Test.

A threshold t takes all labels that score at least t. Recall and coverage only fall as t rises, so one bound
for the loss on n rows is enough: the highest t at which

    (sum of the losses of the n rows at t + 1) / (n + 1) <= alpha

has an expected loss of at most alpha on the next row (conformal risk control: Angelopoulos et al. 2024). The
1 stands for the next row, whose loss may be anything up to 1; it makes the bound hold for any n.

- Rows that no model has seen ("split"): the bound is alpha.
- Each row scored by a model without it, and the next row by the model with all of them (a plain leave-one-out
  threshold): there is no bound; a model may change too much with one row.
- Jackknife+, which compares the next row with each row by the model without that row: 2 alpha.
- Each row scored without itself, and the next row given every label that some model without one row would
  give it ("jackknife" here; minmax in Barber et al. 2021): the bound is alpha. For let L_ij be the loss of
  row i under the model without i and j, for all n + 1 rows. The threshold t_j that is found when j is the
  next row has sum over i of min_l L_il(t_j) <= alpha (n + 1). The largest of these thresholds, t*, is one of
  them, and losses only rise with t: so the losses of all n + 1 rows, each as the next one, add up to at most
  sum over j of min_i L_ji(t*) <= alpha (n + 1). All rows being alike, each of them expects alpha.

Precision may rise and fall with t. There thresholds are tested one after the other, in an order that was
fixed before the rows were seen, from the most promising towards larger sets, and the last one before a test
fails is taken (Learn-then-Test: Angelopoulos et al. 2025): with the stated confidence it holds.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse as sp
from scipy.stats import binom

from simlabel.support.validation import FloatArray

_CANDIDATES = 400  # thresholds: quantiles of the scores of training rows
_ROUNDING = 1e-9


def allowed(alpha: float, n: int) -> int:
    """The largest whole number that is at most alpha (n + 1).

    Examples
    --------
    >>> allowed(1 - 0.9, 9), allowed(1 - 0.9, 8)
    (1, 0)
    """
    return math.floor(alpha * (n + 1) + _ROUNDING)


def highest_threshold(scores: FloatArray, losses: FloatArray, n: int, alpha: float) -> float:
    """The highest t at which the losses of what scores below t, and 1, are at most alpha (n + 1).

    Parameters
    ----------
    scores, losses : array, (n_losses,)
        A loss that is added once t is above the score.
    n : int
        Number of rows.

    Returns
    -------
    float
        Minus infinity where not even a loss of 0 is little enough: n is below 1 / alpha - 1.

    Examples
    --------
    >>> scores, losses = np.array([0.1, 0.3, 0.5, 0.7]), np.ones(4)
    >>> highest_threshold(scores, losses, 4, 0.2), highest_threshold(scores, losses, 4, 0.4)
    (0.1, 0.3)
    >>> highest_threshold(scores, losses, 4, 0.1)
    -inf
    """
    order = np.argsort(scores, kind="stable")
    before = np.concatenate([[0.0], np.cumsum(losses[order])])  # lost with t just at each score
    first = np.searchsorted(scores[order], scores[order], side="left")
    good = before[first] + 1.0 <= alpha * (n + 1) + _ROUNDING
    if alpha * (n + 1) + _ROUNDING < 1.0:
        return -math.inf
    return float(scores[order][good].max()) if good.any() else math.inf


def true_scores(scores: FloatArray, Y: sp.csr_array) -> FloatArray:
    """What each row's true labels score, in the order of Y's entries."""
    return np.asarray(scores[np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr)), Y.indices])


def precisions(scores: FloatArray, Y: sp.csr_array, threshold: float) -> FloatArray:
    """The share of right labels in each set that is not empty, (n_sets,)."""
    taken = scores >= threshold
    sizes = taken.sum(axis=1)
    right = (taken & (Y.toarray() > 0)).sum(axis=1)
    return right[sizes > 0] / sizes[sizes > 0]


def risk_p_value(mean: float, n: int, alpha: float) -> float:
    """How likely a mean loss so low is where the expected loss is alpha or more: Hoeffding and Bentkus.

    Examples
    --------
    >>> round(risk_p_value(0.0, 20, 0.1) / 0.9**20, 9), risk_p_value(0.2, 200, 0.1), risk_p_value(0.0, 0, 0.1)
    (1.0, 1.0, 1.0)
    """
    if n == 0 or mean >= alpha:
        return 1.0
    a = min(max(mean, 0.0), 1.0)
    entropy = (a * math.log(a / alpha) if a > 0 else 0.0) + (1 - a) * math.log((1 - a) / (1 - alpha))
    bentkus = math.e * float(binom.cdf(math.ceil(n * a - _ROUNDING), n, alpha))
    return min(1.0, math.exp(-n * entropy), bentkus)


def passing_threshold(
    training: tuple[FloatArray, sp.csr_array],
    fresh: tuple[FloatArray, sp.csr_array],
    alpha: float,
    delta: float,
) -> float:
    """The lowest threshold that passes; infinity where none does.

    Parameters
    ----------
    training : scores (n, n_labels), labels
        By which candidates and their order are chosen: where the test is most likely to pass, then lower and
        lower.
    fresh : scores (m, n_labels), labels
        On which they are tested.
    alpha : float
        The largest expected loss, 1 - precision.
    delta : float
        How likely a mistake may be.
    """
    scores, Y = training
    top = np.unique(np.quantile(scores, np.linspace(0.0, 1.0, _CANDIDATES)))[::-1]
    shares = [precisions(scores, Y, t) for t in top]
    size = len(fresh[0]) / max(1, len(scores))
    promise = [risk_p_value(1.0 - p.mean() if len(p) else 1.0, round(len(p) * size), alpha) for p in shares]
    found = math.inf
    for t in top[int(np.argmin(promise)) :]:
        tested = precisions(*fresh, t)
        if risk_p_value(1.0 - tested.mean() if len(tested) else 1.0, len(tested), alpha) > delta:
            break
        found = float(t)
    return found

"""From measured losses to a threshold: conformal risk control, and Learn-then-Test.

A threshold t takes all labels that score at least t. Recall and coverage only fall as t rises, so one bound
for the loss on n rows is enough: the highest t at which

    (sum of the losses of the n rows at t + 1) / (n + 1) <= alpha

has an expected loss of at most alpha on the next row (conformal risk control: Angelopoulos et al. 2024). The
1 stands for the next row, whose loss may be anything up to 1; it makes the bound hold for any n.

- Rows that what scores them has not seen ("split"): the bound is alpha.
- Each row scored without itself in the company of the query, whatever its labels ("full", see `_bag`): the
  bound is alpha, and all rows both score and count.
- Each row scored without itself, and the query by all of them (a plain leave-one-out threshold): there is no
  bound, for a model may change too much with one row.
- Jackknife+, which compares the query with each row by the model without that row: 2 alpha.

Precision may rise and fall with t. There thresholds are tested one after the other, in an order that was
fixed before the rows were seen, from the most promising towards larger sets, and the last one before a test
fails is taken (Learn-then-Test: Angelopoulos et al. 2025): with the stated confidence it holds.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from scipy.special import bdtr

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray

Inside = npt.NDArray[np.bool_]

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


def affordable(alpha: float, n: int) -> float:
    """What the losses of n rows may add up to: alpha (n + 1) less 1 for the query; below 0, nothing may.

    Examples
    --------
    >>> round(affordable(0.1, 99), 6), affordable(0.1, 5) < 0
    (9.0, True)
    """
    return alpha * (n + 1) - 1.0 + _ROUNDING


def precisions(scores: FloatArray, truth: Inside, threshold: float) -> FloatArray:
    """The share of right labels in each set that is not empty, (n_sets,).

    Examples
    --------
    >>> precisions(np.array([[0.9, 0.6], [0.2, 0.1]]), np.array([[True, False], [True, True]]), 0.5)
    array([0.5])
    """
    taken = scores >= threshold
    sizes = taken.sum(axis=1)
    right = (taken & truth).sum(axis=1)
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
    bentkus = math.e * float(bdtr(math.ceil(n * a - _ROUNDING), n, alpha))
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
        lower. Of many rows some, from all over them, are enough.
    fresh : scores (m, n_labels), labels
        On which they are tested.
    alpha : float
        The largest expected loss, 1 - precision.
    delta : float
        How likely a mistake may be.
    """
    n = len(training[0])
    some = np.unique(np.linspace(0, n - 1, min(n, limits().compared_rows)).astype(np.int64))
    scores, truth = training[0][some], training[1][some].toarray() > 0
    candidates = np.unique(np.quantile(scores, np.linspace(0.0, 1.0, _CANDIDATES)))[::-1]
    size = len(fresh[0]) / len(scores)
    likely = [_p_value(precisions(scores, truth, t), alpha, size) for t in candidates]
    tested, found = fresh[1].toarray() > 0, math.inf
    for t in candidates[int(np.argmin(likely)) :]:
        if _p_value(precisions(fresh[0], tested, t), alpha) > delta:
            break
        found = float(t)
    return found


def _p_value(shares: FloatArray, alpha: float, size: float = 1.0) -> float:
    """Of the precision of some sets, or of `size` times as many that are like them."""
    return risk_p_value(1.0 - float(shares.mean()), round(len(shares) * size), alpha) if len(shares) else 1.0

"""Scores that compare: the log-odds of each label, to which the other labels' scores may speak.

Learned scores are near 0 and 1, and a score of 0.3 says more of a rare label than of a frequent one; and a
label that is hard to see in the features may go with one that is easy. So for each label a logistic
regression is learnt from the leave-one-out scores F, less the mean, of all labels. It is linear in them: its
coefficients M go into the influence, V M, and a score stays a plain sum over references. (Platt 1999 learns
such curves one by one; Breiman and Friedman 1997 mix the responses of linear regressions.)

A prior keeps coefficients where rows say little: a label's own near what all labels have on the mean, those
of others near 0.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.special

from simlabel._utils.rows import Codes
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge._closed_form import RidgeSolution
from simlabel.ridge._logistic import Logistic, logistic

# of the prior, for scores whose root mean square is 1
_OTHERS, _OWN, _OFFSET = 30.0, 3.0, 0.25
_FIRST, _FIRST_PRECISION = 1.0, 1.0  # what own coefficients are held to before their mean is known
_LEAST = 0.1  # own coefficients are never turned round
_MOST_SHARE = 1 - 2.0**-53  # below 1 also where weights are so large that 1 more is none more
_MOST_OPERATIONS = 4e10  # of a step of all labels: beyond, each has its own score alone


def mixed(
    solution: RidgeSolution, targets: Rows, n_labels: int, weights: FloatArray, groups: Codes | None = None
) -> RidgeSolution:
    """The solution with log-odds as the scores of its labels; those of set sizes stay.

    Parameters
    ----------
    solution : RidgeSolution
        With its leave-one-out scores, which the mixture is learnt from.
    targets : array or sparse, (n, width)
        What each row should score: labels, 0 or 1, and behind them set sizes.
    n_labels : int
    weights : array, (n,)
        How many times each counts.
    groups : array of int, (n,), optional
        Number of the group of each, which is left out whole.

    Notes
    -----
    A label that all rows have, or none, takes no part: its score is the log-odds of its frequency.

    In the leave-one-out scores of the result a row is left out of the influence exactly, and of the mixture
    to first order; the scores of the other rows, which the mixture is learnt from, still know of it.
    """
    n = len(weights)
    V, mean, scores = solution.V.copy(), solution.mean.copy(), solution.left_out.copy()
    present = np.asarray((targets[:, :n_labels] > 0).sum(axis=0)).ravel()
    varying = np.flatnonzero((present > 0) & (present < n))
    mean[:n_labels] = _base(targets[:, :n_labels], weights)
    V[:, :n_labels], scores[:, :n_labels] = 0.0, mean[:n_labels]
    if len(varying):
        mixture = _Mixture(solution, targets, varying, weights, groups)
        M, offsets, left_out = mixture.learnt(crosswise=n * (len(varying) + 1.0) ** 3 <= _MOST_OPERATIONS)
        V[:, varying] = solution.V[:, varying] @ M
        mean[varying], scores[:, varying] = offsets, left_out
    return replace(solution, V=V, mean=mean, left_out=scores)


def _base(targets: Rows, weights: FloatArray) -> FloatArray:
    """Log-odds of the frequency of each label, (n_labels,)."""
    shares = (weights @ targets + 0.5) / (weights.sum() + 1.0)
    return np.asarray(scipy.special.logit(np.minimum(shares, _MOST_SHARE)))


class _Mixture:
    """Labels that vary, and their leave-one-out scores, less the mean and scaled, with a column of ones."""

    def __init__(
        self,
        solution: RidgeSolution,
        targets: Rows,
        labels: IntArray,
        weights: FloatArray,
        groups: Codes | None,
    ) -> None:
        self.weights, self.groups, self.n_labels = weights, groups, len(labels)
        F = solution.left_out[:, labels] - solution.mean[labels]
        self.scale = float(np.sqrt(weights @ (F**2).mean(axis=1) / weights.sum())) or 1.0
        self.X = np.column_stack([F / self.scale, np.ones(len(F))])
        self.targets = targets[:, labels]
        self.base = _base(self.targets, weights)

    def learnt(self, crosswise: bool) -> tuple[FloatArray, FloatArray, FloatArray]:
        """M, (n_labels, n_labels), offsets, (n_labels,), and leave-one-out scores, (n, n_labels)."""
        K = self.n_labels
        M, offsets, left_out = np.zeros((K, K)), np.empty(K), np.empty((len(self.X), K))
        own = self._own()
        for k in range(K):
            columns = np.arange(K + 1) if crosswise else np.array([k, K])
            centre, precision = np.zeros(K + 1), np.full(K + 1, _OTHERS)
            centre[[k, K]], precision[[k, K]] = (own, self.base[k]), (_OWN, _OFFSET)
            X = self.X[:, columns]
            found = logistic(X, self._target(k), self.weights, centre[columns], precision[columns])
            M[columns[:-1], k], offsets[k] = found.coefficients[:-1] / self.scale, found.coefficients[-1]
            left_out[:, k] = X @ found.coefficients - self._moved(X, found)
        return M, offsets, left_out

    def _own(self) -> float:
        """What a label's own score counts, as a mean over labels, each by what its rows say."""
        precision = np.array([_FIRST_PRECISION, _OFFSET])
        slopes, certain = np.empty(self.n_labels), np.empty(self.n_labels)
        for k in range(self.n_labels):
            X, centre = self.X[:, [k, self.n_labels]], np.array([_FIRST, self.base[k]])
            found = logistic(X, self._target(k), self.weights, centre, precision)
            slopes[k], certain[k] = found.coefficients[0], 1.0 / found.covariance[0, 0]
        return max(_LEAST, float(slopes @ certain / certain.sum()))

    def _target(self, k: int) -> FloatArray:
        column = self.targets[:, [k]]
        return np.asarray(column if isinstance(column, np.ndarray) else column.toarray()).ravel()

    def _moved(self, X: FloatArray, found: Logistic) -> FloatArray:
        """By how much a row, or its group, has moved its own scores, to first order, (n,)."""
        left = np.minimum(self.weights, 1.0) if self.groups is None else self.weights
        pull = X * (left * found.residuals)[:, None]
        if self.groups is not None:
            together = np.zeros((int(self.groups.max()) + 1, X.shape[1]))
            np.add.at(together, self.groups, pull)
            pull = together[self.groups]
        return np.asarray(((X @ found.covariance) * pull).sum(axis=1))

"""The dual of Rank-SVM: coordinate descent under an augmented Lagrangian, stopped by the duality gap.

Elisseeff and Weston's dual has one variable alpha for each (row i, true label k, false label l):

    maximise  sum alpha - 1/2 sum_k beta_k' K beta_k
    subject to  0 <= alpha <= C / (pairs of row i),  and  sum_i beta_ik = 0 for each label k,

where beta_ik is the sum of row i's alpha over pairs with k as the true label, less those with k as the
false one. The multipliers of the equalities are the biases b_k.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from simlabel.baselines._progress import rounds
from simlabel.baselines._ranking_kernels import Floats, Ints, clip_shifted, descend, hinge_sum, pair_sums

_CHECK_EVERY = 5  # passes between two looks at the gap
_NEWTON_STEPS = 60
_BALANCED = 1e-10  # surplus, relative to the sum of alpha, that counts as none


@dataclass(frozen=True)
class DualSolution:
    """Where the solver stopped.

    Attributes
    ----------
    beta : array, (n_rows, n_labels)
        Feasible coefficients; the score of label k is sum_i beta[i, k] K(x_i, x) + bias[k].
    bias : array, (n_labels,)
        Intercepts.
    scores : array, (n_rows, n_labels)
        Scores of the rows themselves.
    gap : float
        (primal - dual) / primal, for the solution at hand and the best dual value found.
    n_passes : int
        Passes over the rows.
    """

    beta: Floats
    bias: Floats
    scores: Floats
    gap: float
    n_passes: int


class _Pairs:
    """All (row, true label, false label), with the cap of each row."""

    def __init__(self, Y: npt.NDArray[np.bool_], C: Floats) -> None:
        per_row = Y.sum(axis=1) * (~Y).sum(axis=1)
        self.indptr = np.concatenate([[0], np.cumsum(per_row)])
        self.true, self.false = np.nonzero(Y[:, :, None] & ~Y[:, None, :])[1:]
        self.cap = C / per_row
        self.shape = Y.shape

    @property
    def arrays(self) -> tuple[Ints, Ints, Ints]:
        return self.indptr, self.true, self.false

    def loss(self, F: Floats) -> float:
        """Weighted sum of the hinge losses of scores F, (n_rows, n_labels)."""
        return float(hinge_sum(*self.arrays, self.cap, F))

    def sums(self, alpha: Floats) -> Floats:
        beta = np.empty(self.shape)
        pair_sums(*self.arrays, alpha, beta)
        return beta

    def balanced(self, alpha: Floats) -> Floats:
        """Find the nearest alpha within the caps whose beta has no surplus, by Newton's method."""
        n_labels = self.shape[1]
        mu, surplus, slopes = np.zeros(n_labels), np.empty(n_labels), np.empty((n_labels, n_labels))
        out = np.empty_like(alpha)
        small = _BALANCED * alpha.sum()
        value = clip_shifted(*self.arrays, self.cap, alpha, mu, out, surplus, slopes)
        for _ in range(_NEWTON_STEPS):
            worst = np.abs(surplus).max()
            if worst <= small:
                break
            # The ridge bounds the step by a few caps where no pair of a label is free to move.
            ridge = worst / (10 * self.cap.max())
            direction = np.linalg.solve(slopes + ridge * np.eye(n_labels), surplus)
            promised, step, before = surplus @ direction, 1.0, value
            unseen = 4 * np.finfo(np.float64).eps * abs(before)  # near the end gains are lost in rounding
            while step > 1e-9:
                trial = mu + step * direction
                value = clip_shifted(*self.arrays, self.cap, alpha, trial, out, surplus, slopes)
                if value <= before - 1e-4 * step * promised + unseen:
                    break
                step /= 2
            mu = trial
        return out


def solve_dual(
    K: Floats, Y: npt.NDArray[np.bool_], C: Floats, *, tol: float, max_iter: int, verbose: bool
) -> DualSolution:
    """Solve the dual to a relative duality gap of `tol`.

    Parameters
    ----------
    K : array, (n_rows, n_rows)
        Kernel between the rows; overwritten.
    Y : array of bool, (n_rows, n_labels)
        Labels; every row has a true and a false one.
    C : array, (n_rows,)
        Weight of each row's loss.
    tol : float
        Gap at which to stop.
    max_iter : int
        Passes over the rows at most.
    verbose : bool
        Whether to show a progress bar.
    """
    centre = _centre(K)
    pairs = _Pairs(Y, C)
    alpha, beta, G = np.zeros(len(pairs.true)), np.zeros(Y.shape), np.zeros(Y.shape)
    surplus, bias = np.zeros(Y.shape[1]), np.zeros(Y.shape[1])
    penalty = float(np.median(np.diag(K))) / 100 or 1.0
    lightest = penalty / 1e4
    best_primal, best_dual, best = np.inf, -np.inf, (beta, bias, G)
    for n_passes in rounds(max_iter, "Rank-SVM", verbose):
        descend(K, *pairs.arrays, pairs.cap, alpha, beta, G, surplus, bias, penalty, n_passes % 2 == 0)
        if (n_passes + 1) % _CHECK_EVERY and n_passes + 1 < max_iter:
            continue
        G, surplus = K @ beta, beta.sum(axis=0)  # afresh, so that rounding does not gather
        shifted = bias + penalty * surplus
        inner = float((beta * (G + shifted)).sum()) + pairs.loss(G + shifted) - alpha.sum()
        feasible = pairs.balanced(alpha)
        feasible_beta = pairs.sums(feasible)
        scores = K @ feasible_beta
        half = float((feasible_beta * scores).sum()) / 2
        best_dual = max(best_dual, feasible.sum() - half)
        if half + pairs.loss(scores + shifted) < best_primal:
            best_primal, best = (
                half + pairs.loss(scores + shifted),
                (feasible_beta, shifted, scores + shifted),
            )
        gap = (best_primal - best_dual) / best_primal
        if gap <= tol:
            break
        bias, penalty = _next_multipliers(shifted, surplus, penalty, inner, best_primal - best_dual)
        penalty = max(penalty, lightest)
    beta, shifted, scores = best
    return DualSolution(beta, shifted - centre @ beta, scores, float(gap), n_passes + 1)


def _centre(K: Floats) -> Floats:
    """Move the origin of feature space to a mean of the rows; return the rows' products with that mean.

    As the columns of beta sum to 0, this changes the scores by a constant for each label, which the
    bias takes up; without the constant part of K, descent needs far fewer passes. Rows
    of great length count less in the mean, or they would carry the origin away from all others.
    """
    lengths = np.diag(K)
    share = 1 / np.maximum(lengths, np.finfo(float).eps * max(lengths.max(), 1.0))
    share /= share.sum()
    products = K @ share
    K -= products[:, None]
    K -= products - share @ products  # in two steps: together they would take another matrix
    return np.asarray(products)


def _next_multipliers(
    shifted: Floats, surplus: Floats, penalty: float, inner: float, gap: float
) -> tuple[Floats, float]:
    """Move the biases once the descent has caught up with the last move, and weigh the surplus anew.

    `inner` is the part of the gap that passes at fixed biases would close; the rest is due to the surplus.
    """
    caught_up = inner <= max(3 * penalty * float(surplus @ surplus), 0.3 * gap)
    if inner < 0.3 * gap:
        weight = 2 * penalty
    elif inner > 0.9 * gap:
        weight = penalty / 2
    else:
        weight = penalty
    return (shifted if caught_up else shifted - weight * surplus), weight

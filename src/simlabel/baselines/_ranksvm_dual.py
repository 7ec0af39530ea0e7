"""The dual of Rank-SVM: coordinate descent under an augmented Lagrangian, stopped by the duality gap.

Elisseeff and Weston's dual has one variable alpha for each (row i, true label k, false label l):

    maximize  sum alpha - 1/2 sum_k beta_k' K beta_k
    subject to  0 <= alpha <= C / (pairs of row i),  and  sum_i beta_ik = 0 for each label k,

where beta_ik is the sum of row i's alpha over pairs with k as the true label, minus those with k as the
false one. The multipliers of the equalities are the biases b_k.

In the compiled loops the pairs of row i are the entries ``indptr[i]:indptr[i + 1]`` of `true`, `false` and
`alpha`; each alpha lies between 0 and ``cap[i]``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from simlabel._utils.kernels import inlined, kernel
from simlabel._utils.validation import BoolArray, IntArray
from simlabel.baselines._base import Float64Array, boosting_rounds

_ROW_PASSES = 10  # passes over the pairs of one row, which are cheap compared with updating the other rows
_SETTLED = 1e-3  # of the cap: the passes end once all pairs of the row move less
_CHECK_EVERY = 5  # passes between two computations of the gap
_NEWTON_STEPS = 60
_BALANCED = 1e-10  # surplus, relative to the sum of alpha, that counts as none


@dataclass(frozen=True)
class DualSolution:
    """The result of the solver.

    Attributes
    ----------
    beta : array, (n_rows, n_labels)
        Feasible coefficients: the score of label k is sum_i beta[i, k] K(x_i, x) + bias[k].
    bias : array, (n_labels,)
        Intercepts.
    scores : array, (n_rows, n_labels)
        Scores of the training rows.
    gap : float
        (primal - dual) / primal, of this solution and the best dual value found.
    n_passes : int
        Passes over the rows.
    """

    beta: Float64Array
    bias: Float64Array
    scores: Float64Array
    gap: float
    n_passes: int


class _Pairs:
    """All (row, true label, false label), with the cap of each row."""

    def __init__(self, Y: BoolArray, C: Float64Array) -> None:
        per_row = Y.sum(axis=1) * (~Y).sum(axis=1)
        self.indptr = np.concatenate([[0], np.cumsum(per_row)])
        self.rows, self.true, self.false = np.nonzero(Y[:, :, None] & ~Y[:, None, :])
        self.cap = C / per_row
        self.shape = Y.shape

    @property
    def arrays(self) -> tuple[IntArray, IntArray, IntArray]:
        return self.indptr, self.true, self.false

    def loss(self, F: Float64Array) -> float:
        """Return the weighted sum of the hinge losses of scores F, (n_rows, n_labels)."""
        margins = F[self.rows, self.true] - F[self.rows, self.false]
        return float(self.cap[self.rows] @ np.maximum(0.0, 1.0 - margins))

    def sums(self, alpha: Float64Array) -> Float64Array:
        """Return the sums of alpha by row and label, negative for false labels, (n_rows, n_labels)."""
        first, size = self.rows * self.shape[1], math.prod(self.shape)
        sums = np.bincount(first + self.true, alpha, size) - np.bincount(first + self.false, alpha, size)
        return np.asarray(sums.reshape(self.shape))

    def balanced(self, alpha: Float64Array) -> Float64Array:
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
            # The ridge bounds the step by a few caps if no pair of a label is free to move.
            ridge = worst / (10 * self.cap.max())
            direction = np.linalg.solve(slopes + ridge * np.eye(n_labels), surplus)
            slope, step, before = surplus @ direction, 1.0, value
            rounding = 4 * np.finfo(np.float64).eps * abs(before)  # near the end, gains are lost in rounding
            while step > 1e-9:
                trial = mu + step * direction
                value = clip_shifted(*self.arrays, self.cap, alpha, trial, out, surplus, slopes)
                if value <= before - 1e-4 * step * slope + rounding:
                    break
                step /= 2
            mu = trial
        return out


def solve_dual(
    K: Float64Array, Y: BoolArray, C: Float64Array, *, tol: float, max_iter: int, verbose: bool
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
        Gap at which the solver stops.
    max_iter : int
        Maximum number of passes over the rows.
    verbose : bool
        Whether to show a progress bar.
    """
    center = _center(K)
    pairs = _Pairs(Y, C)
    alpha, beta, G = np.zeros(len(pairs.true)), np.zeros(Y.shape), np.zeros(Y.shape)
    surplus, bias = np.zeros(Y.shape[1]), np.zeros(Y.shape[1])
    penalty = float(np.median(np.diag(K))) / 100 or 1.0
    least_penalty = penalty / 1e4
    best_primal, best_dual, best = np.inf, -np.inf, (beta, bias, G)
    for n_passes in boosting_rounds(max_iter, "Rank-SVM", verbose):
        descend(K, *pairs.arrays, pairs.cap, alpha, beta, G, surplus, bias, penalty, n_passes % 2 == 0)
        if (n_passes + 1) % _CHECK_EVERY and n_passes + 1 < max_iter:
            continue
        G, surplus = K @ beta, beta.sum(axis=0)  # recomputed, so that rounding errors do not accumulate
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
        penalty = max(penalty, least_penalty)
    beta, shifted, scores = best
    return DualSolution(beta, shifted - center @ beta, scores, float(gap), n_passes + 1)


def _center(K: Float64Array) -> Float64Array:
    """Move the origin of feature space to a mean of the rows; return the rows' products with that mean.

    Since the columns of beta sum to 0, this changes the scores by a constant for each label, which the bias
    absorbs; without the constant part of K, descent needs far fewer passes. Long rows count less in the mean,
    or they would move the origin away from all others.
    """
    lengths = np.diag(K)
    share = 1 / np.maximum(lengths, np.finfo(float).eps * max(lengths.max(), 1.0))
    share /= share.sum()
    products = K @ share
    K -= products[:, None]
    K -= products - share @ products  # in two steps: one step would allocate another matrix
    return np.asarray(products)


def _next_multipliers(
    shifted: Float64Array, surplus: Float64Array, penalty: float, inner: float, gap: float
) -> tuple[Float64Array, float]:
    """Move the biases once the descent has converged for the last ones, and update the penalty.

    `inner` is the part of the gap that passes with fixed biases would close; the rest is due to the surplus.
    """
    converged = inner <= max(3 * penalty * float(surplus @ surplus), 0.3 * gap)
    if inner < 0.3 * gap:
        weight = 2 * penalty
    elif inner > 0.9 * gap:
        weight = penalty / 2
    else:
        weight = penalty
    return (shifted if converged else shifted - weight * surplus), weight


@inlined
def _descend_row(
    own: float,
    first: int,
    last: int,
    true: IntArray,
    false: IntArray,
    cap: float,
    alpha: Float64Array,
    scores: Float64Array,
    surplus: Float64Array,
    bias: Float64Array,
    penalty: float,
    moved: Float64Array,
) -> bool:
    """Minimize along the pairs of one row, in several passes; return whether any alpha changed."""
    curvature = 2 * (own + penalty)
    changed = False
    for _ in range(_ROW_PASSES):
        largest = 0.0
        for entry in range(first, last):
            k, other = true[entry], false[entry]
            margin = scores[k] + bias[k] + penalty * surplus[k]
            margin -= scores[other] + bias[other] + penalty * surplus[other]
            step = min(max(alpha[entry] - (margin - 1) / curvature, 0.0), cap) - alpha[entry]
            if step != 0.0:
                changed = True
                alpha[entry] += step
                scores[k] += step * own
                scores[other] -= step * own
                surplus[k] += step
                surplus[other] -= step
                moved[k] += step
                moved[other] -= step
                largest = max(largest, abs(step))
        if largest < _SETTLED * cap:
            break
    return changed


@kernel
def descend(
    K: Float64Array,
    indptr: IntArray,
    true: IntArray,
    false: IntArray,
    cap: Float64Array,
    alpha: Float64Array,
    beta: Float64Array,
    G: Float64Array,
    surplus: Float64Array,
    bias: Float64Array,
    penalty: float,
    forward: bool,
) -> None:
    """Minimize the augmented dual along each pair in turn, row by row; update alpha, beta, G, surplus.

    Parameters
    ----------
    K : array, (n_rows, n_rows)
        Kernel.
    alpha : array, (n_pairs,)
        Dual variables.
    beta, G : arrays, (n_rows, n_labels)
        Sums of alpha by row and label (negative for false labels), and K @ beta.
    surplus, bias : arrays, (n_labels,)
        Column sums of beta, which should be 0, and their multipliers.
    penalty : float
        Weight of half the squared surplus.
    forward : bool
        Whether to go from the first row to the last, or back.
    """
    n_rows, n_labels = beta.shape
    moved = np.empty(n_labels)
    for position in range(n_rows):
        i = position if forward else n_rows - 1 - position
        moved[:] = 0.0
        changed = _descend_row(
            K[i, i],
            indptr[i],
            indptr[i + 1],
            true,
            false,
            cap[i],
            alpha,
            G[i],
            surplus,
            bias,
            penalty,
            moved,
        )
        if changed:
            for k in range(n_labels):
                beta[i, k] += moved[k]
            for j in range(n_rows):
                if j != i:
                    for k in range(n_labels):
                        G[j, k] += K[i, j] * moved[k]


@kernel
def clip_shifted(
    indptr: IntArray,
    true: IntArray,
    false: IntArray,
    cap: Float64Array,
    alpha: Float64Array,
    mu: Float64Array,
    out: Float64Array,
    surplus: Float64Array,
    slopes: Float64Array,
) -> float:
    """Fill out with alpha - mu[true] + mu[false], clipped to [0, cap], and the input of Newton's method.

    Returns
    -------
    float
        The convex function of mu whose gradient is minus the column sums of `out` (`surplus`) and
        whose second derivative is `slopes`, (n_labels, n_labels).
    """
    surplus[:] = 0.0
    slopes[:] = 0.0
    value = 0.0
    for i in range(len(indptr) - 1):
        for entry in range(indptr[i], indptr[i + 1]):
            k, other = true[entry], false[entry]
            raw = alpha[entry] - mu[k] + mu[other]
            clipped = min(max(raw, 0.0), cap[i])
            out[entry] = clipped
            value += clipped * (raw - clipped / 2)
            surplus[k] += clipped
            surplus[other] -= clipped
            if 0.0 < raw < cap[i]:
                slopes[k, k] += 1
                slopes[other, other] += 1
                slopes[k, other] -= 1
                slopes[other, k] -= 1
    return value

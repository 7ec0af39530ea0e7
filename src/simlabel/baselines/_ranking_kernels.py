"""Loops of Rank-SVM's dual over the pairs (row, true label, false label).

The pairs of row i are the entries ``indptr[i]:indptr[i + 1]`` of `true`, `false` and `alpha`; each alpha
lies between 0 and ``cap[i]``.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._utils.kernels import kernel

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

_INNER = 10  # passes over the pairs of one row, which cost little beside telling all other rows
_SETTLED = 1e-3  # of the cap: a row whose pairs move less is left


@kernel
def descend(
    K: Floats,
    indptr: Ints,
    true: Ints,
    false: Ints,
    cap: Floats,
    alpha: Floats,
    beta: Floats,
    G: Floats,
    surplus: Floats,
    bias: Floats,
    penalty: float,
    forward: bool,
) -> None:
    """Minimise the augmented dual along each pair in turn, row by row; updates alpha, beta, G, surplus.

    Parameters
    ----------
    K : array, (n_rows, n_rows)
        Kernel.
    alpha : array, (n_pairs,)
        Dual variables.
    beta, G : arrays, (n_rows, n_labels)
        Sums of alpha by row and label (false labels with a minus), and K @ beta.
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
        curvature = 2 * (K[i, i] + penalty)
        changed = False
        for _ in range(_INNER):
            largest = 0.0
            for entry in range(indptr[i], indptr[i + 1]):
                k, other = true[entry], false[entry]
                margin = G[i, k] + bias[k] + penalty * surplus[k]
                margin -= G[i, other] + bias[other] + penalty * surplus[other]
                step = min(max(alpha[entry] - (margin - 1) / curvature, 0.0), cap[i]) - alpha[entry]
                if step != 0.0:
                    changed = True
                    alpha[entry] += step
                    G[i, k] += step * K[i, i]
                    G[i, other] -= step * K[i, i]
                    surplus[k] += step
                    surplus[other] -= step
                    moved[k] += step
                    moved[other] -= step
                    largest = max(largest, abs(step))
            if largest < _SETTLED * cap[i]:
                break
        if changed:
            for k in range(n_labels):
                beta[i, k] += moved[k]
            for j in range(n_rows):
                if j != i:
                    for k in range(n_labels):
                        G[j, k] += K[i, j] * moved[k]


@kernel
def pair_sums(indptr: Ints, true: Ints, false: Ints, alpha: Floats, beta: Floats) -> None:
    """Fill beta, (n_rows, n_labels), with the sums of alpha by row and label."""
    beta[:] = 0.0
    for i in range(len(indptr) - 1):
        for entry in range(indptr[i], indptr[i + 1]):
            beta[i, true[entry]] += alpha[entry]
            beta[i, false[entry]] -= alpha[entry]


@kernel
def hinge_sum(indptr: Ints, true: Ints, false: Ints, cap: Floats, F: Floats) -> float:
    """Sum of cap * max(0, 1 - F[true] + F[false]) over all pairs."""
    total = 0.0
    for i in range(len(indptr) - 1):
        for entry in range(indptr[i], indptr[i + 1]):
            total += cap[i] * max(0.0, 1 - F[i, true[entry]] + F[i, false[entry]])
    return total


@kernel
def clip_shifted(
    indptr: Ints,
    true: Ints,
    false: Ints,
    cap: Floats,
    alpha: Floats,
    mu: Floats,
    out: Floats,
    surplus: Floats,
    slopes: Floats,
) -> float:
    """Fill out with alpha - mu[true] + mu[false], clipped to [0, cap], and what Newton's method needs.

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

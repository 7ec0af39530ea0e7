"""Rank-SVM's problem in plain loops after Elisseeff and Weston (2001), and a general solver of its dual."""

from itertools import pairwise

import numpy as np
from scipy.optimize import minimize

#: in units of C: a label's sum of coefficients that counts as 0, far below what the values are compared to
BALANCE = 1e-9


def pairs_of(Y):
    """All (row, true label, false label)."""
    n_labels = len(Y[0])
    return [
        (i, k, l_)
        for i in range(len(Y))
        for k in range(n_labels)
        for l_ in range(n_labels)
        if Y[i][k] and not Y[i][l_]
    ]


def caps(Y, C):
    """C / (|Y_i| |complement of Y_i|) for each pair."""
    return [C / (sum(Y[i]) * (len(Y[i]) - sum(Y[i]))) for i, _, _ in pairs_of(Y)]


def coefficients(Y, alpha):
    """beta[i][k]: the paper's sum of c alpha."""
    beta = np.zeros((len(Y), len(Y[0])))
    for (i, k, l_), a in zip(pairs_of(Y), alpha, strict=True):
        beta[i, k] += a
        beta[i, l_] -= a
    return beta


def primal(K, Y, C, beta, bias):
    """Half the squared norms of all w_k, and the losses of all pairs."""
    value = 0.0
    for k in range(len(Y[0])):
        for i in range(len(Y)):
            for j in range(len(Y)):
                value += 0.5 * beta[i][k] * beta[j][k] * K[i][j]
    for (i, k, l_), cap in zip(pairs_of(Y), caps(Y, C), strict=True):
        scores = [sum(beta[j][c] * K[j][i] for j in range(len(Y))) + bias[c] for c in (k, l_)]
        value += cap * max(0.0, 1 - (scores[0] - scores[1]))
    return value


def solve(K, Y, C):
    """Coefficients of a point of the dual that is feasible, and its value, which no primal value is below.

    Whether the point is the best one is for the caller to see, by a primal value that meets it: the
    solver's own flag tells how its last line search ended, and that close to the optimum rounding decides.
    """
    pairs = pairs_of(Y)
    n_labels = len(Y[0])

    def negative_dual(alpha):
        beta = coefficients(Y, alpha)
        gradient = K @ beta
        slope = [gradient[i, k] - gradient[i, l_] - 1 for i, k, l_ in pairs]
        return 0.5 * (beta * gradient).sum() - alpha.sum(), np.array(slope)

    balance = np.zeros((n_labels, len(pairs)))
    for column, (_, k, l_) in enumerate(pairs):
        balance[k, column], balance[l_, column] = 1, -1
    found = minimize(
        negative_dual,
        np.zeros(len(pairs)),
        jac=True,
        bounds=[(0, cap) for cap in caps(Y, C)],
        # The balances of all labels add up to 0, so the last follows from the others.
        constraints={"type": "eq", "fun": lambda a: balance[:-1] @ a, "jac": lambda a: balance[:-1]},
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    )
    alpha = found.x.clip(0, caps(Y, C))
    assert abs(balance @ alpha).max() <= BALANCE * C
    return coefficients(Y, alpha), -negative_dual(alpha)[0]


def errors(scores, labels, threshold):
    return sum((f <= threshold) if true else (f >= threshold) for f, true in zip(scores, labels, strict=True))


def best_threshold(scores, labels):
    """The middle of the first interval between scores that has the fewest errors."""
    ascending = sorted(scores)
    beyond = (ascending[-1] - ascending[0]) / (len(scores) - 1) / 2
    candidates = [ascending[0] - beyond]
    candidates += [(a + b) / 2 for a, b in pairwise(ascending)]
    candidates += [ascending[-1] + beyond]
    return min(candidates, key=lambda t: errors(scores, labels, t))

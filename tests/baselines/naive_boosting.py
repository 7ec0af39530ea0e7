"""AdaBoost.MH with stumps, and with alternating trees, in plain loops over (row, label) pairs.

The conditions, Z, confidences and weights are those of Schapire and Singer (2000) and
De Comite, Gilleron and Tommasi (2003).
"""

import math
from itertools import pairwise

EQUAL = 1e-9  # of conditions whose Z are this near, relatively, the first wins


def thresholds(X, rows, j):
    values = sorted({X[i][j] for i in rows})
    return [a + (b - a) / 2 for a, b in pairwise(values)]


def conditions(X, rows, j, words):
    """Every test on column j as (threshold, function of a row of X)."""
    if words:
        if len({X[i][j] != 0 for i in rows}) == 2:
            yield -math.inf, lambda x: x[j] != 0
        return
    for v in thresholds(X, rows, j):
        yield v, lambda x, v=v: x[j] >= v


def weight(D, Y, rows, label, sign):
    return sum(D[i][label] for i in rows if bool(Y[i][label]) == sign)


def z_of(D, Y, sides, n_labels):
    """2 * sum over sides and labels of sqrt(W+ W-)."""
    total = 0.0
    for rows in sides:
        for label in range(n_labels):
            total += math.sqrt(weight(D, Y, rows, label, True) * weight(D, Y, rows, label, False))
    return 2 * total


def confidences(D, Y, rows, n_labels, epsilon):
    return [
        0.5 * math.log((weight(D, Y, rows, k, True) + epsilon) / (weight(D, Y, rows, k, False) + epsilon))
        for k in range(n_labels)
    ]


def best_condition(X, Y, D, rows, words):
    """(z, column, threshold, test) of the lowest Z on `rows`; the first of equal ones."""
    best = (math.inf, None, None, None)
    for j in range(len(X[0])):
        in_column = (math.inf, None, None, None)
        for threshold, test in conditions(X, rows, j, words):
            sides = [[i for i in rows if not test(X[i])], [i for i in rows if test(X[i])]]
            z = z_of(D, Y, sides, len(Y[0]))
            if z < in_column[0] * (1 - EQUAL):
                in_column = (z, j, threshold, test)
        if in_column[0] < best[0] * (1 - EQUAL):
            best = in_column
    return best


def reweighted(D, Y, h):
    """D exp(-y h) / Z and Z."""
    m, n_labels = len(Y), len(Y[0])
    raw = [[D[i][k] * math.exp(-(1 if Y[i][k] else -1) * h[i][k]) for k in range(n_labels)] for i in range(m)]
    z = sum(map(sum, raw))
    return [[v / z for v in row] for row in raw], z


def boostexter(X, Y, n_rounds, words=False):
    """One dict per round: the condition, the confidences of its sides, the weights and scores after it."""
    m, n_labels = len(Y), len(Y[0])
    epsilon = 1 / (m * n_labels)
    D = [[epsilon] * n_labels for _ in range(m)]
    scores = [[0.0] * n_labels for _ in range(m)]
    history = []
    for _ in range(n_rounds):
        z, column, threshold, test = best_condition(X, Y, D, list(range(m)), words)
        no = confidences(D, Y, [i for i in range(m) if not test(X[i])], n_labels, epsilon)
        yes = confidences(D, Y, [i for i in range(m) if test(X[i])], n_labels, epsilon)
        h = [yes if test(X[i]) else no for i in range(m)]
        D, normalizer = reweighted(D, Y, h)
        scores = [[a + b for a, b in zip(s, g, strict=True)] for s, g in zip(scores, h, strict=True)]
        history.append(
            {
                "column": column,
                "threshold": threshold,
                "z": z,
                "sides": [no, yes],
                "weights": D,
                "normalizer": normalizer,
                "scores": scores,
            }
        )
    return history


def adtboost(X, Y, n_rounds, words=False):
    """The root's confidences, then one dict per round; a node is the list of rows that reach it."""
    m, n_labels = len(Y), len(Y[0])
    epsilon = 1 / (m * n_labels)
    D = [[epsilon] * n_labels for _ in range(m)]
    preconditions = [list(range(m))]
    root = confidences(D, Y, preconditions[0], n_labels, epsilon)
    D, _ = reweighted(D, Y, [root] * m)
    scores = [list(root) for _ in range(m)]
    history = []
    for _ in range(n_rounds):
        best = (math.inf, None, None, None, None)
        for node, rows in enumerate(preconditions):
            z, column, threshold, test = best_condition(X, Y, D, rows, words)
            z += sum(sum(D[i]) for i in range(m) if i not in rows)
            if z < best[0] * (1 - EQUAL):
                best = (z, node, column, threshold, test)
        z, node, column, threshold, test = best
        sides = [
            [i for i in preconditions[node] if not test(X[i])],
            [i for i in preconditions[node] if test(X[i])],
        ]
        values = [confidences(D, Y, side, n_labels, epsilon) for side in sides]
        h = [[0.0] * n_labels for _ in range(m)]
        for side, value in zip(sides, values, strict=True):
            for i in side:
                h[i] = value
        D, _ = reweighted(D, Y, h)
        scores = [[a + b for a, b in zip(s, g, strict=True)] for s, g in zip(scores, h, strict=True)]
        preconditions += sides
        history.append(
            {
                "node": node,
                "column": column,
                "threshold": threshold,
                "sides": values,
                "scores": scores,
                "weights": D,
            }
        )
    return root, history

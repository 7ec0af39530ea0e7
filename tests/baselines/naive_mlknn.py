"""ML-kNN in plain loops, after the pseudo-code of Zhang and Zhou (2007)."""

import math


def scaled(X, train):
    low = [min(row[j] for row in train) for j in range(len(train[0]))]
    high = [max(row[j] for row in train) for j in range(len(train[0]))]
    return [[_unit(v, lo, hi) for v, lo, hi in zip(row, low, high, strict=True)] for row in X]


def _unit(v, lo, hi):
    return (v - lo) / (hi - lo) if hi > lo else 0.0


def neighbors(x, train, k, leave_out=None):
    others = [j for j in range(len(train)) if j != leave_out]
    return sorted(others, key=lambda j: math.dist(x, train[j]))[:k]


def posteriors(train, Y, queries, k, s):
    """P(label present | how many of k neighbors have it), one row per query."""
    m, n_labels = len(train), len(Y[0])
    train_neighbors = [neighbors(train[i], train, k, leave_out=i) for i in range(m)]
    query_neighbors = [neighbors(q, train, k) for q in queries]
    result = [[0.0] * n_labels for _ in queries]
    for label in range(n_labels):
        prior = (s + sum(Y[i][label] for i in range(m))) / (2 * s + m)
        with_label, without_label = [0] * (k + 1), [0] * (k + 1)
        for i in range(m):
            delta = sum(Y[j][label] for j in train_neighbors[i])
            if Y[i][label]:
                with_label[delta] += 1
            else:
                without_label[delta] += 1
        for q, found in enumerate(query_neighbors):
            delta = sum(Y[j][label] for j in found)
            present = prior * (s + with_label[delta]) / (s * (k + 1) + sum(with_label))
            absent = (1 - prior) * (s + without_label[delta]) / (s * (k + 1) + sum(without_label))
            result[q][label] = present / (present + absent)
    return result

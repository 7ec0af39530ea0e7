"""The method in plain loops: the specification that every engine, backend and shortcut equals.

Rows are lists of floats, label sets are sets of label numbers. Nothing here is fast, and nothing
here imports simlabel.
"""

from __future__ import annotations

import itertools
import math

# --- similarities -------------------------------------------------------------------------------


def dot(x, z):
    return math.fsum(a * b for a, b in zip(x, z, strict=True))


def rbf(gamma):
    return lambda x, z: math.exp(-gamma * math.fsum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


def laplacian(gamma):
    return lambda x, z: math.exp(-gamma * math.fsum(abs(a - b) for a, b in zip(x, z, strict=True)))


def chi_square(gamma):
    def phi(x, z):
        terms = [(a - b) ** 2 / (a + b) for a, b in zip(x, z, strict=True) if a + b > 0]
        return math.exp(-gamma * math.fsum(terms))

    return phi


def polynomial(degree, coef0):
    return lambda x, z: (dot(x, z) + coef0) ** degree


def cosine(x, z):
    length = math.sqrt(dot(x, x)) * math.sqrt(dot(z, z))
    return dot(x, z) / length if length > 0 else 0.0


def jaccard(x, z):
    union = math.fsum(max(a, b) for a, b in zip(x, z, strict=True))
    return math.fsum(min(a, b) for a, b in zip(x, z, strict=True)) / union if union > 0 else 0.0


def jaccard_of_sets(x, z):
    both = sum(1 for a, b in zip(x, z, strict=True) if a != 0 and b != 0)
    either = sum(1 for a, b in zip(x, z, strict=True) if a != 0 or b != 0)
    return both / either if either else 0.0


# --- weightings: psi of the similarities of one query, with the weight of each reference ---------


def keep_all(similarities, weights):
    return [s * w for s, w in zip(similarities, weights, strict=True)]


def power(exponent):
    def psi(similarities, weights):
        return [math.copysign(abs(s) ** exponent, s) * w for s, w in zip(similarities, weights, strict=True)]

    return psi


def cutoff(minimum):
    def psi(similarities, weights):
        return [s * w if s >= minimum else 0.0 for s, w in zip(similarities, weights, strict=True)]

    return psi


def top_k(k):
    """A reference of weight w is w neighbors; of equals those that come first count."""

    def psi(similarities, weights):
        order = sorted(range(len(similarities)), key=lambda j: (-similarities[j], j))
        counted, left = [0.0] * len(similarities), float(k)
        for j in order:
            taken = min(weights[j], left)
            counted[j] = similarities[j] * taken
            left -= taken
        return counted

    return psi


# --- the sums -----------------------------------------------------------------------------------


def influences(query, X, phi, psi=keep_all, weights=None, exclude=None, absent=()):
    """psi(phi(query, x_j)) for every reference j; of `exclude` one copy is not there, of `absent` none is."""
    weights = [1.0] * len(X) if weights is None else list(weights)
    if exclude is not None:
        weights[exclude] = max(weights[exclude] - 1.0, 0.0)
    for j in absent:
        weights[j] = 0.0
    there = [j for j in range(len(X)) if weights[j] > 0]
    counted = psi([phi(query, X[j]) for j in there], [weights[j] for j in there])
    result = [0.0] * len(X)
    for j, value in zip(there, counted, strict=True):
        result[j] = value
    return result


def sums(query, X, V, phi, psi=keep_all, weights=None, exclude=None):
    """Sum over references of psi(phi(query, x_j)) * v_j."""
    counted = influences(query, X, phi, psi, weights, exclude)
    return [math.fsum(c * v[k] for c, v in zip(counted, V, strict=True)) for k in range(len(V[0]))]


def label_weights(query, X, label_sets, n_labels, phi, psi=keep_all, weights=None, exclude=None, absent=()):
    """f_k: the sum over the references that have label k."""
    counted = influences(query, X, phi, psi, weights, exclude, absent)
    return [
        math.fsum(c for c, labels in zip(counted, label_sets, strict=True) if k in labels)
        for k in range(n_labels)
    ]


def set_size(query, X, label_sets, phi, psi=keep_all, weights=None, exclude=None):
    """xi: the size whose references are most similar in sum; a tie goes to the smaller."""
    counted = influences(query, X, phi, psi, weights, exclude)
    totals = {}
    for c, labels in zip(counted, label_sets, strict=True):
        totals.setdefault(len(labels), []).append(c)
    return min(totals, key=lambda size: (-math.fsum(totals[size]), size))


def own_group(i, groups):
    """The rows that are left out with row i; None is a group of its own."""
    return [j for j, group in enumerate(groups) if j == i or (group is not None and group == groups[i])]


def strongest(scores, size):
    """The `size` labels of largest weight; of equals those that come first."""
    return sorted(range(len(scores)), key=lambda k: (-scores[k], k))[:size]


# --- learned influence ---------------------------------------------------------------------------


def solve(M, B):
    """M^-1 B by elimination, the largest pivot first."""
    rows = [[*m, *b] for m, b in zip(M, B, strict=True)]
    for k in range(len(M)):
        pivot = max(range(k, len(M)), key=lambda i: abs(rows[i][k]))
        rows[k], rows[pivot] = rows[pivot], rows[k]
        rows[k] = [value / rows[k][k] for value in rows[k]]
        for i in range(len(M)):
            if i != k:
                rows[i] = [a - rows[i][k] * b for a, b in zip(rows[i], rows[k], strict=True)]
    return [row[len(M) :] for row in rows]


def ridge(query, X, targets, phi, penalty, weights=None, absent=()):
    """Scores of a ridge regression on the rows that are there: of weight w, a row is w rows."""
    weights = [1.0] * len(X) if weights is None else weights
    there = [j for j in range(len(X)) if j not in absent]
    if not there:
        return [0.0] * len(targets[0])
    mean = _mean(targets, weights, there)
    S = [[phi(X[i], X[j]) + (penalty / weights[i] if i == j else 0.0) for j in there] for i in there]
    V = solve(S, [[t - m for t, m in zip(targets[i], mean, strict=True)] for i in there])
    return _scores([phi(query, X[j]) for j in there], V, mean)


def inducing(query, X, targets, phi, penalty, used, weights=None, absent=()):
    """The same where the function is a sum over the rows `used`, which stay where they are absent."""
    weights = [1.0] * len(X) if weights is None else weights
    there = [j for j in range(len(X)) if j not in absent]
    mean = _mean(targets, weights, there)
    K = {j: [phi(X[j], X[u]) for u in used] for j in there}
    m, width = len(used), len(mean)
    M = [
        [
            penalty * phi(X[used[a]], X[used[b]]) + math.fsum(weights[j] * K[j][a] * K[j][b] for j in there)
            for b in range(m)
        ]
        for a in range(m)
    ]
    B = [
        [math.fsum(weights[j] * K[j][a] * (targets[j][k] - mean[k]) for j in there) for k in range(width)]
        for a in range(m)
    ]
    return _scores([phi(query, X[u]) for u in used], solve(M, B), mean)


def _mean(targets, weights, there):
    total = math.fsum(weights[j] for j in there)
    return [math.fsum(weights[j] * targets[j][k] for j in there) / total for k in range(len(targets[0]))]


def _scores(similar, V, mean):
    return [m + math.fsum(s * v[k] for s, v in zip(similar, V, strict=True)) for k, m in enumerate(mean)]


# --- the threshold function ---------------------------------------------------------------------


def best_threshold(scores, labels):
    """s(x): middle of the first interval of thresholds with the fewest mistakes."""
    points = sorted(set(scores))
    gap = (points[-1] - points[0]) / (len(points) - 1) if len(points) > 1 else abs(points[0]) or 1.0
    edges = [points[0] - gap, *points, points[-1] + gap]
    best = None
    for low, high in itertools.pairwise(edges):
        tau = (low + high) / 2
        missed = sum(1 for k, f in enumerate(scores) if k in labels and f <= tau)
        false = sum(1 for k, f in enumerate(scores) if k not in labels and f >= tau)
        if best is None or missed + false < best[0]:
            best = missed + false, tau
    return best[1]


# --- normalization ------------------------------------------------------------------------------


def unit_length(row):
    length = math.sqrt(dot(row, row))
    return [a / length for a in row] if length > 0 else list(row)


# --- the criteria, on one instance --------------------------------------------------------------


def rank(scores, k):
    """Place of label k, the worst among its equals."""
    return sum(1 for f in scores if f >= scores[k])


def one_error(scores, labels):
    top = max(scores)
    return float(any(f == top and k not in labels for k, f in enumerate(scores)))


def coverage(scores, labels):
    return max(rank(scores, k) for k in labels) - 1


def ranking_loss(scores, labels):
    others = [k for k in range(len(scores)) if k not in labels]
    wrong = sum(1 for k in labels for q in others if scores[k] <= scores[q])
    return wrong / (len(labels) * len(others))


def average_precision(scores, labels):
    parts = []
    for k in labels:
        hits = sum(1 for q in labels if rank(scores, q) <= rank(scores, k))
        parts.append(hits / rank(scores, k))
    return math.fsum(parts) / len(labels)


# --- labels of which not all are known: None in place of a label set's entry -----------------------
# a row is a list with True, False or None for each label


def imputed(rows):
    """The same where None is the constant of a label that is constant where it is known; False if nowhere."""
    columns = []
    for column in zip(*rows, strict=True):
        values = {value for value in column if value is not None}
        constant = None if len(values) > 1 else values == {True}
        columns.append([constant if value is None else value for value in column])
    return [list(row) for row in zip(*columns, strict=True)]


def known_label_weights(
    query, X, rows, phi, psi=keep_all, weights=None, absent=(), exclude=None, by_counts=False
):
    """f_k over the rows where label k is known, over the similarity to them, times that to all rows.

    Where nobody who knows is similar: the total times the share of those who know that have it.
    """
    rows, there = imputed(rows), _weights_left(X, weights, absent, exclude)
    counted = influences(query, X, phi, psi, weights, exclude, absent)
    total, everyone = math.fsum(counted), math.fsum(there)
    scores = []
    for k in range(len(rows[0])):
        known = [j for j in range(len(X)) if rows[j][k] is not None]
        have = [j for j in known if rows[j][k]]
        similar, number = math.fsum(counted[j] for j in known), math.fsum(there[j] for j in known)
        base_rate = math.fsum(there[j] for j in have) / number if number > 0 else 0.0
        found = math.fsum(counted[j] for j in have)
        if by_counts:
            scores.append(found * everyone / number if number > 0 else total * base_rate)
        else:
            scores.append(found * total / similar if similar > 0 else total * base_rate)
    return scores


def known_set_size(query, X, rows, phi, psi=keep_all, weights=None, absent=(), exclude=None):
    """The size by the rows that are wholly known; without any such row, what the shares add up to, rounded.

    Where none of these is similar to the query, they count alike.
    """
    counted = influences(query, X, phi, psi, weights, exclude, absent)
    rows, alike = imputed(rows), _weights_left(X, weights, absent, exclude)
    whole = [j for j, row in enumerate(rows) if None not in row]
    if not whole:
        total = math.fsum(counted)
        query, phi, psi = (query, phi, psi) if total > 0 else (query, lambda x, z: 1.0, keep_all)
        scores = known_label_weights(query, X, rows, phi, psi, weights, absent, exclude)
        return math.ceil(math.fsum(scores) / (total if total > 0 else math.fsum(alike)) - 0.5 - 1e-6)
    if math.fsum(counted[j] for j in whole) == 0:
        counted = alike
    votes = {}
    for j in whole:
        votes.setdefault(sum(rows[j]), []).append(counted[j])
    return min(votes, key=lambda size: (-math.fsum(votes[size]), size))


def _weights_left(X, weights, absent, exclude):
    left = [1.0] * len(X) if weights is None else list(weights)
    if exclude is not None:
        left[exclude] = max(left[exclude] - 1.0, 0.0)
    return [0.0 if j in absent else w for j, w in enumerate(left)]


def known_ridge(query, X, rows, phi, penalty, weights=None, absent=()):
    """Each label by a ridge regression of its own on the rows where it is known; 0 where there is none."""
    scores = []
    rows = imputed(rows)
    for k in range(len(rows[0])):
        unknown = [j for j, row in enumerate(rows) if row[k] is None]
        targets = [[float(bool(row[k]))] for row in rows]
        scores += ridge(query, X, targets, phi, penalty, weights, {*absent, *unknown})
    return scores


def of_known(criterion, scores, row):
    """A criterion of a ranking on the labels that are known, as if there were no others."""
    known = [k for k, value in enumerate(row) if value is not None]
    labels = {place for place, k in enumerate(known) if row[k]}
    return criterion([scores[k] for k in known], labels)

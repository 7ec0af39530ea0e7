"""Ranks: the strongest labels of a row, ranking criteria, nearest neighbors, conformal prediction.

In conformal prediction a query is added to the labeled rows. Scores are rounded, so two that are equal in
theory may differ in their last digits. Such scores count as equal, which is safe: no label is excluded
because of a digit.
"""

from __future__ import annotations

import numpy as np

from simlabel._utils.kernels._compile import Floats, Ints, kernel

_EQUAL = 1e-9  # scores whose relative difference is smaller are the same


@kernel
def top_labels(scores: Floats, sizes: Ints, indptr: Ints, out: Floats) -> None:
    """Write the sizes[i] strongest labels of row i to out[indptr[i]:indptr[i + 1]], strongest first.

    Of equal scores the first label wins.
    """
    for i in range(scores.shape[0]):
        size, first, kept = sizes[i], indptr[i], 0
        if size == 0:
            continue
        for k in range(scores.shape[1]):
            if kept == size and scores[i, k] <= scores[i, out[first + kept - 1]]:
                continue
            place = first + (kept if kept < size else size - 1)
            while place > first and scores[i, out[place - 1]] < scores[i, k]:
                out[place] = out[place - 1]
                place -= 1
            out[place] = k
            kept += kept < size


@kernel
def ranking_criteria(scores: Floats, indptr: Ints, indices: Ints, n_known: Ints, out: Floats) -> None:
    """Fill out[i] with one-error, coverage, ranking loss and average precision of row i.

    Only n_known[i] labels count; the others, none of them true, have the score minus infinity. Ties count
    against the scorer: the rank of a label is the worst among its equals. NaN where a criterion is
    undefined: no true label, or for ranking loss no false one.
    """
    n_labels = scores.shape[1]
    for i in range(scores.shape[0]):
        n_true = indptr[i + 1] - indptr[i]
        if n_true == 0:
            out[i, :] = np.nan
            continue
        highest = scores[i, 0]
        for k in range(n_labels):
            highest = max(highest, scores[i, k])
        n_highest, true_highest, worst, reversed_pairs, precision = 0, 0, 0, 0, 0.0
        for k in range(n_labels):
            n_highest += scores[i, k] == highest
        for entry in range(indptr[i], indptr[i + 1]):
            score = scores[i, indices[entry]]
            rank, hits = 0, 0
            for k in range(n_labels):
                rank += scores[i, k] >= score
            for other in range(indptr[i], indptr[i + 1]):
                hits += scores[i, indices[other]] >= score
            true_highest += score == highest
            worst = max(worst, rank)
            reversed_pairs += rank - hits
            precision += hits / rank
        out[i, 0] = 1.0 if true_highest < n_highest else 0.0
        out[i, 1] = worst - 1
        n_false = n_known[i] - n_true
        out[i, 2] = reversed_pairs / (n_true * n_false) if n_false > 0 else np.nan
        out[i, 3] = precision / n_true


@kernel
def merge_top_k(S: Floats, positions: Ints, values: Floats, indices: Ints) -> None:
    """Merge the entries of S, (queries, references), into the largest values so far, largest first.

    `positions` are the positions of S's columns, one row for all queries or one for each. An entry replaces
    smaller ones only, so of equals the first one stays.
    """
    last = values.shape[1] - 1
    for i in range(S.shape[0]):
        named = i if positions.shape[0] > 1 else 0
        for j in range(S.shape[1]):
            s = S[i, j]
            if s > values[i, last]:
                place = last
                while place > 0 and values[i, place - 1] < s:
                    values[i, place] = values[i, place - 1]
                    indices[i, place] = indices[i, place - 1]
                    place -= 1
                values[i, place] = s
                indices[i, place] = positions[named, j]


@kernel
def count_weaker_shares(
    terms: Floats, shares: Floats, out: Ints, totals: Floats, sums: Floats, indptr: Ints, indices: Ints
) -> None:
    """Add to out[q, k] how many rows with label k have at most the share of query q, once q is added.

    `terms` (n_queries, n_rows) are weighted similarities; `totals` (n_rows,) their absolute sums for each row
    without itself, and `sums` those over the rows with each of its labels, in the order of `indices`.
    """
    for q in range(terms.shape[0]):
        for i in range(terms.shape[1]):
            term = terms[q, i]
            total = totals[i] + abs(term)
            for entry in range(indptr[i], indptr[i + 1]):
                k = indices[entry]
                share = (sums[entry] + term) / total if total > 0 else 0.0
                requested = shares[q, k]
                out[q, k] += share - requested <= _EQUAL * max(abs(share), abs(requested))


@kernel
def count_larger_residuals(
    U: Floats,
    schur: Floats,
    residuals: Floats,
    out: Ints,
    diagonal: Floats,
    solved: Floats,
    indptr: Ints,
    indices: Ints,
) -> None:
    """Add to out[q, k] how many rows with label k have at least the residual of query q, once q is added.

    U (n_queries, n_rows) is the inverse times the similarities of a query, `schur` (n_queries,) the Schur
    complement of its own; `diagonal` (n_rows,) is that of the inverse, `solved` the influence for each
    label of a row.
    """
    for q in range(U.shape[0]):
        for i in range(U.shape[1]):
            across = U[q, i] / schur[q]
            own = diagonal[i] + U[q, i] * across
            for entry in range(indptr[i], indptr[i + 1]):
                k = indices[entry]
                requested = residuals[q, k]
                residual = (solved[entry] - across * requested) / own
                out[q, k] += requested - residual <= _EQUAL * max(1.0, abs(requested))


@kernel
def worst_shares(
    terms: Floats,
    shares: Floats,
    order: Ints,
    out: Floats,
    totals: Floats,
    sums: Floats,
    indptr: Ints,
    indices: Ints,
    losses: Floats,
    whole: bool,
) -> None:
    """Fill out[q, k] with the losses of all rows if labels scored at most as query q for k are missed.

    The score of a row is the lowest possible once the query is added, whatever the query's labels.
    `order` (n_queries, n_labels) sorts `shares`; `losses` (n_rows,) is the cost of each missed label, or
    with `whole` the cost of missing any.
    """
    worst = np.empty(sums.shape[0])
    for q in range(terms.shape[0]):
        for i in range(terms.shape[1]):
            term = terms[q, i]
            total = totals[i] + abs(term)
            for entry in range(indptr[i], indptr[i + 1]):
                worst[entry] = (sums[entry] + min(term, 0.0)) / total if total > 0 else 0.0
        _add_losses(worst, indptr, losses, whole, shares[q], order[q], out[q])


@kernel
def worst_ridge(
    U: Floats,
    schur: Floats,
    scores: Floats,
    order: Ints,
    present: Floats,
    absent: Floats,
    out: Floats,
    diagonal: Floats,
    solved: Floats,
    solved_less: Floats,
    indptr: Ints,
    indices: Ints,
    losses: Floats,
    whole: bool,
) -> None:
    """Fill out[q, k] as `worst_shares` does, for ridge scores.

    `present` and `absent` (n_queries, n_labels) are residuals of the query with label k and without it,
    `solved` and `solved_less` the corresponding influence.
    """
    worst = np.empty(solved.shape[0])
    for q in range(U.shape[0]):
        for i in range(U.shape[1]):
            across = U[q, i] / schur[q]
            own = diagonal[i] + U[q, i] * across
            for entry in range(indptr[i], indptr[i + 1]):
                k = indices[entry]
                with_it = solved[entry] - across * present[q, k]
                without = solved_less[entry] - across * absent[q, k]
                worst[entry] = 1.0 - max(with_it, without) / own
        _add_losses(worst, indptr, losses, whole, scores[q], order[q], out[q])


@kernel
def _add_losses(
    worst: Floats, indptr: Ints, losses: Floats, whole: bool, scores: Floats, order: Ints, out: Floats
) -> None:
    """Fill out[k] with the losses of entries that score at most scores[k]."""
    n_labels = len(out)
    out[:] = 0.0
    for i in range(len(losses)):
        first, last = indptr[i], indptr[i + 1]
        if whole and first < last:
            for entry in range(first + 1, last):
                worst[first] = min(worst[first], worst[entry])
            last = first + 1
        for entry in range(first, last):
            least = worst[entry] - _EQUAL * max(1.0, abs(worst[entry]))
            low, high = 0, n_labels
            while low < high:
                middle = (low + high) // 2
                if scores[order[middle]] < least:
                    low = middle + 1
                else:
                    high = middle
            if low < n_labels:
                out[order[low]] += losses[i]
    for place in range(1, n_labels):
        out[order[place]] += out[order[place - 1]]

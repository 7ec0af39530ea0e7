"""Loops of guarantees: a query is put among the labelled rows.

What is compared is rounded, so that two scores which are equal on paper may differ in their last digits. Such
scores count as equal, which is on the safe side: no label is excluded for a digit.
"""

from __future__ import annotations

import numpy as np

from simlabel._utils.kernels._compile import kernel
from simlabel._utils.kernels._types import Floats, Ints

_EQUAL = 1e-9  # scores that differ by less, of their own size, are the same


@kernel
def count_weaker_shares(
    terms: Floats, shares: Floats, out: Ints, totals: Floats, sums: Floats, indptr: Ints, indices: Ints
) -> None:
    """Add to out[q, k] how many rows with label k have at most the share of query q, once it is among them.

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
                wanted = shares[q, k]
                out[q, k] += share - wanted <= _EQUAL * max(abs(share), abs(wanted))


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
    """Add to out[q, k] how many rows with label k have at least the residual of query q, once it is there.

    U (n_queries, n_rows) is the inverse times the similarities of a query, `schur` (n_queries,) what is left
    of its own; `diagonal` (n_rows,) that of the inverse, `solved` the influence for each label of a row.
    """
    for q in range(U.shape[0]):
        for i in range(U.shape[1]):
            across = U[q, i] / schur[q]
            own = diagonal[i] + U[q, i] * across
            for entry in range(indptr[i], indptr[i + 1]):
                k = indices[entry]
                wanted = residuals[q, k]
                residual = (solved[entry] - across * wanted) / own
                out[q, k] += wanted - residual <= _EQUAL * max(1.0, abs(wanted))


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
    """Fill out[q, k] with the losses of all rows if labels that score no more than query q for k are missed.

    Scores of rows are the lowest that they can have once the query is among them, whatever its labels.
    `order` (n_queries, n_labels) sorts `shares`; `losses` (n_rows,) is what a missed label costs, or with
    `whole` what it costs to miss any.
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
    """The same for ridge; `present` and `absent` (n_queries, n_labels) are residuals of the query.

    They are with label k and without it; `solved` and `solved_less` the influences that go with them.
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
    """Losses of what scores no more than each label of one query: each in its place, then added up."""
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

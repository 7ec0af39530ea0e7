"""Loops of guarantees: a query put among the labelled rows, or one of these taken away.

What is compared is rounded, so that two scores which are equal on paper may differ in their last digits. Such
scores count as equal, which is on the safe side: no label is excluded for a digit.
"""

from __future__ import annotations

from simlabel._kernels._compile import kernel, ordered_kernel
from simlabel._kernels._types import Floats, Ints

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


@ordered_kernel
def best_shares(terms: Floats, sums: Floats, out: Floats, indptr: Ints, indices: Ints) -> None:
    """Fill out[q, k] with the largest share of label k that query q has when one row is taken away.

    `sums` (n_queries, n_labels) are those over all rows. A row that makes up most of a total is not
    subtracted from it, for nothing would be left but rounding: the sums are taken anew without it.
    """
    n_labels = out.shape[1]
    for q in range(terms.shape[0]):
        total, largest = 0.0, 0
        for i in range(terms.shape[1]):
            total += abs(terms[q, i])
            if abs(terms[q, i]) > abs(terms[q, largest]):
                largest = i
        for i in range(terms.shape[1]):
            if i == largest:
                continue
            rest = total - abs(terms[q, i])
            first, last = indptr[i], indptr[i + 1]
            for k in range(n_labels):
                value = sums[q, k]
                if first < last and indices[first] == k:
                    value -= terms[q, i]
                    first += 1
                share = value / rest if rest > 0 else 0.0
                if share > out[q, k]:
                    out[q, k] = share
        _without_largest(terms[q], indptr, indices, largest, out[q])


@ordered_kernel
def _without_largest(terms: Floats, indptr: Ints, indices: Ints, largest: int, out: Floats) -> None:
    rest = 0.0
    sums = out * 0.0
    for i in range(len(terms)):
        if i != largest:
            rest += abs(terms[i])
            for entry in range(indptr[i], indptr[i + 1]):
                sums[indices[entry]] += terms[i]
    for k in range(len(out)):
        share = sums[k] / rest if rest > 0 else 0.0
        if share > out[k]:
            out[k] = share


@kernel
def best_ridge(H: Floats, scores: Floats, ones: Floats, out: Floats, slope: Floats, means: Floats) -> None:
    """Fill out[q, k] with the largest score of label k that query q has when one row is taken away.

    H (n_queries, n_rows) is the inverse times the similarities of a query over the inverse's diagonal.
    Without row i the score is scores[q, k] - H[q, i] slope[i, k] + means[i, k] ones[q]: `scores` before a
    mean is added, `means` (n_rows, n_labels) without each row, `ones` what the sums leave over of a constant.
    """
    for q in range(H.shape[0]):
        for i in range(H.shape[1]):
            h, rest = H[q, i], ones[q]
            for k in range(out.shape[1]):
                out[q, k] = max(out[q, k], scores[q, k] - h * slope[i, k] + means[i, k] * rest)

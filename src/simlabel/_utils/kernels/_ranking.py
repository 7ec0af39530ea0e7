"""Loops over the labels of a row: the strongest ones, and how well true labels are ranked."""

from __future__ import annotations

import numpy as np

from simlabel._utils.kernels._compile import kernel
from simlabel._utils.kernels._types import Floats, Ints


@kernel
def top_labels(scores: Floats, sizes: Ints, indptr: Ints, out: Floats) -> None:
    """Write the sizes[i] strongest labels of row i to out[indptr[i]:indptr[i + 1]], strongest first.

    Of equal scores the label that comes first wins.
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

    Of the labels n_known[i] count; the others, none of them true, score minus infinity. Ties count against
    the scorer: the rank of a label is the worst among its equals. NaN where a criterion is undefined: no
    true label, or for ranking loss no false one.
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

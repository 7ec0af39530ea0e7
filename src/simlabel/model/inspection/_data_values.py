"""The value of each labeled instance: the exact effect of leaving it out on a metric."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel._utils.validation import FloatArray
from simlabel.metrics import CRITERIA, Criterion, Truth
from simlabel.model._scorer import Scorer
from simlabel.ridge import Ridge, Uniform
from simlabel.sums import prepare

_DECIMALS = 10  # of learned scores, which are near 0 and 1


def data_values(scorer: Scorer, criterion: str) -> FloatArray:
    """Return how much each instance improves the scores of the others.

    Every instance is scored by all others, and by all others but one; the mean difference of the criterion
    is the value of that one, positive if it helps. All resolved parameters are kept.

    Parameters
    ----------
    criterion : str
        ``"average_precision"``, ``"ranking_loss"``, ``"coverage"`` or ``"one_error"``.

    Returns
    -------
    array, (n_references,)
    """
    known = [name for name, each in CRITERIA.items() if each.needs_scores]
    if criterion not in known:
        raise ValueError(f"unknown criterion {criterion!r}; expected one of {', '.join(known)}.")
    influence = scorer.stages.influence
    if isinstance(influence, Ridge):
        return _learned_values(scorer, influence, CRITERIA[criterion])
    if isinstance(influence, Uniform):
        return _summed_values(scorer, CRITERIA[criterion])
    raise ValueError(f"data_values is defined for influence 'uniform' and 'ridge', not {influence!r}.")


def _learned_values(scorer: Scorer, influence: Ridge, criterion: Criterion) -> FloatArray:
    """Compute the values by closed-form leave-one-out, with and without each instance."""
    references, rows = scorer.references, criterion.rows
    truth, weights, n_labels = Truth.of(references.imputed_Y), references.weights, references.n_labels
    without_each = influence.without_each(scorer.problem)
    assert scorer.loo_scores is not None
    assert rows is not None

    def evaluate(truth: Truth, scores: FloatArray) -> FloatArray:
        # labels that the same rows have score the same: rounding must not decide which is ahead
        return rows(truth, np.round(scores[:, :n_labels], _DECIMALS))

    whole = evaluate(truth, scorer.loo_scores)
    values = np.zeros(references.n_rows)
    for j, scores in enumerate(without_each):
        others = np.flatnonzero(np.arange(references.n_rows) != j)
        gain = whole[others] - evaluate(truth[others], scores)
        there = ~np.isnan(gain)
        if there.any():
            values[j] = np.average(gain[there], weights=weights[others][there])
    return values if criterion.higher_is_better else -values


def _summed_values(scorer: Scorer, criterion: Criterion) -> FloatArray:
    """Compute the values by removing one term from the sums."""
    references, stages, weighting = scorer.references, scorer.stages, scorer.stages.weighting
    if weighting is not None and weighting.scope == "row":
        raise ValueError(
            f"data_values needs sums of independent terms; with {weighting!r}, leaving one row out changes "
            f"the terms of others."
        )
    n, weights = references.n_rows, references.weights
    truth = Truth.of(references.imputed_Y)
    columns = truth.Y.tocsc()
    rows_of = np.split(columns.indices, columns.indptr[1:-1])
    prepared = prepare(references.X, [stages.similarity])
    gains, counted = np.zeros(n), np.zeros(n)
    for part in blocks(n, max(1, limits().block_bytes // (8 * n))):
        S = stages.similarities(references.X[part], prepared, weighting)
        for i, terms in zip(range(part.start, part.stop), S * weights, strict=True):
            terms[i] *= max(weights[i] - 1.0, 0.0) / weights[i]
            gain = _gains(terms, rows_of, truth[np.full(n + 1, i)], criterion)
            if gain is not None:
                gain[i] = 0.0
                gains += weights[i] * gain
                counted += weights[i]
                counted[i] -= weights[i]
    return np.divide(gains, counted, out=np.zeros(n), where=counted > 0)


def _gains(
    terms: FloatArray, rows_of: Sequence[npt.NDArray[np.integer]], truth: Truth, criterion: Criterion
) -> FloatArray | None:
    """Return how much each reference improves the criterion of one row; None if that is undefined.

    `truth` is the row's, once for all references together and once without each.
    """
    assert criterion.rows is not None
    values = criterion.rows(truth, np.vstack(_with_and_without(terms, rows_of)))
    if np.isnan(values[0]):
        return None
    return (values[0] - values[1:]) * (1.0 if criterion.higher_is_better else -1.0)


def _with_and_without(
    terms: FloatArray, rows_of: Sequence[npt.NDArray[np.integer]]
) -> tuple[FloatArray, FloatArray]:
    """Return label weights with all terms and without each, rounded once, so that equal sums are ties.

    The sum is kept with its rounding error, and a term is subtracted from both; the largest, which
    may be nearly the whole sum, is left out by masking.
    """
    whole = np.zeros(len(rows_of))
    without = np.zeros((len(terms), len(rows_of)))
    for k, rows in enumerate(rows_of):
        own = terms[rows]
        listed = own.tolist()
        total = math.fsum(listed)
        lost = math.fsum([*listed, -total])
        whole[k], without[:, k] = total, total
        if not listed:
            continue
        less = total - own
        back = total - less
        rounding = (total - (less + back)) + (back - own)
        without[rows, k] = less + (rounding + lost)
        largest = int(np.argmax(np.abs(own)))
        without[rows[largest], k] = math.fsum(listed[:largest] + listed[largest + 1 :])
    return whole, without

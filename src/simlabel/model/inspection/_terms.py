"""The largest terms of the sums behind a prediction, and the nearest references."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.model._model import Model
from simlabel.model._scorer import Scorer
from simlabel.sums import Job, MatrixReducer, ReduceCall, References, prepare, reducer_for

_N_INSTANCES = 10  # that an explanation lists
_N_SIMILAR = 10  # most similar instances among which sentences count, and that a picture shows
_N_HAVING = 30  # most similar instances that have a label: several of them may share one title


class Neighbors(NamedTuple):
    """Some references and their similarities to a query, the most similar first."""

    positions: IntArray
    similarities: FloatArray


@dataclass(frozen=True)
class Terms:
    """For every query and every column of V, the largest terms of the sum.

    Attributes
    ----------
    positions : array of int, (n_queries, n_columns, top)
        Among all references, the largest contribution first; -1 where there are fewer.
    contributions : array, (n_queries, n_columns, top)
        psi(phi(q, x_j)) * V[j, k].
    totals : array, (n_queries, n_columns)
        The sum over all references.
    absolute : array, (n_queries, n_columns)
        The sum of the absolute contributions: shares are fractions of it.
    counts : array of int, (n_columns,)
        How many references can contribute.
    """

    positions: IntArray
    contributions: FloatArray
    totals: FloatArray
    absolute: FloatArray
    counts: IntArray

    def sides(self, query: int, column: int) -> tuple[float, float]:
        """Return the sum of the positive terms and the sum of the negative ones."""
        total, absolute = float(self.totals[query, column]), float(self.absolute[query, column])
        return (absolute + total) / 2, (total - absolute) / 2

    @property
    def rest(self) -> FloatArray:
        """The contribution of all references that are not listed, (n_queries, n_columns)."""
        return self.totals - self.contributions.sum(axis=2)


def having_each(references: References) -> sp.csc_array:
    """Return the weights of the references that have each label and each set size, column by column."""
    return sp.csc_array(references.influence[:])[:, : references.n_labels + len(references.sizes)]


def similarities(scorer: Scorer, Q: Rows) -> tuple[FloatArray, FloatArray]:
    """Return the similarities to all references, and the weighted ones to those that are summed over."""
    stages, references, used = scorer.stages, scorer.references, scorer.solved.used
    prepared = scorer.prepared if used is None else prepare(references.X, [stages.similarity])
    jobs = [Job(stages.similarity, None, MatrixReducer(references.n_rows))]
    if stages.weighting is not None:  # one column of V for each reference: terms that are not added up
        single = reducer_for(stages.weighting, sp.eye_array(references.n_rows).tocsr(), references.weights)
        jobs.append(Job(stages.similarity, stages.weighting, single))
    found = stages.exact_engine.reduce(ReduceCall(Q, prepared, jobs, n_jobs=stages.n_jobs))
    S, psi = (found[i].astype(np.float64, copy=False) for i in (0, -1))
    return S, psi if used is None else psi[:, used]


def nearest_of(positions: IntArray, similar: FloatArray, n: int) -> Neighbors:
    """Return the `n` references at these positions that are most similar to a query."""
    first = positions[np.argsort(-similar[positions], kind="stable")[:n]]
    return Neighbors(first, similar[first])


def nearest_of_each(
    columns: Iterable[int], having: sp.csc_array, similar: FloatArray, n: int
) -> dict[int, Neighbors]:
    """Return the most similar references that have each of some labels or set sizes."""
    bounds = {int(k): slice(having.indptr[k], having.indptr[k + 1]) for k in columns}
    return {k: nearest_of(having.indices[part], similar, n) for k, part in bounds.items()}


class LargestTerms:
    """The largest terms of the sums with each column of V, block by block of the queries."""

    def __init__(self, V: Rows, used: IntArray | None, n_queries: int, top: int) -> None:
        self.magnitudes, self.references = abs(V), np.arange(V.shape[0]) if used is None else used
        columns = sp.csc_array(V)
        bounds = list(zip(columns.indptr[:-1], columns.indptr[1:], strict=True))
        self.columns = [(columns.indices[a:b], columns.data[a:b]) for a, b in bounds]
        shape = (n_queries, len(self.columns), min(top, V.shape[0]))
        self.found = Terms(
            np.full(shape, -1, dtype=np.int64),
            np.zeros(shape),
            np.empty(shape[:2]),
            np.empty(shape[:2]),
            np.diff(columns.indptr).astype(np.int64) if sp.issparse(V) else np.full(shape[1], V.shape[0]),
        )

    def add(self, part: slice, psi: FloatArray, sums: FloatArray, factors: FloatArray | None) -> None:
        """Add some queries with their weighted similarities and sums, which are multiplied by `factors`."""
        found, by = self.found, np.ones((1, len(self.columns))) if factors is None else factors
        found.totals[part] = sums[:, : len(self.columns)] * by
        found.absolute[part] = np.abs(psi) @ self.magnitudes * by
        for k, (rows, values) in enumerate(self.columns):
            size = min(len(rows), found.positions.shape[2])
            if size:
                best, largest = _largest_of_both_signs(psi[:, rows] * values * by[:, k, None], size)
                found.contributions[part, k, :size] = largest
                found.positions[part, k, :size] = np.where(largest == 0.0, -1, self.references[rows[best]])


def _largest_of_both_signs(terms: FloatArray, size: int) -> tuple[IntArray, FloatArray]:
    """Return the columns and the values of the largest terms of each row, from both signs in turn.

    With learned influence, a few large negative terms may outweigh a thousand small positive ones: a reader
    is shown both.
    """
    rows = np.arange(len(terms))[:, None]
    best = _largest(terms, size)
    if terms.min() >= 0.0:
        return best, terms[rows, best]
    best = np.hstack([best, _largest(-terms, size)])
    found = terms[rows, best]
    found = np.hstack([np.maximum(found[:, :size], 0.0), np.minimum(found[:, size:], 0.0)])
    turn = np.where(found == 0.0, np.inf, np.hstack([np.arange(size), np.arange(size) + 0.5]))
    chosen = np.argsort(turn, axis=1, kind="stable")[:, :size]
    order = chosen[rows, np.argsort(-np.abs(found[rows, chosen]), axis=1, kind="stable")]
    return best[rows, order], found[rows, order]


def _largest(values: FloatArray, size: int) -> IntArray:
    """Return the columns of the largest values of each row, the largest first."""
    rows = np.arange(len(values))[:, None]
    some = np.sort(np.argpartition(-values, size - 1, axis=1)[:, :size], axis=1)
    return some[rows, np.argsort(-values[rows, some], axis=1, kind="stable")]


def collect_evidence(
    model: Model, Q: Rows, having: sp.csc_array, described: Sequence[int] | None, top: int | None
) -> dict[str, Any]:
    """Return the fields of an `Explanation` that depend on similarities, from one pass."""
    scorer, n_references = model.scorer, model.scorer.references.n_rows
    V, intercept, n = scorer.V[:], scorer.solved.intercept, n_rows(Q)
    terms = LargestTerms(V[:, : having.shape[1]], scorer.solved.used, n, top or _N_INSTANCES)
    sums, probabilities = np.empty((n, V.shape[1])), np.empty((n, scorer.references.n_labels))
    chosen: list[IntArray] = []
    similar: list[Neighbors] = []
    nearest: list[dict[int, Neighbors]] = []
    for part in blocks(n, max(1, limits().block_bytes // (8 * n_references))):
        S, psi = similarities(scorer, Q[part])
        sums[part] = psi @ V
        terms.add(part, psi, sums[part], None if scorer.known is None else scorer.known.factors(sums[part]))
        if intercept is not None:
            sums[part] += intercept
        scores = scorer.block(sums[part])
        sets, probabilities[part] = model.choose(scores), model.to_probabilities(scores)
        chosen += np.split(sets.indices, sets.indptr[1:-1])
        similar += [nearest_of(np.flatnonzero(row > 0), row, _N_SIMILAR) for row in S]
        for row, predicted in zip(S, chosen[part], strict=True):
            size = np.flatnonzero(scorer.references.sizes == len(predicted)) + probabilities.shape[1]
            columns = [*(predicted if described is None else described), *size]
            nearest.append(nearest_of_each(columns, having, row, max(_N_HAVING, top or 0)))
    return {
        "chosen": chosen,
        "terms": terms.found,
        "probabilities": probabilities,
        "similar": similar,
        "having": nearest,
        "_sums": sums,
    }

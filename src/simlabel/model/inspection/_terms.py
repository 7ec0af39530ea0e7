"""The largest terms of each query's sums."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import Stack, blocks, n_rows
from simlabel._utils.validation import FloatArray, Rows
from simlabel.model._scorer import Scorer
from simlabel.sums import Job, ReduceCall, reducer_for


@dataclass(frozen=True)
class Terms:
    """For every query and every column of V, what contributed most.

    Attributes
    ----------
    positions : array of int, (n_queries, n_columns, top)
        References, the largest contribution first; -1 where there are fewer.
    contributions : array, (n_queries, n_columns, top)
        psi(phi(q, x_j)) * V[j, k].
    totals : array, (n_queries, n_columns)
        The sum over all references.
    absolute : array, (n_queries, n_columns)
        The sum of what they contribute, whatever its sign: shares are of this.
    counts : array of int, (n_columns,)
        How many references can contribute.
    """

    positions: npt.NDArray[np.int64]
    contributions: FloatArray
    totals: FloatArray
    absolute: FloatArray
    counts: npt.NDArray[np.int64]

    def sides(self, query: int, column: int) -> tuple[float, float]:
        """What speaks for a column in all, and what speaks against it, below 0."""
        total, absolute = float(self.totals[query, column]), float(self.absolute[query, column])
        return (absolute + total) / 2, (total - absolute) / 2

    @property
    def rest(self) -> FloatArray:
        """What all other references contributed together, (n_queries, n_columns)."""
        return self.totals - self.contributions.sum(axis=2)


def largest_terms(scorer: Scorer, Q: Rows, top: int) -> Terms:
    """Find the terms of the sums over references that are largest; where they differ in sign, of both.

    Parameters
    ----------
    Q : rows, (n_queries, n_features)
        Queries, normalized.
    top : int
        How many for each query and column.
    """
    stages, weighting, weights = scorer.stages, scorer.stages.weighting, scorer.references.weights
    n = scorer.prepared.n_rows
    width = scorer.references.n_labels + len(scorer.references.sizes)
    columns = _Columns((scorer.V.whole() if isinstance(scorer.V, Stack) else scorer.V)[:, :width])
    # the same reduction with one column for each reference: what comes out is not yet added up
    job = Job(stages.similarity, weighting, reducer_for(weighting, sp.eye_array(n, format="csr"), weights))
    shape = (n_rows(Q), columns.count, min(top, n))
    largest = Terms(
        np.full(shape, -1, dtype=np.int64),
        np.zeros(shape),
        np.zeros(shape[:2]),
        np.zeros(shape[:2]),
        np.array([len(rows) for rows, _ in columns], dtype=np.int64),
    )
    for part in blocks(shape[0], max(1, limits().block_bytes // (8 * n))):
        call = ReduceCall(Q[part], scorer.prepared, [job], n_jobs=stages.n_jobs)
        psi = stages.by_pairs.reduce(call)[0].astype(np.float64)
        factors = None if scorer.known is None else scorer.known_factors(Q[part])
        for k, (rows, values) in enumerate(columns):
            terms = psi[:, rows] * values
            if factors is not None:
                terms *= factors[:, k, None]
            largest.totals[part, k] = terms.sum(axis=1)
            magnitudes = np.abs(terms)
            largest.absolute[part, k] = magnitudes.sum(axis=1)
            size = min(shape[2], terms.shape[1])
            if size == 0:
                continue
            best, found = _most_telling(terms, magnitudes, size)
            largest.contributions[part, k, :size] = found
            largest.positions[part, k, :size] = rows[best]
    largest.positions[largest.contributions == 0.0] = -1
    return largest


def _most_telling(
    terms: FloatArray, magnitudes: FloatArray, size: int
) -> tuple[npt.NDArray[np.int64], FloatArray]:
    """Where the largest of each row are and what they are, the largest first, from both signs in turn.

    Of learned influence a thousand small terms for a label may be outvoted in magnitude by some against it:
    a reader is shown both sides.
    """
    if terms.min() >= 0.0:
        best = _largest(magnitudes, size)
        return best, np.take_along_axis(terms, best, axis=1)
    sides = [np.maximum(terms, 0.0), np.maximum(-terms, 0.0)]
    best = np.hstack([_largest(side, size) for side in sides])
    found = np.take_along_axis(np.hstack(sides), best + np.repeat([0, terms.shape[1]], size), axis=1)
    turn = np.where(found > 0.0, np.hstack([np.arange(size), np.arange(size) + 0.5]), np.inf)
    chosen = np.argsort(turn, axis=1, kind="stable")[:, :size]
    signed = np.take_along_axis(found * np.repeat([1.0, -1.0], size), chosen, axis=1)
    order = np.argsort(-np.abs(signed), axis=1, kind="stable")
    places = np.take_along_axis(np.take_along_axis(best, chosen, axis=1), order, axis=1)
    return places, np.take_along_axis(signed, order, axis=1)


def _largest(values: FloatArray, size: int) -> npt.NDArray[np.int64]:
    """Where the largest of each row are, the largest first."""
    if size == values.shape[1]:
        return np.argsort(-values, axis=1, kind="stable")
    some = np.sort(np.argpartition(-values, size - 1, axis=1)[:, :size], axis=1)
    order = np.argsort(-np.take_along_axis(values, some, axis=1), axis=1, kind="stable")
    return np.take_along_axis(some, order, axis=1)


class _Columns:
    """The columns of V, each as the rows that it has and their values."""

    def __init__(self, V: Rows) -> None:
        self.V: Rows = sp.csc_array(V) if sp.issparse(V) else np.asarray(V)
        self.count = int(V.shape[1])

    def __iter__(self) -> Iterator[tuple[npt.NDArray[np.int64], FloatArray]]:
        if not sp.issparse(self.V):
            every = np.arange(self.V.shape[0])
            yield from ((every, self.V[:, k]) for k in range(self.count))
            return
        for start, stop in zip(self.V.indptr[:-1], self.V.indptr[1:], strict=True):
            yield self.V.indices[start:stop], self.V.data[start:stop]

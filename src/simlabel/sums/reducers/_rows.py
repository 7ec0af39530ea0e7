"""Reducers for weightings that look at whole rows: the largest of a row, and any function of it.

Their partial results do not add up: parts give candidates, or the similarities themselves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.kernels import keep_largest
from simlabel._utils.validation import FloatArray, Rows
from simlabel.sums._weightings import TopK, Weighting
from simlabel.sums.reducers._influence import InfluenceColumns, turned_over
from simlabel.sums.reducers._sums import (
    Additive,
    Exclude,
    Indices,
    Join,
    Keep,
    PartialResult,
    PartialSum,
    Reducer,
    SumReducer,
    side_by_side,
)


class Largest:
    """The sum over the k most similar references only.

    Parameters
    ----------
    V : array or sparse, (n_references, width)
        Influence of each reference, weights included.
    k : int
        How many neighbours count.
    weights : array, (n_references,), optional
        A reference of weight w is w neighbours.
    """

    def __init__(self, V: Rows, k: int, weights: FloatArray | None) -> None:
        self.influence = InfluenceColumns(V)
        self.width = self.influence.width
        self.k = k
        self.weights = np.ones(self.influence.n_references) if weights is None else weights
        lightest = float(self.weights.min()) if self.weights.size else 1.0
        # enough entries to reach k neighbours, and one more since a query's own may be left out
        self.capacity = int(min(len(self.weights), np.ceil(k / min(1.0, lightest)) + 1))
        self.bytes_per_query = 64 * self.capacity + 8 * self.width

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """No neighbours yet."""
        values = np.full((n_queries, self.capacity), -np.inf)
        return _PartialLargest(self, values, np.zeros((n_queries, self.capacity), dtype=np.int64), exclude)

    def part(self, rows: slice) -> Reducer:
        """Their largest entries."""
        return Candidates(self.capacity)

    def placed(self, result: FloatArray, start: int) -> FloatArray:
        """Only parts have places."""
        return result

    @property
    def joined(self) -> Join:
        """The largest of all."""
        return largest_of

    def closed(self, result: FloatArray, exclude: Exclude | None) -> FloatArray:
        """The sum over the largest."""
        values, indices = _split(result)
        return _PartialLargest(self, values, indices, exclude).finish()


@dataclass
class _PartialLargest:
    reducer: Largest
    values: FloatArray
    indices: Indices
    exclude: Exclude | None

    def add(self, S: FloatArray, part: slice) -> None:
        _take_largest(S, part, self.values, self.indices, self.exclude)

    def merge(self, later: Self) -> None:
        keep_largest(later.values, later.indices, self.values, self.indices)

    def finish(self) -> FloatArray:
        n_queries, capacity = self.values.shape
        weights = self.reducer.weights
        there = np.where(np.isfinite(self.values), weights[self.indices], 0.0)
        if self.exclude is not None:
            own = self.indices == self.exclude.own[:, None]
            there = np.where(own, there * self.exclude.kept[:, None], there)
        before = np.cumsum(there, axis=1) - there
        taken = np.clip(self.reducer.k - before, 0.0, there)
        share = np.divide(taken, weights[self.indices], out=np.zeros_like(taken), where=taken > 0)
        data = np.where(taken > 0, self.values, 0.0) * share
        indptr = np.arange(0, n_queries * capacity + 1, capacity)
        shape = (n_queries, len(weights))
        W = sp.csr_array((data.ravel(), self.indices.ravel(), indptr), shape=shape)
        return self.reducer.influence.weighted_rows(W)


class Candidates:
    """The largest entries of some of the references: [values | places], a place of -1 for none.

    Parameters
    ----------
    capacity : int
        How many are kept.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self.width = capacity, 2 * capacity
        self.bytes_per_query = 64 * capacity

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """None yet; a query's own entry is seen to when all are known, its group at once."""
        return _PartialCandidates(*_split(np.full((n_queries, self.width), -1.0)), exclude)

    def part(self, rows: slice) -> Reducer:
        """The same."""
        return self

    def placed(self, result: FloatArray, start: int) -> FloatArray:
        """Places among all references; float64 holds them exactly."""
        placed = result.astype(np.float64)
        places = placed[:, self.capacity :]
        places[places >= 0] += start
        return placed

    @property
    def joined(self) -> Join:
        """The largest of all."""
        return largest_of

    def closed(self, result: FloatArray, exclude: Exclude | None) -> FloatArray:
        """As it is."""
        return result


@dataclass
class _PartialCandidates:
    values: FloatArray
    indices: Indices
    exclude: Exclude | None = None

    def add(self, S: FloatArray, part: slice) -> None:
        _take_largest(S, part, self.values, self.indices, self.exclude)

    def merge(self, later: Self) -> None:
        keep_largest(later.values, later.indices, self.values, self.indices)

    def finish(self) -> FloatArray:
        there = np.isfinite(self.values)
        return np.hstack([np.where(there, self.values, 0.0), np.where(there, self.indices, -1)])


def _take_largest(
    S: FloatArray, part: slice, values: FloatArray, indices: Indices, exclude: Exclude | None
) -> None:
    """Merge a block into the largest so far; of the group of a query nobody takes a place."""
    if exclude is not None and exclude.groups is not None:
        S[exclude.together(part)] = -np.inf
    keep_largest(turned_over(S), np.arange(part.start, part.stop)[None, :], values, indices)


def _split(result: FloatArray) -> tuple[FloatArray, Indices]:
    """Values and places of `Candidates`; places that hold nothing are behind all others."""
    capacity = result.shape[1] // 2
    places = result[:, capacity:].astype(np.int64)
    values = np.where(places >= 0, result[:, :capacity], -np.inf)
    return values, np.maximum(places, 0)


def largest_of(parts: Sequence[FloatArray]) -> FloatArray:
    """The largest of the candidates of parts; of equals those that come first."""
    merged = _PartialCandidates(*_split(parts[0]))
    for later in parts[1:]:
        merged.merge(_PartialCandidates(*_split(later)))
    return merged.finish()


class WholeRows(Additive):
    """A weighting that must see whole rows, then the sum.

    Parameters
    ----------
    V : array or sparse, (n_references, width)
        Influence of each reference.
    weighting : Weighting
        Of scope "row".
    """

    def __init__(self, V: Rows, weighting: Weighting) -> None:
        self.influence = InfluenceColumns(V)
        self.width = self.influence.width
        self.weighting = weighting
        self.bytes_per_query = 24 * self.influence.n_references + 8 * self.width

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """No blocks yet."""
        return _PartialRows(self, [], exclude)

    def part(self, rows: slice) -> Reducer:
        """The similarities themselves: a part sees no whole row."""
        return Keep(rows.stop - rows.start)

    @property
    def joined(self) -> Join:
        """Side by side."""
        return side_by_side

    def closed(self, result: FloatArray, exclude: Exclude | None) -> FloatArray:
        """Weighted, and summed."""
        return _PartialRows(self, [result], exclude).finish()


@dataclass
class _PartialRows:
    reducer: WholeRows
    blocks: list[FloatArray]
    exclude: Exclude | None

    def add(self, S: FloatArray, part: slice) -> None:
        self.blocks.append(np.array(turned_over(S), dtype=np.float64))  # a copy: the block may be reused

    def merge(self, later: Self) -> None:
        self.blocks.extend(later.blocks)

    def finish(self) -> FloatArray:
        S = np.concatenate(self.blocks, axis=1)
        S = np.ascontiguousarray(self._weighted(S))
        total = np.zeros((self.reducer.width, S.shape[0]))
        partial = PartialSum(self.reducer.influence, total, self.exclude)
        partial.add(S.T, slice(0, S.shape[1]))
        return partial.finish()

    def _weighted(self, S: FloatArray) -> FloatArray:
        """psi of whole rows; it must not see an entry that is left out."""
        apply = self.reducer.weighting.apply
        if self.exclude is None:
            return apply(S)
        if self.exclude.groups is not None:
            return self._weighted_without_groups(S, ~self.exclude.together(slice(0, S.shape[1])).T)
        rows, columns = self.exclude.within(slice(0, S.shape[1]))
        gone = self.exclude.kept[rows] == 0
        rows, columns = rows[gone], columns[gone]
        seen = np.ones(S.shape, dtype=bool)
        seen[rows, columns] = False
        others = np.setdiff1d(np.arange(S.shape[0]), rows)
        result = np.zeros_like(S)
        if len(others):
            result[others] = apply(S[others])
        if len(rows) and S.shape[1] > 1:
            short = apply(S[rows][seen[rows]].reshape(len(rows), -1))
            result[seen & np.isin(np.arange(S.shape[0]), rows)[:, None]] = short.ravel()
        return result

    def _weighted_without_groups(self, S: FloatArray, seen: npt.NDArray[np.bool_]) -> FloatArray:
        """Row by row, since each has another number of entries that are seen."""
        result = np.zeros_like(S)
        for i in np.flatnonzero(seen.any(axis=1)):
            result[i, seen[i]] = self.reducer.weighting.apply(S[i : i + 1, seen[i]])[0]
        return result


def reducer_for(weighting: Weighting | None, V: Rows, weights: FloatArray | None = None) -> Reducer:
    """The reducer that sums with influence V under a weighting; `weights` are those inside V."""
    if isinstance(weighting, TopK):
        return Largest(V, int(weighting.k), weights)
    if weighting is not None and weighting.scope == "row":
        return WholeRows(V, weighting)
    return SumReducer(V)

"""Reducers: what happens to blocks of similarities.

A reducer is started for a block of queries, gets blocks of references in increasing order, is merged with one
that got later references, and is finished into one row of results per query. So blocks, threads and
machines work in the same way. Partial results of weightings of whole rows do not add up: parts of the
references give candidates, or the similarities themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import merge_top_k
from simlabel._utils.validation import BoolArray, FloatArray, IntArray, Rows
from simlabel.sums._influence import InfluenceColumns, transposed
from simlabel.sums._weightings import TopK, Weighting

Join = Callable[[Sequence[FloatArray]], FloatArray]


@dataclass(frozen=True)
class Exclude:
    """For each query its own entry among the references, and the share of that entry that counts.

    Attributes
    ----------
    own : array of int, (n_queries,)
        Position among the references, -1 for none.
    share : array, (n_queries,)
        0 leaves the entry out; (w - 1) / w leaves out one copy of a row of weight w.
    groups : (array of int (n_queries,), array of int (n_references,)), optional
        Group numbers: all references of a query's group are left out, whatever `share` is.
    """

    own: IntArray
    share: FloatArray
    groups: tuple[IntArray, IntArray] | None = None

    def part(self, queries: slice) -> Exclude:
        """Select some of the queries."""
        groups = None if self.groups is None else (self.groups[0][queries], self.groups[1])
        return Exclude(self.own[queries], self.share[queries], groups)

    def for_references(self, part: slice | IntArray) -> Exclude:
        """Select the references `part`, in increasing order."""
        groups = None if self.groups is None else (self.groups[0], self.groups[1][part])
        if isinstance(part, slice):
            there = (self.own >= part.start) & (self.own < part.stop)
            return Exclude(np.where(there, self.own - part.start, -1), self.share, groups)
        place = np.searchsorted(part, self.own)
        there = place < len(part)
        there[there] = part[place[there]] == self.own[there]
        return Exclude(np.where(there, place, -1), self.share, groups)

    def same_group(self, part: slice) -> BoolArray:
        """Return which of the references `part` are in each query's group, (references, n_queries)."""
        assert self.groups is not None
        return self.groups[1][part, None] == self.groups[0][None, :]

    def own_entries(self, part: slice) -> tuple[IntArray, IntArray]:
        """Return the queries whose own entry is among the references `part`, and its position there."""
        rows = np.flatnonzero((self.own >= part.start) & (self.own < part.stop))
        return rows, self.own[rows] - part.start


class PartialResult:
    """The state of a reducer for one block of queries."""

    def add(self, S: FloatArray, part: slice) -> None:
        """Add a block of similarities, (references in `part`, n_queries); may overwrite it."""
        raise NotImplementedError

    def merge(self, later: Any) -> None:
        """Add the state of a reducer that got later references."""
        raise NotImplementedError

    def finish(self, out: FloatArray) -> None:
        """Write the results, (n_queries, width)."""
        raise NotImplementedError


class Reducer:
    """Base class of reducers."""

    width: int
    bytes_per_query: int

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """Return an empty state for a block of queries."""
        raise NotImplementedError

    def part(self, rows: slice) -> Reducer:
        """Return the reducer of some of the references alone, whose results can be joined."""
        raise NotImplementedError

    def for_join(self, result: FloatArray, start: int) -> FloatArray:
        """Convert the results of a part, whose first reference has position `start`, for `join`."""
        return result.astype(np.float64, copy=False)

    @staticmethod
    def join(parts: Sequence[FloatArray]) -> FloatArray:
        """Combine the results of parts of the references, in order."""
        return np.sum(parts, axis=0)

    def finished(self, result: FloatArray, exclude: Exclude | None) -> FloatArray:
        """Turn joined results of all parts into the final ones, (n_queries, width)."""
        return result


class SumReducer(Reducer):
    """The sum of similarities times influence: the method itself.

    Parameters
    ----------
    V : array or sparse, (n_references, width)
        Influence of each reference.
    """

    def __init__(self, V: Rows) -> None:
        self.influence = InfluenceColumns(V)
        self.width = self.influence.width
        self.bytes_per_query = 8 * self.width

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """Return zeros."""
        return PartialSum(self.influence, np.zeros((self.width, n_queries)), exclude)

    def part(self, rows: slice) -> Reducer:
        """Return the sum over some references."""
        return SumReducer(self.influence.rows(rows))


@dataclass
class PartialSum(PartialResult):
    influence: InfluenceColumns
    total: FloatArray
    exclude: Exclude | None

    def add(self, S: FloatArray, part: slice) -> None:
        # masked, never subtracted: subtraction cancels all digits
        if self.exclude is not None and self.exclude.groups is not None:
            S[self.exclude.same_group(part)] = 0.0
        elif self.exclude is not None:
            rows, columns = self.exclude.own_entries(part)
            S[columns, rows] *= self.exclude.share[rows]
        self.influence.add_product(S, part, self.total)

    def merge(self, later: PartialSum) -> None:
        self.total += later.total

    def finish(self, out: FloatArray) -> None:
        transposed(self.total, out)


class MatrixReducer(Reducer):
    """The similarities themselves, one column per reference.

    Parameters
    ----------
    n_references : int
        Number of columns.
    """

    def __init__(self, n_references: int) -> None:
        self.width = n_references
        self.bytes_per_query = 8 * n_references

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """Return zeros."""
        return _PartialMatrix(np.zeros((n_queries, self.width)))

    def part(self, rows: slice) -> Reducer:
        """Return the similarities of some references."""
        return MatrixReducer(rows.stop - rows.start)

    @staticmethod
    def join(parts: Sequence[FloatArray]) -> FloatArray:
        """Concatenate columns."""
        return np.concatenate(parts, axis=1)


@dataclass
class _PartialMatrix(PartialResult):
    S: FloatArray

    def add(self, S: FloatArray, part: slice) -> None:
        self.S[:, part] = S.T

    def merge(self, later: _PartialMatrix) -> None:
        self.S += later.S

    def finish(self, out: FloatArray) -> None:
        out[:] = self.S


class RowWeightingReducer(MatrixReducer):
    """The sum under a weighting of whole rows.

    Parameters
    ----------
    V : array or sparse, (n_references, width)
        Influence of each reference.
    weighting : Weighting
        A weighting of scope "row".
    """

    def __init__(self, V: Rows, weighting: Weighting) -> None:
        self.influence = InfluenceColumns(V)
        self.width = self.influence.width
        self.weighting = weighting
        self.bytes_per_query = 24 * self.influence.n_references + 8 * self.width

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """Return zeros."""
        return _PartialRows(np.zeros((n_queries, self.influence.n_references)), self, exclude)

    def finished(self, result: FloatArray, exclude: Exclude | None) -> FloatArray:
        """Apply the weighting and sum."""
        out = np.empty((len(result), self.width))
        _PartialRows(result, self, exclude).finish(out)
        return out


@dataclass
class _PartialRows(_PartialMatrix):
    reducer: RowWeightingReducer
    exclude: Exclude | None

    def finish(self, out: FloatArray) -> None:
        S = np.ascontiguousarray(self._weighted(self.S))
        partial = PartialSum(self.reducer.influence, np.zeros((self.reducer.width, len(S))), self.exclude)
        partial.add(S.T, slice(0, S.shape[1]))
        partial.finish(out)

    def _weighted(self, S: FloatArray) -> FloatArray:
        """Apply psi to whole rows, without the entries that are left out."""
        apply = self.reducer.weighting.apply
        if self.exclude is None:
            return apply(S)
        if self.exclude.groups is not None:
            seen = ~self.exclude.same_group(slice(0, S.shape[1])).T
        else:
            rows, columns = self.exclude.own_entries(slice(0, S.shape[1]))
            removed = self.exclude.share[rows] == 0
            seen = np.ones(S.shape, dtype=bool)
            seen[rows[removed], columns[removed]] = False
        result = np.zeros_like(S)
        counts = seen.sum(axis=1)
        for count in np.unique(counts[counts > 0]):  # rows of one length are weighted together
            some = counts == count
            result[seen & some[:, None]] = apply(S[some][seen[some]].reshape(-1, count)).ravel()
        return result


class TopKReducer(Reducer):
    """The sum over the k most similar references only.

    Parameters
    ----------
    V : array or sparse, (n_references, width)
        Influence of each reference, weights included.
    k : int
        Number of neighbors.
    weights : array, (n_references,), optional
        A reference of weight w counts as w neighbors.
    """

    def __init__(self, V: Rows, k: int, weights: FloatArray | None) -> None:
        self.influence = InfluenceColumns(V)
        self.width = self.influence.width
        self.k = k
        self.weights = np.ones(self.influence.n_references) if weights is None else weights
        lightest = float(self.weights.min()) if self.weights.size else 1.0
        # enough entries to reach k neighbors, and one more since a query's own may be left out
        self.capacity = int(min(len(self.weights), np.ceil(k / min(1.0, lightest)) + 1))
        self.bytes_per_query = 64 * self.capacity + 8 * self.width

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """Return no neighbors yet."""
        return _PartialTopK(*_no_candidates(n_queries, self.capacity), exclude, self)

    def part(self, rows: slice) -> Reducer:
        """Return the largest entries of some references."""
        return Candidates(self.capacity)

    @staticmethod
    def join(parts: Sequence[FloatArray]) -> FloatArray:
        """Return the largest of the candidates of parts; of equals the first ones."""
        merged = _PartialTopK(*_split(parts[0]))
        for later in parts[1:]:
            merged.merge(_PartialTopK(*_split(later)))
        out = np.empty(parts[0].shape)
        merged.finish(out)
        return out

    def finished(self, result: FloatArray, exclude: Exclude | None) -> FloatArray:
        """Sum over the largest."""
        return self.sums(*_split(result), exclude)

    def sums(self, values: FloatArray, indices: IntArray, exclude: Exclude | None) -> FloatArray:
        """Sum over the k nearest of the candidates, (n_queries, width)."""
        n_queries, capacity = values.shape
        weights = self.weights
        there = np.where(np.isfinite(values), weights[indices], 0.0)
        if exclude is not None:
            there = np.where(indices == exclude.own[:, None], there * exclude.share[:, None], there)
        before = np.cumsum(there, axis=1) - there
        taken = np.clip(self.k - before, 0.0, there)
        share = np.divide(taken, weights[indices], out=np.zeros_like(taken), where=taken > 0)
        data = np.where(taken > 0, values, 0.0) * share
        indptr = np.arange(0, n_queries * capacity + 1, capacity)
        W = sp.csr_array((data.ravel(), indices.ravel(), indptr), shape=(n_queries, len(weights)))
        return self.influence.weighted_rows(W)


class Candidates(Reducer):
    """The largest entries of some of the references: [values | positions], position -1 for none.

    Parameters
    ----------
    capacity : int
        Number of entries.
    """

    def __init__(self, capacity: int) -> None:
        self.capacity, self.width = capacity, 2 * capacity
        self.bytes_per_query = 64 * capacity

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """Return none yet; groups are left out at once, own entries when all candidates are known."""
        return _PartialTopK(*_no_candidates(n_queries, self.capacity), exclude)

    def for_join(self, result: FloatArray, start: int) -> FloatArray:
        """Return positions among all references; float64 holds them exactly."""
        placed = result.astype(np.float64)
        places = placed[:, self.capacity :]
        places[places >= 0] += start
        return placed


@dataclass
class _PartialTopK(PartialResult):
    values: FloatArray
    indices: IntArray
    exclude: Exclude | None = None
    reducer: TopKReducer | None = None

    def add(self, S: FloatArray, part: slice) -> None:
        if self.exclude is not None and self.exclude.groups is not None:
            S[self.exclude.same_group(part)] = -np.inf
        positions = np.arange(part.start, part.stop)[None, :]
        merge_top_k(transposed(S), positions, self.values, self.indices)

    def merge(self, later: _PartialTopK) -> None:
        merge_top_k(later.values, later.indices, self.values, self.indices)

    def finish(self, out: FloatArray) -> None:
        if self.reducer is not None:
            out[:] = self.reducer.sums(self.values, self.indices, self.exclude)
            return
        there = np.isfinite(self.values)
        out[:] = np.hstack([np.where(there, self.values, 0.0), np.where(there, self.indices, -1)])


def _no_candidates(n_queries: int, capacity: int) -> tuple[FloatArray, IntArray]:
    return np.full((n_queries, capacity), -np.inf), np.zeros((n_queries, capacity), dtype=np.int64)


def _split(result: FloatArray) -> tuple[FloatArray, IntArray]:
    """Return values and positions of `Candidates`; empty ones have the value minus infinity."""
    capacity = result.shape[1] // 2
    places = result[:, capacity:].astype(np.int64)
    values = np.where(places >= 0, result[:, :capacity], -np.inf)
    return values, np.maximum(places, 0)


def reducer_for(weighting: Weighting | None, V: Rows, weights: FloatArray | None = None) -> Reducer:
    """Return the reducer for influence V under a weighting; `weights` are those contained in V."""
    if isinstance(weighting, TopK):
        return TopKReducer(V, int(weighting.k), weights)
    if weighting is not None and weighting.scope == "row":
        return RowWeightingReducer(V, weighting)
    return SumReducer(V)

"""What happens to a block of similarities: sums with influence, the largest of a row, whole rows.

A reducer is started for a block of queries, is given blocks of references in rising order, can be
merged with one that saw later references, and is finished into one row of results per query. So
blocks, threads and machines are one thing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._kernels import keep_largest
from simlabel._validation import FloatArray
from simlabel.engines._influence import Influence, turned_over
from simlabel.weightings import TopK, Weighting

Indices = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Exclude:
    """For each query its own entry among the references, and the share of it that stays.

    Attributes
    ----------
    own : array of int, (n_queries,)
        Position among the references, -1 for none.
    kept : array, (n_queries,)
        0 leaves the entry out; (w - 1) / w leaves out one copy of a row of weight w.
    """

    own: Indices
    kept: FloatArray

    def part(self, queries: slice) -> Exclude:
        """The same for some of the queries."""
        return Exclude(self.own[queries], self.kept[queries])

    def within(self, part: slice) -> tuple[Indices, Indices]:
        """Queries whose own entry is among the references `part`, and where it is in that block."""
        rows = np.flatnonzero((self.own >= part.start) & (self.own < part.stop))
        return rows, self.own[rows] - part.start


class Partial(Protocol):
    """The state of a reducer for one block of queries."""

    def add(self, S: FloatArray, part: slice) -> None:
        """Take in a block of similarities, (references in `part`, n_queries); may overwrite it."""

    def merge(self, later: Self) -> None:
        """Take in the state of one that saw later references."""

    def finish(self) -> FloatArray:
        """Results, (n_queries, width)."""


class Reducer(Protocol):
    """Makes partial states."""

    width: int
    bytes_per_query: int

    def start(self, n_queries: int, exclude: Exclude | None) -> Partial:
        """An empty state for a block of queries."""


class Sum:
    """The sum of similarities times influence: the method itself.

    Parameters
    ----------
    V : array or sparse, (n_references, width)
        Influence of each reference.
    """

    def __init__(self, V: Any) -> None:
        self.influence = Influence(V)
        self.width = self.influence.width
        self.bytes_per_query = 8 * self.width

    def start(self, n_queries: int, exclude: Exclude | None) -> Partial:
        """Zeros."""
        return _PartialSum(self.influence, np.zeros((self.width, n_queries)), exclude)


@dataclass
class _PartialSum:
    influence: Influence
    total: FloatArray
    exclude: Exclude | None

    def add(self, S: FloatArray, part: slice) -> None:
        if self.exclude is not None:  # masked, never subtracted: subtraction cancels all digits
            rows, columns = self.exclude.within(part)
            S[columns, rows] *= self.exclude.kept[rows]
        self.influence.add_product(S, part, self.total)

    def merge(self, later: Self) -> None:
        self.total += later.total

    def finish(self) -> FloatArray:
        return self.total.T


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

    def __init__(self, V: Any, k: int, weights: FloatArray | None) -> None:
        self.influence = Influence(V)
        self.width = self.influence.width
        self.k = k
        self.weights = np.ones(self.influence.n_references) if weights is None else weights
        lightest = float(self.weights.min()) if self.weights.size else 1.0
        # enough entries to reach k neighbours, and one more since a query's own may be left out
        self.capacity = int(min(len(self.weights), np.ceil(k / min(1.0, lightest)) + 1))
        self.bytes_per_query = 64 * self.capacity + 8 * self.width

    def start(self, n_queries: int, exclude: Exclude | None) -> Partial:
        """No neighbours yet."""
        values = np.full((n_queries, self.capacity), -np.inf)
        return _PartialLargest(self, values, np.zeros((n_queries, self.capacity), dtype=np.int64), exclude)

    def of_candidates(self, S: FloatArray, places: Indices, exclude: Exclude | None) -> FloatArray:
        """Results where some references were found to be near: their similarities, -inf for none.

        Parameters
        ----------
        S, places : array, (n_queries, n_candidates)
            Similarities, and positions among the references in rising order.
        """
        partial = self.start(len(S), exclude)
        assert isinstance(partial, _PartialLargest)
        keep_largest(S, places, partial.values, partial.indices)
        return partial.finish()


@dataclass
class _PartialLargest:
    reducer: Largest
    values: FloatArray
    indices: Indices
    exclude: Exclude | None

    def add(self, S: FloatArray, part: slice) -> None:
        named = np.arange(part.start, part.stop)[None, :]
        keep_largest(turned_over(S), named, self.values, self.indices)

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


class WholeRows:
    """A weighting that must see whole rows, then the sum.

    Parameters
    ----------
    V : array or sparse, (n_references, width)
        Influence of each reference.
    weighting : Weighting
        Of scope "row".
    """

    def __init__(self, V: Any, weighting: Weighting) -> None:
        self.influence = Influence(V)
        self.width = self.influence.width
        self.weighting = weighting
        self.bytes_per_query = 24 * self.influence.n_references + 8 * self.width

    def start(self, n_queries: int, exclude: Exclude | None) -> Partial:
        """No blocks yet."""
        return _PartialRows(self, [], exclude)


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
        partial = _PartialSum(self.reducer.influence, total, self.exclude)
        partial.add(S.T, slice(0, S.shape[1]))
        return partial.finish()

    def _weighted(self, S: FloatArray) -> FloatArray:
        """psi of whole rows; it must not see an entry that is left out."""
        apply = self.reducer.weighting.apply
        if self.exclude is None:
            return apply(S)
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


class Keep:
    """The similarities themselves, one column per reference.

    Parameters
    ----------
    n_references : int
        How many.
    """

    def __init__(self, n_references: int) -> None:
        self.width = n_references
        self.bytes_per_query = 8 * n_references

    def start(self, n_queries: int, exclude: Exclude | None) -> Partial:
        """Zeros."""
        return _PartialKeep(np.zeros((n_queries, self.width)))


@dataclass
class _PartialKeep:
    S: FloatArray

    def add(self, S: FloatArray, part: slice) -> None:
        self.S[:, part] = S.T

    def merge(self, later: Self) -> None:
        self.S += later.S

    def finish(self) -> FloatArray:
        return self.S


def reducer_for(weighting: Weighting | None, V: Any, weights: FloatArray | None = None) -> Reducer:
    """The reducer that sums with influence V under a weighting; `weights` are those inside V."""
    if isinstance(weighting, TopK):
        return Largest(V, int(weighting.k), weights)
    if weighting is not None and weighting.scope == "row":
        return WholeRows(V, weighting)
    return Sum(V)

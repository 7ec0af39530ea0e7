"""What happens to a block of similarities: sums with influence, or they are kept.

A reducer is started for a block of queries, is given blocks of references in rising order, can be
merged with one that saw later references, and is finished into one row of results per query. So
blocks, threads and machines are one thing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import FloatArray, Rows
from simlabel.sums.reducers._influence import InfluenceColumns, turned_over

Indices = npt.NDArray[np.int64]
Join = Callable[[Sequence[FloatArray]], FloatArray]


@dataclass(frozen=True)
class Exclude:
    """For each query its own entry among the references, and the share of it that stays.

    Attributes
    ----------
    own : array of int, (n_queries,)
        Position among the references, -1 for none.
    kept : array, (n_queries,)
        0 leaves the entry out; (w - 1) / w leaves out one copy of a row of weight w.
    groups : (array of int (n_queries,), array of int (n_references,)), optional
        Numbers of their groups: all references of a query's group are left out, whatever `kept` says.
    """

    own: Indices
    kept: FloatArray
    groups: tuple[Indices, Indices] | None = None

    def part(self, queries: slice) -> Exclude:
        """The same for some of the queries."""
        groups = None if self.groups is None else (self.groups[0][queries], self.groups[1])
        return Exclude(self.own[queries], self.kept[queries], groups)

    def among(self, part: slice | Indices) -> Exclude:
        """The same where only the references `part`, in rising order, are there."""
        groups = None if self.groups is None else (self.groups[0], self.groups[1][part])
        if isinstance(part, slice):
            there = (self.own >= part.start) & (self.own < part.stop)
            return Exclude(np.where(there, self.own - part.start, -1), self.kept, groups)
        place = np.searchsorted(part, self.own)
        there = place < len(part)
        there[there] = part[place[there]] == self.own[there]
        return Exclude(np.where(there, place, -1), self.kept, groups)

    def together(self, part: slice) -> npt.NDArray[np.bool_]:
        """Which of the references `part` are of the group of each query, (references, n_queries)."""
        assert self.groups is not None
        return self.groups[1][part, None] == self.groups[0][None, :]

    def within(self, part: slice) -> tuple[Indices, Indices]:
        """Queries whose own entry is among the references `part`, and where it is in that block."""
        rows = np.flatnonzero((self.own >= part.start) & (self.own < part.stop))
        return rows, self.own[rows] - part.start


class PartialResult(Protocol):
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

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """An empty state for a block of queries."""

    def part(self, rows: slice) -> Reducer:
        """What is done with some of the references alone, such that the results can be joined."""

    def placed(self, result: FloatArray, start: int) -> FloatArray:
        """Results of a part as `joined` takes them; its first reference has that place among all."""

    @property
    def joined(self) -> Join:
        """How the results of parts, in the order of their references, become one."""

    def closed(self, result: FloatArray, exclude: Exclude | None) -> FloatArray:
        """From the results of all parts, joined, to the results, (n_queries, width)."""


class Additive:
    """What parts give is added up, or put side by side, and that is all."""

    def placed(self, result: FloatArray, start: int) -> FloatArray:
        """In full precision."""
        return result.astype(np.float64, copy=False)

    def closed(self, result: FloatArray, exclude: Exclude | None) -> FloatArray:
        """As it is."""
        return result


class SumReducer(Additive):
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
        """Zeros."""
        return PartialSum(self.influence, np.zeros((self.width, n_queries)), exclude)

    def part(self, rows: slice) -> Reducer:
        """The sum over them."""
        return SumReducer(self.influence.rows(rows))

    @property
    def joined(self) -> Join:
        """Added up."""
        return added


@dataclass
class PartialSum:
    influence: InfluenceColumns
    total: FloatArray
    exclude: Exclude | None

    def add(self, S: FloatArray, part: slice) -> None:
        # masked, never subtracted: subtraction cancels all digits
        if self.exclude is not None and self.exclude.groups is not None:
            S[self.exclude.together(part)] = 0.0
        elif self.exclude is not None:
            rows, columns = self.exclude.within(part)
            S[columns, rows] *= self.exclude.kept[rows]
        self.influence.add_product(S, part, self.total)

    def merge(self, later: Self) -> None:
        self.total += later.total

    def finish(self) -> FloatArray:
        return turned_over(self.total)


def finish_into(partial: PartialResult, out: FloatArray) -> None:
    """Write the results of a block to its place; of sums no other copy is made, there may be many labels."""
    if isinstance(partial, PartialSum):
        turned_over(partial.total, out)
    else:
        out[:] = partial.finish()


class Keep(Additive):
    """The similarities themselves, one column per reference.

    Parameters
    ----------
    n_references : int
        How many.
    """

    def __init__(self, n_references: int) -> None:
        self.width = n_references
        self.bytes_per_query = 8 * n_references

    def start(self, n_queries: int, exclude: Exclude | None) -> PartialResult:
        """Zeros."""
        return _PartialKeep(np.zeros((n_queries, self.width)))

    def part(self, rows: slice) -> Reducer:
        """Their columns."""
        return Keep(rows.stop - rows.start)

    @property
    def joined(self) -> Join:
        """Side by side."""
        return side_by_side


@dataclass
class _PartialKeep:
    S: FloatArray

    def add(self, S: FloatArray, part: slice) -> None:
        self.S[:, part] = S.T

    def merge(self, later: Self) -> None:
        self.S += later.S

    def finish(self) -> FloatArray:
        return self.S


def added(parts: Sequence[FloatArray]) -> FloatArray:
    """The sum of the results of parts."""
    return np.sum(parts, axis=0)


def side_by_side(parts: Sequence[FloatArray]) -> FloatArray:
    """The columns of the results of parts."""
    return np.concatenate(parts, axis=1)

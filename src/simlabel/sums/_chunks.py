"""Chunks of labeled instances with their ids: immutable."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import Groups, LazyRows, blocks, fold, joined, take_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows
from simlabel.labels import Indicator, UnknownLabels, concatenate_unknown, label_counts, moved

Ids = range | AnyArray  # consecutive numbers, int64, or any objects


@dataclass(eq=False)
class Chunk:
    """Some labeled instances.

    Parameters
    ----------
    X : rows, (n, n_features)
        Features as the similarity compares them.
    Y : csr_array of 0/1, (n, n_labels)
        Label sets.
    weights : array, (n,)
        The sample weight of each.
    ids : range or array, (n,)
        The id of each.
    raw : rows, (n, n_features), or None
        Untransformed features, if the normalizer cannot be refitted on X.
    groups : array, (n,), or None
        Name of the group of each, int64 or objects; None for a group of its own.
    unknown : UnknownLabels or None
        Entries of Y that are not known; None if all are known.
    """

    X: Rows
    Y: Indicator
    weights: FloatArray
    ids: Ids
    raw: Rows | None
    groups: Groups = None
    unknown: UnknownLabels | None = None

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    @cached_property
    def sizes(self) -> IntArray:
        """The set sizes that occur, sorted, of rows whose labels are all known."""
        counts = np.diff(self.Y.indptr)
        counts = counts if self.unknown is None else counts[self.unknown.complete]
        return np.unique(counts).astype(np.int64)

    @cached_property
    def label_counts(self) -> IntArray:
        """The number of rows in which each label is present, and in which it is known, (2, n_labels)."""
        return label_counts(self.Y, self.unknown)

    @property
    def is_complete(self) -> bool:
        """Whether all labels of all rows are known."""
        return self.unknown is None or not self.unknown.entries.nnz

    def imputed(self, constant: npt.NDArray[np.int8]) -> Chunk:
        """Return the chunk with unknown cells of constant labels set to the constant; cached.

        Parameters
        ----------
        constant : array, (n_labels,)
            See `References.constant`: of all chunks.
        """
        filled = np.where(self.label_counts[1] < len(self), constant, 0)
        if self.unknown is None or not filled.any():
            return self
        unknown = self.unknown
        return self._cached(
            "_imputed", filled.tobytes(), lambda: self.with_labels(*unknown.imputed(self.Y, filled))
        )

    def _cached(self, name: str, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return the last result for `name` if it has the same key, else make it."""
        cached = self.__dict__.get(name)
        if cached is None or cached[0] != key:
            cached = self.__dict__[name] = key, make()
        return cached[1]

    @cached_property
    def nonnegative(self) -> bool:
        """Whether no feature is negative; False for objects."""
        return hasattr(self.X, "shape") and fold(self.X, _lowest, min) >= 0

    @cached_property
    def index(self) -> dict[Hashable, int]:
        """The position of each id."""
        return {name: i for i, name in enumerate(np.asarray(self.ids).tolist())}

    @property
    def find(self) -> Callable[[Hashable], int | None]:
        """A function from an id to its position, or None."""
        if not isinstance(self.ids, range):
            return self.index.get
        ids = self.ids
        return lambda name: ids.index(name) if type(name) is int and name in ids else None

    def influence(self, sizes: IntArray, complete: bool = True) -> Rows:
        """Return the rows of `References.influence`; cached."""

        def make() -> Rows:
            if not complete:
                return self._partly_known(sizes)
            return _weighted_rows(self.Y, self.weights, sizes, short=isinstance(self.X, LazyRows))

        return self._cached("_influence", (self.Y.shape[1], sizes.tobytes(), complete), make)

    def _partly_known(self, sizes: IntArray) -> Rows:
        """Return [Y | size if all labels are known | 1 if not | the labels known then], weighted."""
        n, n_labels = self.Y.shape
        entries = sp.csr_array((n, n_labels), dtype=np.int8) if self.unknown is None else self.unknown.entries
        partly = np.diff(entries.indptr) > 0
        some = np.flatnonzero(partly)
        at, columns = np.nonzero(entries[some].toarray() == 0)
        known = _placed(some[at], columns, self.Y.shape)
        whole = np.flatnonzero(~partly)
        votes = _placed(whole, np.searchsorted(sizes, np.diff(self.Y.indptr)[whole]), (n, len(sizes)))
        parts = [self.Y, votes, _placed(some, np.zeros_like(some), (n, 1)), known]
        return sp.csr_array(sp.hstack(parts, format="csr").multiply(self.weights[:, None]), dtype=np.float64)

    def part(self, rows: IntArray) -> Chunk:
        """Return a copy of some rows, without references to the arrays of this chunk."""
        contiguous = isinstance(self.ids, range) and len(rows) == rows[-1] - rows[0] + 1
        ids = self.ids[rows[0] : rows[-1] + 1] if contiguous else np.asarray(self.ids)[rows]
        raw = None if self.raw is None else _taken(self.raw, rows)
        return self._selected(rows, _taken(self.X, rows), raw, ids)

    def _selected(self, rows: IntArray | slice, X: Rows, raw: Rows | None, ids: Ids) -> Chunk:
        groups = None if self.groups is None else self.groups[rows]
        unknown = None if self.unknown is None else self.unknown.part(rows)
        return Chunk(X, self.Y[rows], self.weights[rows], ids, raw, groups, unknown)

    def relabeled(self, places: IntArray, n_labels: int) -> Chunk:
        """Return the same rows with label k moved to places[k]; the features are shared."""
        Y = moved(self.Y, places, n_labels)
        unknown = None if self.unknown is None else self.unknown.moved(places, n_labels)
        return self.with_labels(Y, unknown)

    def with_labels(self, Y: Indicator, unknown: UnknownLabels | None) -> Chunk:
        """Return the same rows with other label sets; the features are shared."""
        return Chunk(self.X, Y, self.weights, self.ids, self.raw, self.groups, unknown)


def _placed(rows: IntArray, columns: IntArray, shape: tuple[int, int]) -> Rows:
    return sp.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)


def _lowest(X: Rows) -> float:
    if not (X.shape[0] and X.shape[1]):
        return 0.0
    if hasattr(X, "min"):
        return float(X.min())
    return min(float(X[part].min()) for part in blocks(X.shape[0], limits().piece_rows))  # rows in a file


def _taken(X: Rows, rows: IntArray) -> Rows:
    return X.taken(rows) if isinstance(X, LazyRows) else take_rows(X, rows)


def _weighted_rows(Y: Indicator, weights: FloatArray, sizes: IntArray, short: bool) -> Rows:
    """Return [Y | one-hot of the set size], times the weights; `short` saves memory instead of time."""
    n, n_labels = Y.shape
    counts = np.diff(Y.indptr)
    indptr = Y.indptr + np.arange(n + 1, dtype=Y.indptr.dtype)
    last = np.zeros(int(indptr[-1]), dtype=bool)  # the size follows the labels
    last[indptr[1:] - 1] = True
    indices = np.empty(len(last), dtype=Y.indices.dtype)
    indices[~last], indices[last] = Y.indices, n_labels + np.searchsorted(sizes, counts)
    if short and (weights == 1.0).all():
        data = _ones(len(last).bit_length())[: len(last)]
    else:
        data = np.repeat(weights.astype(np.float64, copy=False), counts + 1)
    return sp.csr_array((data, indices, indptr), shape=(n, n_labels + len(sizes)))


@lru_cache(maxsize=2)
def _ones(power: int) -> npt.NDArray[np.float64]:
    """Return 2^power ones, a shared, read-only array."""
    ones = np.ones(1 << power)
    ones.flags.writeable = False
    return ones


def merge_chunks(chunks: Sequence[Chunk]) -> Chunk:
    """Merge chunks into one; the arrays are copied."""
    ids = [chunk.ids for chunk in chunks]
    follow = all(
        isinstance(a, range) and isinstance(b, range) and a.stop == b.start
        for a, b in itertools.pairwise(ids)
    )
    together = range(ids[0][0], ids[-1][-1] + 1) if follow else merged_ids(chunks)
    raws = [chunk.raw for chunk in chunks]
    return Chunk(
        joined([chunk.X for chunk in chunks]),
        joined([chunk.Y for chunk in chunks]),
        joined([chunk.weights for chunk in chunks]),
        together,
        None if raws[0] is None else joined(raws),
        merged_groups(chunks),
        merged_unknown(chunks),
    )


def merged_unknown(chunks: Sequence[Chunk]) -> UnknownLabels | None:
    """Return the unknown entries of all chunks; None if there are none."""
    parts, lengths = [chunk.unknown for chunk in chunks], [len(chunk) for chunk in chunks]
    return concatenate_unknown(parts, lengths, chunks[0].Y.shape[1])


def merged_ids(chunks: Sequence[Chunk]) -> AnyArray:
    """Return the ids of all chunks, int64 or objects."""
    return _merged_names([np.asarray(chunk.ids) for chunk in chunks])


def merged_groups(chunks: Sequence[Chunk]) -> Groups:
    """Return the names of the groups of all chunks; None if no chunk has groups."""
    if all(chunk.groups is None for chunk in chunks):
        return None
    alone = [np.full(len(chunk), None) if chunk.groups is None else chunk.groups for chunk in chunks]
    return _merged_names(alone)


def _merged_names(arrays: Sequence[AnyArray]) -> AnyArray:
    objects = any(a.dtype.kind != "i" for a in arrays)  # a range may begin beyond int64
    return np.concatenate([a.astype(object) if objects else a for a in arrays])


def split_lazy(chunk: Chunk) -> Iterable[Chunk]:
    """Cut a chunk with lazy rows into the blocks in which they are read; others are unchanged."""
    X, raw = chunk.X, chunk.raw
    if not isinstance(X, LazyRows):
        return [chunk]
    return [
        chunk._selected(
            rows, X.part(rows), raw.part(rows) if isinstance(raw, LazyRows) else None, chunk.ids[rows]
        )
        for rows in X.cuts()
    ]


def named_ids(chunks: Iterable[Chunk]) -> set[Hashable]:
    """Return the ids that are not ranges."""
    return {name for chunk in chunks if not isinstance(chunk.ids, range) for name in chunk.ids.tolist()}


def next_free_id(ids: Ids, least: int) -> int:
    """Return a number above all numbers among the ids, at least `least`."""
    if isinstance(ids, range):
        return max(least, ids.stop)
    if ids.dtype == object:
        return max([least, *(name + 1 for name in ids.tolist() if type(name) is int)])
    return max(least, int(ids.max(initial=-1)) + 1)

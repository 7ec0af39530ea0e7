"""The labelled instances that a model sums over: immutable chunks, the last ones small.

Teaching adds a chunk and forgetting rebuilds the chunks concerned, so that nothing is copied whole
and whoever holds the old references still reads them as they were.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.labels import moved
from simlabel.rows._lazy import LazyRows
from simlabel.rows._stack import joined, spliced, stacked
from simlabel.support.forks import cached_property
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, Rows, take_rows

Positions = npt.NDArray[np.int64]
Ids = range | npt.NDArray[Any]  # numbers in order, int64, or any objects


class Chunk:
    """Some labelled instances.

    Parameters
    ----------
    X : rows, (n, n_features)
        Features as the similarity compares them.
    Y : csr_array of 0/1, (n, n_labels)
        Label sets.
    weights : array, (n,)
        How many times each counts.
    ids : range or array, (n,)
        What each is called.
    raw : rows, (n, n_features), or None
        Features as they came, where the normalizer could not learn anew from X.
    """

    def __init__(self, X: Rows, Y: Any, weights: FloatArray, ids: Ids, raw: Rows | None) -> None:
        self.X, self.Y, self.weights, self.ids, self.raw = X, Y, weights, ids, raw

    def __len__(self) -> int:
        return int(self.Y.shape[0])

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The set sizes that occur, in rising order."""
        return np.unique(np.diff(self.Y.indptr)).astype(np.int64)

    @cached_property
    def index(self) -> dict[Any, int]:
        """Where each id is."""
        return {name: i for i, name in enumerate(np.asarray(self.ids).tolist())}

    @property
    def find(self) -> Callable[[Any], int | None]:
        """Position of an id, or None."""
        if not isinstance(self.ids, range):
            return self.index.get
        ids = self.ids
        return lambda name: ids.index(name) if type(name) is int and name in ids else None

    def influence(self, sizes: npt.NDArray[np.int64]) -> Any:
        """[Y | one-hot of the set size], times the weights; made once for the same sizes."""
        key = (self.Y.shape[1], sizes.tobytes())
        known = self.__dict__.get("_influence")
        if known is None or known[0] != key:
            known = key, _weighted_rows(self.Y, self.weights, sizes, isinstance(self.X, LazyRows))
            self.__dict__["_influence"] = known
        return known[1]

    def part(self, rows: Positions) -> Chunk:
        """A copy of some rows; the arrays of this one are not kept alive."""
        some = isinstance(self.ids, range) and len(rows) == rows[-1] - rows[0] + 1
        ids = self.ids[rows[0] : rows[-1] + 1] if some else np.asarray(self.ids)[rows]
        raw = None if self.raw is None else _taken(self.raw, rows)
        return Chunk(_taken(self.X, rows), self.Y[rows], self.weights[rows], ids, raw)

    def relabelled(self, places: Positions, n_labels: int) -> Chunk:
        """The same rows where label k has moved to places[k]; the features are shared."""
        return Chunk(self.X, moved(self.Y, places, n_labels), self.weights, self.ids, self.raw)


def _taken(X: Rows, rows: Positions) -> Rows:
    return X.taken(rows) if isinstance(X, LazyRows) else take_rows(X, rows)


def _weighted_rows(Y: Any, weights: FloatArray, sizes: npt.NDArray[np.int64], short: bool) -> Any:
    """[Y | one-hot of the set size], times the weights; `short` where memory counts more than time."""
    n, n_labels = Y.shape
    counts = np.diff(Y.indptr)
    indptr = Y.indptr + np.arange(n + 1, dtype=Y.indptr.dtype)
    last = np.zeros(int(indptr[-1]), dtype=bool)  # the size stands behind the labels
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
    """2^power ones that all who ask share, so they are read only."""
    ones = np.ones(1 << power)
    ones.flags.writeable = False
    return ones


def merged(chunks: Sequence[Chunk]) -> Chunk:
    """Chunks as one: a copy."""
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
    )


class References:
    """Labelled instances, normalized, in chunks.

    Parameters
    ----------
    X : rows, (n_references, n_features)
        Features as the similarity compares them.
    Y : csr_array of 0/1, (n_references, n_labels)
        Label sets.
    weights : array, (n_references,)
        How many times each counts.
    ids : range or array, (n_references,), optional
        What each is called; numbers from 0 by default.
    raw : rows, (n_references, n_features), optional
        Features as they came, where the normalizer could not learn anew from X.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> some = References(np.eye(2), sp.csr_array([[1, 0], [0, 1]]), np.ones(2))
    >>> more = some.taught(Chunk(np.eye(2), some.Y, np.ones(2), range(2, 4), None))
    >>> more.X.shape, some.X.shape
    ((4, 2), (2, 2))
    >>> more.without(more.positions([0, 3])).ids.tolist()
    [1, 2]
    """

    def __init__(
        self, X: Rows, Y: Any, weights: FloatArray, ids: Ids | None = None, raw: Rows | None = None
    ) -> None:
        names = range(Y.shape[0]) if ids is None else ids
        self.chunks: tuple[Chunk, ...] = tuple(_cut(Chunk(X, Y, weights, names, raw)))
        #: a number that no reference is or was called by
        self.next_id: int = number_after(names, 0)
        self._named: list[set[Any]] = [_named(self.chunks)]

    @classmethod
    def of(cls, chunks: Iterable[Chunk], next_id: int, named: list[set[Any]] | None = None) -> References:
        """References made of these chunks."""
        made = cls.__new__(cls)
        made.chunks, made.next_id, made._named = tuple(chunks), next_id, named or []
        return made

    @cached_property
    def starts(self) -> list[int]:
        """Position of the first row of each chunk, and the number of rows."""
        return [0, *np.cumsum([len(chunk) for chunk in self.chunks]).tolist()]

    @property
    def n_rows(self) -> int:
        """Number of references."""
        return int(self.starts[-1])

    @property
    def n_labels(self) -> int:
        """Number of labels."""
        return int(self.chunks[0].Y.shape[1])

    @cached_property
    def X(self) -> Rows:
        """Features as the similarity compares them, (n_references, n_features)."""
        return stacked([chunk.X for chunk in self.chunks])

    @cached_property
    def raw(self) -> Rows:
        """Features that a normalizer can learn from, (n_references, n_features)."""
        return stacked([chunk.X if chunk.raw is None else chunk.raw for chunk in self.chunks])

    @cached_property
    def Y(self) -> Any:
        """Label sets, (n_references, n_labels)."""
        return joined([chunk.Y for chunk in self.chunks])

    @cached_property
    def weights(self) -> FloatArray:
        """How many times each counts, (n_references,)."""
        return joined([chunk.weights for chunk in self.chunks])

    @cached_property
    def ids(self) -> npt.NDArray[Any]:
        """What each is called, (n_references,)."""
        return merged_ids(self.chunks)

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The set sizes that occur, in rising order."""
        return np.unique(np.concatenate([chunk.sizes for chunk in self.chunks]))

    @cached_property
    def influence(self) -> Any:
        """[Y | one-hot of the set size], times the weights: labels and sizes in one pass."""
        return stacked([chunk.influence(self.sizes) for chunk in self.chunks])

    def positions(self, names: Iterable[Any]) -> Positions:
        """Where these ids are; -1 for one that is not there."""
        wanted = list(names)
        found = np.full(len(wanted), -1, dtype=np.int64)
        for chunk, start in zip(self.chunks, self.starts, strict=False):
            for i, at in enumerate(map(chunk.find, wanted)):
                if at is not None:
                    found[i] = start + at
        return found

    def in_use(self, names: list[Any]) -> list[Any]:
        """Those of these ids that are in use."""
        ranges = _ranges(self.chunks)
        try:
            named = self._named.pop()
        except IndexError:
            named = _named(self.chunks)
        used = [] if named.isdisjoint(names) else [name for name in names if name in named]
        self._named.append(named)
        return used + [n for n in names if type(n) is int and any(n in each for each in ranges)]

    def _handed_on(self, come: Iterable[Any] = (), gone: Iterable[Any] = ()) -> list[set[Any]]:
        """The set of ids that are no range, for the references that follow; these are left without.

        One set for all that follow each other, so that a batch does not cost a look at every chunk.
        Who has it not, a former state that is asked again, makes it anew.
        """
        try:
            named = self._named.pop()
        except IndexError:
            return []
        named.update(come)
        named.difference_update(gone)
        return [named]

    def taught(self, chunk: Chunk) -> References:
        """These and some more: small chunks at the end are merged, so that there are never many."""
        come = () if isinstance(chunk.ids, range) else chunk.ids.tolist()
        next_id = number_after(chunk.ids, self.next_id)
        if isinstance(chunk.X, LazyRows):
            return References.of([*self.chunks, *_cut(chunk)], next_id, self._handed_on(come))
        first, rows = len(self.chunks), len(chunk)
        while first > 0 and not isinstance(self.chunks[first - 1].X, LazyRows):
            before = len(self.chunks[first - 1])
            if before > rows or before + rows > limits().tail_rows:
                break
            first, rows = first - 1, rows + before
        tail = [*self.chunks[first:], chunk]
        last = merged(tail) if len(tail) > 1 else chunk
        made = References.of([*self.chunks[:first], last], next_id, self._handed_on(come))
        made.__dict__ |= self._known_with(first, last)
        return made

    def _known_with(self, first: int, last: Chunk) -> dict[str, Any]:
        """What is known of the first chunks, with a last one: so a batch costs no look at all of them."""
        sizes = np.union1d(self.sizes, last.sizes)
        known = {
            "starts": [*self.starts[: first + 1], self.starts[first] + len(last)],
            "sizes": sizes,
            "X": spliced(self.X, first, last.X),
        }
        if "influence" in self.__dict__ and len(sizes) == len(self.sizes):
            known["influence"] = spliced(self.influence, first, last.influence(sizes))
        return known

    def without(self, positions: Positions) -> References:
        """All but some.

        The chunks concerned are copied without them, in small pieces: the next time less is copied.
        """
        gone = np.zeros(self.n_rows, dtype=bool)
        gone[positions] = True
        chunks: list[Chunk] = []
        names: list[Any] = []
        size = limits().piece_rows
        for chunk, start in zip(self.chunks, self.starts, strict=False):
            here = gone[start : start + len(chunk)]
            if not here.any():
                chunks.append(chunk)
                continue
            names += np.asarray(chunk.ids)[here].tolist()
            for first in range(0, len(chunk), size):
                rows = first + np.flatnonzero(~here[first : first + size])
                if len(rows):
                    chunks.append(chunk.part(rows))
        come = _named([chunk for chunk in chunks if chunk not in self.chunks])
        return References.of(chunks, self.next_id, self._handed_on(come, names))

    def relabelled(self, places: Positions, n_labels: int) -> References:
        """The same where label k has moved to places[k]."""
        if n_labels == self.n_labels:
            return self
        chunks = [chunk.relabelled(places, n_labels) for chunk in self.chunks]
        return References.of(chunks, self.next_id, self._handed_on())


def _cut(chunk: Chunk) -> Iterable[Chunk]:
    """A chunk whose rows are not in memory, in the parts in which they are read; any other as it is."""
    X, raw = chunk.X, chunk.raw
    if not isinstance(X, LazyRows):
        return [chunk]
    return [
        Chunk(
            X.part(rows),
            chunk.Y[rows],
            chunk.weights[rows],
            chunk.ids[rows],
            raw.part(rows) if isinstance(raw, LazyRows) else None,
        )
        for rows in X.cuts()
    ]


def merged_ids(chunks: Sequence[Chunk]) -> npt.NDArray[Any]:
    """The ids of all chunks, int64 or objects."""
    arrays = [np.asarray(chunk.ids) for chunk in chunks]
    objects = any(a.dtype.kind != "i" for a in arrays)  # a range may begin beyond int64
    return np.concatenate([a.astype(object) if objects else a for a in arrays])


def _named(chunks: Iterable[Chunk]) -> set[Any]:
    """The ids that are no range."""
    return {name for chunk in chunks if not isinstance(chunk.ids, range) for name in chunk.ids.tolist()}


def _ranges(chunks: Iterable[Chunk]) -> list[range]:
    """The ids that are ranges, those that follow each other as one."""
    found: list[range] = []
    for chunk in chunks:
        ids = chunk.ids
        if not isinstance(ids, range):
            continue
        if found and found[-1].stop == ids.start:
            found[-1] = range(found[-1].start, ids.stop)
        else:
            found.append(ids)
    return found


def number_after(ids: Ids, least: int) -> int:
    """A number above all numbers among the ids."""
    if isinstance(ids, range):
        return max(least, ids.stop)
    if ids.dtype == object:
        return max([least, *(name + 1 for name in ids.tolist() if type(name) is int)])
    return max(least, int(ids.max(initial=-1)) + 1)

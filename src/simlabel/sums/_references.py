"""The labelled instances that a model sums over: immutable chunks, the last ones small.

Teaching adds a chunk and forgetting rebuilds the chunks concerned, so that nothing is copied whole
and whoever holds the old references still reads them as they were.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.forks import cached_property
from simlabel._utils.limits import limits
from simlabel._utils.rows import (
    Codes,
    Groups,
    LazyRows,
    content_order,
    content_units,
    group_codes,
    joined,
    spliced,
    stacked,
)
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.labels import Indicator, UnknownLabels, constant_labels
from simlabel.sums._chunks import (
    Chunk,
    Ids,
    Positions,
    cut,
    id_ranges,
    merged,
    merged_groups,
    merged_ids,
    merged_unknown,
    named_ids,
    number_after,
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
    groups : array, (n_references,), optional
        Name of the group that each belongs to: leave-one-out leaves out all of it.
    unknown : UnknownLabels, optional
        Entries of Y that are not known; by default all are.
    pairwise : bool
        Whether X holds the similarities of the references to each other, so that its columns are rows.

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
        self,
        X: Rows,
        Y: Indicator,
        weights: FloatArray,
        ids: Ids | None = None,
        raw: Rows | None = None,
        groups: Groups = None,
        unknown: UnknownLabels | None = None,
        *,
        pairwise: bool = False,
    ) -> None:
        names = range(Y.shape[0]) if ids is None else ids
        self.chunks: tuple[Chunk, ...] = tuple(cut(Chunk(X, Y, weights, names, raw, groups, unknown)))
        #: a number that no reference is or was called by
        self.next_id: int = number_after(names, 0)
        self._named: list[set[Hashable]] = [named_ids(self.chunks)]
        self.pairwise = pairwise

    @classmethod
    def of(
        cls,
        chunks: Iterable[Chunk],
        next_id: int,
        named: list[set[Hashable]] | None = None,
        *,
        pairwise: bool = False,
    ) -> References:
        """References made of these chunks."""
        made = cls.__new__(cls)
        made.chunks, made.next_id, made._named = tuple(chunks), next_id, named or []
        made.pairwise = pairwise
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
    def Y(self) -> Indicator:
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
    def group_names(self) -> Groups:
        """Name of the group of each, (n_references,), None for one of its own; None where nobody has any."""
        return merged_groups(self.chunks)

    @cached_property
    def groups(self) -> Codes | None:
        """Number of the group of each, (n_references,); None where nobody has any."""
        return None if self.group_names is None else group_codes(self.group_names)

    @cached_property
    def order(self) -> IntArray:
        """Positions in an order that follows from what the rows hold, (n_references,): draws use it."""
        return content_order(self.raw, self.Y, self.weights, self.group_names, pairwise=self.pairwise)

    @cached_property
    def places(self) -> IntArray:
        """Number of each row in that order, (n_references,)."""
        return content_units(self.order, None)

    @cached_property
    def units(self) -> IntArray:
        """Number of each row, or of its group, in that order, (n_references,): folds use it."""
        return self.places if self.groups is None else content_units(self.order, self.groups)

    @cached_property
    def settled(self) -> tuple[Chunk, ...]:
        """The chunks where unknown cells of constant labels count as the constant: all sums are of these.

        So a label of which nothing is known, or only that rows have it, changes nothing for the others.
        """
        if all(chunk.is_complete for chunk in self.chunks):
            return self.chunks
        return self._settled_by(self.constant)

    def _settled_by(self, constant: npt.NDArray[np.int8] | None) -> tuple[Chunk, ...]:
        return self.chunks if constant is None else tuple(chunk.settled(constant) for chunk in self.chunks)

    @property
    def settled_Y(self) -> Indicator:
        """Label sets where unknown cells of constant labels count as the constant."""
        return self.Y if self.settled is self.chunks else joined([chunk.Y for chunk in self.settled])

    @cached_property
    def is_complete(self) -> bool:
        """Whether all labels of all references are known, where constant labels count as known."""
        return all(chunk.is_complete for chunk in self.settled)

    @cached_property
    def knowledge(self) -> UnknownLabels | None:
        """What is unknown, and in which rows labels that come later will be; None where nothing is."""
        return merged_unknown(self.chunks)

    @property
    def completed(self) -> References:
        """The same where unknown cells of constant labels are known to be the constant."""
        same = self.settled is self.chunks
        return self if same else References.of(self.settled, self.next_id, pairwise=self.pairwise)

    @property
    def unknown(self) -> Indicator | None:
        """Ones at the entries of `settled_Y` that are unknown, (n_references, n_labels); None without any."""
        if self.is_complete:
            return None
        unknown = self.completed.knowledge
        return None if unknown is None else unknown.entries

    @cached_property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The set sizes of rows that are wholly known, in rising order."""
        return np.unique(np.concatenate([chunk.sizes for chunk in self.settled]))

    @cached_property
    def constant(self) -> npt.NDArray[np.int8] | None:
        """1 for labels present in all rows where they are known, -1 in none, 0 for others, (n_labels,).

        None if every label varies.
        """
        constant = constant_labels(np.sum([chunk.label_counts for chunk in self.chunks], axis=0))
        return constant if constant.any() else None

    @cached_property
    def influence(self) -> Rows:
        """[Y | one-hot of the set size], times the weights: labels and sizes in one pass.

        Where something is unknown, only rows that are wholly known have a size, and so that sums can be
        divided by the similarity to the rows where a label is known, there are n_labels + 1 columns more: 1
        for the other rows, and for each label 1 for those of them where it is known.
        """
        return stacked([chunk.influence(self.sizes, self.is_complete) for chunk in self.settled])

    @property
    def nonnegative(self) -> bool:
        """Whether no feature of any is below 0, as far as is known."""
        return all(chunk.nonnegative for chunk in self.chunks)

    def positions(self, names: Iterable[Hashable]) -> Positions:
        """Where these ids are; -1 for one that is not there."""
        wanted = list(names)
        positions = np.full(len(wanted), -1, dtype=np.int64)
        for chunk, start in zip(self.chunks, self.starts, strict=False):
            for i, at in enumerate(map(chunk.find, wanted)):
                if at is not None:
                    positions[i] = start + at
        return positions

    def in_use(self, names: list[Hashable]) -> list[Hashable]:
        """Those of these ids that are in use."""
        ranges = id_ranges(self.chunks)
        try:
            named = self._named.pop()
        except IndexError:
            named = named_ids(self.chunks)
        used = [] if named.isdisjoint(names) else [name for name in names if name in named]
        self._named.append(named)
        return used + [n for n in names if type(n) is int and any(n in each for each in ranges)]

    def _handed_on(self, come: Iterable[Hashable] = (), gone: Iterable[Hashable] = ()) -> list[set[Hashable]]:
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
            return References.of([*self.chunks, *cut(chunk)], next_id, self._handed_on(come))
        first, rows = len(self.chunks), len(chunk)
        while first > 0 and not isinstance(self.chunks[first - 1].X, LazyRows):
            before = len(self.chunks[first - 1])
            if before > rows or before + rows > limits().tail_rows:
                break
            first, rows = first - 1, rows + before
        tail = [*self.chunks[first:], chunk]
        last = merged(tail) if len(tail) > 1 else chunk
        made = References.of([*self.chunks[:first], last], next_id, self._handed_on(come))
        made.__dict__["starts"] = [*self.starts[: first + 1], self.starts[first] + len(last)]
        made.__dict__["X"] = spliced(self.X, first, last.X)
        made.__dict__ |= self._known_with(first, made)
        return made

    def _known_with(self, first: int, more: References) -> dict[str, Any]:
        """What is known of the first chunks, with the last of `more`, without a look at all rows.

        Where labels are constant no more, rows count in another way, and nothing is known of them.
        """
        before = self.settled
        if before is not self.chunks:
            now = self._settled_by(more.constant)
            if any(one is not other for one, other in zip(before, now, strict=True)):
                return {}
        last = more.settled[-1]
        sizes, complete = np.union1d(self.sizes, last.sizes), self.is_complete and last.is_complete
        known = {"sizes": sizes, "is_complete": complete}
        same = len(sizes) == len(self.sizes) and complete == self.is_complete
        if "influence" in self.__dict__ and same:
            known["influence"] = spliced(self.influence, first, last.influence(sizes, complete))
        return known

    def without(self, positions: Positions) -> References:
        """All but some.

        The chunks concerned are copied without them, in small pieces: the next time less is copied.
        """
        gone = np.zeros(self.n_rows, dtype=bool)
        gone[positions] = True
        chunks: list[Chunk] = []
        names: list[Hashable] = []
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
        come = named_ids([chunk for chunk in chunks if chunk not in self.chunks])
        return References.of(chunks, self.next_id, self._handed_on(come, names))

    def widened(self, width: int) -> References:
        """The same, sparse, with more columns, which are empty."""
        chunks = []
        for chunk in self.chunks:
            X = chunk.X
            wider = type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
            companions = chunk.weights, chunk.ids, chunk.raw, chunk.groups, chunk.unknown
            chunks.append(Chunk(wider, chunk.Y, *companions))
        return References.of(chunks, self.next_id, self._handed_on())

    def with_labels(self, Y: Indicator, unknown: UnknownLabels | None) -> References:
        """The same rows with other label sets."""
        chunks = [
            chunk.with_labels(Y[rows], None if unknown is None else unknown.part(rows))
            for chunk, rows in zip(self.chunks, map(slice, self.starts, self.starts[1:]), strict=False)
        ]
        return References.of(chunks, self.next_id, self._handed_on(), pairwise=self.pairwise)

    def relabelled(self, places: Positions, n_labels: int) -> References:
        """The same where label k has moved to places[k]."""
        if n_labels == self.n_labels:
            return self
        chunks = [chunk.relabelled(places, n_labels) for chunk in self.chunks]
        return References.of(chunks, self.next_id, self._handed_on(), pairwise=self.pairwise)

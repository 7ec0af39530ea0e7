"""The labeled instances that a model sums over: immutable chunks, the last ones small.

Learning adds a chunk and forgetting rebuilds only the chunks concerned, so that the references are never
copied as a whole, and older references stay valid.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.rows import (
    Groups,
    LazyRows,
    content_order,
    content_units,
    encode_groups,
    joined,
    splice,
    stacked,
)
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, FloatArray, IntArray, Rows
from simlabel.labels import Indicator, UnknownLabels, constant_labels
from simlabel.sums._chunks import (
    Chunk,
    Ids,
    merge_chunks,
    merged_groups,
    merged_ids,
    merged_unknown,
    named_ids,
    next_free_id,
    split_lazy,
)


class References:
    """Labeled instances, normalized, in chunks.

    Parameters
    ----------
    X : rows, (n_references, n_features)
        Features as the similarity compares them.
    Y : csr_array of 0/1, (n_references, n_labels)
        Label sets.
    weights : array, (n_references,)
        The sample weight of each.
    ids : range or array, (n_references,), optional
        The id of each; numbers from 0 by default.
    raw : rows, (n_references, n_features), optional
        Untransformed features, if the normalizer cannot be refitted on X.
    groups : array, (n_references,), optional
        Name of the group of each: leave-one-out leaves out the whole group.
    unknown : UnknownLabels, optional
        Entries of Y that are not known; by default all are known.
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
        self.chunks: tuple[Chunk, ...] = tuple(split_lazy(Chunk(X, Y, weights, names, raw, groups, unknown)))
        #: a number that is not, and never was, the id of a reference
        self.next_id: int = next_free_id(names, 0)
        self._named: list[set[Hashable]] = []  # see `_inherited_ids`
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
        """Return references that consist of these chunks."""
        created = cls.__new__(cls)
        created.chunks, created.next_id, created._named = tuple(chunks), next_id, named or []
        created.pairwise = pairwise
        return created

    @cached_property
    def starts(self) -> list[int]:
        """The position of the first row of each chunk, and the number of rows."""
        return [0, *np.cumsum([len(chunk) for chunk in self.chunks]).tolist()]

    @property
    def n_rows(self) -> int:
        """The number of references."""
        return int(self.starts[-1])

    @property
    def n_labels(self) -> int:
        """The number of labels."""
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
        """The sample weight of each, (n_references,)."""
        return joined([chunk.weights for chunk in self.chunks])

    @cached_property
    def ids(self) -> AnyArray:
        """The id of each, (n_references,)."""
        return merged_ids(self.chunks)

    @cached_property
    def group_names(self) -> Groups:
        """The name of the group of each, (n_references,), None for its own; None if there are no groups."""
        return merged_groups(self.chunks)

    @cached_property
    def groups(self) -> IntArray | None:
        """The number of the group of each, (n_references,); None if there are no groups."""
        return None if self.group_names is None else encode_groups(self.group_names)

    @cached_property
    def order(self) -> IntArray:
        """The positions in an order that depends on the content of rows, (n_references,); for draws."""
        return content_order(self.raw, self.Y, self.weights, self.group_names, pairwise=self.pairwise)

    @cached_property
    def places(self) -> IntArray:
        """The number of each row in that order, (n_references,)."""
        return content_units(self.order, None)

    @cached_property
    def units(self) -> IntArray:
        """The number of each row, or of its group, in that order, (n_references,); for folds."""
        return self.places if self.groups is None else content_units(self.order, self.groups)

    @cached_property
    def imputed(self) -> tuple[Chunk, ...]:
        """The chunks with unknown cells of constant labels set to the constant; all sums use these.

        So a label without known cells, or with positive ones only, does not affect the other labels.
        """
        if all(chunk.is_complete for chunk in self.chunks):
            return self.chunks
        return self._imputed_by(self.constant)

    def _imputed_by(self, constant: npt.NDArray[np.int8] | None) -> tuple[Chunk, ...]:
        return self.chunks if constant is None else tuple(chunk.imputed(constant) for chunk in self.chunks)

    @property
    def imputed_Y(self) -> Indicator:
        """The label sets with unknown cells of constant labels set to the constant."""
        return self.Y if self.imputed is self.chunks else joined([chunk.Y for chunk in self.imputed])

    @cached_property
    def is_complete(self) -> bool:
        """Whether all labels of all references are known; constant labels count as known."""
        return all(chunk.is_complete for chunk in self.imputed)

    @cached_property
    def knowledge(self) -> UnknownLabels | None:
        """The unknown entries, also of labels that are added later; None if there are none."""
        return merged_unknown(self.chunks)

    @property
    def completed(self) -> References:
        """The references with unknown cells of constant labels set to the constant."""
        same = self.imputed is self.chunks
        return self if same else References.of(self.imputed, self.next_id, pairwise=self.pairwise)

    @property
    def unknown(self) -> Indicator | None:
        """Ones at the unknown entries of `imputed_Y`, (n_references, n_labels); None if there are none."""
        if self.is_complete:
            return None
        unknown = self.completed.knowledge
        return None if unknown is None else unknown.entries

    @cached_property
    def sizes(self) -> IntArray:
        """The set sizes of rows whose labels are all known, sorted."""
        return np.unique(np.concatenate([chunk.sizes for chunk in self.imputed]))

    @cached_property
    def constant(self) -> npt.NDArray[np.int8] | None:
        """1 for labels present in all rows where they are known, -1 for none, 0 for others, (n_labels,).

        None if every label varies.
        """
        constant = constant_labels(np.sum([chunk.label_counts for chunk in self.chunks], axis=0))
        return constant if constant.any() else None

    @cached_property
    def influence(self) -> Rows:
        """[Y | one-hot of the set size], times the weights: labels and sizes in one pass.

        If entries are unknown, only rows whose labels are all known have a size. Then n_labels + 1 further
        columns allow dividing by the similarity to the rows where a label is known: 1 for the other rows, and
        for each label 1 for those of them where it is known.
        """
        return stacked([chunk.influence(self.sizes, self.is_complete) for chunk in self.imputed])

    @property
    def nonnegative(self) -> bool:
        """Whether no feature is negative."""
        return all(chunk.nonnegative for chunk in self.chunks)

    def positions(self, names: Iterable[Hashable]) -> IntArray:
        """Return the positions of ids; -1 for an unknown id."""
        requested = list(names)
        positions = np.full(len(requested), -1, dtype=np.int64)
        for chunk, start in zip(self.chunks, self.starts, strict=False):
            for i, at in enumerate(map(chunk.find, requested)):
                if at is not None:
                    positions[i] = start + at
        return positions

    def in_use(self, names: list[Hashable]) -> list[Hashable]:
        """Return those of the ids that are in use."""
        ranges = [chunk.ids for chunk in self.chunks if isinstance(chunk.ids, range)]
        try:
            named = self._named.pop()
        except IndexError:
            named = named_ids(self.chunks)
        used = [] if named.isdisjoint(names) else [name for name in names if name in named]
        self._named.append(named)
        return used + [n for n in names if type(n) is int and any(n in each for each in ranges)]

    def _inherited_ids(
        self, come: Iterable[Hashable] = (), removed: Iterable[Hashable] = ()
    ) -> list[set[Hashable]]:
        """Pass the set of ids that are not ranges to the next references, which update it.

        One set is passed on, so that a batch does not read every chunk. Older references, which no longer
        have it, rebuild it on demand.
        """
        try:
            named = self._named.pop()
        except IndexError:
            return []
        named.update(come)
        named.difference_update(removed)
        return [named]

    def taught(self, chunk: Chunk) -> References:
        """Return references with one more chunk; small chunks at the end are merged to stay few."""
        come = () if isinstance(chunk.ids, range) else chunk.ids.tolist()
        next_id = next_free_id(chunk.ids, self.next_id)
        if isinstance(chunk.X, LazyRows):
            return References.of([*self.chunks, *split_lazy(chunk)], next_id, self._inherited_ids(come))
        first, rows = len(self.chunks), len(chunk)
        while first > 0 and not isinstance(self.chunks[first - 1].X, LazyRows):
            before = len(self.chunks[first - 1])
            if before > rows or before + rows > limits().tail_rows:
                break
            first, rows = first - 1, rows + before
        tail = [*self.chunks[first:], chunk]
        last = merge_chunks(tail) if len(tail) > 1 else chunk
        created = References.of([*self.chunks[:first], last], next_id, self._inherited_ids(come))
        created.__dict__["starts"] = [*self.starts[: first + 1], self.starts[first] + len(last)]
        created.__dict__["X"] = splice(self.X, first, last.X)
        created.__dict__ |= self._known_with(first, created)
        return created

    def _known_with(self, first: int, more: References) -> dict[str, Any]:
        """Return cached values updated with the last chunk of `more`, without reading all rows.

        If a label is no longer constant, cached values are invalid, and the result is empty.
        """
        before = self.imputed
        if before is not self.chunks:
            now = self._imputed_by(more.constant)
            if any(one is not other for one, other in zip(before, now, strict=True)):
                return {}
        last = more.imputed[-1]
        sizes, complete = np.union1d(self.sizes, last.sizes), self.is_complete and last.is_complete
        known = {"sizes": sizes, "is_complete": complete}
        same = len(sizes) == len(self.sizes) and complete == self.is_complete
        if "influence" in self.__dict__ and same:
            known["influence"] = splice(self.influence, first, last.influence(sizes, complete))
        return known

    def without(self, positions: IntArray) -> References:
        """Return references without some rows.

        The chunks concerned are copied in small pieces, so that less is copied the next time.
        """
        removed = np.zeros(self.n_rows, dtype=bool)
        removed[positions] = True
        chunks: list[Chunk] = []
        names: list[Hashable] = []
        size = limits().piece_rows
        for chunk, start in zip(self.chunks, self.starts, strict=False):
            here = removed[start : start + len(chunk)]
            if not here.any():
                chunks.append(chunk)
                continue
            names += np.asarray(chunk.ids)[here].tolist()
            for first in range(0, len(chunk), size):
                rows = first + np.flatnonzero(~here[first : first + size])
                if len(rows):
                    chunks.append(chunk.part(rows))
        come = named_ids([chunk for chunk in chunks if chunk not in self.chunks])
        return References.of(chunks, self.next_id, self._inherited_ids(come, names))

    def widened(self, width: int) -> References:
        """Return sparse references with more columns, which are empty."""
        chunks = []
        for chunk in self.chunks:
            X = chunk.X
            wider = type(X)((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
            chunks.append(replace(chunk, X=wider))
        return References.of(chunks, self.next_id, self._inherited_ids())

    def with_labels(self, Y: Indicator, unknown: UnknownLabels | None) -> References:
        """Return the same rows with other label sets."""
        chunks = [
            chunk.with_labels(Y[rows], None if unknown is None else unknown.part(rows))
            for chunk, rows in zip(self.chunks, map(slice, self.starts, self.starts[1:]), strict=False)
        ]
        return References.of(chunks, self.next_id, self._inherited_ids(), pairwise=self.pairwise)

    def relabeled(self, places: IntArray, n_labels: int) -> References:
        """Return the references with label k moved to places[k]."""
        if n_labels == self.n_labels:
            return self
        chunks = [chunk.relabeled(places, n_labels) for chunk in self.chunks]
        return References.of(chunks, self.next_id, self._inherited_ids(), pairwise=self.pairwise)

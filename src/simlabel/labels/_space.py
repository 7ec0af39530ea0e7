"""LabelSpace: encode y as a sparse indicator with label names, and decode predictions."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, BoolArray, FloatArray, IntArray
from simlabel.labels._forms import (
    ROW_TYPES,
    Indicator,
    Kind,
    encoded_sets,
    make_frame,
    name_array,
    names_of,
    parse_y,
    sort_of,
    sorted_names,
)
from simlabel.labels._hierarchy import Hierarchy, closed, still_unknown
from simlabel.labels._unknown import UnknownLabels


@dataclass(frozen=True)
class LabelSpace:
    """The labels of a problem and the form in which y is given.

    Attributes
    ----------
    kind : {"single", "array", "sparse", "frame", "sets"}
        ``"single"`` is one class per row (binary and multi-class); the others are multi-label.
    classes : array, (n_labels,)
        Names of the labels, in the order of the indicator's columns.
    container : object
        What `decode` needs to return the same kind: a dtype, a sparse type, a form of data
        frame, or the type of the label sets.
    hierarchy : Hierarchy or None
        Hierarchy of the labels: rows have all ancestors of their labels.

    Examples
    --------
    >>> space, Y = LabelSpace.learn([{"sea", "sunset"}, {"sea"}])
    >>> space.classes.tolist()
    ['sea', 'sunset']
    >>> Y.toarray().tolist()
    [[1, 1], [1, 0]]
    >>> space.decode(Y[[1]])
    [{'sea'}]
    """

    kind: Kind
    classes: AnyArray
    container: Any
    hierarchy: Hierarchy | None = None

    @classmethod
    def learn(cls, y: Any, hierarchy: Hierarchy | None = None) -> tuple[LabelSpace, Indicator]:
        """Return the label space and the indicator of a fully known y, (n_rows, n_labels)."""
        space, Y, unknown = cls.learn_known(y, hierarchy)
        refuse_unknown(unknown)
        return space, Y

    @classmethod
    def learn_known(
        cls, y: Any, hierarchy: Hierarchy | None = None
    ) -> tuple[LabelSpace, Indicator, UnknownLabels | None]:
        """Like the method without ``_known``, for y with unknown entries; also return these, or None."""
        found = parse_y(y)
        space = cls(found.kind, found.classes, found.container, hierarchy)
        return space.nested(found.Y, found.unknown)

    def encode(self, y: Any) -> tuple[Indicator, BoolArray]:
        """Encode `y` with the labels of this space.

        Returns
        -------
        Y : csr_array, (n_rows, n_labels)
        foreign : array of bool, (n_rows,)
            True where a row has a label that is not in the space.
        """
        Y, foreign, unknown = self.encode_known(y)
        refuse_unknown(unknown)
        return Y, foreign

    def encode_known(self, y: Any) -> tuple[Indicator, BoolArray, UnknownLabels | None]:
        """Like the method without ``_known``, for y with unknown entries; also return these, or None."""
        other, Y, unknown = self.read(y)
        if self.kind in ("single", "sets"):
            position = {label: k for k, label in enumerate(self.classes.tolist())}
            places = np.array([position.get(label, -1) for label in other.classes.tolist()], dtype=np.int64)
            here = places >= 0
            known = sp.csr_array(Y[:, here])
            foreign = np.diff(Y.indptr) > np.diff(known.indptr)
            if unknown is not None:
                unknown = UnknownLabels(sp.csr_array(unknown.entries[:, here]), unknown.open_rows)
                unknown = unknown.moved(places[here], len(self.classes))
            return moved(known, places[here], len(self.classes)), foreign, unknown
        if Y.shape[1] != len(self.classes):
            raise ValueError(
                f"y has {Y.shape[1]} labels given as {self.kind!r}, but fit saw {len(self.classes)}."
            )
        if self.kind == "frame" and list(other.classes) != list(self.classes):
            raise ValueError(
                f"y has the label columns {list(other.classes)}, but fit saw {list(self.classes)}."
            )
        return Y, np.zeros(Y.shape[0], dtype=np.bool_), unknown

    def read(self, y: Any) -> tuple[LabelSpace, Indicator, UnknownLabels | None]:
        """Read y of more rows; return its own space, the indicator, and unknown entries or None."""
        if self.kind == "sets":
            rows = list(y) if isinstance(y, Iterable) else [y]
            wrong = [i for i, row in enumerate(rows) if not isinstance(row, ROW_TYPES)]
            if wrong:
                raise ValueError(f"y must hold label sets, as fit saw; row {wrong[0]} is {rows[wrong[0]]!r}.")
            space = replace(self, classes=names_of(rows))
            return space.nested(*encoded_sets(space.classes, rows))
        space, Y, unknown = LabelSpace.learn_known(y, self.hierarchy)
        if space.kind != self.kind:
            raise ValueError(
                f"y is given as {space.kind!r}, but fit saw {self.kind!r}: pass it in the same form."
            )
        return space, Y, unknown

    def union(self, other: LabelSpace) -> LabelSpace:
        """Return the union with another space: sorted, or in column order for a data frame."""
        known, new = self.classes, other.classes
        if self.kind in ("array", "sparse"):
            if len(known) != len(new):
                raise ValueError(
                    f"y has {len(new)} labels, but fit saw {len(known)}; columns without names cannot be "
                    f"matched. Pass label sets or a data frame from the start."
                )
            return self
        if self.kind == "sets":
            if set(new.tolist()) <= set(known.tolist()):
                return self  # keep the present order, which a renamed label may have left unsorted
            names = sorted_names([*known.tolist(), *new.tolist()])
        elif self.kind == "frame":
            missing = [name for name in known if name not in set(new)]
            if missing:
                raise ValueError(
                    f"y has no column {missing[0]!r}, which fit saw: add it, with 0 if the label is absent."
                )
            names = name_array(dict.fromkeys([*known, *new]))
        else:
            if np.isin(new, known).all():
                return self
            if sort_of(known) != sort_of(new):
                raise ValueError(
                    f"y holds {new.dtype}, but fit saw {known.dtype}: "
                    f"{new.tolist()[0]!r} and {known.tolist()[0]!r} cannot be sorted together."
                )
            names = np.unique(np.concatenate([known, new]))
        return replace(self, classes=names)

    def with_declared_labels(self, classes: Any, known: AnyArray | None = None) -> LabelSpace:
        """Return this space with the labels in `classes`, which rows need not have.

        A label of y that is neither in `classes` nor in `known` is an error.
        """
        listed = isinstance(classes, Iterable) and not isinstance(classes, str)
        if not listed or not all(isinstance(name, Hashable) for name in classes):
            raise TypeError(f"classes must be a list of labels, got {classes!r}.")
        names = np.asarray(classes) if self.kind == "single" else sorted_names(classes)
        if self.kind in ("array", "sparse"):
            if names.tolist() != self.classes.tolist():
                raise ValueError(
                    f"classes={names.tolist()!r} do not match y, whose columns are numbered from 0 to "
                    f"{len(self.classes) - 1}."
                )
            return self
        allowed = {*names.tolist(), *([] if known is None else known.tolist())}
        others = [name for name in self.classes.tolist() if name not in allowed]
        if others:
            raise ValueError(f"y has the label {others[0]!r}, which is not in classes={names.tolist()!r}.")
        if self.kind == "frame":
            names = name_array(dict.fromkeys([*self.classes, *classes]))
        return self.union(replace(self, classes=names))

    def places(self, other: LabelSpace) -> IntArray:
        """Return the column of each label of `other` in this space."""
        position = {label: k for k, label in enumerate(self.classes.tolist())}
        return np.array([position[label] for label in other.classes.tolist()], dtype=np.int64)

    def without_unused_labels(
        self, Y: Indicator, unknown: UnknownLabels | None = None
    ) -> tuple[LabelSpace, Indicator, UnknownLabels | None]:
        """Drop labels without a row, unless the form of y declares its labels."""
        if self.kind not in ("single", "sets"):
            return self, Y, unknown
        named = np.zeros(Y.shape[1], dtype=bool) if unknown is None else unknown.named()
        named[Y.indices] = True
        if unknown is not None:
            unknown = UnknownLabels(sp.csr_array(unknown.entries[:, named]), unknown.open_rows)
        return replace(self, classes=self.classes[named]), sp.csr_array(Y[:, named]), unknown

    def nested(
        self, Y: Indicator, unknown: UnknownLabels | None
    ) -> tuple[LabelSpace, Indicator, UnknownLabels | None]:
        """Add the ancestors of each row's labels; the space may grow."""
        if self.hierarchy is None:
            return self, Y, unknown
        space = self._with_labels_above(self.hierarchy)
        places, n_labels = space.places(self), len(space.classes)
        Y = closed(space.closure, moved(Y, places, n_labels))
        if unknown is not None:
            unknown = still_unknown(space.closure, Y, unknown.moved(places, n_labels))
        return space, Y, unknown

    def _with_labels_above(self, hierarchy: Hierarchy) -> LabelSpace:
        if self.kind == "single":
            raise ValueError("hierarchy: a 1-D y has one class per row: pass label sets.")
        names = self.classes.tolist()
        above = [one for name in names for one in hierarchy.above(name)]
        if self.kind == "sets":
            return replace(self, classes=sorted_names([*names, *above]))
        missing = set(above).difference(names)
        if missing:
            raise ValueError(
                f"hierarchy: y has no column for {min(missing, key=str)!r}, the parent of other labels: add "
                f"it, or pass label sets."
            )
        return self

    @cached_property
    def closure(self) -> sp.csr_array:
        """A[k, j] = 1 if label j is k or an ancestor of k, (n_labels, n_labels); needs a hierarchy."""
        assert self.hierarchy is not None
        return self.hierarchy.closure(self.classes)

    def enforce_hierarchy(self, scores: FloatArray) -> FloatArray:
        """Raise each label's score to the largest of its descendants, (n_rows, n_labels)."""
        if self.hierarchy is None:
            return scores
        below, out = sp.csc_array(self.closure), scores.copy()
        for j in np.flatnonzero(np.diff(below.indptr) > 1).tolist():
            out[:, j] = scores[:, below.indices[below.indptr[j] : below.indptr[j + 1]]].max(axis=1)
        return out

    def closed(self, inside: BoolArray) -> BoolArray:
        """Add ancestors to dense label sets, (n_rows, n_labels)."""
        return inside if self.hierarchy is None else (inside.astype(np.int8) @ self.closure) > 0

    def completed(self, Y: Indicator, ranking: FloatArray) -> Indicator:
        """Add ancestors to predicted sets; each row is sorted by score, ancestors before descendants."""
        if self.hierarchy is None:
            return Y
        Y = closed(self.closure, Y)
        rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))
        strength = self.enforce_hierarchy(ranking)[rows, Y.indices]
        order = np.lexsort((np.diff(self.closure.indptr)[Y.indices], -strength, rows))
        return sp.csr_array((Y.data, Y.indices[order], Y.indptr), shape=Y.shape)

    def decode(self, Y: Indicator, index: Any = None) -> Any:
        """Convert predictions to the form of y that fit was given.

        Parameters
        ----------
        Y : csr_array, (n_rows, n_labels)
            Predicted label sets; one entry per row if y is 1-D.
        index : optional
            Row labels for a pandas frame.
        """
        if self.kind == "single":
            return self.classes[Y.indices]
        if self.kind == "array":
            return Y.toarray().astype(self.container)
        if self.kind == "sparse":
            kind, dtype = self.container
            return kind(Y.astype(dtype))
        if self.kind == "frame":
            return make_frame(self.container, Y.toarray(), self.classes, index)
        names = self.classes.tolist()
        return [
            self.container(names[k] for k in Y.indices[start:stop])
            for start, stop in zip(Y.indptr[:-1], Y.indptr[1:], strict=True)
        ]


def refuse_unknown(
    unknown: UnknownLabels | None,
    why: str = "only SMLClassifier, AutoSMLClassifier, Tagger and simlabel.metrics support this",
) -> None:
    """Raise ValueError if an entry is unknown."""
    if unknown is not None and unknown.entries.nnz:
        row = int(np.flatnonzero(~unknown.complete)[0])
        raise ValueError(f"Input y contains NaN (first at row {row}), or a row with unknown labels: {why}.")


def moved(Y: Indicator, places: IntArray, n_labels: int) -> Indicator:
    """Move label k to column places[k] of `n_labels`."""
    if Y.shape[1] == n_labels and np.array_equal(places, np.arange(n_labels)):
        return Y
    Y = sp.csr_array((Y.data, places[Y.indices], Y.indptr), shape=(Y.shape[0], n_labels))
    Y.sort_indices()
    return Y

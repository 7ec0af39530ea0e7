"""Any form of y <-> a sparse 0/1 indicator and the names of its columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.forks import cached_property
from simlabel._utils.validation import FloatArray
from simlabel.labels._forms import ROWS, Indicator, Names, make_frame
from simlabel.labels._hierarchy import Hierarchy
from simlabel.labels._names import name_array, names_of, sort_of, sorted_names
from simlabel.labels._nesting import closed, completed, raised, still_unknown
from simlabel.labels._reading import Kind, encoded_sets, found_labels
from simlabel.labels._unknown import UnknownLabels


@dataclass(frozen=True)
class LabelSpace:
    """The labels of a problem, and the form in which its user writes them.

    Attributes
    ----------
    kind : {"single", "array", "sparse", "frame", "sets"}
        ``"single"`` is one class per row (binary and multi-class); the others are multi-label.
    classes : array, (n_labels,)
        Names of the labels, in the order of the indicator's columns.
    container : object
        What `decode` needs in order to give back the same kind: a dtype, a sparse type,
        one of the forms of data frames, or the type of the label sets.
    hierarchy : Hierarchy or None
        Which labels are part of which: rows have all labels above theirs.

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
    classes: Names
    container: Any
    hierarchy: Hierarchy | None = None

    @classmethod
    def learn(cls, y: Any, hierarchy: Hierarchy | None = None) -> tuple[LabelSpace, Indicator]:
        """Find the labels in `y`, all known; return the space and the indicator, (n_rows, n_labels)."""
        space, Y, unknown = cls.learn_known(y, hierarchy)
        refuse_unknown(unknown)
        return space, Y

    @classmethod
    def learn_known(
        cls, y: Any, hierarchy: Hierarchy | None = None
    ) -> tuple[LabelSpace, Indicator, UnknownLabels | None]:
        """The same where not all need be known: also what is unknown, None where nothing is."""
        found = found_labels(y)
        space = cls(found.kind, found.classes, found.container, hierarchy)
        return space.nested(found.Y, found.unknown)

    def encode(self, y: Any) -> tuple[Indicator, npt.NDArray[np.bool_]]:
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

    def encode_known(self, y: Any) -> tuple[Indicator, npt.NDArray[np.bool_], UnknownLabels | None]:
        """The same where not all need be known: also what is unknown, None where nothing is."""
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
        """Find the labels of more rows, given in the same form.

        Returns their own space, the indicator, and what is unknown, None where nothing is.
        """
        if self.kind == "sets":
            rows = list(y) if isinstance(y, Iterable) else [y]
            wrong = [i for i, row in enumerate(rows) if not isinstance(row, ROWS)]
            if wrong:
                raise ValueError(f"y must hold label sets, as fit saw; row {wrong[0]} is {rows[wrong[0]]!r}.")
            space = replace(self, classes=names_of(rows))
            return space.nested(*encoded_sets(space.classes, rows))
        space, Y, unknown = LabelSpace.learn_known(y, self.hierarchy)
        if space.kind != self.kind:
            raise ValueError(
                f"y is given as {space.kind!r}, but fit saw {self.kind!r}; give it in the same form."
            )
        return space, Y, unknown

    def united(self, other: LabelSpace) -> LabelSpace:
        """The labels of both: those of `other` behind for a data frame, else sorted."""
        known, new = self.classes, other.classes
        if self.kind in ("array", "sparse"):
            if len(known) != len(new):
                raise ValueError(
                    f"y has {len(new)} labels, but fit saw {len(known)}; columns have no names by which a "
                    f"label could be new. Give label sets or a data frame from the start."
                )
            return self
        if self.kind == "sets":
            if set(new.tolist()) <= set(known.tolist()):
                return self  # in the order in which its labels stand, which a new name need not have kept
            names = sorted_names([*known.tolist(), *new.tolist()])
        elif self.kind == "frame":
            missing = [name for name in known if name not in set(new)]
            if missing:
                raise ValueError(f"y has no column {missing[0]!r}, which fit saw; give 0 where it is absent.")
            names = name_array(dict.fromkeys([*known, *new]))
        else:
            if np.isin(new, known).all():
                return self
            if sort_of(known) != sort_of(new):
                raise ValueError(
                    f"y holds {new.dtype}, but fit saw {known.dtype}: "
                    f"{new.tolist()[0]!r} beside {known.tolist()[0]!r}."
                )
            names = np.unique(np.concatenate([known, new]))
        return replace(self, classes=names)

    def declared(self, classes: Any, known: Names | None = None) -> LabelSpace:
        """This space with labels that a user names, though no row may have them.

        A label that is neither among them nor in `known` is an error.
        """
        listed = isinstance(classes, Iterable) and not isinstance(classes, str)
        if not listed or not all(isinstance(name, Hashable) for name in classes):
            raise TypeError(f"classes must be a list of labels, got {classes!r}.")
        names = np.asarray(classes) if self.kind == "single" else sorted_names(classes)
        if self.kind in ("array", "sparse"):
            if names.tolist() != self.classes.tolist():
                raise ValueError(
                    f"classes={names.tolist()!r} do not fit y, whose columns are numbered from 0 to "
                    f"{len(self.classes) - 1}."
                )
            return self
        allowed = {*names.tolist(), *([] if known is None else known.tolist())}
        others = [name for name in self.classes.tolist() if name not in allowed]
        if others:
            raise ValueError(f"y has the label {others[0]!r}, which is not in classes={names.tolist()!r}.")
        if self.kind == "frame":
            names = name_array(dict.fromkeys([*self.classes, *classes]))
        return self.united(replace(self, classes=names))

    def places(self, other: LabelSpace) -> npt.NDArray[np.int64]:
        """Where each label of `other` is among those of this space."""
        position = {label: k for k, label in enumerate(self.classes.tolist())}
        return np.array([position[label] for label in other.classes.tolist()], dtype=np.int64)

    def restricted(
        self, Y: Indicator, unknown: UnknownLabels | None = None
    ) -> tuple[LabelSpace, Indicator, UnknownLabels | None]:
        """Drop labels that no row of `Y` names, where the labels were found in the rows themselves."""
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
        """Rows have the labels above theirs, too: the space may have more labels then."""
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
            raise ValueError("hierarchy: a 1-D y has one class in each row; give label sets.")
        names = self.classes.tolist()
        above = [one for name in names for one in hierarchy.above(name)]
        if self.kind == "sets":
            return replace(self, classes=sorted_names([*names, *above]))
        missing = set(above).difference(names)
        if missing:
            raise ValueError(
                f"hierarchy: y has no column for {min(missing, key=str)!r}, which is above others; add it, "
                f"or give label sets."
            )
        return self

    @cached_property
    def closure(self) -> sp.csr_array:
        """A[k, j] = 1 where label j is k or above it, (n_labels, n_labels), of a space with a hierarchy."""
        assert self.hierarchy is not None
        return self.hierarchy.closure(self.classes)

    def raised(self, scores: FloatArray) -> FloatArray:
        """Scores in which no label stands below those that it is above, (n_rows, n_labels)."""
        return scores if self.hierarchy is None else raised(self.closure, scores)

    def closed(self, inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
        """Sets with the labels above theirs, (n_rows, n_labels)."""
        return inside if self.hierarchy is None else (inside.astype(np.int8) @ self.closure) > 0

    def completed(self, Y: Indicator, ranking: FloatArray) -> Indicator:
        """Predicted sets with the labels above theirs, each row's entries strongest first."""
        return Y if self.hierarchy is None else completed(self.closure, Y, ranking)

    def decode(self, Y: Indicator, index: Any = None) -> Any:
        """Give `Y` back as the kind of y that was learnt.

        Parameters
        ----------
        Y : csr_array, (n_rows, n_labels)
            Predicted label sets; with one class per row it has one entry in each row.
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
    why: str = "which SMLClassifier, AutoSMLClassifier, Tagger and simlabel.metrics take, but nothing else",
) -> None:
    """Raise where something is unknown, for those who need all labels."""
    if unknown is not None and unknown.entries.nnz:
        row = int(np.flatnonzero(~unknown.complete)[0])
        raise ValueError(
            f"Input y contains NaN (first at row {row}), or a row of which not all labels are known: {why}."
        )


def moved(Y: Indicator, places: npt.NDArray[np.int64], n_labels: int) -> Indicator:
    """Y where label k stands in column places[k] of `n_labels`."""
    if Y.shape[1] == n_labels and np.array_equal(places, np.arange(n_labels)):
        return Y
    Y = sp.csr_array((Y.data, places[Y.indices], Y.indptr), shape=(Y.shape[0], n_labels))
    Y.sort_indices()
    return Y

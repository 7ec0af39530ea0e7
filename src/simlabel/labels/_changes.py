"""Rename, merge, split and archive labels without changing the rows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import IntArray
from simlabel.labels._forms import Indicator, name_array, sort_of
from simlabel.labels._space import LabelSpace
from simlabel.labels._unknown import UnknownLabels, ones_at

LabeledData = tuple[LabelSpace, Indicator, UnknownLabels | None]


def renamed(space: LabelSpace, names: Any) -> LabelSpace:
    """Rename labels; their column positions stay."""
    _refuse_unnamed(space)
    if not isinstance(names, Mapping):
        raise TypeError(f"names must be a dict from old names to new ones, got {names!r}.")
    _places(space, list(names))
    new = [names.get(name, name) for name in space.classes.tolist()]
    twice = next((name for i, name in enumerate(new) if name in new[:i]), None)
    if twice is not None:
        raise ValueError(f"Two labels would be called {twice!r}; merge_labels makes one of several.")
    return _called(space, new)


def merged(
    space: LabelSpace, Y: Indicator, unknown: UnknownLabels | None, labels: Any, into: Hashable
) -> LabeledData:
    """Replace several labels by one; a row has it if it had any of them."""
    _refuse_unnamed(space)
    names = space.classes.tolist()
    together = _places(space, [*_listed(labels), *([into] if into in names else [])])
    target = names.index(into) if into in names else int(together[0])
    stays = [k for k in range(len(names)) if k == target or k not in set(together.tolist())]
    place = np.zeros(len(names), dtype=np.int64)
    place[stays] = np.arange(len(stays))
    place[together] = place[target]
    kept = [into if k == target else names[k] for k in stays]
    return _moved(_called(space, kept), Y, unknown, place)


def split_off(
    space: LabelSpace,
    Y: Indicator,
    unknown: UnknownLabels | None,
    label: Hashable,
    into: Hashable,
    rows: IntArray,
) -> LabeledData:
    """Replace a label by another, possibly new one in some of the rows that have it."""
    _refuse_unnamed(space)
    (old,) = _places(space, [label])
    without = rows[np.asarray(Y[rows, [old] * len(rows)]).ravel() == 0]
    if len(without):
        raise ValueError(f"{len(without)} of these instances do not have the label {label!r}.")
    names = space.classes.tolist()
    if into not in names:
        names.append(into)
        space, Y, unknown = _moved(_called(space, names), Y, unknown, np.arange(len(names) - 1))
    change = sp.lil_array(Y.shape, dtype=np.int8)
    change[rows, old], change[rows, names.index(into)] = -1, 1
    Y = sp.csr_array(Y + sp.csr_array(change), dtype=np.int8)
    Y.eliminate_zeros()
    Y.data[:] = 1  # where a row had both
    Y.sort_indices()
    return space, Y, unknown


def archived(space: LabelSpace, Y: Indicator, unknown: UnknownLabels | None, labels: Any) -> LabeledData:
    """Remove labels."""
    _refuse_unnamed(space)
    if space.kind == "single":
        raise ValueError("A 1-D y has one class per row: forget the rows, or use merge_labels.")
    stays = np.setdiff1d(np.arange(len(space.classes)), _places(space, _listed(labels)))
    if not len(stays):
        raise ValueError("These are all labels of the model, which needs at least one.")
    if unknown is not None:
        unknown = UnknownLabels(sp.csr_array(unknown.entries[:, stays]), unknown.open_rows)
    return replace(space, classes=space.classes[stays]), sp.csr_array(Y[:, stays]), unknown


def _moved(space: LabelSpace, Y: Indicator, unknown: UnknownLabels | None, place: IntArray) -> LabeledData:
    """Move label k to column place[k]; merged labels are known to be absent only if all of them are."""
    B = ones_at(np.arange(len(place)), place, (len(place), len(space.classes)))
    Y = _any(Y @ B)
    if unknown is not None:
        entries = _any(unknown.entries @ B)
        entries = sp.csr_array(entries - entries.multiply(Y), dtype=np.int8)
        entries.eliminate_zeros()
        new = np.setdiff1d(np.arange(len(space.classes)), place)
        later = np.flatnonzero(unknown.open_rows)
        entries = entries + ones_at(np.repeat(later, len(new)), np.tile(new, len(later)), entries.shape)
        unknown = UnknownLabels(_any(entries), unknown.open_rows)
    return space, Y, unknown


def _any(Y: Any) -> Indicator:
    Y = sp.csr_array(Y, dtype=np.int8)
    Y.data[:] = 1
    Y.sort_indices()
    return Y


def _refuse_unnamed(space: LabelSpace) -> None:
    if space.kind in ("array", "sparse"):
        raise ValueError(
            "The labels are columns of an array, which have no names: pass label sets or a data frame to fit."
        )


def _listed(labels: Any) -> list[Hashable]:
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise TypeError(f"labels must be a list of labels, got {labels!r}.")
    return list(labels)


def _places(space: LabelSpace, labels: Sequence[Hashable]) -> IntArray:
    names = space.classes.tolist()
    foreign = [label for label in labels if label not in names]
    if foreign or not labels:
        raise ValueError(
            f"There is no label {foreign[0]!r}; the labels are {str(names)[:300]}."
            if foreign
            else "Name a label."
        )
    return np.array([names.index(label) for label in labels], dtype=np.int64)


def _called(space: LabelSpace, names: Sequence[Hashable]) -> LabelSpace:
    """Return the label space with new names; class names must keep their type (text or number)."""
    if space.kind != "single":
        return replace(space, classes=name_array(names))
    texts = sort_of(space.classes) in ("text", "objects")
    other = [name for name in names if isinstance(name, str) != texts]
    if other:
        raise ValueError(f"Classes must have one type, but {other[0]!r} and {space.classes[0]!r} differ.")
    return replace(space, classes=np.array(names, dtype=space.classes.dtype if not texts else None))

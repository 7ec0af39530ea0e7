"""A chunk of labelled instances in a file: what is declared of it is checked at once, the rest when read."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.forks import cached_property
from simlabel._utils.rows import Groups
from simlabel._utils.validation import (
    FloatArray,
    Rows,
    check_finite,
    check_groups,
    check_ids,
    check_number,
    check_numbers,
    check_unused,
)
from simlabel.labels import Indicator, UnknownLabels
from simlabel.model.persistence._layout import ModelFileError, State, told
from simlabel.model.persistence._values import Reader
from simlabel.sums import Chunk, Ids, number_after


@dataclass(frozen=True)
class Form:
    """What rows are, without a look at them."""

    kind: str
    dtype: np.dtype[Any] | None = None
    width: int | None = None

    @property
    def alike(self) -> tuple[str, int | None]:
        """What all chunks share; rows from a disk may have another precision."""
        return self.kind, self.width


class Names:
    """The ids of all chunks: none twice, none that the next one would get."""

    def __init__(self, next_id: Any) -> None:
        if type(next_id) is not int or next_id < 0:
            raise ModelFileError(f"next_id is {str(next_id)[:60]}.")
        self.next_id: int = next_id
        self._ranges: list[range] = []
        self._others: set[Hashable] = set()

    def take(self, ids: Ids) -> None:
        """Those of one more chunk."""
        if isinstance(ids, range):
            clash = any(each.start < ids.stop and ids.start < each.stop for each in self._ranges)
            clash = clash or any(type(name) is int and name in ids for name in self._others)
            self._ranges.append(ids)
        else:
            names = check_ids(ids, len(ids)).tolist()
            clash = any(type(name) is int and name in each for each in self._ranges for name in names)
            check_unused([name for name in names if name in self._others])
            self._others.update(names)
        if clash or number_after(ids, 0) > self.next_id:
            raise ModelFileError("ids are in use twice, or will be.")


class StoredChunk(Chunk):
    """A chunk whose parts are read and checked when first needed; dense rows of a mapped file stay there."""

    def __init__(
        self, state: State, reader: Reader, n_labels: int, single: bool, names: Names, n_cells: int | None
    ) -> None:
        self._state, self._reader, self._n_labels = state, reader, n_labels
        self._single, self._names, self._n_cells = single, names, n_cells
        check_number("a chunk", "n", state["n"], at_least=1, integer=True)
        sizes = state["sizes"]
        empty = not sizes and state["unknown"] is None
        if empty or not isinstance(sizes, list) or not all(type(size) is int for size in sizes):
            raise ModelFileError(f"a chunk has {str(sizes)[:60]} as set sizes.")
        self.__dict__["sizes"] = np.array(sizes, dtype=np.int64)
        check_numbers("a chunk", "sizes", self.sizes, (None,), kinds="i", at_least=0, at_most=n_labels)
        self.x_form, self.raw_form = self._form("X"), None if state["raw"] is None else self._form("raw")
        if isinstance(state["ids"], dict) and state["ids"].get("is") == "range":
            self.ids  # noqa: B018  it costs nothing

    def __len__(self) -> int:
        return int(self._state["n"])

    def _form(self, part: str) -> Form:
        """What is declared of the rows."""
        state, arrays = self._state[part], self._reader.arrays
        kind = state["is"]
        if kind == "texts" and (part == "X") == (self._n_cells is None):
            return Form(kind)
        entry = arrays.entry(state["data"]["name"] if kind != "array" else state["name"])
        shape = entry.shape if kind == "array" else tuple(state["shape"])
        if len(shape) != 2 or shape[0] != len(self) or type(shape[1]) is not int or entry.dtype.kind != "f":
            raise ModelFileError(
                f"{part} of a chunk has {entry.dtype} of shape {shape}, which is not {len(self)} rows."
            )
        return Form(kind, entry.dtype, shape[1])

    @cached_property
    def X(self) -> Rows:
        return self._rows("X", self.x_form)

    @cached_property
    def raw(self) -> Rows:
        return self._rows("raw", self.raw_form)

    @cached_property
    def Y(self) -> Indicator:
        with told(self._reader.arrays.path):
            Y = self._ones(self._reader.decode(self._state["Y"]), "label sets")
            counts = np.diff(Y.indptr)
            if self.unknown is not None:
                counts = counts[self.unknown.complete]
                if Y.multiply(self.unknown.entries).nnz:
                    raise ModelFileError("a label is true and unknown.")
            if not np.array_equal(np.unique(counts), self.sizes) or (self._single and (counts != 1).any()):
                raise ModelFileError("label sets have other sizes than stated.")
            return Y

    @cached_property
    def unknown(self) -> UnknownLabels | None:
        with told(self._reader.arrays.path):
            state = self._reader.decode(self._state["unknown"])
            if state is None:
                return None
            entries, open_rows = state
            entries = self._ones(entries, "unknown labels")
            if not isinstance(open_rows, np.ndarray) or open_rows.dtype != bool:
                raise ModelFileError(f"{str(open_rows)[:60]} do not say in which rows labels may be to come.")
            if open_rows.shape != (len(self),) or self._single:
                raise ModelFileError("unknown labels are not those of the rows, which have one class each.")
            return UnknownLabels(entries, open_rows)

    def _ones(self, Y: Any, what: str) -> Indicator:
        """A 0/1 matrix of these rows by the labels, checked and sorted."""
        if type(Y) is not sp.csr_array or Y.shape != (len(self), self._n_labels):
            raise ModelFileError(f"{what} are not {(len(self), self._n_labels)}.")
        Y.sort_indices()
        if Y.dtype != np.int8 or (Y.data != 1).any() or not Y.has_canonical_format:
            raise ModelFileError(f"{what} have other entries than ones, or a label twice.")
        return Y

    @cached_property
    def weights(self) -> FloatArray:
        with told(self._reader.arrays.path):
            weights = self._reader.decode(self._state["weights"])
            check_numbers("a chunk", "weights", weights, (len(self),), above=0)
            return weights

    @cached_property
    def ids(self) -> Ids:
        with told(self._reader.arrays.path):
            ids = self._reader.decode(self._state["ids"])
            ordered = isinstance(ids, range) and ids.step == 1 and ids.start >= 0
            named = isinstance(ids, np.ndarray) and ids.dtype in (np.int64, object)
            if not (ordered or named) or len(ids) != len(self):
                raise ModelFileError(f"{str(ids)[:60]} stands in place of {len(self)} ids.")
            self._names.take(ids)
            return ids

    @cached_property
    def groups(self) -> Groups:
        with told(self._reader.arrays.path):
            groups = self._reader.decode(self._state["groups"])
            if groups is not None and getattr(groups, "dtype", None) not in (np.int64, object):
                raise ModelFileError(f"{str(groups)[:60]} stands in place of the groups of {len(self)} rows.")
            return check_groups(groups, len(self))

    def _rows(self, part: str, form: Form | None) -> Rows:
        with told(self._reader.arrays.path):
            if form is None:
                return None
            if form.kind == "array":
                return self._reader.arrays.rows(self._state[part]["name"])
            rows = self._reader.decode(self._state[part])
            if form.kind == "texts":
                rows = rows.tolist()
                if len(rows) != len(self):
                    raise ModelFileError(f"{part} has {len(rows)} objects, not {len(self)}.")
                if self._n_cells is not None and not all(map(self._is_row, rows)):
                    raise ModelFileError(f"a row of the table has not {self._n_cells} cells.")
            else:
                check_finite(rows, part)
            return rows

    def _is_row(self, row: Any) -> bool:
        """Whether this is a row of a table."""
        return isinstance(row, tuple) and len(row) == self._n_cells and all(map(_is_cell, row))

    def whole(self) -> Chunk:
        """The same, all of it read and checked."""
        return Chunk(self.X, self.Y, self.weights, self.ids, self.raw, self.groups, self.unknown)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return Chunk, (self.X, self.Y, self.weights, self.ids, self.raw, self.groups, self.unknown)


def _is_cell(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(item, str) for item in value)
    return value is None or type(value) in (str, int, float)


def restored_chunks(
    states: Iterable[State], reader: Reader, n_labels: int, single: bool, next_id: Any, n_cells: int | None
) -> list[StoredChunk]:
    """The chunks of a file, not read; they fit each other. Of a table, rows as they came have `n_cells`."""
    names = Names(next_id)
    chunks = [StoredChunk(state, reader, n_labels, single, names, n_cells) for state in states]
    forms = {(chunk.x_form.alike, chunk.raw_form and chunk.raw_form.alike) for chunk in chunks}
    if len(forms) != 1:
        raise ModelFileError(f"the rows of {len(chunks)} chunks are not of one kind.")
    return chunks

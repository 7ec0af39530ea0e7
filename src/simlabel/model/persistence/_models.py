"""A fitted model as plain state and arrays, and back.

Of chunks of labeled instances, what the file declares is checked at once, and the rest when it is read.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from simlabel._utils.threads import cached_property
from simlabel._utils.validation import (
    Rows,
    check_finite,
    check_groups,
    check_ids,
    check_number,
    check_numbers,
    check_unused,
    object_array,
)
from simlabel.labels import Indicator, LabelSpace, UnknownLabels
from simlabel.model._model import Model
from simlabel.model._scorer import Scorer
from simlabel.model.persistence._checks import (
    OUTSIDE,
    PARTS,
    STAGES,
    check_chunk_rows,
    check_labels,
    check_model,
    check_parts,
)
from simlabel.model.persistence._file import ModelFileError, ModelState, error_context
from simlabel.model.persistence._values import StateReader, Writer
from simlabel.ridge import Stages
from simlabel.sums import Chunk, Ids, References, next_free_id

_SET_TYPES: dict[str, type] = {kind.__name__: kind for kind in (set, frozenset, list, tuple)}
_SPARSE_TYPES: dict[str, type] = {
    f"{form}_{kind}": getattr(sp, f"{form}_{kind}")
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("array", "matrix")
}
#: what `Chunk` is made of, in this order
CHUNK_PARTS = ("X", "Y", "weights", "ids", "raw", "groups", "unknown")


class DeclaredRows(NamedTuple):
    """The kind of rows, and the number of their columns; None for objects."""

    kind: str
    width: int | None = None


class UsedIds:
    """The ids of all chunks: no duplicates, and none that the next instance would get."""

    def __init__(self, next_id: Any) -> None:
        if type(next_id) is not int or next_id < 0:
            raise ModelFileError(f"next_id is {str(next_id)[:60]}.")
        self.next_id: int = next_id
        self._ranges: list[range] = []
        self._others: set[Hashable] = set()

    def add(self, ids: Ids) -> None:
        """Add the ids of a chunk."""
        if isinstance(ids, range):
            clash = any(each.start < ids.stop and ids.start < each.stop for each in self._ranges)
            clash = clash or any(type(name) is int and name in ids for name in self._others)
            self._ranges.append(ids)
        else:
            names = check_ids(ids, len(ids)).tolist()
            clash = any(type(name) is int and name in each for each in self._ranges for name in names)
            check_unused([name for name in names if name in self._others])
            self._others.update(names)
        if clash or next_free_id(ids, 0) > self.next_id:
            raise ModelFileError("ids are in use twice, or will be.")


@dataclass(frozen=True)
class Context:
    """What the chunks of a file share.

    Attributes
    ----------
    reader : Reader
    n_labels : int
    single : bool
        Whether every instance has exactly one label.
    n_cells : int or None
        The number of cells of the original rows of a table; None for other rows.
    used_ids : UsedIds
    """

    reader: StateReader
    n_labels: int
    single: bool
    n_cells: int | None
    used_ids: UsedIds


def _part(read: Callable[[StoredChunk], Any]) -> cached_property[Any]:
    """Make a part of a chunk that is read when first used; errors name the file."""

    def named(chunk: StoredChunk) -> Any:
        with error_context(chunk.context.reader.arrays.path):
            return read(chunk)

    return cached_property(named)


class StoredChunk(Chunk):
    """A chunk whose parts are read and checked when first used; dense rows of a mapped file stay there."""

    def __init__(self, state: ModelState, context: Context) -> None:
        self._state, self.context = state, context
        check_number("a chunk", "n", state["n"], at_least=1, integer=True)
        sizes = state["sizes"]
        empty = not sizes and state["unknown"] is None
        if empty or not isinstance(sizes, list) or not all(type(size) is int for size in sizes):
            raise ModelFileError(f"a chunk has {str(sizes)[:60]} as set sizes.")
        self.__dict__["sizes"] = np.array(sizes, dtype=np.int64)
        check_numbers(
            "a chunk", "sizes", self.sizes, (None,), kinds="i", at_least=0, at_most=context.n_labels
        )
        self.x_form, self.raw_form = self._form("X"), None if state["raw"] is None else self._form("raw")
        if isinstance(state["ids"], dict) and state["ids"].get("is") == "range":
            self.ids  # noqa: B018  nothing is read

    def __len__(self) -> int:
        return int(self._state["n"])

    def _form(self, part: str) -> DeclaredRows:
        """Return the form that is declared of rows."""
        state, arrays = self._state[part], self.context.reader.arrays
        kind = state["is"]
        if kind == "texts" and (part == "X") == (self.context.n_cells is None):
            return DeclaredRows(kind)
        dtype, shape = arrays.entry(state["name"] if kind == "array" else state["data"]["name"])
        shape = shape if kind == "array" else tuple(state["shape"])
        if len(shape) != 2 or shape[0] != len(self) or type(shape[1]) is not int or dtype.kind != "f":
            raise ModelFileError(
                f"{part} of a chunk has {dtype} of shape {shape}, which is not {len(self)} rows."
            )
        return DeclaredRows(kind, shape[1])

    def _decode(self, part: str) -> Any:
        return self.context.reader.decode(self._state[part])

    @_part
    def X(self) -> Rows:
        """Features as the similarity compares them."""
        return self._rows("X", self.x_form)

    @_part
    def raw(self) -> Rows:
        """Features as they were given, or None."""
        return None if self.raw_form is None else self._rows("raw", self.raw_form)

    def _rows(self, part: str, form: DeclaredRows) -> Rows:
        if form.kind == "array":
            return self.context.reader.arrays.rows(self._state[part]["name"])
        rows, n_cells = self._decode(part), self.context.n_cells
        if form.kind != "texts":
            check_finite(rows, part)
            return rows
        rows = rows.tolist()
        if len(rows) != len(self):
            raise ModelFileError(f"{part} has {len(rows)} objects, not {len(self)}.")
        if n_cells is not None and not all(_is_table_row(row, n_cells) for row in rows):
            raise ModelFileError(f"a row of the table has not {n_cells} cells.")
        return rows

    @_part
    def Y(self) -> Indicator:
        """Label sets."""
        Y = self._ones(self._decode("Y"), "label sets")
        counts = np.diff(Y.indptr)
        if self.unknown is not None:
            counts = counts[self.unknown.complete]
            if Y.multiply(self.unknown.entries).nnz:
                raise ModelFileError("a label is true and unknown.")
        if not np.array_equal(np.unique(counts), self.sizes) or (self.context.single and (counts != 1).any()):
            raise ModelFileError("label sets have other sizes than stated.")
        return Y

    @_part
    def unknown(self) -> UnknownLabels | None:
        """Entries of Y that are not known, or None."""
        state = self._decode("unknown")
        if state is None:
            return None
        entries, open_rows = state
        entries = self._ones(entries, "unknown labels")
        if not isinstance(open_rows, np.ndarray) or open_rows.dtype != bool:
            raise ModelFileError(f"{str(open_rows)[:60]} does not say in which rows labels may be unknown.")
        if open_rows.shape != (len(self),) or self.context.single:
            raise ModelFileError("unknown labels are not those of the rows, or these have one class each.")
        return UnknownLabels(entries, open_rows)

    def _ones(self, Y: Any, what: str) -> Indicator:
        """Return a 0/1 matrix of these rows by the labels, checked and sorted."""
        shape = (len(self), self.context.n_labels)
        if type(Y) is not sp.csr_array or Y.shape != shape:
            raise ModelFileError(f"{what} are not {shape}.")
        Y.sort_indices()
        if Y.dtype != np.int8 or (Y.data != 1).any() or not Y.has_canonical_format:
            raise ModelFileError(f"{what} have other entries than ones, or a label twice.")
        return Y

    @_part
    def weights(self) -> Any:
        """How many times each instance counts."""
        weights = self._decode("weights")
        check_numbers("a chunk", "weights", weights, (len(self),), above=0)
        return weights

    @_part
    def ids(self) -> Ids:
        """Ids of the instances."""
        ids = self._decode("ids")
        ordered = isinstance(ids, range) and ids.step == 1 and ids.start >= 0
        named = isinstance(ids, np.ndarray) and ids.dtype in (np.int64, object)
        if not (ordered or named) or len(ids) != len(self):
            raise ModelFileError(f"{str(ids)[:60]} stands in place of {len(self)} ids.")
        self.context.used_ids.add(ids)
        return ids

    @_part
    def groups(self) -> Any:
        """Names of the groups of the instances, or None."""
        groups = self._decode("groups")
        if groups is not None and getattr(groups, "dtype", None) not in (np.int64, object):
            raise ModelFileError(f"{str(groups)[:60]} stands in place of the groups of {len(self)} rows.")
        return check_groups(groups, len(self))

    def whole(self) -> Chunk:
        """Return the chunk with all parts read and checked."""
        return Chunk(*(getattr(self, part) for part in CHUNK_PARTS))

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return Chunk, tuple(getattr(self, part) for part in CHUNK_PARTS)


def _is_table_row(row: Any, n_cells: int) -> bool:
    return isinstance(row, tuple) and len(row) == n_cells and all(map(_is_cell, row))


def _is_cell(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(item, str) for item in value)
    return value is None or type(value) in (str, int, float)


def restored_chunks(states: Iterable[ModelState], context: Context) -> list[StoredChunk]:
    """Return the chunks of a file, which are not read yet; their rows are of one form."""
    chunks = [StoredChunk(state, context) for state in states]
    # the precision of rows may differ: rows from a disk keep theirs
    if len({(chunk.x_form, chunk.raw_form) for chunk in chunks}) != 1:
        raise ModelFileError(f"the rows of {len(chunks)} chunks are not of one kind.")
    return chunks


def model_state(model: Model, writer: Writer) -> ModelState:
    """Return a model as JSON; its arrays go to the writer."""
    scorer, stages, encode = model.scorer, model.scorer.stages, writer.encode
    # influence that is not learned follows from the label sets; the linear system is large and prepared again
    solution = replace(scorer.solved, system=None) if stages.influence.learned else None
    return {
        "labels": {
            "kind": model.labels.kind,
            "classes": writer.array(model.labels.classes, "labels"),
            "container": encode(_container_state(model.labels), "the container of y"),
            "hierarchy": encode(model.labels.hierarchy, "hierarchy"),
        },
        **{name: encode(getattr(model, name), name) for name in OUTSIDE},
        **{name: encode(getattr(stages, name), name) for name in STAGES},
        "solution": encode(solution, "solution"),
        "sketch": encode(scorer.sketch, "sketch"),
        "next_id": scorer.references.next_id,
        "chunks": [_chunk_state(c, writer, f"chunks/{i}") for i, c in enumerate(scorer.references.chunks)],
    }


def _chunk_state(chunk: Chunk, writer: Writer, where: str) -> ModelState:
    state: ModelState = {"n": len(chunk), "sizes": chunk.sizes.tolist()}
    for part in CHUNK_PARTS:
        value = getattr(chunk, part)
        if isinstance(value, list):
            value = object_array(value)
        elif isinstance(value, UnknownLabels):
            value = (value.entries, value.open_rows)
        state[part] = writer.encode(value, f"{where}/{part}")
    return state


def _container_state(space: LabelSpace) -> Any:
    """Return the form in which `decode` returns labels, as names and dtypes."""
    if space.kind == "sparse":
        kind, dtype = space.container
        return (_name_in(_SPARSE_TYPES, kind), np.dtype(dtype))
    return _name_in(_SET_TYPES, space.container) if space.kind == "sets" else space.container


def _name_in(types: dict[str, type], kind: type) -> str:
    if types.get(kind.__name__) is not kind:
        raise TypeError(
            f"y was given as {kind!r}, which a model file cannot hold; known are {', '.join(types)}."
        )
    return kind.__name__


def restored_model(state: ModelState, reader: StateReader, n_features: int | None, *, mmap: bool) -> Model:
    """Return the model that was saved, with its parts checked against each other.

    Parameters
    ----------
    n_features : int or None
        The number of features of its rows; None for objects.
    mmap : bool
        Whether references are read, and then checked, when they are needed.
    """
    with error_context("labels"):
        labels = _restored_labels(state["labels"], reader)
    parts: ModelState = {}
    for name in PARTS:
        with error_context(name):
            parts[name] = reader.decode(state[name])
    check_parts(parts)
    with error_context("chunks"):
        n_cells = None if parts["encoder"] is None else len(parts["encoder"].names_)
        ids = UsedIds(state["next_id"])
        context = Context(reader, len(labels.classes), labels.kind == "single", n_cells, ids)
        chunks = restored_chunks(state["chunks"], context)
    stages = Stages(**{name: parts[name] for name in STAGES})
    pairwise = stages.similarity.form == "precomputed"
    references = References.of(chunks, ids.next_id, pairwise=pairwise)
    scorer = Scorer(stages, references, parts["solution"], sketch=parts["sketch"])
    model = Model(labels=labels, scorer=scorer, **{name: parts[name] for name in OUTSIDE})
    check_model(model, n_features)
    if mmap:
        return model
    references = References.of([chunk.whole() for chunk in chunks], ids.next_id, pairwise=pairwise)
    model = replace(model, scorer=replace(scorer, references=references))
    check_chunk_rows(model)
    return model


def _restored_labels(state: ModelState, reader: StateReader) -> LabelSpace:
    kind, classes = state["kind"], reader.decode(state["classes"])
    container, hierarchy = reader.decode(state["container"]), reader.decode(state["hierarchy"])
    if kind == "sparse":
        container = (_SPARSE_TYPES[container[0]], container[1])
    elif kind == "sets":
        container = _SET_TYPES[container]
    check_labels(kind, classes, container, hierarchy)
    return LabelSpace(kind, classes, container, hierarchy)

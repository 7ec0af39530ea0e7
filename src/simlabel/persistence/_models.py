"""A fitted model <-> plain state and arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._forks import cached_property
from simlabel._labels import LabelSpace
from simlabel._model import Model
from simlabel._references import Chunk, References
from simlabel._scoring import Scorer
from simlabel.influence import Solved
from simlabel.persistence._container import MappedRows, ModelFileError
from simlabel.persistence._values import Reader, Writer

State = dict[str, Any]
_ROWS = ("X", "raw")
_COMPANIONS = ("Y", "weights", "ids")
_SET_TYPES: dict[str, type] = {kind.__name__: kind for kind in (set, frozenset, list, tuple)}
_SPARSE_TYPES: dict[str, type] = {
    f"{form}_{kind}": getattr(sp, f"{form}_{kind}")
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("array", "matrix")
}


def model_state(model: Model, writer: Writer) -> State:
    """What makes up a model, as JSON; its arrays go to the writer."""
    scorer = model.scorer
    encode = writer.encode
    return {
        "labels": {
            "kind": model.labels.kind,
            "classes": writer.array(model.labels.classes, "labels"),
            "container": encode(_container_state(model.labels), "the container of y"),
        },
        "normalizer": encode(model.normalizer, "normalizer"),
        "similarity": encode(scorer.similarity, "similarity"),
        "weighting": encode(scorer.weighting, "weighting"),
        "influence": encode(scorer.influence, "influence"),
        # what is not learnt follows from the label sets
        "solution": encode(_kept(scorer.solved) if scorer.influence.learned else None, "solution"),
        "engine": encode(scorer.engine, "engine"),
        "n_jobs": encode(scorer.n_jobs, "n_jobs"),
        "scales": encode(scorer.scales, "scales"),
        "sketch": encode(scorer.sketch, "sketch"),
        "rule": encode(model.rule, "label_rule"),
        "calibration": encode(model.calibration, "calibration"),
        "columns": encode(model.columns, "columns"),
        "next_id": scorer.references.next_id,
        "chunks": [_chunk_state(c, writer, f"chunks/{i}") for i, c in enumerate(scorer.references.chunks)],
    }


def _kept(solved: Solved) -> Solved:
    """Without the inverse, which is large and is found again when it is needed."""
    return replace(solved, inverse=None)


def _chunk_state(chunk: Chunk, writer: Writer, where: str) -> State:
    state: State = {"n": len(chunk), "sizes": chunk.sizes.tolist()}
    for part in (*_ROWS, *_COMPANIONS):
        value = getattr(chunk, part)
        if part == "X" and isinstance(value, list):
            value = _object_array(value)
        state[part] = writer.encode(value, f"{where}/{part}")
    return state


def _object_array(rows: list[Any]) -> Any:
    array = np.empty(len(rows), dtype=object)
    array[:] = rows
    return array


def _container_state(space: LabelSpace) -> Any:
    """What `decode` needs to give back the same kind, as names and dtypes."""
    if space.kind == "sparse":
        kind, dtype = space.container
        return (_name_in(_SPARSE_TYPES, kind), np.dtype(dtype))
    return _name_in(_SET_TYPES, space.container) if space.kind == "sets" else space.container


def _container_of(kind: str, state: Any) -> Any:
    """The inverse of `_container_state`."""
    if kind == "sparse":
        return (_SPARSE_TYPES[state[0]], state[1])
    return _SET_TYPES[state] if kind == "sets" else state


def _name_in(types: dict[str, type], kind: type) -> str:
    if types.get(kind.__name__) is not kind:
        raise TypeError(
            f"y was given as {kind!r}, which a model file cannot hold; known are {', '.join(types)}."
        )
    return kind.__name__


def restored_model(state: State, reader: Reader, *, mmap: bool) -> Model:
    """The model that was saved."""
    decode = reader.decode
    labels = state["labels"]
    classes = decode(labels["classes"])
    space = LabelSpace(labels["kind"], classes, _container_of(labels["kind"], decode(labels["container"])))
    lazy = [_LazyChunk(each, reader, len(classes)) for each in state["chunks"]]
    chunks = lazy if mmap else [chunk.whole() for chunk in lazy]
    scorer = Scorer(
        References.of(chunks, state["next_id"]),
        None,
        decode(state["similarity"]),
        decode(state["weighting"]),
        decode(state["influence"]),
        decode(state["solution"]),
        decode(state["engine"]),
        state["n_jobs"],
        decode(state["scales"]),
        decode(state.get("sketch")),
    )
    return Model(
        space,
        decode(state["normalizer"]),
        scorer,
        decode(state["rule"]),
        decode(state["columns"]),
        decode(state["calibration"]),
    )


class _LazyChunk(Chunk):
    """A chunk whose dense rows stay in the file, and whose other parts are read when first needed."""

    def __init__(self, state: State, reader: Reader, n_labels: int) -> None:
        self._state, self._reader, self._n_labels = state, reader, n_labels
        self.__dict__["sizes"] = np.array(state["sizes"], dtype=np.int64)

    def __len__(self) -> int:
        return int(self._state["n"])

    @cached_property
    def X(self) -> Any:
        return self._rows("X")

    @cached_property
    def raw(self) -> Any:
        return self._rows("raw")

    @cached_property
    def Y(self) -> Any:
        Y = self._read("Y")
        if Y.shape != (len(self), self._n_labels):
            raise ModelFileError(
                f"the label sets of a chunk have shape {Y.shape}, not {(len(self), self._n_labels)}."
            )
        return Y

    @cached_property
    def weights(self) -> Any:
        return self._read("weights")

    @cached_property
    def ids(self) -> Any:
        return self._read("ids")

    def _rows(self, part: str) -> Any:
        state = self._state[part]
        if isinstance(state, dict) and state["is"] == "array":
            rows: Any = self._reader.arrays.rows(state["name"])
        else:
            rows = self._read(part)
        if rows is None:
            return None
        if isinstance(rows, np.ndarray):  # objects: numbers come as mapped rows
            rows = rows.tolist()
        self._check(part, rows)
        return rows

    def _read(self, part: str) -> Any:
        value = self._reader.decode(self._state[part])
        if part in _COMPANIONS:
            self._check(part, value)
        return value

    def _check(self, part: str, value: Any) -> None:
        count = value.shape[0] if hasattr(value, "shape") else len(value)
        if count != len(self):
            raise ModelFileError(f"{part} of a chunk has {count} rows, not {len(self)}.")

    def whole(self) -> Chunk:
        """The same, all of it read and verified."""
        X, raw = (rows[:] if isinstance(rows, MappedRows) else rows for rows in (self.X, self.raw))
        X, raw = (np.array(rows) if isinstance(rows, np.ndarray) else rows for rows in (X, raw))
        return Chunk(X, self.Y, self.weights, self.ids, raw)

    def __reduce__(self) -> Any:
        return Chunk, (self.X, self.Y, self.weights, self.ids, self.raw)

"""A fitted model as plain state and arrays, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import object_array
from simlabel.labels import LabelSpace, UnknownLabels
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
from simlabel.model.persistence._chunks import CHUNK_PARTS, Context, UsedIds, restored_chunks
from simlabel.model.persistence._file import ModelState, error_context
from simlabel.model.persistence._values import StateReader, Writer
from simlabel.ridge import Stages
from simlabel.sums import Chunk, References

_SET_TYPES: dict[str, type] = {kind.__name__: kind for kind in (set, frozenset, list, tuple)}
_SPARSE_TYPES: dict[str, type] = {
    f"{form}_{kind}": getattr(sp, f"{form}_{kind}")
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("array", "matrix")
}


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

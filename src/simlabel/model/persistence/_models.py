"""A fitted model <-> plain state and arrays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import object_array
from simlabel.labels import LabelSpace, UnknownLabels
from simlabel.model._model import Model
from simlabel.model._scorer import Scorer
from simlabel.model.persistence._chunks import restored_chunks
from simlabel.model.persistence._fits import check_model, check_rows
from simlabel.model.persistence._layout import State, told
from simlabel.model.persistence._schema import (
    OUTSIDE,
    PARTS,
    STAGES,
    check_hierarchy,
    check_labels,
    check_parts,
)
from simlabel.model.persistence._values import Reader, Writer
from simlabel.ridge import Solved, Stages
from simlabel.sums import Chunk, References

_ROWS = ("X", "raw")
_COMPANIONS = ("Y", "weights", "ids", "groups", "unknown")
_SET_TYPES: dict[str, type] = {kind.__name__: kind for kind in (set, frozenset, list, tuple)}
_SPARSE_TYPES: dict[str, type] = {
    f"{form}_{kind}": getattr(sp, f"{form}_{kind}")
    for form in ("csr", "csc", "coo", "lil", "dok", "bsr", "dia")
    for kind in ("array", "matrix")
}


def model_state(model: Model, writer: Writer) -> State:
    """What makes up a model, as JSON; its arrays go to the writer."""
    scorer, stages = model.scorer, model.scorer.stages
    encode = writer.encode
    return {
        "labels": {
            "kind": model.labels.kind,
            "classes": writer.array(model.labels.classes, "labels"),
            "container": encode(_container_state(model.labels), "the container of y"),
            "hierarchy": encode(model.labels.hierarchy, "hierarchy"),
        },
        **{name: encode(getattr(model, name), name) for name in OUTSIDE},
        **{name: encode(getattr(stages, name), name) for name in STAGES},
        # what is not learnt follows from the label sets
        "solution": encode(_saved(scorer.solved) if stages.influence.learned else None, "solution"),
        "sketch": encode(scorer.sketch, "sketch"),
        "next_id": scorer.references.next_id,
        "chunks": [_chunk_state(c, writer, f"chunks/{i}") for i, c in enumerate(scorer.references.chunks)],
    }


def _saved(solved: Solved) -> Solved:
    """Without the inverse, which is large and is computed anew when it is needed."""
    return replace(solved, inverse=None)


def _chunk_state(chunk: Chunk, writer: Writer, where: str) -> State:
    state: State = {"n": len(chunk), "sizes": chunk.sizes.tolist()}
    for part in (*_ROWS, *_COMPANIONS):
        value = getattr(chunk, part)
        if isinstance(value, list):
            value = object_array(value)
        elif isinstance(value, UnknownLabels):
            value = (value.entries, value.open_rows)
        state[part] = writer.encode(value, f"{where}/{part}")
    return state


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


def restored_model(state: State, reader: Reader, n_features: int | None, *, mmap: bool) -> Model:
    """The model that was saved, its parts checked against each other.

    Parameters
    ----------
    n_features : int or None
        Of the rows that it takes; None for objects.
    mmap : bool
        Whether references are read, and then checked, when they are needed.
    """
    with told("labels"):
        space = _restored_labels(state["labels"], reader)
    parts: State = {}
    for name in PARTS:
        with told(name):
            parts[name] = reader.decode(state[name])
    check_parts(parts)
    with told("chunks"):
        single = space.kind == "single"
        encoder = parts["encoder"]
        cells = None if encoder is None else len(encoder.names_)
        chunks = restored_chunks(state["chunks"], reader, len(space.classes), single, state["next_id"], cells)
    stages = Stages(**{name: parts[name] for name in STAGES})
    pairwise = stages.similarity.form == "precomputed"
    references = References.of(chunks, state["next_id"], pairwise=pairwise)
    scorer = Scorer(stages, references, parts["solution"], sketch=parts["sketch"])
    model = Model(labels=space, scorer=scorer, **{name: parts[name] for name in OUTSIDE})
    check_model(model, n_features)
    if mmap:
        return model
    references = References.of([chunk.whole() for chunk in chunks], state["next_id"], pairwise=pairwise)
    model = replace(model, scorer=replace(scorer, references=references))
    check_rows(model)
    return model


def _restored_labels(labels: State, reader: Reader) -> LabelSpace:
    kind, classes = labels["kind"], reader.decode(labels["classes"])
    container = _container_of(kind, reader.decode(labels["container"]))
    check_labels(kind, classes, container)
    hierarchy = reader.decode(labels["hierarchy"])
    check_hierarchy(kind, hierarchy)
    return LabelSpace(kind, classes, container, hierarchy)

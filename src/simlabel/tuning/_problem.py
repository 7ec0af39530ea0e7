"""Candidates for what is "auto" in a problem, and the problem with one of them, or with some of its rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from simlabel._utils.rows import take_rows
from simlabel._utils.validation import IntArray
from simlabel.labels import UnknownLabels
from simlabel.ridge import Problem
from simlabel.similarities import Grid
from simlabel.sums import References

Candidate = dict[str, Any]


def grids_of(problem: Problem) -> dict[str, Grid]:
    """Return candidates for everything that is "auto", by nested names."""
    stages, references = problem.stages, problem.references
    grids = dict(stages.similarity.grids(references.X, references.weights, stages.seed))
    for name in stages.similarity.open_parameters:
        if name not in grids:
            raise ValueError(
                f"{stages.similarity!r} has {name}='auto', but no values to try for it: pass a value, or "
                f"define a method grids(X, sample_weight, seed) in its class that returns "
                f"{{{name.rpartition('__')[2]!r}: Grid((0.5, 1.0, 2.0))}} (simlabel.similarities.Grid)."
            )
    own = {} if stages.weighting is None else stages.weighting.grids(references.n_rows)
    grids |= {f"weighting__{name}": Grid(values) for name, values in own.items()}
    return grids | {f"influence__{name}": Grid(values) for name, values in stages.influence.grids().items()}


def resolved(problem: Problem, candidate: Candidate) -> Problem:
    """Return the problem with these values in place of "auto"."""
    stages, own = problem.stages, dict(candidate)
    changed = {}
    for name in ("weighting", "influence"):
        nested = {key: own.pop(key) for key in candidate if key.startswith(f"{name}__")}
        if nested:
            values = {key.partition("__")[2]: value for key, value in nested.items()}
            changed[name] = clone(getattr(stages, name)).set_params(**values)
    return replace(problem, stages=replace(stages, similarity=stages.similarity.replaced(own), **changed))


def on_rows(problem: Problem, rows: IntArray) -> Problem:
    """Return the problem on some of the rows."""
    known, stages = problem.references, problem.stages
    X, raw = take_rows(known.X, rows), None if known.raw is known.X else take_rows(known.raw, rows)
    some = References(
        X[:, rows] if known.pairwise else X,
        known.Y[rows],
        known.weights[rows],
        raw=raw,
        groups=None if known.groups is None else known.groups[rows],
        unknown=None if known.knowledge is None else known.knowledge.part(rows),
        pairwise=known.pairwise,
    )
    return Problem(stages if stages.scales is None else replace(stages, scales=stages.scales[rows]), some)


def varying(references: References) -> References:
    """Return the references without labels that no row or every row has; unchanged if none varies."""
    constant, knowledge = references.constant, references.knowledge
    if constant is None or constant.all():
        return references
    labels = np.flatnonzero(constant == 0)
    if knowledge is not None:
        knowledge = UnknownLabels(sp.csr_array(knowledge.entries[:, labels]), knowledge.open_rows)
    return references.with_labels(sp.csr_array(references.Y[:, labels]), knowledge)


def two_sided(problem: Problem) -> Problem:
    """Return the problem of ranking the labels that vary: of a single one, its absence and its presence."""
    known = varying(problem.references)
    if known.n_labels == 1:
        present, unknown = known.settled_Y.toarray(), None
        absent = 1 - present
        if known.unknown is not None:
            absent -= known.unknown.toarray()
            both = sp.csr_array(sp.hstack([known.unknown, known.unknown], format="csr"))
            unknown = UnknownLabels(both, np.zeros(known.n_rows, dtype=bool))
        known = known.with_labels(sp.csr_array(np.hstack([absent, present]).astype(np.int8)), unknown)
    return replace(problem, references=known)

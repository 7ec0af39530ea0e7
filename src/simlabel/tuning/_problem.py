"""What a search does to a problem: candidates for what is "auto", and the problem with one of them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.rows import take_rows
from simlabel._utils.validation import IntArray
from simlabel.labels import UnknownLabels
from simlabel.ridge import Problem
from simlabel.similarities import Grid
from simlabel.sums import References

Candidate = dict[str, Any]

_WEIGHTING, _INFLUENCE = "weighting__", "influence__"


def grids_of(problem: Problem) -> dict[str, Grid]:
    """Candidates for everything that is "auto", by nested names."""
    stages, references = problem.stages, problem.references
    grids = dict(stages.similarity.grids(references.X, references.weights, stages.seed))
    without = [name for name in stages.similarity.open_parameters if name not in grids]
    if without:
        raise ValueError(
            f"{stages.similarity!r} has {without[0]}='auto' and names no values to try for it: give it a "
            f"value, or let its class have a method grids(X, sample_weight, seed) that returns "
            f"{{{without[0].rpartition('__')[2]!r}: Grid((0.5, 1.0, 2.0))}} (simlabel.similarities.Grid)."
        )
    if stages.weighting is not None:
        own = stages.weighting.grids(references.n_rows)
        grids |= {_WEIGHTING + name: Grid(values) for name, values in own.items()}
    learned = stages.influence.grids()
    return grids | {_INFLUENCE + name: Grid(values) for name, values in learned.items()}


def resolved(problem: Problem, candidate: Candidate) -> Problem:
    """The same with these values in place of "auto"."""

    def replaced(stage: Any, prefix: str) -> Any:
        values = {name[len(prefix) :]: v for name, v in candidate.items() if name.startswith(prefix)}
        return type(stage)(**(stage.get_params(deep=False) | values)) if values else stage

    stages = problem.stages
    own = {n: v for n, v in candidate.items() if not n.startswith((_WEIGHTING, _INFLUENCE))}
    stages = replace(
        stages,
        similarity=stages.similarity.replaced(own),
        weighting=replaced(stages.weighting, _WEIGHTING),
        influence=replaced(stages.influence, _INFLUENCE),
    )
    return replace(problem, stages=stages)


def on_rows(problem: Problem, rows: IntArray) -> Problem:
    """The same problem on some of the rows."""
    known, scales = problem.references, problem.stages.scales
    groups = None if known.groups is None else known.groups[rows]
    unknown = None if known.knowledge is None else known.knowledge.part(rows)
    X, raw = take_rows(known.X, rows), None if known.raw is known.X else take_rows(known.raw, rows)
    companions: dict[str, Any] = {"groups": groups, "unknown": unknown, "pairwise": known.pairwise}
    X = X[:, rows] if known.pairwise else X
    some = References(X, known.Y[rows], known.weights[rows], raw=raw, **companions)
    stages = problem.stages if scales is None else replace(problem.stages, scales=scales[rows])
    return Problem(stages, some)


def varying(references: References) -> References:
    """The same without labels that no row has, or every row; all of them if none varies."""
    constant, knowledge = references.constant, references.knowledge
    if constant is None or constant.all():
        return references
    labels = np.flatnonzero(constant == 0)
    if knowledge is not None:
        knowledge = UnknownLabels(sp.csr_array(knowledge.entries[:, labels]), knowledge.open_rows)
    return references.with_labels(sp.csr_array(references.Y[:, labels]), knowledge)


def two_sided(problem: Problem) -> Problem:
    """The problem of labels that vary, to rank them: of one alone, its presence and its absence."""
    known = varying(problem.references)
    problem = replace(problem, references=known)
    if known.n_labels != 1:
        return problem
    present, unknown = known.settled_Y.toarray(), None
    absent = 1 - present
    if known.unknown is not None:
        absent -= known.unknown.toarray()
        both = sp.csr_array(sp.hstack([known.unknown, known.unknown], format="csr"))
        unknown = UnknownLabels(both, np.zeros(known.n_rows, dtype=bool))
    Y = sp.csr_array(np.hstack([absent, present]).astype(np.int8))
    companions: dict[str, Any] = {"groups": known.groups, "unknown": unknown, "pairwise": known.pairwise}
    references = References(known.X, Y, known.weights, raw=known.raw, **companions)
    return replace(problem, references=references)

"""Conformal p-values from all labeled rows compared with refitting for every query and candidate label."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from _shared.data import problem
from _shared.report import Part
from _shared.timing import Scale, wall_and_cpu

from simlabel import SMLClassifier
from simlabel.guarantees import LabelCoverage, Recall
from simlabel.ridge import Ridge
from simlabel.similarities import RBF

REFITS = 3  # queries to refit for
KINDS = {"sums": "uniform", "ridge": Ridge(1.0)}


def refitted(model: Any, X: Any, Y: Any, q: Any) -> None:
    """Fit with a query and compute leave-one-out scores, once for each candidate label."""
    for k in range(Y.shape[1]):
        own = np.zeros((1, Y.shape[1]), dtype=int)
        own[0, k] = 1
        model.fit(np.vstack([X, q]), np.vstack([Y.toarray(), own])).leave_one_out()


def run(scale: Scale) -> Part:
    X, Y, Q = problem(scale, references=2_000, queries=500, dtype=np.float64)
    n_labels = Y.shape[1]
    intro = (
        f"{len(X):,} labeled rows, {n_labels} labels, {len(Q)} queries, processor seconds. *Refitting*: a\n"
        f"fit with the query and one label, with leave-one-out scores of all rows, for each label; the best\n"
        f"of {REFITS} queries. *Without*: `predict_sets` for all queries, including all\n"
        f"preparation."
    )
    shown = "influence", "guarantee", "refitting, ms a query", "without, ms a query", "times faster"
    part = Part("Guarantees without refitting", shown, intro)
    for name, influence in KINDS.items():
        model = SMLClassifier(RBF(2.0), influence=influence, random_state=0)
        slow = min(wall_and_cpu(partial(refitted, model, X, Y, q))[1] for q in Q[: 1 + scale.rounds(REFITS)])
        model.fit(X, Y)
        for guarantee in (LabelCoverage(0.9), Recall(0.9)):
            work = partial(model.predict_sets, Q, guarantee=guarantee)
            work()
            quick = min(wall_and_cpu(work)[1] for _ in range(scale.rounds(3))) / len(Q)
            cells = f"{slow * 1e3:.0f}", f"{quick * 1e3:.3f}", f"{slow / quick:,.0f}"
            part.row(name, type(guarantee).__name__, *cells)
            what = f"{guarantee.name}, {name}"
            part.result(what, f"{slow / quick:,.0f} x", "refitting with every candidate label", "100 x")
    return part

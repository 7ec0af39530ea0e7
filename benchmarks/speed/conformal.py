"""Conformal p-values from all labeled rows, beside refitting with every query and candidate label."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import numpy as np
from _shared.data import problem
from _shared.report import Part
from _shared.timing import Scale

from simlabel import SMLClassifier
from simlabel.guarantees import LabelCoverage, Recall
from simlabel.ridge import Ridge
from simlabel.similarities import RBF

REFITS = 3  # queries that are refitted for, with every label
KINDS = {"sums": "uniform", "ridge": Ridge(1.0)}


def cpu(work: Any) -> float:
    """Seconds of processor time: others on the machine do not count."""
    started = time.process_time()
    work()
    return time.process_time() - started


def refitted(model: Any, X: Any, Y: Any, q: Any) -> None:
    """Fit with a query, and score all rows without themselves, once for each label that it may have."""
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
        f"of {REFITS} queries. *At once*: `predict_sets` for all queries, with all that comes before them."
    )
    shown = "influence", "guarantee", "refitting, ms a query", "at once, ms a query", "times faster"
    part = Part("Guarantees without refitting", shown, intro)
    for name, influence in KINDS.items():
        model = SMLClassifier(RBF(2.0), influence=influence, random_state=0)
        slow = min(cpu(partial(refitted, model, X, Y, q)) for q in Q[: 1 + scale.rounds(REFITS)])
        model.fit(X, Y)
        for guarantee in (LabelCoverage(0.9), Recall(0.9)):
            work = partial(model.predict_sets, Q, guarantee=guarantee)
            work()
            quick = min(cpu(work) for _ in range(scale.rounds(3))) / len(Q)
            cells = f"{slow * 1e3:.0f}", f"{quick * 1e3:.3f}", f"{slow / quick:,.0f}"
            part.row(name, type(guarantee).__name__, *cells)
            what = f"{guarantee.name}, {name}"
            part.figure(what, f"{slow / quick:,.0f} x", "refitting with every candidate label", "100 x")
    return part

"""What a Dask cluster costs on one machine: two worker processes beside two threads of the local engine."""

from __future__ import annotations

import time

import numpy as np
from _data import label_rows, unit_rows
from _report import Figure, Part
from _timing import Scale, alternate

from simlabel import SMLClassifier
from simlabel.cluster import DaskEngine, local_client
from simlabel.similarities import RBF

REFERENCES, QUERIES, FEATURES = 1_000_000, 2_000, 103


def run(scale: Scale) -> Part:
    n, queries = scale.rows(REFERENCES), scale.rows(QUERIES)
    X, Y, Q = unit_rows(n, FEATURES, 0), label_rows(n, 14, 4.2), unit_rows(queries, FEATURES, 1)
    here = SMLClassifier(RBF(7.0), normalizer=None, n_jobs=2).fit(X, Y)
    with local_client(2) as client:
        started = time.perf_counter()
        there = SMLClassifier(RBF(7.0), normalizer=None, engine=DaskEngine(client)).fit(X, Y)
        found = there.decision_function(Q[:64])
        sending = time.perf_counter() - started
        np.testing.assert_allclose(found, here.decision_function(Q[:64]), rtol=1e-4)
        runs = {
            "two threads of one process": lambda: here.decision_function(Q),
            "two workers with a thread each": lambda: there.decision_function(Q),
        }
        seconds = alternate(runs, scale.rounds(3))
    local, workers = seconds.values()
    title = f"A cluster on one machine: {n:,} x {FEATURES} references, {queries:,} queries"
    part = Part("cluster", title, ["how", "median s", "/ local"])
    part.rows = [[name, f"{s:.2f}", f"{s / local:.2f}"] for name, s in seconds.items()]
    part.notes = [f"Sending the references, once, and a first small prediction took {sending:.1f} s."]
    part.figures = [
        Figure("two Dask workers", f"{workers / local:.2f} x", "two threads of the local engine", "1.25")
    ]
    return part

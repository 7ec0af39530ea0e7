"""The cost of a Dask cluster on one machine: two worker processes compared with two threads."""

from __future__ import annotations

from functools import partial

import numpy as np
from _shared.data import FEATURES, problem
from _shared.report import Part
from _shared.timing import Scale, alternate, seconds

from simlabel import SMLClassifier
from simlabel.similarities import RBF
from simlabel.sums.dask import DaskEngine, local_client


def run(scale: Scale) -> Part:
    X, Y, Q = problem(scale, 1_000_000, 2_000)
    here = SMLClassifier(RBF(7.0), normalizer=None, n_jobs=2).fit(X, Y)
    with local_client(2) as client:
        there = SMLClassifier(RBF(7.0), normalizer=None, engine=DaskEngine(client))
        sending = seconds(lambda: there.fit(X, Y).decision_function(Q[:64]))
        found, wanted = (model.decision_function(Q[:64]) for model in (there, here))
        np.testing.assert_allclose(found, wanted, rtol=1e-4)
        runs = {
            "two threads of one process": partial(here.decision_function, Q),
            "two workers with a thread each": partial(there.decision_function, Q),
        }
        taken = alternate(runs, scale.rounds(3))
    title = f"A cluster on one machine: {len(X):,} x {FEATURES} references, {len(Q):,} queries"
    part = Part(title, ["how", "median s", "/ local"])
    part.times(taken)
    part.notes = [f"Sending the references, once, and a first small prediction took {sending:.1f} s."]
    local, workers = taken.values()
    part.result("two Dask workers", f"{workers / local:.2f} x", "two threads of the local engine", "1.25")
    return part

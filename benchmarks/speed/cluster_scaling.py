"""The time at 1, 2 and 4 workers compared with the prediction of docs/scaling.md from small runs."""

from __future__ import annotations

import os
from collections.abc import Callable
from statistics import median

import numpy as np
from _shared.data import FEATURES, problem
from _shared.report import Part
from _shared.timing import Scale, seconds

from simlabel import SMLClassifier
from simlabel.similarities import RBF
from simlabel.sums.dask import DaskEngine, local_client

BLOCK = 1 << 25  # bytes that are sent in both directions


def timed(work: Callable[[], object]) -> float:
    return median(seconds(work) for _ in range(3))


def constants(scale: Scale) -> dict[str, float]:
    """Measure nanoseconds for a pair on one core, milliseconds for a task, MB/s to a worker and back."""
    X, Y, Q = problem(scale, 60_000, 1_000)
    one = SMLClassifier(RBF(7.0), normalizer=None, n_jobs=1).fit(X, Y)
    one.decision_function(Q)
    pair = timed(lambda: one.decision_function(Q)) / (len(X) * len(Q)) * 1e9
    with local_client(1) as client:
        few = [client.scatter([np.zeros(4)], hash=False)[0] for _ in range(200)]
        client.gather(client.map(np.sum, few, pure=False))
        task = timed(lambda: client.gather(client.map(np.sum, few, pure=False))) / len(few) * 1e3
        block = np.ones(BLOCK, dtype=np.uint8)
        out = timed(lambda: client.scatter([block], hash=False, direct=True))
        there = client.scatter([block], hash=False, direct=True)[0]
        back = timed(lambda: client.gather(there))
    mb = BLOCK / 1e6
    return {"pair, ns": pair, "task, ms": task, "to a worker, MB/s": mb / out, "back, MB/s": mb / back}


def run(scale: Scale) -> Part:
    known, cores = constants(scale), os.cpu_count() or 1
    X, Y, Q = problem(scale, 400_000, 2_000)
    title = f"Predicted and measured: {len(X):,} x {FEATURES} references, {len(Q):,} queries"
    part = Part(title, ["workers", "shards", "tasks", "predicted s", "measured s", "ratio"])
    ratios = []
    for workers in (1, 2, 4):
        with local_client(workers) as client:
            model = SMLClassifier(RBF(7.0), normalizer=None, engine=DaskEngine(client)).fit(X, Y)
            model.decision_function(Q)
            measured = timed(lambda model=model: model.decision_function(Q))  # type: ignore[misc]
            shards = len(model._model.scorer.job.cache["dask"].rows)
        tasks = -(-8 * workers // shards) * shards * 4 / 3
        predicted = len(X) * len(Q) * known["pair, ns"] * 1e-9 / min(workers, cores)
        predicted += tasks * known["task, ms"] * 1e-3
        predicted += workers * Q.nbytes / (known["to a worker, MB/s"] * 1e6)
        ratios.append(measured / predicted)
        part.row(workers, shards, round(tasks), f"{predicted:.2f}", f"{measured:.2f}", f"{ratios[-1]:.2f}")
    part.notes = ["Constants: " + "; ".join(f"{name} {value:.3g}" for name, value in known.items()) + "."]
    part.notes += [f"Workers beyond the {cores} cores of the machine share them, as in the prediction."]
    part.result("measured / predicted at 1, 2, 4 workers", ", ".join(f"{r:.2f}" for r in ratios), "1")
    return part

"""What a Dask cluster costs on one machine, and whether a model of time and traffic foretells it.

cost: 1,000,000 x 103 references, 2,000 queries: two worker processes with one thread each beside two
threads of the local engine. scaling: constants from small runs, then what they foretell at 1, 2 and 4
workers beside what is measured. Argument: "cost", "scaling", or nothing for both.
"""

from __future__ import annotations

import os
import sys
import time
from statistics import median

import numpy as np
from _report import publish
from _timing import alternate
from sklearn.preprocessing import normalize

from simlabel import SMLClassifier
from simlabel.cluster import DaskEngine, local_client
from simlabel.similarities import RBF

FEATURES, LABELS = 103, 14


def made(n: int, seed: int) -> np.ndarray:
    return normalize(np.random.default_rng(seed).standard_normal((n, FEATURES), dtype=np.float32))


def labels(n: int) -> np.ndarray:
    return (np.random.default_rng(2).random((n, LABELS)) < 0.3).astype(np.int8)


def plain(**options: object) -> SMLClassifier:
    return SMLClassifier(RBF(7.0), normalizer=None, **options)


def cost(references: int = 1_000_000, queries: int = 2_000) -> None:
    X, Y, Q = made(references, 0), labels(references), made(queries, 1)
    here = plain(n_jobs=2).fit(X, Y)
    with local_client(2) as client:
        started = time.perf_counter()
        there = plain(engine=DaskEngine(client)).fit(X, Y)
        there.decision_function(Q[:64])
        sending = time.perf_counter() - started
        np.testing.assert_allclose(there.decision_function(Q[:64]), here.decision_function(Q[:64]), rtol=1e-4)
        runs = {
            "two threads": lambda: here.decision_function(Q),
            "two workers": lambda: there.decision_function(Q),
        }
        seconds = alternate(runs, rounds=3)
    local = seconds["two threads"]
    rows = [[name, f"{s:.2f}", f"{s / local:.2f}"] for name, s in seconds.items()]
    title = f"A cluster on one machine: {references:,} x {FEATURES} references, {queries:,} queries"
    note = (
        f"Sending the references, once, and a first small prediction took {sending:.1f} s. The bound is 1.25."
    )
    publish("cluster", title, ["how", "median s", "/ local"], rows, [note])


def timed(run: object, times: int = 3) -> float:
    found = []
    for _ in range(times):
        started = time.perf_counter()
        run()  # type: ignore[operator]
        found.append(time.perf_counter() - started)
    return median(found)


def constants() -> dict[str, float]:
    """Nanoseconds for a pair on one core, milliseconds for a task, MB/s to a worker and back."""
    X, Q = made(60_000, 0), made(1_000, 1)
    one = plain(n_jobs=1).fit(X, labels(len(X)))
    one.decision_function(Q)
    pair = timed(lambda: one.decision_function(Q)) / (len(X) * len(Q)) * 1e9
    with local_client(1) as client:
        few = [client.scatter([np.zeros(4)], hash=False)[0] for _ in range(200)]
        client.gather(client.map(np.sum, few, pure=False))
        task = timed(lambda: client.gather(client.map(np.sum, few, pure=False))) / len(few) * 1e3
        block = np.ones(1 << 25, dtype=np.uint8)
        there = timed(lambda: client.scatter([block], hash=False, direct=True))
        first = client.scatter([block], hash=False, direct=True)[0]
        back = timed(lambda: client.gather(first))
    return {"pair, ns": pair, "task, ms": task, "out, MB/s": 33.6 / there, "back, MB/s": 33.6 / back}


def scaling(references: int = 400_000, queries: int = 2_000) -> None:
    known = constants()
    cores = os.cpu_count() or 1
    X, Y, Q = made(references, 0), labels(references), made(queries, 1)
    rows = []
    for workers in (1, 2, 4):
        with local_client(workers) as client:
            model = plain(engine=DaskEngine(client)).fit(X, Y)
            model.decision_function(Q)
            measured = timed(lambda model=model: model.decision_function(Q))
            shards = len(model._model.scorer.job.kept["dask"].rows)
            blocks = -(-8 * workers // shards)
        compute = references * queries * known["pair, ns"] * 1e-9 / min(workers, cores)
        talk = blocks * shards * 4 / 3 * known["task, ms"] * 1e-3
        traffic = queries * FEATURES * 4 * workers / (known["out, MB/s"] * 1e6)
        foretold = compute + talk + traffic
        rows.append(
            [str(workers), f"{shards}", f"{foretold:.2f}", f"{measured:.2f}", f"{measured / foretold:.2f}"]
        )
    notes = ["Constants: " + ", ".join(f"{name} {value:.3g}" for name, value in known.items()) + "."]
    notes += [f"Workers beyond the {cores} cores of the machine share them, which the model says too."]
    title = f"Foretold and measured: {references:,} x {FEATURES} references, {queries:,} queries"
    publish("cluster_scaling", title, ["workers", "shards", "foretold s", "measured s", "ratio"], rows, notes)


if __name__ == "__main__":
    wanted = sys.argv[1:] or ["cost", "scaling"]
    for name in wanted:
        {"cost": cost, "scaling": scaling}[name]()

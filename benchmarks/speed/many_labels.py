"""A fit of 20,000 rows with 100,000 label names as sets: what the names cost, and what the search does."""

from __future__ import annotations

import time

import numpy as np
from _shared.report import Part
from _shared.timing import Scale

from simlabel import SMLClassifier
from simlabel.labels import LabelSpace
from simlabel.similarities import RBF

ROWS, LABELS, FEATURES = 20_000, 100_000, 20


def run(scale: Scale) -> Part:
    rng, n, n_labels = np.random.default_rng(0), scale.rows(ROWS), scale.rows(LABELS)
    X = rng.random((n, FEATURES))
    y = [{f"label {k}" for k in rng.integers(n_labels, size=5)} for _ in range(n)]
    for k in range(n_labels):
        y[k % n].add(f"label {k}")
    SMLClassifier(random_state=0).fit(X[:50], y[:50])  # compile
    runs = {
        "names to numbers": lambda: LabelSpace.learn(y),
        "fit, gamma given": lambda: SMLClassifier(RBF(7.0), random_state=0).fit(X, y),
        "fit": lambda: SMLClassifier(random_state=0).fit(X, y),
    }
    part = Part(f"{ROWS:,} rows, {LABELS:,} label names as sets", ["what", "s", "CPU s"])
    for name, work in runs.items():
        wall, cpu = time.perf_counter(), time.process_time()
        work()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        part.row(name, f"{wall:.2f}", f"{cpu:.2f}")
        if name == "fit":
            part.figure(f"fit with {LABELS:,} label names as sets", f"{wall:.1f} s", "", "1 s")
    return part

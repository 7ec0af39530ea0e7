"""Threads: CPU seconds over wall seconds of fits and predictions, alone and with busy processes.

A fit with `n_jobs=1` should use one core only, and busy processes should cost it no more than their share of
the machine. `OPENBLAS_NUM_THREADS` is not set.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator

import joblib
import numpy as np
from _shared.data import problem
from _shared.report import Part
from _shared.timing import Scale, wall_and_cpu

from simlabel import SMLClassifier
from simlabel.similarities import RBF, Linear

ROWS, FEATURES, LABELS = 2_000, 100, 14
_SPIN = "while True: pass"


@contextlib.contextmanager
def busy() -> Iterator[None]:
    """Run a busy process for each core."""
    others = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(joblib.cpu_count())]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def shares(work: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Return the median CPU seconds, and their ratio to the median wall seconds."""
    wall, cpu = np.median([wall_and_cpu(work) for _ in range(rounds)], axis=0).tolist()
    return cpu, cpu / wall


def works(scale: Scale) -> dict[str, Callable[[], object]]:
    X, Y, _ = problem(scale, ROWS, features=FEATURES, labels=LABELS)
    X, Y = X.astype(np.float64), Y.astype(np.int8)
    model = SMLClassifier(RBF(4.0), influence="ridge", n_jobs=1).fit(X, Y)
    one = X[:1]
    return {
        "ridge on RBF": lambda: SMLClassifier("rbf", influence="ridge", n_jobs=1).fit(X, Y),
        "ridge on linear": lambda: SMLClassifier(Linear(), influence="ridge", n_jobs=1).fit(X, Y),
        "sums, rule and calibration": lambda: SMLClassifier(
            RBF(4.0), normalizer="zscore", label_rule="threshold", calibration="loo", n_jobs=1
        ).fit(X, Y),
        "prediction of all rows": lambda: model.predict(X),
        "200 predictions of one": lambda: [model.predict(one) for _ in range(200)],
    }


def run(scale: Scale) -> Part:
    title = f"n_jobs=1, {scale.rows(ROWS):,} rows x {FEATURES} features, {LABELS} labels"
    part = Part(title, ["work", "CPU s alone", "CPU / wall", "CPU s busy", "CPU / wall", "busy / alone"])
    rounds, found = scale.rounds(5), works(scale)
    for work in found.values():
        work()  # compile
    alone = {name: shares(work, rounds) for name, work in found.items()}
    with busy():
        together = {name: shares(work, rounds) for name, work in found.items()}
    for name, (cpu, share) in alone.items():
        more, less = together[name]
        part.row(name, f"{cpu:.3f}", f"{share:.2f}", f"{more:.3f}", f"{less:.2f}", f"{more / cpu:.2f}")
    most = max(share for _, share in alone.values())
    part.result("CPU seconds over wall seconds with n_jobs=1, at most", f"{most:.2f}", "", "at most 1.05")
    worst = max(together[name][0] / alone[name][0] for name in alone)
    part.result("CPU seconds with busy processes, relative to those alone", f"{worst:.2f}", "", "at most 1.5")
    return part

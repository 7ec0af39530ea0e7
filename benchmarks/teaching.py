"""What teaching a batch costs beside the mere copying of its rows, at a million references.

1,000,000 references x 103 features in float32, 14 labels as a 0/1 array, that came in one fit or were
themselves taught; then 60 batches of 1,000 rows, one after the other into the same model, so that
merges of small chunks are among them. The copies are timed between the batches.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from _report import publish

from simlabel import SMLClassifier
from simlabel.similarities import RBF

REFERENCES, BATCH, FEATURES, LABELS, BATCHES = 1_000_000, 1_000, 103, 14, 60


def seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def fitted(X: np.ndarray, Y: np.ndarray, ids: list[str] | None) -> SMLClassifier:
    model = SMLClassifier(RBF(0.01)).fit(X, Y, ids=ids)
    return model.partial_fit(X[:1], Y[:1]).forget(model.ids_[5:6])  # what the first batch alone would pay


def taught(X: np.ndarray, Y: np.ndarray, ids: list[str] | None) -> SMLClassifier:
    model = SMLClassifier(RBF(0.01))
    for start in range(0, REFERENCES, BATCH):
        part = slice(start, start + BATCH)
        model.partial_fit(X[part], Y[part], ids=None if ids is None else ids[part])
    return model


def row(what: str, calls: list[Callable[[], object]], batches: list[np.ndarray]) -> list[str]:
    copies, taken = [], []
    for call, batch in zip(calls, batches, strict=True):
        copies.append(seconds(batch.copy))
        taken.append(seconds(call))
    unit, middle, worst = float(np.median(copies)), float(np.median(taken)), max(taken)
    ratios = [f"{middle / unit:.0f}", f"{worst / unit:.0f}"]
    return [what, f"{unit * 1e6:.0f}", f"{middle * 1e3:.2f}", f"{worst * 1e3:.2f}", *ratios]


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((REFERENCES, FEATURES), dtype=np.float32)
    Y = (rng.random((REFERENCES, LABELS)) < 0.3).astype(np.int8)
    batches = [rng.standard_normal((BATCH, FEATURES), dtype=np.float32) for _ in range(BATCHES)]
    labels = [Y[i * BATCH : (i + 1) * BATCH] for i in range(BATCHES)]
    own = [f"known {i}" for i in range(REFERENCES)]
    names: list[Any] = [[f"taught {i} {j}" for j in range(BATCH)] for i in range(BATCHES)]
    rows = []
    for how, make in (("fitted", fitted), ("taught", taught)):
        for which, ids, new in (("", None, [None] * BATCHES), (", own ids", own, names)):
            model = make(X, Y, ids)
            calls: list[Any] = [
                partial(model.partial_fit, b, y, ids=n) for b, y, n in zip(batches, labels, new, strict=True)
            ]
            rows.append(row(f"partial_fit, references {how}{which}", calls, batches))
    model = fitted(X, Y, None)
    forgets: list[Any] = [
        partial(model.forget, list(range(10 * i + 10, 10 * i + 20))) for i in range(BATCHES)
    ]
    rows.append(row("forget 10, references fitted", forgets, batches))
    columns = ["what", "a copy, us", "median ms", "worst ms", "median in copies", "worst in copies"]
    notes = [
        "A copy is that of the batch's 1,000 rows alone; at most 100 of them for every batch are aimed at."
    ]
    title = "Teaching 1,000 rows at a million references"
    publish("teaching", title, columns, rows, notes)


if __name__ == "__main__":
    main()

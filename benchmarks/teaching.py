"""What teaching a batch costs beside the mere copying of its rows, at a million references.

1,000,000 references x 103 features in float32, 14 labels as a 0/1 array; batches of 1,000 rows, one
after the other into the same model, so that merges of small chunks are among them. Medians and the
worst of one run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np
from _timing import machine
from rich.console import Console
from rich.table import Table

from simlabel import SMLClassifier
from simlabel.similarities import RBF

REFERENCES, BATCH, FEATURES, LABELS, BATCHES = 1_000_000, 1_000, 103, 14, 60


def seconds(run: Callable[[], object]) -> float:
    started = time.perf_counter()
    run()
    return time.perf_counter() - started


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((REFERENCES, FEATURES), dtype=np.float32)
    Y = (rng.random((REFERENCES, LABELS)) < 0.3).astype(np.int8)
    batches = [rng.standard_normal((BATCH, FEATURES), dtype=np.float32) for _ in range(BATCHES)]
    names = [[f"taught {i} {j}" for j in range(BATCH)] for i in range(BATCHES)]
    table = Table("what", "median ms", "worst ms", "median in copies", "worst in copies")
    for what in ("copying the rows", "partial_fit", "partial_fit with ids", "forget 10"):
        model = SMLClassifier(RBF(0.01)).fit(X, Y)
        model.partial_fit(X[:1], Y[:1]).forget([5])  # the first touch builds what later ones share
        copies, taken = [], []
        for i, batch in enumerate(batches):
            copies.append(seconds(batch.copy))
            y = Y[i * BATCH : (i + 1) * BATCH]
            runs: dict[str, Callable[[], object]] = {
                "copying the rows": batch.copy,
                "partial_fit": partial(model.partial_fit, batch, y),
                "partial_fit with ids": partial(model.partial_fit, batch, y, ids=names[i]),
                "forget 10": partial(model.forget, list(range(10 * i + 10, 10 * i + 20))),
            }
            taken.append(seconds(runs[what]))
        unit = float(np.median(copies))
        middle, worst = float(np.median(taken)), max(taken)
        table.add_row(
            what, f"{middle * 1e3:.3f}", f"{worst * 1e3:.3f}", f"{middle / unit:.0f}", f"{worst / unit:.0f}"
        )
    Console(width=110).print(machine(), table)


if __name__ == "__main__":
    main()

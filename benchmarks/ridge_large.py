"""Learned influence on many references: time, memory and average precision, and the loss of inducing rows.

python benchmarks/ridge_large.py
"""

from __future__ import annotations

import resource
import time
from pathlib import Path

import numpy as np
from _timing import machine

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.influence import Ridge
from simlabel.metrics import average_precision
from simlabel.similarities import RBF

OUT = Path(__file__).parent.parent / "docs" / "results"


def peak_mib():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main():
    data = load_dataset("goemotions_svd120")
    train, test = np.flatnonzero(data.split == 0), np.flatnonzero(data.split == 2)
    lines = [
        "# Learned influence on goemotions_svd120",
        "",
        f"{len(train):,} references, {len(test):,} test rows, unit rows, RBF.",
    ]
    lines += [
        "",
        "| what | seconds to fit | peak MiB of the process | average precision |",
        "|---|---|---|---|",
    ]

    def measure(title, model, rows):
        started = time.perf_counter()
        model.fit(data.X[rows], data.Y[rows])
        seconds = time.perf_counter() - started
        ap = average_precision(data.Y[test], model.decision_function(data.X[test]))
        lines.append(f"| {title} | {seconds:.1f} | {peak_mib():.0f} | {ap:.4f} |")
        print(lines[-1], flush=True)
        return model

    tuned = measure("ridge, all values chosen", SMLClassifier(influence="ridge", random_state=0), train)
    gamma, penalty = tuned.similarity_.gamma, tuned.influence_.penalty
    lines.append(f"| (chosen: gamma {gamma:.3g}, penalty {penalty:.3g}) | | | |")
    measure("plain sums, gamma 8", SMLClassifier(RBF(8.0)), train)
    some = np.sort(np.random.default_rng(0).choice(train, 5000, replace=False))
    for m in (None, 2048, 1000, 500):
        title = f"5,000 rows: {'exact' if m is None else f'{m:,} inducing rows'}"
        measure(title, SMLClassifier(RBF(gamma), influence=Ridge(penalty, inducing=m), random_state=0), some)
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "ridge_large.md").write_text("\n".join([*lines, "", f"Machine: {machine()}.", ""]))


if __name__ == "__main__":
    main()

"""One query at a time, as a service asks: beside one matrix-vector product of the same shape."""

from __future__ import annotations

import time

import numpy as np
from _data import label_rows, unit_rows
from _report import Figure, Part
from _timing import Scale

from simlabel import SMLClassifier
from simlabel.similarities import RBF

ROWS, FEATURES, LABELS = 100_000, 103, 14


def run(scale: Scale) -> Part:
    X = unit_rows(scale.rows(ROWS), FEATURES, 0)
    model = SMLClassifier(RBF(7.0), normalizer=None).fit(X, label_rows(len(X), LABELS, 4.2))
    Q = unit_rows(64, FEATURES, 1)
    runs = {
        "one sgemv": lambda q: X @ q[0],
        "decision_function": model.decision_function,
        "predict": model.predict,
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for i in range(5 + 100 * scale.rounds(2)):
        for name, ask in runs.items():
            started = time.perf_counter()
            ask(Q[i % 64 : i % 64 + 1])
            if i >= 5:
                times[name].append(time.perf_counter() - started)
    title = f"One query at {ROWS:,} references x {FEATURES} features, {LABELS} labels"
    part = Part("one_query", title, ["how", "p50 ms", "p99 ms", "p50 / sgemv"])
    floor = np.median(times["one sgemv"])
    for name, each in times.items():
        middle, worst = np.percentile(each, [50, 99])
        part.rows.append([name, f"{middle * 1e3:.2f}", f"{worst * 1e3:.2f}", f"{middle / floor:.2f}"])
    ratio = f"{np.median(times['decision_function']) / floor:.2f}"
    part.figures.append(Figure("decision_function of one query, p50", ratio, "one sgemv", "at most 1.5"))
    return part

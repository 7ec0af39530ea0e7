"""Single queries, as of a service, compared with one matrix-vector product of the same shape."""

from __future__ import annotations

from functools import partial

import numpy as np
from _shared.data import FEATURES, LABELS, problem
from _shared.report import Part
from _shared.timing import Scale, seconds

from simlabel import SMLClassifier
from simlabel.similarities import RBF

ROWS, WARM = 100_000, 5


def run(scale: Scale) -> Part:
    X, Y, Q = problem(scale, ROWS)
    model = SMLClassifier(RBF(7.0), normalizer=None).fit(X, Y)
    runs = {
        "one sgemv": lambda q: X @ q[0],
        "decision_function": model.decision_function,
        "predict": model.predict,
    }
    times: dict[str, list[float]] = {name: [] for name in runs}
    for i in range(WARM + 100 * scale.rounds(2)):
        for name, work in runs.items():
            times[name].append(seconds(partial(work, Q[i % 64 : i % 64 + 1])))
    title = f"One query at {ROWS:,} references x {FEATURES} features, {LABELS} labels"
    part = Part(title, ["how", "p50 ms", "p99 ms", "p50 / sgemv"])
    found = {name: np.percentile(each[WARM:], [50, 99]) for name, each in times.items()}
    floor = found["one sgemv"][0]
    for name, (middle, worst) in found.items():
        part.row(name, f"{middle * 1e3:.2f}", f"{worst * 1e3:.2f}", f"{middle / floor:.2f}")
    ratio = f"{found['decision_function'][0] / floor:.2f}"
    part.result("decision_function of one query, p50", ratio, "one sgemv", "at most 1.5")
    return part

"""Growth of the time with references, features, labels and queries, compared with the paper.

The paper states O(N M k) in total and O(K) space for a query: an exponent of 1 in N, M and the labels of
a row, and 0 in the number of labels K.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial

import numpy as np
from _shared.data import problem
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel.similarities import RBF
from simlabel.sums import Exact, Job, ReduceCall, SumReducer, prepare


@dataclass(frozen=True)
class Shape:
    references: int = 20_000
    features: int = 100
    labels: int = 1_000
    per_row: int = 4
    queries: int = 512


SERIES = {  # what grows, its values, the paper's exponent
    "references": ([2_500, 5_000, 10_000, 20_000, 40_000, 80_000], 1.0),
    "features": ([25, 50, 100, 200, 400, 800], 1.0),
    "labels": ([30, 100, 300, 1_000, 3_000, 10_000], 0.0),
    "per_row": ([1, 2, 4, 8, 16, 32], 1.0),
    "queries": ([128, 256, 512, 1_024, 2_048, 4_096], 1.0),
}
WORDS = {
    "references": "references N",
    "features": "features M",
    "labels": "labels K, 4 in a row",
    "per_row": "labels in a row k, 1,000 in all",
    "queries": "queries",
}


def task(shape: Shape, scale: Scale):
    X, Y, Q = problem(scale, **asdict(shape))
    similarity = RBF(7.0)
    prepared = prepare(X, [similarity], keep_views=True)
    return partial(Exact().reduce, ReduceCall(Q, prepared, [Job(similarity, None, SumReducer(Y))]))


def exponent(values: list[int], seconds: list[float]) -> float:
    """Return the slope of the upper half in logarithms, without the fixed costs of small sizes."""
    half = len(values) // 2
    return float(np.polyfit(np.log(values[half:]), np.log(seconds[half:]), 1)[0])


def run(scale: Scale) -> Part:
    title = "Growth of the time of exact sums (RBF, dense float32)"
    part = Part(title, ["grows", "from", "to", "ms", "exponent", "the paper's"])
    found = {}
    for name, (values, paper) in SERIES.items():
        runs = {str(value): task(replace(Shape(), **{name: value}), scale) for value in values}
        seconds = list(alternate(runs, scale.rounds(5)).values())
        slope = exponent(values, seconds)
        found[name] = values, seconds, slope, paper
        times = f"{seconds[0] * 1e3:.1f} to {seconds[-1] * 1e3:.1f}"
        part.row(WORDS[name], f"{values[0]:,}", f"{values[-1]:,}", times, f"{slope:.2f}", f"{paper:.0f}")
        part.result(f"exponent of the time in {WORDS[name]}", f"{slope:.2f}", f"{paper:.0f} in the paper")
    others = ", ".join(f"{v:,} {k}" for k, v in vars(Shape()).items())
    part.notes.append(f"Other sizes: {others}. Exponents are fitted to the upper half.")
    part.plots["growth.svg"] = plot(found)
    return part


def plot(found):
    from matplotlib import pyplot as plt
    from matplotlib.ticker import NullFormatter

    figure, panels = plt.subplots(1, len(found), figsize=(16, 3.6), layout="constrained", sharey=True)
    for axes, (name, (values, seconds, slope, paper)) in zip(panels, found.items(), strict=True):
        x = np.array(values, dtype=float)
        axes.plot(x, np.array(seconds) * 1e3, "o-", label=f"measured, exponent {slope:.2f}")
        line = seconds[-1] * 1e3 * (x / x[-1]) ** paper
        axes.plot(x, line, "--", color="gray", label=f"the paper's, exponent {paper:.0f}")
        axes.set(xscale="log", yscale="log", xlabel=WORDS[name])
        axes.legend(fontsize="small")
        axes.xaxis.set_minor_formatter(NullFormatter())
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("milliseconds")
    return figure

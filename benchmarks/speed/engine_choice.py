"""engine="auto" compared with the best engine, on random shapes.

Every engine that supports a shape, and "auto", are timed in turn, with prepared references (a fitted model).
The result is the ratio of medians of auto and the best. The shapes are drawn within the ranges below with a
fixed seed, so that no cost is fitted to a chosen shape.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import scipy.sparse as sp
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel.similarities import RBF, Cosine, Laplacian, Linear, Polynomial, Quadratic, Similarity
from simlabel.sums import Auto, Collapsed, Engine, Exact, Job, ReduceCall, SumReducer, prepare

SEED, COUNT = 20261117, 16  # the costs were last changed with seed 20261116
# the last one is never sparse here: there is only one engine for it
KINDS: list[Similarity] = [
    RBF(3.0),
    Cosine(),
    Linear(),
    Quadratic(),
    Polynomial(3, 1.0),
    Laplacian(0.5),
]
REFERENCES, QUERIES, LABELS = (1_000, 60_000), (1, 2_000), (3, 2_000)
DENSE_FEATURES, SPARSE_FEATURES, PER_ROW = (5, 500), (500, 20_000), (3, 60)
MAX_PAIR_FEATURES = 1e10  # larger shapes are drawn again: one run would take too long


@dataclass(frozen=True)
class Shape:
    similarity: Similarity
    references: int
    queries: int
    features: int
    labels: int
    per_row: int | None  # entries of a sparse row

    @property
    def work(self) -> float:
        return float(self.references) * self.queries * min(self.features, 500)


def drawn() -> list[Shape]:
    rng = np.random.default_rng(SEED)

    def between(low: int, high: int) -> int:
        return round(float(np.exp(rng.uniform(np.log(low), np.log(high)))))

    shapes: list[Shape] = []
    while len(shapes) < COUNT:
        i = len(shapes)
        sparse = i % 3 == 2
        features = between(*(SPARSE_FEATURES if sparse else DENSE_FEATURES))
        shape = Shape(
            KINDS[i // 3 % 5] if sparse else KINDS[(i - i // 3) % 6],
            between(*REFERENCES),
            between(*QUERIES),
            features,
            between(*LABELS),
            between(*PER_ROW) if sparse else None,
        )
        if shape.work <= MAX_PAIR_FEATURES:
            shapes.append(shape)
    return shapes


def timed(shape: Shape, scale: Scale) -> tuple[str, float, dict[str, float]]:
    rng = np.random.default_rng(0)
    n, n_queries = scale.rows(shape.references), shape.queries
    density = 1.0 if shape.per_row is None else min(1.0, shape.per_row / shape.features)
    size = (n + n_queries, shape.features)
    X = (
        rng.random(size, dtype=np.float32)
        if shape.per_row is None
        else sp.random_array(size, density=density, format="csr", rng=rng, dtype=np.float32)
    )
    V = sp.random_array((n, shape.labels), density=min(1.0, 3 / shape.labels), format="csr", rng=rng)
    Q, X = X[n:], X[:n]
    prepared = prepare(X, [shape.similarity], keep_views=True)
    engines: dict[str, Engine] = {"auto": Auto(), "all pairs": Exact(visit="all"), "collapsed": Collapsed()}
    if shape.per_row is not None:
        engines["non-zero products"] = Exact(visit="nonzero")
    runs = {}
    for name, engine in engines.items():
        job = Job(shape.similarity, None, SumReducer(V))
        try:
            engine.warm_up(prepared, [job])
            engine.plan(n_queries, prepared, [job])
        except ValueError:
            continue  # not supported
        if engine.unsupported_reason(prepared, [job]) is None:
            runs[name] = partial(engine.reduce, ReduceCall(Q, prepared, [job]))
    job = Job(shape.similarity, None, SumReducer(V))
    Auto().warm_up(prepared, [job])
    chosen = Auto().plan(n_queries, prepared, [job]).how
    first = min(alternate(runs, 1).values())
    seconds = alternate(runs, scale.rounds(3 if first > 0.5 else 9 if first > 0.02 else 31))
    return chosen, seconds.pop("auto"), seconds


def run(scale: Scale) -> Part:
    size = "queries x references x features"
    shown = "similarity", size, "labels", "choice of auto", "best", "auto ms", "auto / best"
    part = Part(f"The choice of the engine on {COUNT} random shapes", shown)
    ratios = []
    for shape in drawn():
        chosen, auto, others = timed(shape, scale)
        best = min(others, key=lambda name: others[name])
        ratios.append(auto / others[best])
        size = f"{shape.queries:,} x {shape.references:,} x {shape.features:,}"
        if shape.per_row is not None:
            size += f", {shape.per_row} in a row"
        times = [f"{auto * 1e3:.2f}", f"{ratios[-1]:.2f}"]
        part.row(repr(shape.similarity), size, shape.labels, chosen, best, *times)
    worst = f"{max(ratios):.2f}"
    within = sum(ratio <= 1.5 for ratio in ratios)
    part.notes.append(
        f"Auto takes at most {worst} times as long as the best engine, and at most 1.5 times on {within} "
        f"of {COUNT} shapes. References {REFERENCES}, queries {QUERIES}, features {DENSE_FEATURES} "
        f"dense and {SPARSE_FEATURES} sparse with {PER_ROW} entries in a row, labels {LABELS}: drawn "
        f"log-uniformly, seed {SEED}."
    )
    part.result(f"engine='auto', the worst of {COUNT} shapes", worst, "the best engine", "at most 1.5")
    return part

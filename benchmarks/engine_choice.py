"""Whether engine="auto" is near the best engine, on shapes of many kinds.

Every engine that can do a shape is timed on it, in turn, and so is "auto", with prepared references
(a fitted model). The figure is the ratio of medians of auto and the best.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from _report import publish
from _timing import alternate

from simlabel.engines import Auto, Collapsed, Engine, Exact, Job, Sum, prepare
from simlabel.similarities import RBF, Cosine, Laplacian, Linear, Quadratic, Similarity

SHAPES: list[tuple[str, Similarity, int, int, int, int, float]] = [
    # name, similarity, references, queries, features, labels, density of X
    ("RBF, few features", RBF(7.0), 20_000, 500, 20, 14, 1.0),
    ("RBF, many features", RBF(7.0), 5_000, 500, 768, 100, 1.0),
    ("RBF, one query", RBF(7.0), 50_000, 1, 103, 14, 1.0),
    ("RBF, very sparse", RBF(5.0), 20_000, 500, 10_000, 100, 0.001),
    ("RBF, sparse", RBF(5.0), 10_000, 500, 1_000, 50, 0.02),
    ("RBF, half full", RBF(5.0), 5_000, 500, 200, 50, 0.5),
    ("cosine, very sparse", Cosine(), 20_000, 500, 10_000, 500, 0.001),
    ("linear, many references", Linear(), 50_000, 500, 103, 14, 1.0),
    ("linear, one query", Linear(), 50_000, 1, 103, 14, 1.0),
    ("linear, sparse", Linear(), 20_000, 500, 10_000, 100, 0.001),
    ("quadratic, few features", Quadratic(), 50_000, 500, 20, 14, 1.0),
    ("quadratic, many references", Quadratic(), 20_000, 500, 103, 14, 1.0),
    ("quadratic, many features", Quadratic(), 2_000, 200, 294, 6, 1.0),
    ("Laplacian", Laplacian(0.7), 10_000, 300, 103, 14, 1.0),
]


def timed(shape: tuple[str, Similarity, int, int, int, int, float]) -> tuple[str, float, dict[str, float]]:
    _, similarity, n, n_queries, n_features, n_labels, density = shape
    rng = np.random.default_rng(0)
    X = sp.random_array((n + n_queries, n_features), density=density, format="csr", rng=rng, dtype=np.float32)
    X = sp.csr_array(X) if density < 1.0 else X.toarray()
    V = sp.random_array((n, n_labels), density=min(1.0, 3 / n_labels), format="csr", rng=rng)
    Q, X = X[n:], X[:n]
    prepared = prepare(X, [similarity], keep_views=True)
    engines: dict[str, Engine] = {"auto": Auto(), "all pairs": Exact(visit="all"), "collapsed": Collapsed()}
    if density < 1.0:
        engines["non-zero products"] = Exact(visit="nonzero")
    runs = {}
    for name, engine in engines.items():
        job = Job(similarity, None, Sum(V))
        if engine.why_not(prepared, [job]) is not None:
            continue
        engine.ready(prepared, [job])
        runs[name] = lambda engine=engine, job=job: engine.reduce(Q, prepared, [job])
    job = Job(similarity, None, Sum(V))
    Auto().ready(prepared, [job])
    chosen = Auto().plan(n_queries, prepared, [job]).how
    seconds = alternate(runs, rounds=9)
    return chosen, seconds.pop("auto"), seconds


def main() -> None:
    rows, worst = [], 0.0
    for shape in SHAPES:
        chosen, auto, others = timed(shape)
        best = min(others, key=lambda name: others[name])
        ratio = auto / others[best]
        worst = max(worst, ratio)
        size = f"{shape[3]:,} x {shape[2]:,} x {shape[4]:,}, {shape[5]} labels"
        rows.append([shape[0], size, chosen, best, f"{auto * 1e3:.1f}", f"{ratio:.2f}"])
    columns = ["shape", "queries x references x features", "auto takes", "best", "auto ms", "auto / best"]
    note = f"On {len(rows)} shapes auto takes at most {worst:.2f} times as long as the best engine."
    publish("engine_choice", "The choice of the engine", columns, rows, [note])


if __name__ == "__main__":
    main()

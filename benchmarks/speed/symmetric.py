"""Leave-one-out sums of all rows with each pair computed once, compared with the full pass."""

from __future__ import annotations

from functools import partial

from _shared.data import problem
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel.similarities import RBF, Laplacian
from simlabel.sums import Exact, Job, ReduceCall, SumReducer, prepare

ROWS = 8_192
CASES = [(RBF(7.0), 103, 0.7), (RBF(7.0), 294, 0.6), (Laplacian(0.7), 103, 0.6)]


def run(scale: Scale) -> Part:
    part = Part(f"Symmetric passes over {ROWS:,} rows", ["similarity", "features", "pass", "ms", "/ full"])
    for similarity, n_features, target in CASES:
        X, Y, _ = problem(scale, ROWS, features=n_features)
        prepared, job = prepare(X, [similarity]), Job(similarity, None, SumReducer(Y.astype(float)))
        runs = {
            "full": partial(Exact().reduce, ReduceCall(X, prepared, [job])),
            "symmetric": partial(Exact().reduce, ReduceCall(X, prepared, [job], symmetric=True)),
        }
        seconds = alternate(runs, scale.rounds(15))
        name = type(similarity).__name__
        part.times(seconds, name, n_features, per=1000, digits=".1f")
        ratio = f"{seconds['symmetric'] / seconds['full']:.2f}"
        what = f"{name}, {n_features} features, symmetric pass"
        part.result(what, ratio, "the full pass", f"at most {target}")
    return part

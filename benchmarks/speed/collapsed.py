"""Precomputed sums: a million references compared with ten thousand."""

from __future__ import annotations

from functools import partial

from _shared.data import problem
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel.similarities import Linear, Quadratic
from simlabel.sums import Collapsed, Job, ReduceCall, SumReducer, prepare

FEW, MANY, QUERIES = 10_000, 1_000_000, 2_000
CASES = [(Linear(), 103), (Quadratic(), 30)]


def run(scale: Scale) -> Part:
    title = f"Collapsed sums: {QUERIES:,} queries, 14 labels"
    part = Part(title, ["similarity", "features", "references", "median ms", "/ few"])
    for similarity, n_features in CASES:
        engine, runs = Collapsed(), {}
        for n in (FEW, MANY):
            X, Y, Q = problem(scale, n, QUERIES, n_features)
            prepared, job = prepare(X, [similarity]), Job(similarity, None, SumReducer(Y))
            engine.warm_up(prepared, [job])
            runs[f"{n:,}"] = partial(engine.reduce, ReduceCall(Q, prepared, [job]))
        seconds = alternate(runs, scale.rounds(21))
        name = type(similarity).__name__
        part.times(seconds, name, n_features, per=1000)
        few, many = seconds.values()
        what = f"{name}, {QUERIES:,} queries at {MANY:,} references"
        part.result(what, f"{many / few:.2f}", f"those at {FEW:,}", "at most 1.2")
    return part

"""Sums that are taken before the query comes: the number of references does not matter."""

from __future__ import annotations

from functools import partial

from _data import label_rows, unit_rows
from _report import Figure, Part
from _timing import Scale, alternate

from simlabel.engines import Collapsed, Job, Sum, prepare
from simlabel.similarities import Linear, Quadratic

FEW, MANY, QUERIES = 10_000, 1_000_000, 2_000
CASES = [(Linear(), 103), (Quadratic(), 30)]


def run(scale: Scale) -> Part:
    title = f"Collapsed sums: {QUERIES:,} queries, 14 labels"
    part = Part("collapsed", title, ["similarity", "features", "references", "median ms", "/ few"])
    for similarity, n_features in CASES:
        Q, engine, runs = unit_rows(scale.rows(QUERIES), n_features, 1), Collapsed(), {}
        for n in (FEW, MANY):
            X = unit_rows(scale.rows(n), n_features, 0)
            prepared = prepare(X, [similarity])
            job = Job(similarity, None, Sum(label_rows(len(X), 14, 4.2)))
            engine.ready(prepared, [job])
            runs[f"{n:,}"] = partial(engine.reduce, Q, prepared, [job])
        seconds = alternate(runs, scale.rounds(21))
        name, first = type(similarity).__name__, next(iter(seconds.values()))
        for n_references, s in seconds.items():
            part.rows.append([name, str(n_features), n_references, f"{s * 1e3:.2f}", f"{s / first:.2f}"])
        ratio = f"{list(seconds.values())[1] / first:.2f}"
        what = f"{name}, {QUERIES:,} queries at {MANY:,} references"
        part.figures.append(Figure(what, ratio, f"those at {FEW:,}", "at most 1.2"))
    return part

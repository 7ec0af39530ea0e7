"""Leave-one-out sums of all rows, each pair touched once, beside the full pass over the same rows."""

from __future__ import annotations

from functools import partial

from _data import label_rows, unit_rows
from _report import Figure, Part
from _timing import Scale, alternate

from simlabel.engines import Job, Sum, prepare, reduce_similarities
from simlabel.similarities import RBF, Laplacian

ROWS = 8_192
CASES = [(RBF(7.0), 103, 0.7), (RBF(7.0), 294, 0.6), (Laplacian(0.7), 103, 0.6)]


def run(scale: Scale) -> Part:
    part = Part(
        "symmetric",
        f"Symmetric passes over {ROWS:,} rows",
        ["similarity", "features", "pass", "ms", "/ full"],
    )
    for similarity, n_features, wanted in CASES:
        X = unit_rows(scale.rows(ROWS), n_features, 0)
        V = label_rows(len(X), 14, 4.2).astype(float)
        prepared, job = prepare(X, [similarity]), Job(similarity, None, Sum(V))
        runs = {
            "full": partial(reduce_similarities, X, prepared, [job]),
            "symmetric": partial(reduce_similarities, X, prepared, [job], symmetric=True),
        }
        seconds = alternate(runs, scale.rounds(15))
        name = type(similarity).__name__
        for how, s in seconds.items():
            part.rows.append([name, str(n_features), how, f"{s * 1e3:.1f}", f"{s / seconds['full']:.2f}"])
        ratio = f"{seconds['symmetric'] / seconds['full']:.2f}"
        what = f"{name}, {n_features} features, symmetric pass"
        part.figures.append(Figure(what, ratio, "the full pass", f"at most {wanted}"))
    return part

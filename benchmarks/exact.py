"""Exact sums of dense rows, in units of a bare matrix product of queries and references (the floor).

40,960 references x 2,048 queries, unit rows, RBF: as a fitted model, and cold on plain arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from _data import QUERIES, REFERENCES, label_rows, unit_rows
from _report import Figure, Part
from _timing import Scale, alternate

from simlabel import SMLClassifier, similarity_sums
from simlabel.similarities import RBF

SHAPES = [  # features, labels, labels in a row, wanted of a fitted model
    (103, 14, 4.2, 1.2),
    (294, 6, 1.1, 1.15),
    (768, 100, 3.0, 1.1),
]
COLD = 1.5


def timed(n_features: int, n_labels: int, per_row: float, dtype: Any, scale: Scale) -> dict[str, float]:
    n, n_queries = scale.rows(REFERENCES), scale.rows(QUERIES)
    X, Q = unit_rows(n, n_features, 0, dtype), unit_rows(n_queries, n_features, 1, dtype)
    Y = label_rows(n, n_labels, per_row)
    dense = Y.toarray()
    model = SMLClassifier(RBF(7.0), normalizer=None).fit(X, Y)
    out = np.empty((n_queries, n), dtype=dtype)
    runs = {
        "floor": lambda: np.matmul(Q, X.T, out=out),
        "fitted": lambda: model.decision_function(Q),
        "cold": lambda: similarity_sums(Q, X, dense, RBF(7.0)),
    }
    return alternate(runs, scale.rounds(9 if n_features > 500 else 15))


def run(scale: Scale) -> Part:
    title = f"Exact sums: {REFERENCES:,} references x {QUERIES:,} queries, RBF"
    part = Part("exact", title, ["features", "labels", "precision", "how", "median ms", "/ floor"])
    for dtype, floor in ((np.float32, "sgemm"), (np.float64, "dgemm")):
        for n_features, n_labels, per_row, wanted in SHAPES:
            seconds = timed(n_features, n_labels, per_row, dtype, scale)
            for how, s in seconds.items():
                ratio = f"{s / seconds['floor']:.2f}"
                name = floor if how == "floor" else how
                kind = np.dtype(dtype).name
                part.rows.append([str(n_features), str(n_labels), kind, name, f"{s * 1e3:.1f}", ratio])
                if how != "floor":
                    what = f"RBF, {n_features} features, {n_labels} labels, {kind}, {how}"
                    bound = f"at most {wanted if how == 'fitted' else COLD}"
                    part.figures.append(Figure(what, ratio, floor, bound))
    part.notes.append("The floor is a bare product of queries and references (sgemm, dgemm).")
    return part

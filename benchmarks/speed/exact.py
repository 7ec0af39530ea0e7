"""Exact RBF sums of dense rows compared with a matrix product of queries and references.

40,960 references x 2,048 queries, unit rows: with a fitted model, and cold on plain arrays.
"""

from __future__ import annotations

import numpy as np
from _shared.data import QUERIES, REFERENCES, problem
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel import SMLClassifier, similarity_sums
from simlabel.similarities import RBF

SHAPES = [  # features, labels, labels in a row, target of a fitted model
    (103, 14, 4.2, 1.2),
    (294, 6, 1.1, 1.15),
    (768, 100, 3.0, 1.1),
]
COLD = 1.5


def timed(shape: tuple[int, int, float], dtype: type, floor: str, scale: Scale) -> dict[str, float]:
    X, Y, Q = problem(scale, REFERENCES, QUERIES, *shape, dtype)
    dense, out = Y.toarray(), np.empty((len(Q), len(X)), dtype=dtype)
    model = SMLClassifier(RBF(7.0), normalizer=None).fit(X, Y)
    runs = {
        floor: lambda: np.matmul(Q, X.T, out=out),
        "fitted": lambda: model.decision_function(Q),
        "cold": lambda: similarity_sums(Q, X, dense, RBF(7.0)),
    }
    return alternate(runs, scale.rounds(9 if X.shape[1] > 500 else 15))


def run(scale: Scale) -> Part:
    title = f"Exact sums: {REFERENCES:,} references x {QUERIES:,} queries, RBF"
    part = Part(title, ["features", "labels", "precision", "how", "median ms", "/ floor"])
    part.notes.append("The floor is a plain product of queries and references (sgemm, dgemm).")
    for dtype, floor in ((np.float32, "sgemm"), (np.float64, "dgemm")):
        for *shape, target in SHAPES:
            seconds = timed(tuple(shape), dtype, floor, scale)
            kind, (n_features, n_labels, _) = np.dtype(dtype).name, shape
            part.times(seconds, n_features, n_labels, kind, per=1000, digits=".1f")
            for how, wanted in (("fitted", target), ("cold", COLD)):
                what = f"RBF, {n_features} features, {n_labels} labels, {kind}, {how}"
                part.result(what, f"{seconds[how] / seconds[floor]:.2f}", floor, f"at most {wanted}")
    return part

"""Laplacian and chi-square sums, beside the product and beside scikit-learn's laplacian_kernel."""

from __future__ import annotations

import numpy as np
from _data import QUERIES, REFERENCES, label_rows, unit_rows
from _report import Figure, Part
from _timing import Scale, alternate
from sklearn.metrics.pairwise import laplacian_kernel

from simlabel import SMLClassifier
from simlabel.similarities import ChiSquare, Laplacian

FEATURES, LABELS = 103, 14
PEER_QUERIES = 64  # scikit-learn's kernel takes minutes on the whole


def run(scale: Scale) -> Part:
    n, n_queries = scale.rows(REFERENCES), scale.rows(QUERIES)
    X, Q = np.abs(unit_rows(n, FEATURES, 0)), np.abs(unit_rows(n_queries, FEATURES, 1))
    Y = label_rows(n, LABELS, 4.2)
    dense = Y.toarray().astype(np.float32)
    models = {
        type(similarity).__name__: SMLClassifier(similarity, normalizer=None).fit(X, Y)
        for similarity in (Laplacian(0.7), ChiSquare(0.7))
    }
    out = np.empty((n_queries, n), dtype=np.float32)
    runs = {"sgemm": lambda: np.matmul(Q, X.T, out=out)}
    runs |= {name: lambda model=model: model.decision_function(Q) for name, model in models.items()}
    seconds = alternate(runs, scale.rounds(11))
    few = Q[:PEER_QUERIES]
    peers = {
        "Laplacian": lambda: models["Laplacian"].decision_function(few),
        "scikit-learn's laplacian_kernel(Q, X) @ Y": lambda: laplacian_kernel(few, X, gamma=0.7) @ dense,
    }
    beside = alternate(peers, scale.rounds(3))
    title = f"Sums over coordinates: {REFERENCES:,} references x {FEATURES} features, {LABELS} labels"
    part = Part("coordinates", title, ["queries", "how", "median ms", "ratio"])
    for name, s in seconds.items():
        part.rows.append([f"{n_queries:,}", name, f"{s * 1e3:.1f}", f"{s / seconds['sgemm']:.2f} of sgemm"])
    for name, s in beside.items():
        ratio = f"{s / beside['Laplacian']:.1f} of ours"
        part.rows.append([f"{len(few):,}", name, f"{s * 1e3:.1f}", ratio])
    for name in models:
        value = f"{seconds[name] / seconds['sgemm']:.2f}"
        part.figures.append(Figure(f"{name}, {FEATURES} features, fitted", value, "sgemm", "at most 4.5"))
    gain = list(beside.values())[1] / beside["Laplacian"]
    what = "times as fast as laplacian_kernel(Q, X) @ Y"
    part.figures.append(Figure(f"Laplacian, {what}", f"{gain:.0f}", "scikit-learn", "at least 15"))
    return part

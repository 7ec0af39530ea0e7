"""Laplacian and chi-square sums compared with a matrix product and scikit-learn's laplacian_kernel."""

from __future__ import annotations

from functools import partial

import numpy as np
from _shared.data import FEATURES, LABELS, REFERENCES, problem
from _shared.report import Part
from _shared.timing import Scale, alternate
from sklearn.metrics.pairwise import laplacian_kernel

from simlabel import SMLClassifier
from simlabel.similarities import ChiSquare, Laplacian

PEER_QUERIES = 64  # scikit-learn's kernel takes minutes for all


def run(scale: Scale) -> Part:
    X, Y, Q = problem(scale)
    np.abs(X, out=X)
    np.abs(Q, out=Q)
    dense, out = Y.toarray().astype(np.float32), np.empty((len(Q), len(X)), dtype=np.float32)
    models = {
        type(similarity).__name__: SMLClassifier(similarity, normalizer=None).fit(X, Y)
        for similarity in (Laplacian(0.7), ChiSquare(0.7))
    }
    runs = {name: partial(model.decision_function, Q) for name, model in models.items()}
    seconds = alternate({"sgemm": partial(np.matmul, Q, X.T, out=out)} | runs, scale.rounds(11))
    few = Q[:PEER_QUERIES]
    peers = {
        "Laplacian": lambda: models["Laplacian"].decision_function(few),
        "scikit-learn's laplacian_kernel(Q, X) @ Y": lambda: laplacian_kernel(few, X, gamma=0.7) @ dense,
    }
    compared = alternate(peers, scale.rounds(3))
    title = f"Sums over coordinates: {REFERENCES:,} references x {FEATURES} features, {LABELS} labels"
    part = Part(title, ["queries", "how", "median ms", "/ the first"])
    part.times(seconds, f"{len(Q):,}", per=1000, digits=".1f")
    part.times(compared, f"{len(few):,}", per=1000, digits=".1f")
    for name in models:
        value = f"{seconds[name] / seconds['sgemm']:.2f}"
        part.result(f"{name}, {FEATURES} features, fitted", value, "sgemm", "at most 4.5")
    ours, theirs = compared.values()
    what = "Laplacian, times as fast as laplacian_kernel(Q, X) @ Y"
    part.result(what, f"{theirs / ours:.0f}", "scikit-learn", "at least 15")
    return part

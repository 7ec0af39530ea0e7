"""Sums, votes of neighbors and ML-kNN compared with other libraries, relative to a matrix product.

Libraries that are not installed are skipped.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import numpy as np
from _shared.data import FEATURES, LABELS, QUERIES, REFERENCES, problem
from _shared.report import Part
from _shared.timing import Scale, alternate
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import KNeighborsClassifier

from simlabel import SMLClassifier
from simlabel.similarities import RBF
from simlabel.sums import TopK

K, GAMMA = 10, 7.0
KEOPS_QUERIES, MLKNN_REFERENCES = 256, 4_096  # all would take minutes
Runs = dict[str, Callable[[], object]]


def sums(X: Any, Y: Any, Q: Any) -> Runs:
    """Sums over all references."""
    model = SMLClassifier(RBF(GAMMA), normalizer=None).fit(X, Y)
    dense = Y.toarray().astype(np.float32)
    return {
        "simlabel, RBF": lambda: model.decision_function(Q),
        "scikit-learn, rbf_kernel(Q, X) @ Y": lambda: rbf_kernel(Q, X, gamma=GAMMA) @ dense,
    }


def keops(X: Any, Y: Any, Q: Any) -> Runs:
    """Sums by KeOps, for fewer queries."""
    from pykeops.numpy import LazyTensor

    dense = Y.toarray().astype(np.float32)
    x, y = LazyTensor(Q[:, None, :]), LazyTensor(X[None, :, :])
    kernel = (-((x - y) ** 2).sum(-1) * GAMMA).exp()
    return {"KeOps": lambda: kernel @ dense}


def neighbors(X: Any, Y: Any, Q: Any) -> Runs:
    """Votes of the ten nearest neighbors."""
    dense = Y.toarray()
    model = SMLClassifier(RBF(GAMMA), weighting=TopK(K), normalizer=None).fit(X, Y)
    method = KNeighborsClassifier(K, algorithm="brute").fit(X, dense)
    return {
        "simlabel, top 10": lambda: model.decision_function(Q),
        "scikit-learn, KNeighborsClassifier": lambda: method.predict(Q),
    }


def flat_search(X: Any, Y: Any, Q: Any) -> Runs:
    """The same votes after an exhaustive search."""
    import faiss

    dense, index = Y.toarray(), faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return {"FAISS flat, and a vote": lambda: dense[index.search(Q, K)[1]].mean(axis=1)}


def ml_knn(X: Any, Y: Any, Q: Any) -> Runs:
    """Predictions of fitted ML-kNN models."""
    from skmultilearn.adapt import MLkNN as Theirs

    from simlabel.baselines import MLkNN

    dense = Y.toarray().astype(int)
    theirs, ours = Theirs(k=K).fit(X, dense), MLkNN(n_neighbors=K).fit(X, dense)
    return {
        "scikit-multilearn-ng, MLkNN": lambda: theirs.predict_proba(Q),
        "simlabel.baselines.MLkNN": lambda: ours.predict_proba(Q),
    }


def run(scale: Scale) -> Part:
    X, Y, Q = problem(scale)
    shape = f"{REFERENCES:,} references x {QUERIES:,} queries x {FEATURES} features, {LABELS} labels"
    part = Part(f"Other libraries: {shape}", ["references", "queries", "how", "median ms", "/ sgemm"])
    cases = [
        (None, sums, (X, Y, Q), 3),
        ("pykeops", keops, (X, Y, Q[:KEOPS_QUERIES]), 1),
        (None, neighbors, (X, Y, Q), 3),
        ("faiss", flat_search, (X, Y, Q), 3),
        ("skmultilearn", ml_knn, (X[:MLKNN_REFERENCES], Y[:MLKNN_REFERENCES], Q), 1),
    ]
    for needs, make, (x, y, q), rounds in cases:
        if needs is not None and not importlib.util.find_spec(needs):
            part.notes.append(f"{needs} is not installed here and was skipped.")
            continue
        out = np.empty((len(q), len(x)), dtype=np.float32)
        runs = {"sgemm": lambda q=q, x=x, out=out: np.matmul(q, x.T, out=out)} | make(x, y, q)
        seconds = alternate(runs, scale.rounds(rounds))
        part.times(seconds, f"{len(x):,}", f"{len(q):,}", per=1000, digits=".1f")
        for name in list(seconds)[1:]:
            ratio = f"{seconds[name] / seconds['sgemm']:.1f}"
            part.result(f"{name}, {len(x):,} x {len(q):,}", ratio, "sgemm")
    return part

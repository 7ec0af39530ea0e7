"""How fast the exact sums are, in units of a bare matrix product of queries and references.

40,960 references x 2,048 queries, unit rows; everything is measured in one run, in turn and repeated;
the figure is the ratio of medians. Symmetric passes are beside the full pass over the same rows, and
one query is beside one matrix-vector product.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from _report import publish
from _timing import alternate
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.preprocessing import normalize

from simlabel import SMLClassifier, similarity_sums
from simlabel.engines import Job, Sum, prepare, reduce_similarities
from simlabel.similarities import RBF, Laplacian, Similarity

REFERENCES, QUERIES, SYMMETRIC, MANY = 40_960, 2_048, 8_192, 100_000
Rows = list[list[str]]


def made(n: int, n_features: int, seed: int, dtype: type = np.float32) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return normalize(rng.standard_normal((n, n_features))).astype(dtype)


def exact(n_features: int, n_labels: int, density: float, dtype: type = np.float32) -> Rows:
    """Fitted and cold, beside the product."""
    X, Q = made(REFERENCES, n_features, 0, dtype), made(QUERIES, n_features, 1, dtype)
    Y = (np.random.default_rng(2).random((REFERENCES, n_labels)) < density).astype(np.int8)
    model = SMLClassifier(RBF(7.0), normalizer=None).fit(X, Y)
    one = SMLClassifier(RBF(7.0), normalizer=None, n_jobs=1).fit(X, Y)
    out = np.empty((QUERIES, REFERENCES), dtype=dtype)
    runs = {
        "floor": lambda: np.matmul(Q, X.T, out=out),
        "fitted model": lambda: model.decision_function(Q),
        "similarity_sums, cold": lambda: similarity_sums(Q, X, Y, RBF(7.0)),
        "fitted model, one core": lambda: one.decision_function(Q),
    }
    if dtype == np.float32 and n_features < 200:
        runs["scikit-learn's rbf_kernel(Q, X) @ Y"] = lambda: rbf_kernel(Q, X, gamma=7.0) @ Y
        runs["Laplacian, cold"] = lambda: similarity_sums(Q, X, Y, Laplacian(0.7))
    return ratios(f"RBF, {n_features} features, {n_labels} labels, {np.dtype(dtype)}", runs)


def ratios(what: str, runs: dict[str, object], rounds: int = 7) -> Rows:
    seconds = alternate(runs, rounds)  # type: ignore[arg-type]
    floor = seconds["floor"]
    return [[what, name, f"{s * 1e3:.1f}", f"{s / floor:.2f}"] for name, s in seconds.items()]


def symmetric(similarity: Similarity, n_features: int) -> Rows:
    X = made(SYMMETRIC, n_features, 0)
    V = sp.csr_array(np.random.default_rng(2).random((SYMMETRIC, 14)) < 0.3).astype(np.float64)
    prepared, job = prepare(X, [similarity]), Job(similarity, None, Sum(V))
    runs = {
        "floor": lambda: reduce_similarities(X, prepared, [job]),
        "symmetric": lambda: reduce_similarities(X, prepared, [job], symmetric=True),
    }
    return ratios(f"{type(similarity).__name__}, {n_features} features: the floor is the full pass", runs)


def one_query() -> Rows:
    X, Y = made(MANY, 103, 0), (np.random.default_rng(2).random((MANY, 14)) < 0.3).astype(np.int8)
    model = SMLClassifier(RBF(7.0), normalizer=None).fit(X, Y)
    q = X[:1].copy()
    runs = {"floor": lambda: X @ q[0], "decision_function": lambda: model.decision_function(q)}
    return ratios(f"one query at {MANY:,} references: the floor is one matrix-vector product", runs, 101)


def laplacian_peer() -> Rows:
    X, Q, part = (
        made(REFERENCES, 103, 0),
        made(QUERIES, 103, 1),
        64,
    )  # scikit-learn's takes minutes on the whole
    V = np.ones((REFERENCES, 14), dtype=np.float32)
    runs = {
        "floor": lambda: similarity_sums(Q[:part], X, V, Laplacian(0.7)),
        "scikit-learn's laplacian_kernel(Q, X) @ Y": lambda: laplacian_kernel(Q[:part], X, gamma=0.7) @ V,
    }
    return ratios(f"Laplacian, {part} queries: the floor is ours", runs, 3)


def main() -> None:
    rows = exact(103, 14, 0.3) + exact(294, 6, 0.2) + exact(768, 100, 0.03)
    rows += exact(103, 14, 0.3, np.float64)
    rows += symmetric(RBF(7.0), 103) + symmetric(RBF(7.0), 294) + symmetric(Laplacian(0.7), 103)
    rows += laplacian_peer() + one_query()
    title = f"Exact sums: {REFERENCES:,} references x {QUERIES:,} queries"
    note = "The floor is a bare product of queries and references (sgemm, dgemm), where nothing else is said."
    publish("similarity_sums", title, ["what", "how", "median ms", "/ floor"], rows, [note])


if __name__ == "__main__":
    main()

"""How fast the exact sums are, in units of a bare matrix product of queries and references.

The shape is 40,960 references x 2,048 queries x 103 features, 14 labels, unit rows. Everything is
measured in one run, in turn and repeated; the figure is the ratio of medians.
"""

from __future__ import annotations

import numpy as np
from _timing import alternate, machine
from rich.console import Console
from rich.table import Table
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.preprocessing import normalize

from simlabel import SMLClassifier, similarity_sums
from simlabel.similarities import RBF, Laplacian

REFERENCES, QUERIES, FEATURES, LABELS = 40_960, 2_048, 103, 14


def main() -> None:
    rng = np.random.default_rng(0)
    X = normalize(rng.standard_normal((REFERENCES, FEATURES))).astype(np.float32)
    Q = normalize(rng.standard_normal((QUERIES, FEATURES))).astype(np.float32)
    Y = (rng.random((REFERENCES, LABELS)) < 0.3).astype(np.int8)
    V, X64, Q64 = Y.astype(np.float32), X.astype(np.float64), Q.astype(np.float64)
    model = SMLClassifier(RBF(7.0), normalizer=None).fit(X, Y)
    out32: np.ndarray = np.empty((QUERIES, REFERENCES), dtype=np.float32)
    out64: np.ndarray = np.empty((QUERIES, REFERENCES))
    seconds = alternate(
        {
            "sgemm (the floor)": lambda: np.matmul(Q, X.T, out=out32),
            "dgemm": lambda: np.matmul(Q64, X64.T, out=out64),
            "similarity_sums RBF float32": lambda: similarity_sums(Q, X, V, RBF(7.0)),
            "similarity_sums RBF float32, one core": lambda: similarity_sums(Q, X, V, RBF(7.0), n_jobs=1),
            "SMLClassifier.decision_function": lambda: model.decision_function(Q),
            "similarity_sums RBF float64": lambda: similarity_sums(Q64, X64, V, RBF(7.0)),
            "similarity_sums Laplacian float32": lambda: similarity_sums(Q, X, V, Laplacian(0.7)),
            "scikit-learn rbf_kernel(Q, X) @ Y, float64": lambda: rbf_kernel(Q64, X64, gamma=7.0) @ V,
        }
    )
    part = slice(0, 256)  # scikit-learn's takes minutes on the whole
    slow = alternate({"laplacian": lambda: laplacian_kernel(Q[part], X, gamma=0.7) @ V}, rounds=1)[
        "laplacian"
    ]
    seconds["scikit-learn laplacian_kernel(Q, X) @ Y"] = slow * QUERIES / 256
    floor = seconds["sgemm (the floor)"]
    table = Table(
        title=f"{REFERENCES:,} references x {QUERIES:,} queries x {FEATURES} features, {LABELS} labels"
    )
    table.add_column("What")
    table.add_column("Seconds", justify="right")
    table.add_column("x sgemm", justify="right")
    for name, value in seconds.items():
        table.add_row(name, f"{value:.3f}", f"{value / floor:.2f}")
    console = Console()
    console.print(table)
    ours, one = seconds["similarity_sums RBF float32"], seconds["similarity_sums RBF float32, one core"]
    peer = seconds["scikit-learn rbf_kernel(Q, X) @ Y, float64"]
    console.print(
        f"two cores against one: {one / ours:.2f}; against scikit-learn: {peer / ours:.1f}", highlight=False
    )
    console.print(machine(), highlight=False)


if __name__ == "__main__":
    main()

"""Peak memory of a prediction in addition to the model, compared with the size of the scores.

The paper states O(K) per query: memory does not grow with the references, and only the scores grow with the
labels.
"""

from __future__ import annotations

from _shared.report import Part
from _shared.timing import Scale, peak_mib

QUERIES = 2_000
SETUP = """
from _shared.data import label_rows, unit_rows
from simlabel import SMLClassifier
from simlabel.similarities import RBF, Laplacian
X, Q = unit_rows({n}, 103, 0), unit_rows({queries}, 103, 1)
model = SMLClassifier({similarity}, normalizer=None).fit(X, label_rows({n}, {k}, 3.0))
model.{method}(Q[:20])  # compile first
"""
CASES = [  # similarity, references, labels, method
    ("RBF(7.0)", 10_000, 14, "decision_function"),
    ("RBF(7.0)", 40_000, 14, "decision_function"),
    ("RBF(7.0)", 160_000, 14, "decision_function"),
    ("Laplacian(0.7)", 40_000, 14, "decision_function"),
    ("RBF(7.0)", 40_000, 1_000, "decision_function"),
    ("RBF(7.0)", 40_000, 7_000, "decision_function"),
    ("RBF(7.0)", 40_000, 7_000, "predict"),
]


def run(scale: Scale) -> Part:
    title = f"Peak memory of {QUERIES:,} queries, 103 features, float32"
    shown = "similarity", "references", "labels", "method", "scores MiB", "peak MiB"
    part, queries, peaks = Part(title, shown), scale.rows(QUERIES), []
    for similarity, n, k, method in CASES:
        setup = SETUP.format(similarity=similarity, n=scale.rows(n), k=k, method=method, queries=queries)
        peaks.append(peak_mib(setup, f"model.{method}(Q)"))
        size = queries * k * 4 / 2**20
        part.row(similarity, f"{n:,}", f"{k:,}", method, f"{size:.1f}", f"{peaks[-1]:.1f}")
    many, few = f"{peaks[2]:.0f} MiB", f"{peaks[0]:.0f} MiB at 10,000"
    part.result("peak memory at 160,000 references", many, few)
    scores = f"{queries * 7000 * 4 >> 20} MiB of dense scores"
    part.result("peak memory of predict, 7,000 labels", f"{peaks[6]:.0f} MiB", scores)
    return part

"""Sparse rows on debdeps_bookworm: non-zero products compared with dense blocks of references."""

from __future__ import annotations

import numpy as np
from _shared.data import shared
from _shared.report import Part
from _shared.timing import Scale, alternate, peak_mib, seconds
from sklearn.preprocessing import normalize

from simlabel import SMLClassifier, similarity_sums
from simlabel.similarities import RBF

GAMMA, QUERIES, BLOCK = 4.0, 2_000, 2_048

SETUP = """
from _shared.timing import Scale
from speed.sparse import GAMMA, densified, rows_of
from simlabel import similarity_sums
from simlabel.similarities import RBF
X, Y, Q = rows_of({scale})
similarity_sums(Q[:2], X[:100], Y[:100], RBF(GAMMA))
"""


def rows_of(scale: Scale):
    data = shared("debdeps_bookworm", scale)
    X = normalize(data.X).astype(np.float32)
    Y = data.Y.astype(np.float32)
    some = np.sort(np.random.default_rng(0).choice(X.shape[0], scale.rows(QUERIES), replace=False))
    return X, Y, X[some]


def densified(Q, X, Y):
    """Return the same sums by dense products, block by block of references; rows have unit length."""
    out, queries = np.zeros((Q.shape[0], Y.shape[1]), dtype=np.float32), Q.toarray()
    for start in range(0, X.shape[0], BLOCK):
        S = queries @ X[start : start + BLOCK].toarray().T
        np.exp((S - 1.0) * np.float32(2 * GAMMA), out=S)
        out += S @ Y[start : start + BLOCK]
    return out


def run(scale: Scale) -> Part:
    X, Y, Q = rows_of(scale)
    sums: list[np.ndarray] = []
    dense = seconds(lambda: sums.append(densified(Q, X, Y)))  # once: it is slow, and its time is stable
    model = SMLClassifier(RBF(GAMMA), normalizer=None).fit(X, Y.astype(np.int8))
    runs = {
        "non-zero products, cold": lambda: similarity_sums(Q, X, Y, RBF(GAMMA)),
        "non-zero products, fitted": lambda: model.decision_function(Q),
    }
    taken = {"dense blocks": dense} | alternate(runs, scale.rounds(5))
    error = np.abs(runs["non-zero products, cold"]() - sums[0]).max() / sums[0].max()
    setup = SETUP.format(scale=scale)
    memory = {
        "dense blocks": peak_mib(setup, "densified(Q, X, Y)"),
        "non-zero products, cold": peak_mib(setup, "similarity_sums(Q, X, Y, RBF(GAMMA))"),
    }
    shape = f"{X.shape[0]:,} x {X.shape[1]:,}, {Y.shape[1]:,} labels"
    title = f"debdeps_bookworm ({shape}): {QUERIES:,} queries, RBF"
    part = Part(title, ["how", "s", "times as fast", "peak MiB"])
    for name, s in taken.items():
        part.row(name, f"{s:.2f}", f"{dense / s:.1f}", f"{memory[name]:.0f}" if name in memory else "")
    part.notes.append(
        f"Largest difference of the sums: {error:.1e} of the largest sum. Peak memory is in addition "
        f"to the data, with the sums ({Q.shape[0] * Y.shape[1] * 4 >> 20} MiB of it)."
    )
    for name in runs:
        what = f"debdeps, {QUERIES:,} queries, {name}: times as fast"
        part.result(what, f"{dense / taken[name]:.1f}", "densified blocks", "at least 10")
    peak = f"{memory['non-zero products, cold']:.0f} MiB"
    part.result("debdeps, peak memory in addition to the data", peak, "", "under 1,024 MiB")
    return part

"""Sums over coordinates of sparse rows: only the columns in common, beside all pairs made dense.

Rows as of texts: sixty terms each, of which few are frequent and most are rare. CPU seconds, on one thread.
"""

from __future__ import annotations

import time

import numpy as np
import scipy.sparse as sp
from _shared.report import Part
from _shared.timing import Scale

from simlabel import SMLClassifier
from simlabel.similarities import RBF, ChiSquare, Jaccard, Laplacian, Similarity
from simlabel.sums import Exact

ROWS, QUERIES, TERMS, PER_ROW, LABELS = 16_000, 4_000, 20_000, 60, 20
ASKED = 100  # of all pairs, which take a hundred times as long


def rows_of(scale: Scale):
    rng, n = np.random.default_rng(0), scale.rows(ROWS) + scale.rows(QUERIES)
    often = 1.0 / np.arange(1, TERMS + 1) ** 0.9
    columns = rng.choice(TERMS, size=n * PER_ROW, p=often / often.sum())
    entries = rng.random(n * PER_ROW), (np.repeat(np.arange(n), PER_ROW), columns)
    X = sp.csr_array(entries, shape=(n, TERMS))
    Y = sp.csr_array((rng.random((n, LABELS)) < 0.1).astype(np.int8))
    return X[: scale.rows(ROWS)], Y[: scale.rows(ROWS)], X[scale.rows(ROWS) :]


def spent(similarity: Similarity, visit: str, X, Y, Q) -> float:
    """CPU seconds of a prediction."""
    model = SMLClassifier(similarity, engine=Exact(visit=visit), n_jobs=1).fit(X, Y)
    model.predict(Q[:20])  # compile
    started = time.process_time()
    model.predict(Q)
    return time.process_time() - started


def run(scale: Scale) -> Part:
    X, Y, Q = rows_of(scale)
    part = Part(
        f"{ROWS:,} sparse rows x {TERMS:,} columns, {QUERIES:,} queries",
        ["similarity", "columns in common, CPU s", "all pairs, CPU s", "times as fast", "/ RBF"],
    )
    rbf = 0.0
    for similarity in (RBF(1.0), Laplacian(0.3), ChiSquare(1.0), Jaccard()):
        found = spent(similarity, "nonzero", X, Y, Q)
        rbf = rbf or found
        all_pairs = spent(similarity, "all", X, Y, Q[:ASKED]) * Q.shape[0] / min(ASKED, Q.shape[0])
        name = type(similarity).__name__
        cells = f"{found:.2f}", f"{all_pairs:.1f}", f"{all_pairs / found:.0f}", f"{found / rbf:.2f}"
        part.row(name, *cells)
        part.figure(f"sparse rows, {name}", f"{found / rbf:.2f}", "RBF", "at most 2")
    part.notes.append(f"All pairs: measured on {ASKED} queries.")
    return part

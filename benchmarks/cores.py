"""One core beside all of them."""

from __future__ import annotations

from functools import partial

import joblib
import numpy as np
import scipy.sparse as sp
from _data import label_rows, unit_rows
from _report import Figure, Part
from _timing import Scale, alternate

from simlabel import SMLClassifier
from simlabel.similarities import RBF, Laplacian, Quadratic
from simlabel.weightings import TopK

QUERIES = 1_024


def cases(scale: Scale):
    dense = unit_rows(scale.rows(20_480), 103, 0)
    rng = np.random.default_rng(0)
    sparse = sp.random_array(
        (scale.rows(20_480), 5_000), density=0.005, format="csr", rng=rng, dtype=np.float32
    )
    yield "RBF, dense", {"similarity": RBF(7.0)}, dense
    yield "RBF, dense, float64", {"similarity": RBF(7.0)}, dense.astype(np.float64)
    yield "RBF, top 10", {"similarity": RBF(7.0), "weighting": TopK(10)}, dense
    yield "Laplacian", {"similarity": Laplacian(0.7)}, dense
    yield "Quadratic, all pairs", {"similarity": Quadratic(), "engine": "exact"}, dense
    yield "RBF, sparse", {"similarity": RBF(4.0)}, sparse


def run(scale: Scale) -> Part:
    cores = joblib.cpu_count()
    part = Part(
        "cores",
        f"One core and {cores}: {QUERIES:,} queries x 20,480 references",
        ["what", "1 core ms", f"{cores} cores ms", "speed-up"],
    )
    for name, stages, X in cases(scale):
        Y = label_rows(X.shape[0], 14, 4.2)
        Q = X[: scale.rows(QUERIES)]
        models = {jobs: SMLClassifier(normalizer=None, n_jobs=jobs, **stages).fit(X, Y) for jobs in (1, None)}
        runs = {str(jobs): partial(model.decision_function, Q) for jobs, model in models.items()}
        one, all_cores = alternate(runs, scale.rounds(5)).values()
        gain = f"{one / all_cores:.2f}"
        part.rows.append([name, f"{one * 1e3:.1f}", f"{all_cores * 1e3:.1f}", gain])
        part.figures.append(Figure(f"{name}: speed-up from one core to {cores}", gain, "one core"))
    return part

"""All cores compared with one, for each kind of sum."""

from __future__ import annotations

from functools import partial

import joblib
import numpy as np
import scipy.sparse as sp
from _shared.data import problem
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel import SMLClassifier
from simlabel.similarities import RBF, Laplacian, Quadratic
from simlabel.sums import TopK

REFERENCES, QUERIES = 20_480, 1_024


def run(scale: Scale) -> Part:
    cores = joblib.cpu_count()
    title = f"One core and {cores}: {QUERIES:,} queries x {REFERENCES:,} references"
    part = Part(title, ["what", "1 core ms", f"{cores} cores ms", "speed-up"])
    dense, Y, _ = problem(scale, REFERENCES)
    rng = np.random.default_rng(0)
    sparse = sp.random_array((len(dense), 5_000), density=0.005, format="csr", rng=rng, dtype=np.float32)
    cases = [
        ("RBF, dense", {"similarity": RBF(7.0)}, dense),
        ("RBF, dense, float64", {"similarity": RBF(7.0)}, dense.astype(np.float64)),
        ("RBF, top 10", {"similarity": RBF(7.0), "weighting": TopK(10)}, dense),
        ("Laplacian", {"similarity": Laplacian(0.7)}, dense),
        ("Quadratic, all pairs", {"similarity": Quadratic(), "engine": "exact"}, dense),
        ("RBF, sparse", {"similarity": RBF(4.0)}, sparse),
    ]
    for name, stages, X in cases:
        models = [SMLClassifier(normalizer=None, n_jobs=jobs, **stages).fit(X, Y) for jobs in (1, None)]
        Q = X[: scale.rows(QUERIES)]
        runs = {str(model.n_jobs): partial(model.decision_function, Q) for model in models}
        one, every = alternate(runs, scale.rounds(5)).values()
        gain = f"{one / every:.2f}"
        part.row(name, f"{one * 1e3:.1f}", f"{every * 1e3:.1f}", gain)
        part.result(f"{name}: speed-up from one core to {cores}", gain, "one core")
    return part

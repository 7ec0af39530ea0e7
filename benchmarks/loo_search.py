"""Leave-one-out for twenty bandwidths in one symmetric pass, in units of one plain pass over the same pairs.

20,000 rows x 103 features in float32, 14 labels. The plain pass is what a fitted model does for these rows
as queries. The search scores all rows for all candidates, judges them, and takes the best.
"""

from __future__ import annotations

import numpy as np
from _report import Figure, Part
from _timing import Scale, alternate

from simlabel import SMLClassifier
from simlabel.engines import Exact
from simlabel.influence import Uniform
from simlabel.similarities import RBF
from simlabel.tuning import LeaveOneOut, Problem

ROWS, FEATURES, LABELS, CANDIDATES = 20_000, 103, 14, 20


def run(scale: Scale) -> Part:
    n = scale.rows(ROWS)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, FEATURES), dtype=np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    Y = (rng.random((n, LABELS)) < 0.3).astype(np.int8)
    model = SMLClassifier(RBF(8.0), normalizer=None).fit(X, Y)
    references = model._model.scorer.references
    problem = Problem(RBF(), None, Uniform(), references, Exact(), None, 0)
    candidates = [{"gamma": float(gamma)} for gamma in np.geomspace(0.25, 128.0, CANDIDATES)]
    search, rows = LeaveOneOut(), np.arange(n)
    runs = {
        "one plain pass": lambda: model.decision_function(X),
        f"{CANDIDATES} candidates": lambda: search.measure(problem, candidates, rows),
        "tuning='loo', whole fit": lambda: SMLClassifier(RBF(), normalizer=None, tuning="loo").fit(X, Y),
    }
    seconds = alternate(runs, scale.rounds(3))
    plain = seconds["one plain pass"]
    table = [[name, f"{s:.2f}", f"{s / plain:.2f}"] for name, s in seconds.items()]
    title = f"Leave-one-out search: {ROWS:,} rows x {FEATURES} features, {LABELS} labels"
    note = "The whole fit looks at 13 candidates in a first pass and at 6 around the best in a second."
    part = Part("loo_search", title, ["what", "seconds", "/ plain pass"], table, notes=[note])
    for name in list(runs)[1:]:
        value = f"{seconds[name] / plain:.2f}"
        part.figures.append(Figure(f"leave-one-out search, {name}", value, "one plain pass"))
    return part

"""Leave-one-out for twenty bandwidths in one symmetric pass, compared with one plain pass.

20,000 rows x 103 features in float32, 14 labels. The plain pass is a prediction for the same rows. The search
scores all rows for all candidates, evaluates them, and chooses the best.
"""

from __future__ import annotations

import numpy as np
from _shared.data import FEATURES, LABELS, problem
from _shared.report import Part
from _shared.timing import Scale, alternate

from simlabel import SMLClassifier
from simlabel.similarities import RBF
from simlabel.tuning import LeaveOneOut

ROWS, CANDIDATES = 20_000, 20


def run(scale: Scale) -> Part:
    X, Y, _ = problem(scale, ROWS)
    model = SMLClassifier(RBF(8.0), normalizer=None).fit(X, Y)
    task = model._model.scorer.problem
    candidates = [{"gamma": float(gamma)} for gamma in np.geomspace(0.25, 128.0, CANDIDATES)]
    search, rows = LeaveOneOut(), np.arange(len(X))
    runs = {
        "one plain pass": lambda: model.decision_function(X),
        f"{CANDIDATES} candidates": lambda: search.measure(task, candidates, rows),
        "tuning='loo', whole fit": lambda: SMLClassifier(RBF(), normalizer=None, tuning="loo").fit(X, Y),
    }
    seconds = alternate(runs, scale.rounds(3))
    title = f"Leave-one-out search: {ROWS:,} rows x {FEATURES} features, {LABELS} labels"
    note = "The whole fit evaluates 13 candidates in a first pass and 6 around the best in a second."
    part = Part(title, ["what", "seconds", "/ plain pass"], notes=[note])
    part.times(seconds)
    for name in list(runs)[1:]:
        ratio = f"{seconds[name] / seconds['one plain pass']:.2f}"
        part.result(f"leave-one-out search, {name}", ratio, "one plain pass")
    return part

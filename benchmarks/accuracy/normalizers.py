"""Plain SML with unit length (the paper's) and with normalizer="auto", and ML-kNN, on held-out folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from _shared.data import dense, shared
from _shared.report import Part, mean_error
from _shared.timing import Scale
from sklearn.model_selection import KFold

from simlabel import SMLClassifier
from simlabel.baselines import MLkNN
from simlabel.metrics import average_precision
from simlabel.normalizers import UnitLength

SETS = ("emotions", "yeast", "scene", "image", "flags")


def models() -> dict[str, Any]:
    """Return the models; each chooses its parameters on its training rows."""
    plain = {"random_state": 0, "calibration": None}
    return {
        "SML, unit length": SMLClassifier("rbf", normalizer=UnitLength(), **plain),
        "SML, auto": SMLClassifier("rbf", normalizer="auto", **plain),
        "ML-kNN": MLkNN(),
    }


def run(scale: Scale) -> Part:
    intro = (
        "Average precision on 5 folds (seed 0), mean ± standard error over the folds; the difference to\n"
        "unit length is paired by fold. Normalizer and bandwidth are chosen on the training folds alone."
    )
    columns = "data", "algorithm", "average precision", "difference to unit length", "chosen"
    part = Part("Normalizers of plain SML", columns, intro)
    for name in SETS:
        X, Y = dense(shared(name, scale))
        found: dict[str, list[float]] = {title: [] for title in models()}
        chosen: list[str] = []
        for train, test in KFold(5, shuffle=True, random_state=0).split(X):
            for title, model in models().items():
                model.fit(X[train], Y[train])
                found[title].append(average_precision(Y[test], model.decision_function(X[test])))
                if title == "SML, auto":
                    chosen.append(model.tuning_.note.split()[1])
        first = next(iter(found.values()))
        counts = ", ".join(f"{c} {chosen.count(c)}" for c in dict.fromkeys(chosen))
        for title, values in found.items():
            difference = mean_error(np.subtract(values, first), 3, "+")
            part.row(name, title, mean_error(values, 3), difference, counts if title == "SML, auto" else "")
    return part

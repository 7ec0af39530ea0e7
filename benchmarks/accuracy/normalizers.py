"""Plain SML with the paper's unit length and with normalizer="auto", beside ML-kNN, on held-out folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from _shared.data import dense, shared
from _shared.report import Part
from _shared.timing import Scale
from sklearn.model_selection import KFold

from simlabel import SMLClassifier
from simlabel.baselines import MLkNN
from simlabel.metrics import average_precision
from simlabel.normalizers import UnitLength

SETS = ("emotions", "yeast", "scene", "image", "flags")


def models() -> dict[str, Any]:
    """Each chooses all that is open on its training rows."""
    plain = {"random_state": 0, "calibration": None}
    return {
        "SML, unit length": SMLClassifier("rbf", normalizer=UnitLength(), **plain),
        "SML, auto": SMLClassifier("rbf", normalizer="auto", **plain),
        "ML-kNN": MLkNN(),
    }


def run(scale: Scale) -> Part:
    intro = (
        "Average precision on 5 folds (seed 0), mean and standard error over the folds; what differs from\n"
        "unit length is paired by fold. Normalizer and bandwidth are chosen on the training folds alone."
    )
    columns = (
        "data",
        "algorithm",
        "average precision",
        "error",
        "from unit length",
        "paired error",
        "chosen",
    )
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
        first = np.array(next(iter(found.values())))
        for title, values in found.items():
            gap = values - first
            told = ", ".join(f"{c} {chosen.count(c)}" for c in dict.fromkeys(chosen))
            part.row(
                name,
                title,
                f"{np.mean(values):.3f}",
                f"{_error(values):.3f}",
                f"{gap.mean():+.3f}",
                f"{_error(gap):.3f}",
                told if title == "SML, auto" else "",
            )
    return part


def _error(values: Any) -> float:
    return float(np.std(values, ddof=1) / np.sqrt(len(values)))

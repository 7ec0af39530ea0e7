"""The gamma that scikit-learn's scorings choose on yeast, by plain sums and by comparable scores."""

from __future__ import annotations

from typing import Any

import numpy as np
from _shared.data import dense, shared
from _shared.report import Part
from _shared.timing import Scale
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score

from simlabel import SMLClassifier
from simlabel.metrics import scorer
from simlabel.similarities import RBF

GAMMAS = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
MEASURES = {"roc_auc": roc_auc_score, "average_precision": average_precision_score}


class BySums:
    """A scoring of the plain sums."""

    def __init__(self, measure: str) -> None:
        self.measure = measure

    def __call__(self, model: Any, X: Any, Y: Any) -> float:
        return float(MEASURES[self.measure](Y, model.label_weights(X), average="macro"))


def run(scale: Scale) -> Part:
    data = shared("yeast", scale)
    X, Y = dense(data)
    folds = KFold(5, shuffle=True, random_state=0)
    intro = (
        "Yeast, unit length, RBF; gamma out of " + ", ".join(f"{g:g}" for g in GAMMAS) + ", chosen by\n"
        "GridSearchCV on five folds (seed 0). The last column is the paper's average precision over the\n"
        "labels of each row, on the same folds, with the chosen gamma."
    )
    columns = "scoring", "scores", "gamma", "value", "at gamma 0.5", "at gamma 8", "average precision of rows"
    part = Part("Choosing gamma by scikit-learn's scorings", columns, intro)
    model = SMLClassifier(RBF(), calibration=None, n_jobs=1)
    for name in MEASURES:
        for kind, scoring in (("sums", BySums(name)), ("decision_function", name)):
            search = GridSearchCV(
                model, {"similarity__gamma": GAMMAS}, scoring=scoring, cv=folds, refit=False, n_jobs=1
            )
            search.fit(X, Y)
            values = search.cv_results_["mean_test_score"]
            gamma = search.best_params_["similarity__gamma"]
            chosen = SMLClassifier(RBF(gamma), calibration=None)
            rows = cross_val_score(chosen, X, Y, scoring=scorer("average_precision"), cv=folds)
            at = {g: f"{v:.3f}" for g, v in zip(GAMMAS, values, strict=True)}
            cells = f"{gamma:g}", f"{np.max(values):.3f}", at[0.5], at[8.0], f"{rows.mean():.3f}"
            part.row(name, kind, *cells)
    return part

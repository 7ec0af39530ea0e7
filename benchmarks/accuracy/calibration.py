"""Brier score and reliability of probabilities on held-out folds: shares beside calibrated ones."""

from __future__ import annotations

import numpy as np
from _shared.data import shared
from _shared.report import Part
from _shared.timing import Scale
from sklearn.model_selection import KFold

from simlabel import SMLClassifier

SETS = ("yeast", "emotions")
BINS = np.linspace(0.0, 1.0, 11)


def held_out(data, influence, calibration):
    """Probabilities of all rows, each predicted by a model that has not seen it."""
    proba = np.empty(data.Y.shape)
    for train, test in KFold(5, shuffle=True, random_state=0).split(proba):
        model = SMLClassifier(influence=influence, calibration=calibration, random_state=0)
        proba[test] = model.fit(data.X[train], data.Y[train]).predict_proba(data.X[test])
    return proba


def reliability(proba, truth):
    """Share of true labels in ten bins of the probability; '-' where a bin is empty."""
    which = np.clip(np.digitize(proba.ravel(), BINS) - 1, 0, 9)
    truth = truth.ravel()
    return [f"{truth[which == b].mean():.2f}" if (which == b).any() else "-" for b in range(10)]


def run(scale: Scale) -> Part:
    intro = (
        "5 folds, seed 0. Reliability: the share of true labels where the\n"
        "probability lies in [0, 0.1), [0.1, 0.2) and so on; calibrated means 0.05, 0.15, ..., 0.95."
    )
    shown = "influence", "probabilities", "Brier score", "reliability"
    part = Part("Calibration on held-out folds", shown, intro)
    for name in SETS:
        part.section(name)
        data = shared(name, scale)
        truth = data.Y.toarray()
        for influence in ("uniform", "ridge"):
            for kind, calibration in (("share", None), ("calibrated", "loo")):
                proba = held_out(data, influence, calibration)
                brier = np.mean((proba - truth) ** 2)
                part.row(influence, kind, f"{brier:.4f}", " ".join(reliability(proba, truth)))
    return part

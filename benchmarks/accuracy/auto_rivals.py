"""AutoSMLClassifier beside scikit-learn's forests and neighbours on four sets, by cross-validation."""

from __future__ import annotations

import numpy as np
from _shared.folds import cross_validated
from _shared.report import Part
from _shared.timing import Scale
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.neighbors import KNeighborsClassifier

from simlabel import AutoSMLClassifier
from simlabel.metrics import CRITERIA

SETS, SLOW = ("flags", "emotions", "scene", "bibtex"), ("bibtex", "ExtraTrees")
ESTIMATORS = {
    "AutoSML": AutoSMLClassifier(random_state=0),
    "RandomForest": RandomForestClassifier(300, n_jobs=2, random_state=0),
    "ExtraTrees": ExtraTreesClassifier(300, n_jobs=2, random_state=0),
    "KNeighbors": KNeighborsClassifier(10),
}


def run(scale: Scale) -> Part:
    intro = "10-fold cross-validation on the same folds, mean (standard error); seed 0, 300 trees."
    part = Part("AutoSMLClassifier beside scikit-learn's strongest", ["criterion", *ESTIMATORS], intro)
    part.notes.append(f"{SLOW[1]} is left out on {SLOW[0]}: it takes minutes for a fold.")
    for name in SETS:
        part.section(name)
        chosen = {rival: one for rival, one in ESTIMATORS.items() if (name, rival) != SLOW}
        found = cross_validated(name, chosen, scale)
        for criterion, about in CRITERIA.items():
            cells = {
                rival: f"{one.mean(criterion):.4f} ({one.std(criterion) / np.sqrt(len(one.folds)):.4f})"
                for rival, one in found.items()
            }
            part.row(about.title, *(cells.get(rival, "") for rival in ESTIMATORS))
    return part

"""flags in forty other folds: is AutoSML behind there, too?

The best of many methods on ten folds of 194 rows is partly chance. The methods that were ahead of AutoSML in
the folds of the benchmark of methods are compared on other folds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _shared.data import shared
from _shared.report import Part
from _shared.timing import Scale
from league.methods import METHODS
from league.results import MAIN

from simlabel.experiments import KFolds, compare
from simlabel.metrics import find_criterion

AGAINST = ("iblr", "et", "lr", "ranksvm", "lp", "rf")
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results" / "folds" / "flags_again"


def run(scale: Scale) -> Part:
    data, names = shared("flags", scale), ["autosml", *(AGAINST[:1] if scale.small else AGAINST)]
    algorithms = [METHODS[name].algorithm(data, 0) for name in names]
    protocol = KFolds(5, 1 if scale.small else 8, stratified=True, seed=77)
    found = compare(data, algorithms, protocol, folder=None if scale.small else FOLDER, jobs=2)
    if found.failures:
        raise RuntimeError("; ".join(map(str, found.failures)))
    columns = ["", "AutoSML", *(f"minus {METHODS[name].title}" for name in names[1:])]
    intro = f"{protocol}; the gain of AutoSML ± its standard error, paired by fold."
    part = Part("flags in other folds", columns, intro)
    for criterion in MAIN:
        about = find_criterion(criterion)
        values = np.array([[fold[criterion] for fold in found.of(data.name, name).folds] for name in names])
        gains = (values[0] - values[1:]) * (1.0 if about.higher_is_better else -1.0)
        errors = gains.std(axis=1, ddof=1) / np.sqrt(gains.shape[1])
        cells = [f"{g:+.4f} ± {e:.4f}" for g, e in zip(gains.mean(axis=1), errors, strict=True)]
        part.row(about.heading, f"{values[0].mean():.4f}", *cells)
    return part

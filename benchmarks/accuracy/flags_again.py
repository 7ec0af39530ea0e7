"""flags in forty other folds: the methods ahead of AutoSML in the benchmark of methods, compared again.

The best of many methods on ten folds of 194 rows is partly chance.
"""

from __future__ import annotations

import numpy as np
from _shared.data import shared
from _shared.folds import compared
from _shared.report import Part, mean_error
from _shared.timing import Scale
from league.methods import METHODS
from league.results import MAIN

from simlabel.experiments import KFolds
from simlabel.metrics import find_criterion

AGAINST = ("iblr", "et", "lr", "ranksvm", "lp", "rf")


def run(scale: Scale) -> Part:
    data, names = shared("flags", scale), ["autosml", *(AGAINST[:1] if scale.small else AGAINST)]
    algorithms = [METHODS[name].algorithm(data, 0) for name in names]
    protocol = KFolds(5, 1 if scale.small else 8, stratified=True, seed=77)
    found = compared(data, algorithms, protocol, scale, jobs=2)
    columns = ["", "AutoSML", *(f"minus {METHODS[name].title}" for name in names[1:])]
    intro = f"{protocol}; the gain of AutoSML ± its standard error, paired by fold."
    part = Part("flags in other folds", columns, intro)
    for criterion in MAIN:
        about = find_criterion(criterion)
        values = np.array([[fold[criterion] for fold in found.of(data.name, name).folds] for name in names])
        gains = (values[0] - values[1:]) * (1.0 if about.higher_is_better else -1.0)
        part.row(about.heading, f"{values[0].mean():.4f}", *(mean_error(gain, sign="+") for gain in gains))
    return part

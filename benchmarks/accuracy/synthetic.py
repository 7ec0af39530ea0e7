"""The synthetic data sets drawn repeatedly: differences that are due to the process, and not to one draw.

Folds of one set share their rows, so their standard error does not cover other draws. Here every draw is new,
with seeds that neither the benchmark of methods nor any choice has used. The methods are those ahead of
AutoSML on one of the synthetic sets, or nearest to it, if they are installed.
"""

from __future__ import annotations

import numpy as np
from _shared.folds import compared
from _shared.report import Part, mean_error
from _shared.timing import Scale
from league.methods import METHODS
from league.synthetic import SYNTHETIC

from simlabel.experiments import FixedSplit, RandomSplits
from simlabel.metrics import find_criterion

SEEDS = range(101, 111)
AGAINST = ("ranksvm", "svc", "et", "xgboost")
CRITERIA = ("average_precision", "f1_micro")


def drawn(process: str, seed: int, names: list[str], scale: Scale) -> list[list[float]]:
    """Return the criteria of each method on one draw of a process, on held-out rows."""
    data = SYNTHETIC[process](**({"n": 120} if scale.small else {}), seed=seed).data
    protocol = RandomSplits(0.3, repeats=1) if data.split is None else FixedSplit()
    algorithms = [METHODS[name].algorithm(data, 0) for name in names]
    found = compared(data, algorithms, protocol, scale, jobs=2)
    return [[found.of(data.name, name).folds[0][criterion] for criterion in CRITERIA] for name in names]


def run(scale: Scale) -> Part:
    against = ("svc",) if scale.small else AGAINST
    names = ["autosml", *(name for name in against if METHODS[name].missing is None)]
    seeds = SEEDS[:2] if scale.small else SEEDS
    columns = ["process", "AutoSML", *(f"minus {METHODS[name].title}" for name in names[1:])]
    intro = f"{len(seeds)} draws of each process; the gain of AutoSML ± its standard error over the draws."
    part = Part("Synthetic data sets, drawn repeatedly", columns, intro)
    # process, draw, method, criterion
    values = np.array([[drawn(process, seed, names, scale) for seed in seeds] for process in SYNTHETIC])
    for k, criterion in enumerate(CRITERIA):
        part.section(find_criterion(criterion).heading)
        for process, scores in zip(SYNTHETIC, values[..., k], strict=True):
            gains = (scores[:, :1] - scores[:, 1:]).T
            part.row(process, f"{scores[:, 0].mean():.4f}", *(mean_error(gain, sign="+") for gain in gains))
    return part

"""The synthetic data sets drawn repeatedly: is a difference due to the process, or to one draw?

Folds of one set share their rows, so their standard error does not cover other draws. Here every draw is new,
with seeds that neither the benchmark of methods nor any choice has used. The methods are those ahead of
AutoSML on one of the synthetic sets, or nearest to it, if they are installed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _shared.report import Part
from _shared.timing import Scale
from league.methods import METHODS
from league.synthetic import SYNTHETIC

from simlabel.experiments import FixedSplit, RandomSplits, compare
from simlabel.metrics import find_criterion

SEEDS = range(101, 111)
AGAINST = ("ranksvm", "svc", "et", "xgboost")
CRITERIA = ("average_precision", "f1_micro")
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results" / "folds" / "laws"


def drawn(law: str, seed: int, names: list[str], small: bool) -> dict[str, list[float]]:
    """Return the criteria of each method on one draw of a process, on held-out rows."""
    data = SYNTHETIC[law](n=120, seed=seed).data if small else SYNTHETIC[law](seed=seed).data
    protocol = RandomSplits(0.3, repeats=1) if data.split is None else FixedSplit()
    algorithms = [METHODS[name].algorithm(data, 0) for name in names]
    folder = None if small else FOLDER / f"{law}-{seed}"
    found = compare(data, algorithms, protocol, folder=folder, jobs=2)
    if found.failures:
        raise RuntimeError("; ".join(map(str, found.failures)))
    return {name: [found.of(data.name, name).folds[0][criterion] for criterion in CRITERIA] for name in names}


def run(scale: Scale) -> Part:
    against = ("svc",) if scale.small else AGAINST
    names = ["autosml", *(name for name in against if METHODS[name].missing is None)]
    seeds = SEEDS[:2] if scale.small else SEEDS
    columns = ["process", "AutoSML", *(f"minus {METHODS[name].title}" for name in names[1:])]
    intro = f"{len(seeds)} draws of each process; the gain of AutoSML ± its standard error over the draws."
    part = Part("Synthetic data sets, drawn repeatedly", columns, intro)
    # process, draw, method, criterion
    values = np.array(
        [[list(drawn(law, seed, names, scale.small).values()) for seed in seeds] for law in SYNTHETIC]
    )
    for k, criterion in enumerate(CRITERIA):
        part.section(find_criterion(criterion).heading)
        for law, of_law in zip(SYNTHETIC, values[..., k], strict=True):
            gains = of_law[:, :1] - of_law[:, 1:]
            errors = gains.std(axis=0, ddof=1) / np.sqrt(len(seeds))
            cells = [f"{g:+.4f} ± {e:.4f}" for g, e in zip(gains.mean(axis=0), errors, strict=True)]
            part.row(law, f"{of_law[:, 0].mean():.4f}", *cells)
    return part

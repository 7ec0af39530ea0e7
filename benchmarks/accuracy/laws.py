"""The league's made sets drawn again and again: is a gap on one of them the law's, or the draw's?

Folds of one set share their rows, so that their standard error says nothing of another draw. Here every draw
is new, with seeds that neither the league nor any choice has seen; the rivals are those that are ahead of
AutoSML on one of the league's made sets, or nearest to it, where they are installed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _shared.report import Part
from _shared.timing import Scale

from simlabel.experiments import FixedSplit, RandomSplits, compare
from simlabel.experiments.league import MADE, RIVALS
from simlabel.metrics import find_criterion

SEEDS = range(101, 111)
AGAINST = ("ranksvm", "svc", "et", "xgboost")
CRITERIA = ("average_precision", "f1_micro")
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results" / "folds" / "laws"


def drawn(law: str, seed: int, names: list[str], small: bool) -> dict[str, list[float]]:
    """The criteria of each rival on one draw of a law, on rows that it has not seen."""
    data = MADE[law](n=120, seed=seed).data if small else MADE[law](seed=seed).data
    protocol = RandomSplits(0.3, repeats=1) if data.split is None else FixedSplit()
    algorithms = [RIVALS[name].algorithm(data, 0) for name in names]
    folder = None if small else FOLDER / f"{law}-{seed}"
    found = compare(data, algorithms, protocol, folder=folder, jobs=2)
    if found.failures:
        raise RuntimeError("; ".join(map(str, found.failures)))
    return {name: [found.of(data.name, name).folds[0][criterion] for criterion in CRITERIA] for name in names}


def run(scale: Scale) -> Part:
    against = ("svc",) if scale.small else AGAINST
    names = ["autosml", *(name for name in against if RIVALS[name].absent is None)]
    seeds = SEEDS[:2] if scale.small else SEEDS
    columns = ["law", "AutoSML", *(f"less {RIVALS[name].title}" for name in names[1:])]
    intro = f"{len(seeds)} draws of each law; the gain of AutoSML ± its standard error over the draws."
    part = Part("Made sets, drawn again and again", columns, intro)
    # law, draw, rival, criterion
    values = np.array(
        [[list(drawn(law, seed, names, scale.small).values()) for seed in seeds] for law in MADE]
    )
    for k, criterion in enumerate(CRITERIA):
        part.section(find_criterion(criterion).heading)
        for law, of_law in zip(MADE, values[..., k], strict=True):
            gains = of_law[:, :1] - of_law[:, 1:]
            errors = gains.std(axis=0, ddof=1) / np.sqrt(len(seeds))
            cells = [f"{g:+.4f} ± {e:.4f}" for g, e in zip(gains.mean(axis=0), errors, strict=True)]
            part.row(law, f"{of_law[:, 0].mean():.4f}", *cells)
    return part

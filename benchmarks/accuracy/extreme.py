"""Thousands of labels: the set that is too large for the league's limit, with all the time that it takes.

debdeps_bookworm has 51,725 rows and 6,892 labels. Of the league's rivals Omikuji alone ends in 120 processor
seconds, so that the table has no place for it; here are it and our own methods without a limit.
"""

from __future__ import annotations

from pathlib import Path

from _shared.data import Missing
from _shared.report import Part
from _shared.timing import Scale

from simlabel.experiments import RandomSplits, compare
from simlabel.experiments.league import RIVALS, league_sets
from simlabel.metrics import find_criterion

NAME, NAMES = "debdeps_bookworm", ("omikuji", "autosml", "sml")
CRITERIA = (
    "average_precision",
    "ranking_loss",
    "f1_micro",
    "f1_macro",
    "precision@1",
    "precision@5",
    "psp@5",
)
FOLDER = Path(__file__).resolve().parents[2] / "docs" / "results" / "folds" / "extreme"


def run(scale: Scale) -> Part:
    if scale.small:
        raise Missing("it has no small size")
    try:
        (one,), _ = league_sets([NAME])
    except ValueError as error:
        raise Missing(str(error)) from None
    names = [name for name in NAMES if RIVALS[name].absent is None]
    algorithms = [RIVALS[name].algorithm(one.data, 0) for name in names]
    found = compare(one.data, algorithms, RandomSplits(0.25), folder=FOLDER)
    headings = [find_criterion(criterion).heading for criterion in CRITERIA]
    facts = f"{one.data.n_rows:,} rows, {one.data.n_labels:,} labels; {one.protocol}"
    part = Part("Thousands of labels", ["", *headings, "Processor seconds", "MiB"], f"{NAME}: {facts}.")
    for name in names:
        (fold,) = found.results[NAME, name]
        costs = f"{fold.cpu_seconds:.0f}", "" if fold.peak_mib is None else f"{fold.peak_mib:.0f}"
        part.row(RIVALS[name].title, *(f"{fold.evaluation[c]:.4f}" for c in CRITERIA), *costs)
    part.notes += [f"{line}." for line in one.warnings]
    return part

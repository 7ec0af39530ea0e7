"""Thousands of labels: a data set that is too large for the time limit of the benchmark of methods.

debdeps_bookworm has 51,725 rows and 6,892 labels. Of the other methods only Omikuji finishes in 120 processor
seconds; here it is compared with our methods without a limit.
"""

from __future__ import annotations

from _shared.data import Missing
from _shared.folds import compared
from _shared.report import Part
from _shared.timing import Scale
from league.data import available
from league.methods import METHODS

from simlabel.experiments import RandomSplits
from simlabel.metrics import find_criterion

NAME, NAMES = "debdeps_bookworm", ("omikuji", "autosml", "sml")
CRITERIA = "average_precision", "ranking_loss", "f1_micro", "f1_macro", "precision@1", "precision@5", "psp@5"


def run(scale: Scale) -> Part:
    if scale.small:
        raise Missing("it has no small size")
    if NAME not in available():
        raise Missing(f"it needs the data set {NAME!r}; SIMLABEL_DATA names the folder.")
    one = available()[NAME]()
    names = [name for name in NAMES if METHODS[name].missing is None]
    algorithms = [METHODS[name].algorithm(one.data) for name in names]
    found = compared(one.data, algorithms, RandomSplits(0.25), scale)
    headings = [find_criterion(criterion).heading for criterion in CRITERIA]
    facts = f"{one.data.n_rows:,} rows, {one.data.n_labels:,} labels; {one.protocol}"
    part = Part("Thousands of labels", ["", *headings, "Processor seconds", "MiB"], f"{NAME}: {facts}.")
    for name in names:
        (fold,) = found.results[NAME, name]
        costs = f"{fold.cpu_seconds:.0f}", "" if fold.peak_mib is None else f"{fold.peak_mib:.0f}"
        part.row(METHODS[name].title, *(f"{fold.evaluation[c]:.4f}" for c in CRITERIA), *costs)
    part.notes += [f"{line}." for line in one.warnings()]
    return part

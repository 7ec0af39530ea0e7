"""AutoSMLClassifier and plain SML compared with the paper's SML on yeast and image, by nested folds."""

from __future__ import annotations

from typing import Any

import numpy as np
from _shared.folds import cross_validated
from _shared.report import Part
from _shared.timing import Scale

from simlabel import AutoSMLClassifier, SMLClassifier
from simlabel.experiments import PUBLISHED, CrossValidation
from simlabel.metrics import CRITERIA
from simlabel.rules import AutoRule

SEEDS = range(5)


def run(scale: Scale) -> Part:
    intro = (
        "Nested 10-fold cross-validation with five shuffles (seeds 0 to 4): the mean of each seed, and of\n"
        "all, with the standard error of one seed's ten folds (those of two seeds share their rows).\n"
        "Parameters are chosen inside the training folds. *beyond*: better than the published mean by more\n"
        "than one standard error; NO: worse."
    )
    seeds = [f"seed {seed}" for seed in SEEDS]
    shown = "criterion", "paper's SML", "plain SML", *seeds, "AutoSML (error)", "beyond"
    part = Part("AutoSMLClassifier, plain SML and the paper's SML", shown, intro)
    sets = AutoRule("hamming_loss", minimum=0)  # the only criterion of label sets in the paper's tables
    makers = {
        "AutoSML": AutoSMLClassifier(label_rule=sets, random_state=0),
        "SML": SMLClassifier(random_state=0),
    }
    for name, tables in PUBLISHED.items():
        part.section(name)
        found = [cross_validated(name, makers, scale, seed) for seed in (SEEDS[:1] if scale.small else SEEDS)]
        for criterion, published in tables["SML"].items():
            plain = _values([one["SML"] for one in found], criterion).mean()
            values = _values([one["AutoSML"] for one in found], criterion)
            error = values.std(axis=1, ddof=1).mean() / np.sqrt(values.shape[1])
            gain = (values.mean() - published.mean) * (1 if CRITERIA[criterion].higher_is_better else -1)
            each = [f"{mean:.4f}" for mean in values.mean(axis=1)]
            each += [""] * (len(SEEDS) - len(each))
            beyond = "yes" if gain > error else "no" if gain > 0 else "NO"
            own = f"{values.mean():.4f} ({error:.4f})"
            part.row(CRITERIA[criterion].title, published, f"{plain:.3f}", *each, own, beyond)
    return part


def _values(found: list[CrossValidation], criterion: str) -> Any:
    """Return the criterion for each seed and fold."""
    return np.array([one.values(criterion) for one in found])

"""AutoSMLClassifier and plain SML beside the paper's SML on yeast and image, by nested cross-validation."""

from __future__ import annotations

import numpy as np
from _shared.folds import cross_validated
from _shared.report import Part
from _shared.timing import Scale

from simlabel import AutoSMLClassifier, SMLClassifier
from simlabel.experiments import PUBLISHED
from simlabel.label_rules import AutoRule
from simlabel.metrics import CRITERIA


def run(scale: Scale) -> Part:
    intro = (
        "Nested 10-fold cross-validation: mean ± standard deviation (standard error). Every choice is made\n"
        "inside the training folds; seed 0. *beyond*: better than the published mean by more than one\n"
        "standard error."
    )
    shown = "criterion", "paper's SML", "plain SML", "within one std", "AutoSML", "better", "beyond"
    part = Part("AutoSMLClassifier and plain SML beside the paper's SML", shown, intro)
    sets = AutoRule("hamming_loss", minimum=0)  # the only criterion of label sets in the paper's tables
    auto = AutoSMLClassifier(label_rule=sets, random_state=0)
    makers = {"AutoSML": auto, "SML": SMLClassifier(random_state=0)}
    for name, tables in PUBLISHED.items():
        part.section(name)
        auto, plain = cross_validated(name, makers, scale).values()
        for criterion, published in tables["SML"].items():
            mean, std = auto.mean(criterion), auto.std(criterion)
            error = std / np.sqrt(len(auto.folds))
            gain = (mean - published.mean) * (1 if CRITERIA[criterion].higher_is_better else -1)
            part.row(
                CRITERIA[criterion].title,
                published,
                f"{plain.mean(criterion):.3f} ± {plain.std(criterion):.3f}",
                "yes" if published.agrees(plain.mean(criterion)) else "no",
                f"{mean:.4f} ± {std:.4f} ({error:.4f})",
                "yes" if gain > 0 else "NO",
                "yes" if gain > error else "no",
            )
    return part

"""Learned influence with many references: time, memory and precision, compared with plain sums."""

from __future__ import annotations

import resource

import numpy as np
from _shared.data import shared
from _shared.report import Part
from _shared.timing import Scale, seconds

from simlabel import SMLClassifier
from simlabel.metrics import average_precision
from simlabel.ridge import Ridge
from simlabel.similarities import RBF


def run(scale: Scale) -> Part:
    data = shared("goemotions_svd120", scale)
    train, test = (np.flatnonzero(data.split == which) for which in (0, 2))
    intro = f"{len(train):,} references, {len(test):,} test rows, unit rows, RBF."
    shown = "what", "seconds to fit", "peak MiB of the process", "average precision"
    part = Part("Learned influence on goemotions_svd120", shown, intro)

    def measure(title: str, model: SMLClassifier, rows: np.ndarray) -> None:
        took = seconds(lambda: model.fit(data.X[rows], data.Y[rows]))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        precision = average_precision(data.Y[test], model.decision_function(data.X[test]))
        part.row(title, f"{took:.1f}", f"{peak:.0f}", f"{precision:.4f}")

    tuned = SMLClassifier(influence="ridge", random_state=0)
    measure("ridge, all values chosen", tuned, train)
    gamma, penalty = tuned.similarity_.gamma, tuned.influence_.penalty
    part.row(f"(chosen: gamma {gamma:.3g}, penalty {penalty:.3g})", "", "", "")
    measure("plain sums, gamma 8", SMLClassifier(RBF(8.0)), train)
    some = np.sort(np.random.default_rng(0).choice(train, min(5000, len(train)), replace=False))
    for m in (None, 2048, 1000, 500):
        title = f"{len(some):,} rows: {'exact' if m is None else f'{m:,} inducing rows'}"
        measure(title, SMLClassifier(RBF(gamma), influence=Ridge(penalty, inducing=m), random_state=0), some)
    return part

"""What effort="high" gains on AutoSMLClassifier's default, on held-out folds of some rows of four sets."""

from __future__ import annotations

import time

import numpy as np
from _shared.data import dense, shared
from _shared.report import Part
from _shared.timing import Scale
from sklearn.model_selection import KFold

from simlabel import AutoSMLClassifier
from simlabel.metrics import average_precision

SETS, FOLDS, ROWS = ("emotions", "yeast", "scene", "image"), 5, 800


def run(scale: Scale) -> Part:
    intro = (
        f"{FOLDS} folds of {ROWS} rows, or all where there are fewer, drawn with seed 0: average precision,\n"
        "the paired difference (standard error), in how many folds a sum was taken, and CPU seconds of a fit."
    )
    shown = "set", "normal", "high", "difference", "sums", "CPU s, normal", "CPU s, high"
    part = Part('What effort="high" gains', shown, intro)
    for name in SETS[:1] if scale.small else SETS:
        X, Y = dense(shared(name, scale))
        some = np.random.default_rng(0).permutation(len(X))[:ROWS]
        folds = KFold(2 if scale.small else FOLDS, shuffle=True, random_state=0).split(some)
        found = np.array([_measured(X, Y, some[train], some[test]) for train, test in folds])
        (normal, high), sums, seconds = (
            found[:, :2].mean(axis=0),
            found[:, 2].sum(),
            found[:, 3:].mean(axis=0),
        )
        gain = found[:, 1] - found[:, 0]
        error = gain.std(ddof=1) / np.sqrt(len(gain))
        difference = f"{gain.mean():+.4f} ({error:.4f})"
        taken = f"{sums:.0f} of {len(gain)}"
        part.row(name, f"{normal:.4f}", f"{high:.4f}", difference, taken, *(f"{s:.1f}" for s in seconds))
    return part


def _measured(X, Y, train, test) -> list[float]:
    """Average precision of both, whether a sum was taken, and CPU seconds of both."""
    values, seconds, taken = [], [], 0.0
    for effort in ("normal", "high"):
        started = time.process_time()
        model = AutoSMLClassifier(effort=effort, random_state=0).fit(X[train], Y[train])
        seconds.append(time.process_time() - started)
        values.append(average_precision(Y[test], model.decision_function(X[test])))
        taken = float(model.leaderboard_["judged"].iloc[0] == "5 folds")
    return [*values, taken, *seconds]

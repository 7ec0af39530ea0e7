"""Average precision with unknown labels, compared with treating them as absent.

20, 50 and 80% of the labels of the training rows of yeast, scene and emotions are hidden at random. The
results are the average precision on a held-out third of the rows, whose labels are all known, for sums and
for learned influence: with all labels, with NaN in place of the hidden ones, and with 0. Bandwidth and
penalty are tuned with all labels in all three cases. Needs the three data sets (SIMLABEL_DATA).
"""

from __future__ import annotations

import numpy as np
from _shared.data import dense, shared
from _shared.report import Part, mean_error
from _shared.timing import Scale
from sklearn.base import clone

from simlabel import SMLClassifier
from simlabel.metrics import average_precision

SETS, SHARES, SEEDS = ("yeast", "scene", "emotions"), (0.2, 0.5, 0.8), 5


def models(seed: int) -> dict[str, SMLClassifier]:
    """Return models for dense features that tune bandwidth and penalty."""
    shared = {"normalizer": ["zscore", "l2"], "random_state": seed, "n_jobs": 1}
    return {
        "sums": SMLClassifier("rbf", **shared),
        "ridge": SMLClassifier("rbf", influence="ridge", **shared),
    }


def measured(X: np.ndarray, Y: np.ndarray, seed: int) -> dict[tuple[str, str, float], float]:
    """Return average precision by influence, treatment of the hidden labels, and hidden share."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    test, train = order[: len(X) // 3], order[len(X) // 3 :]
    veil = rng.random((len(train), Y.shape[1]))  # labels hidden at 20% are hidden at 50% too
    found = {}
    for name, model in models(seed).items():
        model.fit(X[train], Y[train])
        chosen = {"similarity": model.similarity_, "influence": model.influence_}
        held = clone(model).set_params(**chosen, calibration=None)

        def scored(y: np.ndarray, held: SMLClassifier = held) -> float:
            return average_precision(Y[test], held.fit(X[train], y).label_weights(X[test]))

        found[name, "all known", 0.0] = scored(Y[train])
        for share in SHARES:
            found[name, "unknown", share] = scored(np.where(veil < share, np.nan, Y[train]))
            found[name, "absent", share] = scored(np.where(veil < share, 0, Y[train]))
    return found


def run(scale: Scale) -> Part:
    intro = (
        "Average precision on a held-out third of the rows, whose labels are all known; mean and standard\n"
        f"error over {SEEDS} splits. Random labels of the training rows are hidden, and given\n"
        "as unknown (NaN) or as absent (0). Bandwidth and penalty are tuned with all labels."
    )
    headings = ["all known", *(f"{share:.0%} {what}" for share in SHARES for what in ("unknown", "absent"))]
    part = Part("Unknown labels", ["influence", *headings], intro)
    for data in SETS:
        X, Y = dense(shared(data, scale))
        runs = [measured(X, Y, seed) for seed in range(2 if scale.small else SEEDS)]
        part.section(data)
        for name in models(0):
            columns = [("all known", 0.0), *((w, s) for s in SHARES for w in ("unknown", "absent"))]
            cells = [[run[name, what, share] for run in runs] for what, share in columns]
            part.row(name, *(mean_error(cell, 3) for cell in cells))
    part.notes.append("Mixing of labels is off, since it requires that all labels are known.")
    return part

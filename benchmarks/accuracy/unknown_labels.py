"""How much of the average precision is kept where labels are unknown, beside taking them for absent.

20, 50 and 80% of the labels of the training rows of yeast, scene and emotions are hidden at random. The
figures are the average precision on a third of the rows, which were held out and are wholly known, for sums
and for learned influence: with all labels, with NaN in place of the hidden ones, and with 0. Bandwidth and
penalty are those that all labels of the training rows choose, in all three cases: what differs is what
becomes of hidden labels. Needs the three data sets (SIMLABEL_DATA).
"""

from __future__ import annotations

import numpy as np
from _shared.data import dense, shared
from _shared.report import Part
from _shared.timing import Scale
from sklearn.base import clone

from simlabel import SMLClassifier
from simlabel.metrics import average_precision

SETS, SHARES, SEEDS = ("yeast", "scene", "emotions"), (0.2, 0.5, 0.8), 5


def models(seed: int) -> dict[str, SMLClassifier]:
    """Settings that suit dense features, with bandwidth and penalty open."""
    shared = {"normalizer": ["zscore", "l2"], "random_state": seed, "n_jobs": 1}
    return {
        "sums": SMLClassifier("rbf", **shared),
        "ridge": SMLClassifier("rbf", influence="ridge", **shared),
    }


def measured(X: np.ndarray, Y: np.ndarray, seed: int) -> dict[tuple[str, str, float], float]:
    """Average precision by influence, what hidden labels are taken for, and the share that is hidden."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    test, train = order[: len(X) // 3], order[len(X) // 3 :]
    veil = rng.random((len(train), Y.shape[1]))  # what is hidden of 20% is hidden of 50%
    found = {}
    for name, model in models(seed).items():
        model.fit(X[train], Y[train])
        chosen = {"similarity": model.similarity_, "influence": model.influence_}
        held = clone(model).set_params(**chosen, calibration=None)

        def judged(y: np.ndarray, held: SMLClassifier = held) -> float:
            return average_precision(Y[test], held.fit(X[train], y).label_weights(X[test]))

        found[name, "all known", 0.0] = judged(Y[train])
        for share in SHARES:
            found[name, "unknown", share] = judged(np.where(veil < share, np.nan, Y[train]))
            found[name, "absent", share] = judged(np.where(veil < share, 0, Y[train]))
    return found


def run(scale: Scale) -> Part:
    intro = (
        "Average precision on held-out rows (a third), which are wholly known; mean and standard error over\n"
        f"{SEEDS} splits. Of the training rows so many labels are hidden at random: given as NaN, or taken\n"
        "to be absent. Bandwidth and penalty are held: those that all labels of the training rows choose."
    )
    headings = ["all known", *(f"{share:.0%} {what}" for share in SHARES for what in ("unknown", "absent"))]
    part = Part("Unknown labels", ["influence", *headings], intro)
    for data in SETS:
        X, Y = dense(shared(data, scale))
        runs = [measured(X, Y, seed) for seed in range(2 if scale.small else SEEDS)]
        part.section(data)
        for name in models(0):
            columns = [("all known", 0.0), *((w, s) for s in SHARES for w in ("unknown", "absent"))]
            cells = [np.array([run[name, what, share] for run in runs]) for what, share in columns]
            part.row(name, *(f"{c.mean():.3f} ± {c.std(ddof=1) / np.sqrt(len(c)):.3f}" for c in cells))
    part.notes.append("Mixing of labels is off, since it needs labels that are all known.")
    return part

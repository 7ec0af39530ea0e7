"""Positive-unlabeled data: Debian's tags with some deleted, with unlabeled="unknown" and without.

A share of the tags of the training packages is deleted at random; test packages, of other sources, keep
theirs. Label sets come from thresholds per label for micro F1, which are tuned on the recorded tags: a model
that takes missing tags for absent ones predicts too few. The missing share is given, or estimated. Debian's
own tags are incomplete, too: the estimate with nothing deleted shows by how much, if a tag is certain for
the tenth of its packages with the highest scores.
Needs raw/debtags.csv in the folder SIMLABEL_DATA.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from _shared.report import Part
from _shared.timing import Scale
from accuracy.groups import sampled
from sklearn.model_selection import GroupKFold

from simlabel import SMLClassifier
from simlabel.metrics import average_precision, f1_micro
from simlabel.rules import PerLabel, PositiveUnlabeled

DELETED, FOLDS = (0.0, 0.4, 0.6), 3


def ways(deleted: float) -> dict[str, Any]:
    """Return ways to treat tags that a package does not have, by name."""
    given = {"share given": PositiveUnlabeled(missing=deleted)} if deleted else {}
    return {"absent": None, "unknown": "unknown"} | {f"unknown, {k}": v for k, v in given.items()}


def thinned(Y: sp.csr_array, deleted: float, seed: int) -> sp.csr_array:
    """Return Y with a share of the ones deleted."""
    kept = np.random.default_rng(seed).random(Y.nnz) >= deleted
    rows = np.repeat(np.arange(Y.shape[0]), np.diff(Y.indptr))[kept]
    return sp.csr_array((Y.data[kept], (rows, Y.indices[kept])), shape=Y.shape)


def measured(X: Any, Y: sp.csr_array, train: Any, test: Any, deleted: float, unlabeled: Any) -> list[float]:
    """Return micro F1, average precision, predicted tags of a package, and the assumed missing share."""
    options = {} if unlabeled is None else {"unlabeled": unlabeled}
    rule = PerLabel("f1_micro")
    model = SMLClassifier("cosine", influence="ridge", label_rule=rule, random_state=0, **options)
    model.fit(X[train], thinned(Y[train], deleted, seed=0))
    predicted = model.predict(X[test])
    missing = 0.0 if unlabeled is None else 1.0 - float(np.mean(model.label_frequency_))
    ranked = average_precision(Y[test], model.label_weights(X[test]))
    return [f1_micro(Y[test], predicted), ranked, predicted.sum() / len(test), missing]


def run(scale: Scale) -> Part:
    X, Y, sources = sampled(scale)
    intro = (
        f"{X.shape[0]:,} packages, {Y.shape[1]} tags, {Y.sum() / X.shape[0]:.1f} to a package; the mean of\n"
        f"{FOLDS} folds of whole sources. Tags are deleted from training packages alone."
    )
    shown = "deleted", "missing tags are", "micro F1", "average precision", "predicted tags", "missing"
    part = Part("Tags with only their presence recorded", shown, intro)
    folds = list(GroupKFold(FOLDS, shuffle=True, random_state=0).split(X, groups=sources))
    for deleted in DELETED:
        for name, unlabeled in ways(deleted).items():
            found = np.mean([measured(X, Y, *fold, deleted, unlabeled) for fold in folds], axis=0)
            cells = f"{found[0]:.3f}", f"{found[1]:.3f}", f"{found[2]:.2f}", f"{found[3]:.2f}"
            part.row(f"{deleted:.0%}", name, *cells)
    return part

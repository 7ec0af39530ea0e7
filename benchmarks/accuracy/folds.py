"""Stratified folds compared with those of other packages: deviation of the labels' shares, and seconds.

Ten folds. "labels" is the mean relative deviation of a label's share in a fold from one tenth, without labels
of fewer than ten rows. "rows" is the relative difference between the largest and the smallest fold. Grouped
folds keep the packages of a source together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from _shared.data import Missing, label_rows, shared
from _shared.report import Part
from _shared.timing import Scale, seconds
from accuracy.groups import sampled
from sklearn.model_selection import GroupKFold, KFold

from simlabel.experiments import StratifiedFolds

FOLDS, ROWS, LABELS = 10, 100_000, 500
_SLOW = 20_000  # rows above which a package that takes minutes is skipped


def deviations(Y: sp.csr_array, folds: list[np.ndarray]) -> tuple[float, float]:
    """Return the mean deviation of labels, and that of rows."""
    counts = np.array([np.asarray(Y[test].sum(axis=0)).ravel() for test in folds])
    often = counts.sum(axis=0) >= FOLDS
    shares = counts[:, often] / counts[:, often].sum(axis=0)
    sizes = np.array([len(test) for test in folds])
    return float(np.abs(shares * FOLDS - 1).mean()), float(np.ptp(sizes) / sizes.mean())


def packages() -> dict[str, Any]:
    """Return splitters of other packages that are installed."""
    found = {}
    try:
        from iterstrat.ml_stratifiers import MultilabelStratifiedKFold

        found["iterative-stratification"] = MultilabelStratifiedKFold(FOLDS, shuffle=True, random_state=0)
    except ImportError:
        pass
    try:
        from skmultilearn.model_selection import IterativeStratification

        found["scikit-multilearn"] = IterativeStratification(n_splits=FOLDS, order=1)
    except ImportError:
        pass
    return found


def measured(part: Part, name: str, Y: sp.csr_array, how: str, split: Callable[[], Any]) -> None:
    folds: list[np.ndarray] = []
    taken = seconds(lambda: folds.extend(test for _, test in split()))
    labels, rows = deviations(Y, folds)
    part.row(name, how, f"{labels:.4f}", f"{rows:.4f}", f"{taken:.2f}")


def run(scale: Scale) -> Part:
    columns = ["set", "folds", "labels", "rows", "seconds"]
    part = Part("Stratified folds", columns, __doc__.partition("\n\n")[2])
    sets: dict[str, sp.csr_array] = {}
    for name in ("yeast", "scene", "bibtex", "delicious"):
        try:
            sets[name] = shared(name, scale).Y
        except Missing as missing:
            part.notes.append(f"{name} is skipped: {missing}")
    created = label_rows(scale.rows(ROWS), LABELS, 4.0)
    sets[f"synthetic, {created.shape[0]:,} rows, {LABELS} labels"] = created
    for name, Y in sets.items():
        X, dense = np.empty((Y.shape[0], 1)), Y.toarray()
        measured(part, name, Y, "random", lambda X=X: KFold(FOLDS, shuffle=True, random_state=0).split(X))
        measured(part, name, Y, "simlabel", lambda X=X, Y=Y: StratifiedFolds(FOLDS).split(X, Y))
        for package, folds in packages().items():
            if package == "scikit-multilearn" and Y.shape[0] > _SLOW:
                continue
            measured(part, name, Y, package, lambda folds=folds, X=X, Y=dense: folds.split(X, Y))
    try:
        _, Y, sources = sampled(scale)
    except Missing as missing:
        part.notes.append(f"grouped folds are skipped: {missing}")
        return part
    name, X = f"debtags, {Y.shape[0]:,} rows, by source", np.empty((Y.shape[0], 1))
    grouped = GroupKFold(FOLDS, shuffle=True, random_state=0)
    measured(part, name, Y, "GroupKFold", lambda: grouped.split(X, groups=sources))
    measured(part, name, Y, "simlabel", lambda: StratifiedFolds(FOLDS).split(X, Y, sources))
    return part

"""Stratified folds: how far the labels' shares stray, and seconds, beside other packages' folds.

Ten folds. "labels" is the mean deviation of a label's share in a fold from the tenth that it should be, as a
share of that; labels that fewer than ten rows have are left out. "rows" is the difference between the largest
and the smallest fold, likewise. Grouped folds keep the packages of a source together; the others cannot.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from _shared.data import Missing, label_rows, shared
from _shared.report import Part
from _shared.timing import Scale
from accuracy.groups import sampled
from sklearn.model_selection import GroupKFold, KFold

from simlabel.experiments import StratifiedFolds

FOLDS, MADE, LABELS = 10, 100_000, 500
_SLOW = 20_000  # rows beyond which a package that takes minutes is left out


def strays(Y: sp.csr_array, folds: list[np.ndarray]) -> tuple[float, float]:
    """Deviation of labels, and of rows."""
    counts = np.array([np.asarray(Y[test].sum(axis=0)).ravel() for test in folds])
    often = counts.sum(axis=0) >= FOLDS
    shares = counts[:, often] / counts[:, often].sum(axis=0)
    sizes = np.array([len(test) for test in folds])
    return float(np.abs(shares * FOLDS - 1).mean()), float(np.ptp(sizes) / sizes.mean())


def packages() -> dict[str, Any]:
    """Folds of other packages, those that are installed."""
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
    started = time.perf_counter()
    folds = [test for _, test in split()]
    seconds = time.perf_counter() - started
    labels, rows = strays(Y, folds)
    part.row(name, how, f"{labels:.4f}", f"{rows:.4f}", f"{seconds:.2f}")


def run(scale: Scale) -> Part:
    part = Part(
        "Stratified folds", ["set", "folds", "labels", "rows", "seconds"], __doc__.partition("\n\n")[2]
    )
    sets: dict[str, sp.csr_array] = {}
    for name in ("yeast", "scene", "bibtex", "delicious"):
        try:
            sets[name] = shared(name, scale).Y
        except Missing as missing:
            part.notes.append(f"{name} is left out: {missing}")
    created = label_rows(scale.rows(MADE), LABELS, 4.0)
    sets[f"made, {created.shape[0]:,} rows, {LABELS} labels"] = created
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
        part.notes.append(f"grouped folds are left out: {missing}")
        return part
    name, X = f"debtags, {Y.shape[0]:,} rows, by source", np.empty((Y.shape[0], 1))
    grouped = GroupKFold(FOLDS, shuffle=True, random_state=0)
    measured(part, name, Y, "GroupKFold", lambda: grouped.split(X, groups=sources))
    measured(part, name, Y, "simlabel", lambda: StratifiedFolds(FOLDS).split(X, Y, sources))
    return part

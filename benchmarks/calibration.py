"""Brier score and reliability of probabilities on held-out folds: shares beside calibrated ones.

python benchmarks/calibration.py yeast emotions
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from _timing import machine
from sklearn.model_selection import KFold

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset

OUT = Path(__file__).parent.parent / "docs" / "results"
BINS = np.linspace(0.0, 1.0, 11)


def held_out(data, influence, calibration):
    """Probabilities of all rows, each predicted by a model that has not seen it."""
    proba = np.empty(data.Y.shape)
    for train, test in KFold(5, shuffle=True, random_state=0).split(proba):
        model = SMLClassifier(influence=influence, calibration=calibration, random_state=0)
        proba[test] = model.fit(data.X[train], data.Y[train]).predict_proba(data.X[test])
    return proba


def reliability(proba, truth):
    """Share of true labels in ten bins of the probability; '-' where a bin is empty."""
    which = np.clip(np.digitize(proba.ravel(), BINS) - 1, 0, 9)
    truth = truth.ravel()
    return [f"{truth[which == b].mean():.2f}" if (which == b).any() else "-" for b in range(10)]


def main():
    lines = [
        "# Calibration on held-out folds",
        "",
        "5 folds, seed 0. Reliability: the share of true labels where the",
    ]
    lines += ["probability lies in [0, 0.1), [0.1, 0.2) and so on; calibrated means 0.05, 0.15, ..., 0.95."]
    for name in sys.argv[1:]:
        data = load_dataset(name)
        truth = data.Y.toarray()
        lines += [
            "",
            f"## {name}",
            "",
            "| influence | probabilities | Brier score | reliability |",
            "|---|---|---|---|",
        ]
        for influence in ("uniform", "ridge"):
            for calibration in (None, "loo"):
                proba = held_out(data, influence, calibration)
                brier = np.mean((proba - truth) ** 2)
                kind = "share" if calibration is None else "calibrated"
                lines.append(
                    f"| {influence} | {kind} | {brier:.4f} | {' '.join(reliability(proba, truth))} |"
                )
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / "calibration.md").write_text("\n".join([*lines, "", f"Machine: {machine()}.", ""]))
    print("\n".join(lines))


if __name__ == "__main__":
    main()

"""Draws the pictures of guarantees.md from made-up rows: python docs/guarantees.py."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from simlabel import SMLClassifier
from simlabel.guarantees import CalibrationData, LabelCoverage, Precision, Recall, SetCoverage
from simlabel.similarities import RBF

HERE = Path(__file__).resolve().parent
FREQUENT = (0.0, 0.3, 0.8, 1.3, 1.8)  # the higher, the rarer a label is
LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def drawn(rng: Any, n: int) -> tuple[Any, Any]:
    """Rows, and five labels that features know something about, from frequent to rare."""
    X = rng.normal(size=(n, len(FREQUENT)))
    Y = X + 0.8 * rng.normal(size=X.shape) > FREQUENT
    Y[~Y.any(axis=1), 0] = True
    return X, Y.astype(int)


def fitted(rng: Any, n: int = 300) -> SMLClassifier:
    """A model of rows that are drawn now."""
    return SMLClassifier(RBF(0.5), normalizer=None, random_state=0).fit(*drawn(rng, n))


def repeated(times: int, make: Any, n: int = 300) -> list[tuple[Any, Any]]:
    """Sets of new rows, and their labels, for models of ever new rows."""
    found = []
    for seed in range(times):
        rng = np.random.default_rng(seed)
        model = fitted(rng, n)
        Q, truth = drawn(rng, 200)
        found.append((model.guarantee(make).inside(Q)[1], truth))
    return found


def label_coverage(axes: Any) -> None:
    """Each label's own coverage, beside that of one threshold for all."""
    kinds = {"Recall(0.8): one threshold for all": Recall(0.8), "LabelCoverage(0.8)": LabelCoverage(0.8)}
    for (name, guarantee), marker in zip(kinds.items(), "so", strict=True):
        hits = np.array([(inside & (truth == 1)).sum(axis=0) for inside, truth in repeated(20, guarantee)])
        rows = np.array([truth.sum(axis=0) for _, truth in repeated(20, guarantee)])
        shares = rows.sum(axis=0) / (20 * 200)
        axes.plot(shares, hits.sum(axis=0) / rows.sum(axis=0), marker, label=name)
    axes.axhline(0.8, color="gray", linewidth=0.8)
    axes.set(xlabel="share of the rows that have the label", ylabel="found where it is true", ylim=(0, 1))
    axes.legend()


def kept_at_all_levels(axes: Any, kinds: dict[str, Any], ylabel: str) -> None:
    """Measured against promised, for every level."""
    axes.plot([0.45, 1], [0.45, 1], color="gray", linewidth=0.8)
    for (name, make), marker in zip(kinds.items(), "os", strict=True):
        values = []
        for level in LEVELS:
            found = repeated(20, make(level), 200)
            truths = [[set(np.flatnonzero(row)) for row in truth] for _, truth in found]
            sets = [[tuple(np.flatnonzero(row)) for row in inside] for inside, _ in found]
            values.append([make(level).measure(*pair).value for pair in zip(truths, sets, strict=True)])
        spread = np.std(values, axis=1)
        axes.errorbar(LEVELS, np.mean(values, axis=1), spread, fmt=marker, ms=4, label=name)
    axes.set(xlabel="guaranteed", ylabel=ylabel)
    axes.legend()


def precision(axes: Any) -> None:
    """Precision by the threshold, and the threshold that passes the test."""
    model = fitted(np.random.default_rng(1), 1000)
    Q, truth = drawn(np.random.default_rng(2), 20_000)
    split = CalibrationData(model._model).split
    scores = split.score(Q)
    thresholds = np.linspace(0.05, 0.95, 60)
    for name, (values, Y), style in (
        ("rows held out", (split.loo_scores, split.Y.toarray()), "o"),
        ("20,000 new rows", (scores, truth), "-"),
    ):
        taken = [values >= t for t in thresholds]
        some = [each.any(axis=1) for each in taken]
        shares = [
            (each[rows] & (Y[rows] == 1)).sum(axis=1) / each[rows].sum(axis=1) if rows.any() else [np.nan]
            for each, rows in zip(taken, some, strict=True)
        ]
        axes.plot(thresholds, [np.mean(each) for each in shares], style, ms=3, label=name)
    inside = model.guarantee(Precision(0.7)).inside(Q)[1]
    axes.axvline(scores[inside].min(), color="C3", linewidth=0.8, label="the threshold that is taken")
    axes.axhline(0.7, color="gray", linewidth=0.8)
    axes.set(xlabel="threshold", ylabel="precision of sets that are not empty")
    axes.legend()


def main() -> None:
    """Draw all four."""
    pictures = {
        "label_coverage": label_coverage,
        "set_coverage": lambda axes: kept_at_all_levels(
            axes,
            {
                "all rows": lambda level: SetCoverage(level),
                "Bonferroni": lambda level: SetCoverage(level, method="bonferroni"),
            },
            "all true labels in the set",
        ),
        "recall": lambda axes: kept_at_all_levels(
            axes,
            {
                "all rows": lambda level: Recall(level),
                "3 of 10 rows held out": lambda level: Recall(level, method="split"),
            },
            "share of true labels in the set",
        ),
        "precision": precision,
    }
    for name, draw in pictures.items():
        figure, axes = plt.subplots(figsize=(6, 3.6), layout="tight")
        draw(axes)
        figure.savefig(HERE / f"guarantees_{name}.png", dpi=110)


if __name__ == "__main__":
    main()

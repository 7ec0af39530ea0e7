"""How well planted label errors are found by leave-one-out, beside a random forest and cleanlab.

5% of all labels of scene and yeast are flipped.

The figure is the average precision of ranking every label of every instance by how doubtful it is.
Leave-one-out with learned influence stands beside a random forest's out-of-bag residuals, and beside
cleanlab (extra `bench`), which is fed with the same leave-one-out probabilities. Needs the two data
sets (SIMLABEL_DATA).
"""

from __future__ import annotations

import importlib.util

import numpy as np
from _shared.data import Missing, dense, shared
from _shared.report import Part
from _shared.timing import Scale
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score

from simlabel import SMLClassifier

SHARE, TREES, SEEDS = 0.05, 300, 5
OURS, FOREST = "leave-one-out, ridge", "random forest, out-of-bag residuals"


def left_out_probabilities(X: np.ndarray, Y: np.ndarray, influence: str) -> np.ndarray:
    model = SMLClassifier("laplacian", normalizer=["zscore", "l2"], influence=influence, tuning="loo")
    frame = model.fit(X, Y).suspicious_labels(top=None)
    probabilities = np.empty(Y.shape)
    probabilities[frame["id"], frame["label"]] = frame["probability"]
    return probabilities


def by_cleanlab(probabilities: np.ndarray, Y: np.ndarray, *, adjusted: bool) -> np.ndarray:
    from cleanlab.multilabel_classification.rank import get_label_quality_scores_per_class

    labels = [np.flatnonzero(row).tolist() for row in Y]
    return -get_label_quality_scores_per_class(labels, probabilities, adjust_pred_probs=adjusted)


def doubts(X: np.ndarray, Y: np.ndarray, seed: int) -> dict[str, np.ndarray]:
    """How doubtful each label of each instance is, by each way."""
    ridge, plain = (left_out_probabilities(X, Y, influence) for influence in ("ridge", "uniform"))
    forest = RandomForestClassifier(TREES, oob_score=True, n_jobs=-1, random_state=seed).fit(X, Y)
    trees = forest.oob_decision_function_[:, 1, :]
    return {
        OURS: np.abs(Y - ridge),
        "leave-one-out, plain sums": np.abs(Y - plain),
        FOREST: np.abs(Y - trees),
        "cleanlab on the ridge probabilities": by_cleanlab(ridge, Y, adjusted=False),
        "cleanlab on the same, adjusted for rare labels": by_cleanlab(ridge, Y, adjusted=True),
        "cleanlab on the forest's, adjusted for rare labels": by_cleanlab(trees, Y, adjusted=True),
    }


def figures(name: str, scale: Scale) -> dict[str, list[float]]:
    X, Y = dense(shared(name, scale))
    found: dict[str, list[float]] = {}
    for seed in range(SEEDS):
        flipped = np.random.default_rng(seed).random(Y.shape) < SHARE
        for way, doubt in doubts(X, np.where(flipped, 1 - Y, Y), seed).items():
            found.setdefault(way, []).append(average_precision_score(flipped.ravel(), doubt.ravel()))
    return found


def in_words(values: list[float] | np.ndarray, sign: str = "") -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):{sign}.3f} ± {error:.3f}"


def run(scale: Scale) -> Part:
    if not importlib.util.find_spec("cleanlab"):
        raise Missing("it needs cleanlab; the extra `bench` installs it.")
    sets = {name: figures(name, scale) for name in ("scene", "yeast")}
    intro = (
        f"{SHARE:.0%} of all labels are flipped; average precision of ranking every label of every instance\n"
        f"by how doubtful it is. Mean and standard error over {SEEDS} seeds; the last row is paired."
    )
    part = Part("Planted label errors", ["way of finding them", *sets], intro)
    for way in sets["scene"]:
        part.row(way, *(in_words(sets[name][way]) for name in sets))
    ahead = [in_words(np.subtract(each[OURS], each[FOREST]), "+") for each in sets.values()]
    part.row("leave-one-out, ridge, less the forest", *ahead)
    score = "With its default score, the probability of what was given"
    part.notes.append(f"{score}, cleanlab ranks as `suspicious_labels`\ndoes.")
    return part

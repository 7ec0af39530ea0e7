"""How well planted label errors are found by leave-one-out, beside a random forest and cleanlab.

5% of all labels of scene, yeast and emotions are flipped.

The figures are the average precision of ranking every label of every instance by how doubtful it is, and
the share of planted errors among the first 100. `suspicious_labels` with all defaults and with settings
that suit the data stands beside a random forest's out-of-bag residuals, and beside
cleanlab (extra `bench`), which is fed with the same leave-one-out probabilities. Needs the three data
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

SHARE, TREES, SEEDS, FIRST = 0.05, 300, 5, 100
OURS, FOREST = "leave-one-out, ridge", "random forest, out-of-bag residuals"


def left_out_probabilities(model: SMLClassifier, X: np.ndarray, Y: np.ndarray) -> np.ndarray:
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
    suited = SMLClassifier("laplacian", normalizer=["zscore", "l2"], influence="ridge", tuning="loo")
    ridge = left_out_probabilities(suited, X, Y)
    defaults = left_out_probabilities(SMLClassifier(random_state=seed), X, Y)
    forest = RandomForestClassifier(TREES, oob_score=True, n_jobs=-1, random_state=seed).fit(X, Y)
    trees = forest.oob_decision_function_[:, 1, :]
    return {
        OURS: np.abs(Y - ridge),
        "all defaults": np.abs(Y - defaults),
        FOREST: np.abs(Y - trees),
        "cleanlab on the ridge probabilities": by_cleanlab(ridge, Y, adjusted=False),
        "cleanlab on the same, adjusted for rare labels": by_cleanlab(ridge, Y, adjusted=True),
        "cleanlab on the forest's, adjusted for rare labels": by_cleanlab(trees, Y, adjusted=True),
    }


def figures(name: str, scale: Scale) -> dict[str, np.ndarray]:
    """For each way, average precision and precision among the first, (n_seeds, 2)."""
    X, Y = dense(shared(name, scale))
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(SEEDS):
        flipped = np.random.default_rng(seed).random(Y.shape) < SHARE
        for way, doubt in doubts(X, np.where(flipped, 1 - Y, Y), seed).items():
            first = np.argsort(-doubt, axis=None, kind="stable")[:FIRST]
            whole = average_precision_score(flipped.ravel(), doubt.ravel())
            found.setdefault(way, []).append((whole, flipped.ravel()[first].mean()))
    return {way: np.array(values) for way, values in found.items()}


def in_words(values: list[float] | np.ndarray, sign: str = "") -> str:
    error = np.std(values, ddof=1) / np.sqrt(len(values))
    return f"{np.mean(values):{sign}.3f} ± {error:.3f}"


def run(scale: Scale) -> Part:
    if not importlib.util.find_spec("cleanlab"):
        raise Missing("it needs cleanlab; the extra `bench` installs it.")
    sets = {name: figures(name, scale) for name in ("scene", "yeast", "emotions")}
    intro = (
        f"{SHARE:.0%} of all labels are flipped; average precision of ranking every label of every instance\n"
        f"by how doubtful it is, and precision among the first {FIRST}.\n"
        f"Mean and standard error over {SEEDS} seeds; the last row is paired."
    )
    headings = [heading for name in sets for heading in (name, f"{name}, first {FIRST}")]
    part = Part("Planted label errors", ["way of finding them", *headings], intro)
    for way in sets["scene"]:
        part.row(way, *(in_words(column) for each in sets.values() for column in each[way].T))
    ahead = [in_words(column, "+") for each in sets.values() for column in (each[OURS] - each[FOREST]).T]
    part.row("leave-one-out, ridge, less the forest", *ahead)
    score = "With its default score, the probability of what was given"
    part.notes.append(f"{score}, cleanlab ranks as `suspicious_labels`\ndoes.")
    return part

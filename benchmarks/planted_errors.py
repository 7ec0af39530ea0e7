"""How well planted label errors are found: 5% of all labels of scene and yeast are flipped.

The figure is the average precision of ranking every label of every instance by how doubtful it is.
Leave-one-out with learned influence stands beside a random forest's out-of-bag residuals. Needs the
two data sets (SIMLABEL_DATA).
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import average_precision_score

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset

SHARE, TREES = 0.05, 300


def by_leave_one_out(X: np.ndarray, Y: np.ndarray, influence: str) -> np.ndarray:
    model = SMLClassifier("laplacian", normalizer=["zscore", "l2"], influence=influence, tuning="loo")
    frame = model.fit(X, Y).suspicious_labels(top=None)
    doubt = np.empty(Y.shape)
    doubt[frame["id"], frame["label"]] = frame["suspicion"]
    return doubt


def by_forest(X: np.ndarray, Y: np.ndarray) -> np.ndarray:
    forest = RandomForestClassifier(TREES, oob_score=True, n_jobs=-1, random_state=0).fit(X, Y)
    return np.abs(Y - forest.oob_decision_function_[:, 1, :])


def main() -> None:
    table = Table("set", "leave-one-out, ridge", "leave-one-out, plain sums", "random forest, out of bag")
    for name in ("scene", "yeast"):
        data = load_dataset(name)
        X, Y = np.asarray(data.X, dtype=np.float64), np.asarray(data.Y.toarray(), dtype=int)
        flipped = np.random.default_rng(0).random(Y.shape) < SHARE
        noisy = np.where(flipped, 1 - Y, Y)
        doubts = (
            by_leave_one_out(X, noisy, "ridge"),
            by_leave_one_out(X, noisy, "uniform"),
            by_forest(X, noisy),
        )
        figures = [average_precision_score(flipped.ravel(), doubt.ravel()) for doubt in doubts]
        table.add_row(name, *(f"{figure:.3f}" for figure in figures))
    Console(width=110).print(table)


if __name__ == "__main__":
    main()

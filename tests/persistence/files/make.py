"""Writes model files, with what they predict: run once for each format, by the version that brings it."""

import json
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from simlabel import SMLClassifier
from simlabel.influence import Ridge
from simlabel.label_rules import PerLabel
from simlabel.similarities import RBF, Cosine, Laplacian, Linear, OnColumns
from simlabel.sketching import Condense
from simlabel.weightings import TopK

NAMES = np.array(["sea", "sunset", "trees", "snow", "fog"])


def data(rng, n=48, n_features=6):
    centres = rng.normal(size=(5, n_features)) * 2
    Y = (rng.random((n, 5)) < 0.35).astype(np.int8)
    Y[np.arange(n), rng.integers(0, 5, n)] = 1
    X = Y @ centres + rng.normal(size=(n, n_features)) * 0.4
    return X.round(3), Y


def main(folder: Path) -> None:
    rng = np.random.default_rng(7)
    X, Y = data(rng)
    sets = [set(NAMES[row == 1].tolist()) for row in Y]
    S = sp.csr_array(np.maximum(X, 0.0))
    Q, _ = data(rng, 12)
    QS = sp.csr_array(np.maximum(Q, 0.0))

    MODELS = {
        "plain": (SMLClassifier(RBF(4.0), normalizer=["zscore", "l2"], random_state=0), X, Y, Q),
        "sets": (
            SMLClassifier(Laplacian(0.5), normalizer="zscore", calibration="loo", random_state=0),
            X,
            sets,
            Q,
        ),
        "ridge_mixing": (
            SMLClassifier(
                RBF(2.0),
                normalizer="zscore",
                influence=Ridge(0.1, mixing=True),
                label_rule="auto",
                random_state=0,
            ),
            X,
            sets,
            Q,
        ),
        "sparse": (
            SMLClassifier(
                "cosine",
                influence="label_mean",
                weighting=TopK(9),
                label_rule=PerLabel("hamming_loss"),
                random_state=0,
            ),
            S,
            sp.csr_array(Y),
            QS,
        ),
        "composite": (
            SMLClassifier(
                OnColumns(RBF(1.0), [0, 1, 2]) + Cosine() * Linear(),
                normalizer="zscore",
                label_rule="threshold",
                random_state=0,
            ),
            X,
            sets,
            Q,
        ),
        "sketch": (SMLClassifier(RBF(4.0), normalizer="l2", sketch=Condense(20), random_state=0), X, Y, Q),
        "single": (
            SMLClassifier("rbf", normalizer="minmax", calibration="loo", tuning="loo", random_state=0),
            X,
            NAMES[Y.argmax(axis=1)],
            Q,
        ),
    }

    folder.mkdir(parents=True, exist_ok=True)
    for name, (model, rows, y, queries) in MODELS.items():
        ids = [f"picture {i}" for i in range(len(Y))] if name == "sets" else None
        model.fit(rows, y, ids=ids)
        model.save(folder / f"{name}.simlabel")
        dense = queries.toarray() if sp.issparse(queries) else queries
        expected = {
            "sparse": bool(sp.issparse(queries)),
            "queries": dense.round(3).tolist(),
            "sets": [[str(label) for label in labels] for labels in model.predict_sets(queries)],
            "scores": model.label_weights(queries).tolist(),
            "probabilities": model.predict_proba(queries).tolist(),
        }
        F = np.atleast_2d(model.label_weights(queries))
        gaps = np.diff(np.sort(F, axis=1), axis=1) / np.abs(F).max()
        print(
            name, (folder / f"{name}.simlabel").stat().st_size, "smallest gap", gaps.min(), model.label_rule_
        )
        (folder / f"{name}.json").write_text(json.dumps(expected))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

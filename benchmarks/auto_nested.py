"""AutoSMLClassifier by nested cross-validation, beside the paper's SML and common rivals.

    python benchmarks/auto_nested.py paper            # yeast and image, 10 folds, beside the paper
    python benchmarks/auto_nested.py rivals           # emotions, scene, flags, bibtex, beside scikit-learn

Every choice is made inside the training folds. Finished folds are kept in a folder, so that a run that was
stopped goes on; the tables go to docs/results.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path

import numpy as np
from _timing import machine
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import KFold
from sklearn.neighbors import KNeighborsClassifier

from simlabel import AutoSMLClassifier, SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.experiments import PUBLISHED
from simlabel.metrics import CRITERIA, evaluate

SEED = 0
OUT = Path(__file__).parent.parent / "docs" / "results"


def scores_of(model, X):
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    proba = model.predict_proba(X)
    if isinstance(proba, list):  # one (n, 2) per label; (n, 1) where only one value was seen
        columns = zip(proba, model.classes_, strict=True)
        return np.column_stack(
            [p[:, 1] if p.shape[1] == 2 else np.full(len(p), float(c[0])) for p, c in columns]
        )
    return proba


def run_fold(name, make, X, Y, train, test, fold, dense):
    path = OUT / "folds" / f"{name}-{fold}.json"
    if path.exists():
        return json.loads(path.read_text())
    started = time.perf_counter()
    labels = Y[train].toarray() if dense else Y[train]
    model = make().fit(X[train], labels)
    result = evaluate(Y[test], model.predict(X[test]), scores_of(model, X[test])).values
    result["seconds"] = time.perf_counter() - started
    if isinstance(model, AutoSMLClassifier):
        print(
            name, fold, f"{result['seconds']:.0f} s", " ".join(str(model.best_estimator_).split()), flush=True
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result))
    return result


def cross_validated(data, algorithm, make, dense=False):
    folds = list(KFold(10, shuffle=True, random_state=SEED).split(np.zeros(data.n_rows)))
    key = f"{data.name}-{algorithm}"
    return [
        run_fold(key, make, data.X, data.Y, train, test, i, dense) for i, (train, test) in enumerate(folds)
    ]


def figure(rows, name):
    values = np.array([row[name] for row in rows])
    return values.mean(), values.std(ddof=1), values.std(ddof=1) / np.sqrt(len(values))


def paper():
    lines = ["# AutoSMLClassifier and plain SML beside the paper's SML", ""]
    lines += [
        "Nested 10-fold cross-validation: mean ± standard deviation (standard error). Every choice is made"
    ]
    lines += [
        "inside the training folds; seed 0. *beyond*: better than the published mean by more than one",
        "standard error.",
    ]
    for name in ("yeast", "image"):
        data = load_dataset(name)
        auto = cross_validated(data, "AutoSML", lambda: AutoSMLClassifier(random_state=SEED))
        plain = cross_validated(data, "SML", lambda: SMLClassifier(random_state=SEED))
        lines += [
            "",
            f"## {name}",
            "",
            "| criterion | paper's SML | plain SML | within one std | AutoSML | better | beyond |",
        ]
        lines += ["|---|---|---|---|---|---|---|"]
        for criterion, about in CRITERIA.items():
            if criterion not in PUBLISHED[name]["SML"]:
                continue
            published = PUBLISHED[name]["SML"][criterion]
            mean, std, error = figure(auto, criterion)
            plain_mean, plain_std, _ = figure(plain, criterion)
            gain = (mean - published.mean) * (1 if about.higher_is_better else -1)
            lines.append(
                f"| {about.title} | {published} | {plain_mean:.3f} ± {plain_std:.3f} "
                f"| {'yes' if published.agrees(plain_mean) else 'no'} | {mean:.4f} ± {std:.4f} ({error:.4f}) "
                f"| {'yes' if gain > 0 else 'NO'} | {'yes' if gain > error else 'no'} |"
            )
    write("auto_paper.md", lines)


def rivals():
    lines = ["# AutoSMLClassifier beside scikit-learn's strongest", ""]
    lines += ["10-fold cross-validation on the same folds, mean (standard error); seed 0, 300 trees."]
    makers = {
        "AutoSML": lambda: AutoSMLClassifier(random_state=SEED),
        "RandomForest": lambda: RandomForestClassifier(300, n_jobs=2, random_state=SEED),
        "ExtraTrees": lambda: ExtraTreesClassifier(300, n_jobs=2, random_state=SEED),
        "KNeighbors": lambda: KNeighborsClassifier(10),
    }
    for name in ("flags", "emotions", "scene", "bibtex"):
        data = load_dataset(name)
        lines += ["", f"## {name}", "", "| criterion | " + " | ".join(makers) + " |", "|---" * 5 + "|"]
        found = {
            algorithm: cross_validated(data, algorithm, make, dense=algorithm != "AutoSML")
            for algorithm, make in makers.items()
        }
        for criterion in ("hamming_loss", "one_error", "coverage", "ranking_loss", "average_precision"):
            cells = ["{0:.4f} ({2:.4f})".format(*figure(rows, criterion)) for rows in found.values()]
            lines.append(f"| {CRITERIA[criterion].title} | " + " | ".join(cells) + " |")
        write("auto_rivals.md", lines)


def write(name, lines):
    OUT.mkdir(parents=True, exist_ok=True)
    (OUT / name).write_text("\n".join([*lines, "", f"Machine: {machine()}.", ""]))
    print("\n".join(lines))


if __name__ == "__main__":
    {"paper": paper, "rivals": rivals}[sys.argv[1]]()

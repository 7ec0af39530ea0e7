"""Average precision against throughput for every sampler and sketch, on goemotions_svd120.

Trained on the training split, measured on the test split; unit rows, RBF with gamma 8. Needs the
data set: SIMLABEL_DATA names the folder.
"""

from __future__ import annotations

import matplotlib
import numpy as np
from _report import FOLDER, publish
from _timing import alternate
from sklearn.preprocessing import normalize

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.metrics import average_precision
from simlabel.sampling import Balanced, Distribution, Uniform
from simlabel.similarities import RBF
from simlabel.sketching import AutoSketch, Condense, Nystroem, RandomFeatures

matplotlib.use("Agg")
SIZES = (300, 1000, 3000)


def contestants() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {"exact": {}}
    for n in SIZES:
        found[f"sampler uniform {n}"] = {"sampler": Uniform(n)}
        found[f"sampler balanced {n}"] = {"sampler": Balanced(n)}
        found[f"sampler importance {n}"] = {"sampler": Distribution(lambda X, Y: 1.0 + Y.sum(axis=1), n)}
        found[f"condense {n}"] = {"sketch": Condense(n)}
        found[f"nystroem {n}"] = {"sketch": Nystroem(n)}
        found[f"ridge on {n} sampled"] = {"sampler": Uniform(n), "influence": "ridge"}
    found["random_features 2048"] = {"sketch": RandomFeatures(2048)}
    found["auto"] = {"sketch": AutoSketch()}
    return found


def main() -> None:
    data = load_dataset("goemotions_svd120")
    X, Y, split = normalize(data.X).astype(np.float32), data.Y, data.split
    train, Q, truth = split == 0, X[split == 2], Y[split == 2]
    models, rows, points, refused = {}, [], [], []
    for name, stages in contestants().items():
        try:
            models[name] = SMLClassifier(RBF(8.0), normalizer=None, random_state=0, **stages).fit(
                X[train], Y[train]
            )
        except ValueError as error:
            refused.append(f"{name} was refused: {error}")
    seconds = alternate(
        {name: lambda model=model: model.decision_function(Q) for name, model in models.items()}, rounds=5
    )
    exact = average_precision(truth, models["exact"].decision_function(Q))
    for name, model in models.items():
        precision = average_precision(truth, model.decision_function(Q))
        gain = seconds["exact"] / seconds[name]
        rows.append([name, f"{precision:.4f}", f"{exact - precision:+.4f}", f"{gain:.1f}"])
        points.append((gain, precision, name))
    columns = ["what", "average precision", "lost", "throughput / exact"]
    publish("sketches", "Samplers and sketches on goemotions_svd120", columns, rows, refused)
    plot(points)


def plot(points: list[tuple[float, float, str]]) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 5), layout="constrained")
    kinds = sorted({name.rstrip("0123456789 ") for _, _, name in points})
    for kind in kinds:
        some = sorted((x, y) for x, y, name in points if name.rstrip("0123456789 ") == kind)
        axes.plot(*zip(*some, strict=True), "o-", label=kind)
    axes.set(xscale="log", xlabel="throughput, times the exact sums", ylabel="average precision")
    axes.legend(fontsize="small")
    FOLDER.mkdir(parents=True, exist_ok=True)
    figure.savefig(FOLDER / "sketches.svg")


if __name__ == "__main__":
    main()

"""Average precision against throughput for every sampler and sketch, on goemotions_svd120.

Trained on the training split; unit rows, RBF with gamma 8. The test split is looked at once, here;
what a sketch does was decided on the dev split.
"""

from __future__ import annotations

import importlib.util

import numpy as np
from _data import shared
from _report import Figure, Part
from _timing import Scale, alternate
from sklearn.preprocessing import normalize

from simlabel import SMLClassifier
from simlabel.engines import ANN
from simlabel.influence import Ridge
from simlabel.metrics import average_precision
from simlabel.sampling import Balanced, Distribution, Uniform
from simlabel.similarities import RBF
from simlabel.sketching import AutoSketch, Condense, Nystroem, RandomFeatures
from simlabel.weightings import TopK

GAMMA, SIZES, TOLERANCE, TOP = 8.0, (300, 1000, 3000), 0.015, 50


def contestants() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {"exact": {}}
    for n in SIZES:
        found[f"sampler, uniform {n}"] = {"sampler": Uniform(n)}
        found[f"sampler, balanced {n}"] = {"sampler": Balanced(n)}
        found[f"sampler, importance {n}"] = {"sampler": Distribution(lambda X, Y: 1.0 + Y.sum(axis=1), n)}
        found[f"condense {n}"] = {"sketch": Condense(n)}
        found[f"nystroem {n}"] = {"sketch": Nystroem(n)}
        if n <= 1000:
            found[f"ridge, inducing {n}"] = {"influence": Ridge(inducing=n), "similarity": RBF()}
    found["condense 100"] = {"sketch": Condense(100)}
    top = {"weighting": TopK(TOP), "influence": "uniform"}
    found[f"top {TOP}, all pairs"] = top
    if importlib.util.find_spec("faiss"):
        found[f"top {TOP} through an index"] = top | {"engine": ANN(recall=0.95)}
    found["sampler, per query 1000"] = {"sampler": Uniform(1000, per_query=True)}
    found["random features 2048"] = {"sketch": RandomFeatures(2048)}
    found["random features 8192"] = {"sketch": RandomFeatures(8192)}
    found["auto"] = {"sketch": AutoSketch(TOLERANCE)}
    return found


def run(scale: Scale) -> Part:
    data = shared("goemotions_svd120")
    X, Y, split = normalize(data.X).astype(np.float32), data.Y, data.split
    train = np.flatnonzero(split == 0)[: scale.rows(43_410)]
    test = np.flatnonzero(split == 2)[: scale.rows(5_427)]
    Q, truth = X[test], Y[test]
    part = Part(
        "sketches",
        f"Samplers and sketches on goemotions_svd120: {len(train):,} references, RBF, gamma {GAMMA:.0f}",
        ["what", "average precision", "lost", "throughput / exact"],
    )
    models = {}
    for name, stages in contestants().items():
        try:
            stages = {"similarity": RBF(GAMMA), "normalizer": None, "random_state": 0} | stages
            model = SMLClassifier(**stages)
            models[name] = model.fit(X[train], Y[train])
        except ValueError as error:
            part.notes.append(f"{name} was refused: {error}\n")
    runs = {name: lambda model=model: model.decision_function(Q) for name, model in models.items()}
    seconds = alternate(runs, scale.rounds(5))
    precision = {name: average_precision(truth, model.decision_function(Q)) for name, model in models.items()}
    gains = {name: seconds["exact"] / s for name, s in seconds.items()}
    for name, value in precision.items():
        lost = precision["exact"] - value
        part.rows.append([name, f"{value:.4f}", f"{lost:+.4f}", f"{gains[name]:.1f}"])
    auto = models["auto"].plan_
    part.notes.append(f"auto, with a tolerance of {TOLERANCE} checked on leave-one-out, took: {auto.how}.")
    index = f"top {TOP} through an index"
    if index in models:
        part.notes.append(f"The index: {models[index].plan_.reasons[0]}.")
    part.figures += figures(precision, gains)
    part.plots["sketches.svg"] = plot([(gains[name], precision[name], name) for name in models])
    return part


def figures(precision: dict[str, float], gains: dict[str, float]) -> list[Figure]:
    exact = precision["exact"]
    found = []
    for name, wanted in (
        ("condense 300", "40, loss at most 0.015"),
        ("condense 1000", "40, loss at most 0.015"),
        ("auto", "loss at most 0.015"),
        ("ridge, inducing 300", "40, better than exact"),
        ("ridge, inducing 1000", "40, better than exact"),
    ):
        if name in precision:
            value = f"{gains[name]:.0f}, AP {precision[name]:.4f}"
            found.append(Figure(f"{name}: throughput", value, f"exact plain sums, AP {exact:.4f}", wanted))
    return found


def plot(points: list[tuple[float, float, str]]):
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for kind in sorted({name.rstrip("0123456789 ") for _, _, name in points}):
        some = sorted(
            (x, y)
            for x, y, name in points
            if name.rstrip("0123456789 ").startswith(kind) and name.rstrip("0123456789 ") == kind
        )
        axes.plot(*zip(*some, strict=True), "o-", label=kind)
    axes.set(xscale="log", xlabel="throughput, times the exact sums", ylabel="average precision")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure

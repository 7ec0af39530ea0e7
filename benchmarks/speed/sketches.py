"""Throughput and average precision of samplers and sketches compared with exact sums, on goemotions_svd120.

Fitted on the training split; unit rows, RBF with gamma 8. The sketches were developed on the dev split; the
test split is used here only.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from _shared.data import shared
from _shared.report import Part
from _shared.timing import Scale, alternate
from sklearn.preprocessing import normalize

from simlabel import SMLClassifier
from simlabel.metrics import average_precision
from simlabel.model.sketches import AutoSketch, Condense, RandomFeatures
from simlabel.ridge import Ridge
from simlabel.similarities import RBF
from simlabel.sums import Balanced, Distribution, TopK, UniformSampler

GAMMA, SIZES, TOLERANCE, TOP = 8.0, (300, 1000, 3000), 0.015, 50
TARGETS = {
    "condense 300": "40, loss at most 0.015",
    "condense 1000": "40, loss at most 0.015",
    "auto": "loss at most 0.015",
    "ridge, inducing 300": "40, better than exact",
    "ridge, inducing 1000": "40, better than exact",
}


def variants() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {"exact": {}}
    for n in SIZES:
        found[f"sampler, uniform {n}"] = {"sampler": UniformSampler(n)}
        found[f"sampler, balanced {n}"] = {"sampler": Balanced(n)}
        found[f"sampler, importance {n}"] = {"sampler": Distribution(lambda X, Y: 1.0 + Y.sum(axis=1), n)}
        found[f"condense {n}"] = {"sketch": Condense(n)}
        if n <= 1000:
            found[f"ridge, inducing {n}"] = {"influence": Ridge(inducing=n), "similarity": RBF()}
    found["condense 100"] = {"sketch": Condense(100)}
    found[f"top {TOP}"] = {"weighting": TopK(TOP), "influence": "uniform"}
    found["sampler, per query 1000"] = {"sampler": UniformSampler(1000, per_query=True)}
    found["random features 2048"] = {"sketch": RandomFeatures(2048)}
    found["random features 8192"] = {"sketch": RandomFeatures(8192)}
    found["auto"] = {"sketch": AutoSketch(TOLERANCE)}
    return found


def run(scale: Scale) -> Part:
    data = shared("goemotions_svd120", scale)
    X, Y = normalize(data.X).astype(np.float32), data.Y
    train, test = (np.flatnonzero(data.split == which) for which in (0, 2))
    Q, truth = X[test], Y[test]
    on = f"{len(train):,} references, RBF, gamma {GAMMA:.0f}"
    title = f"Samplers and sketches on goemotions_svd120: {on}"
    part = Part(title, ["what", "average precision", "lost", "throughput / exact"])
    models = {}
    for name, stages in variants().items():
        try:
            stages = {"similarity": RBF(GAMMA), "normalizer": None, "random_state": 0} | stages
            models[name] = SMLClassifier(**stages).fit(X[train], Y[train])
        except ValueError as error:
            part.notes.append(f"{name} is not supported: {error}")
    runs = {name: partial(model.decision_function, Q) for name, model in models.items()}
    seconds = alternate(runs, scale.rounds(5))
    precision = {name: average_precision(truth, work()) for name, work in runs.items()}
    gains = {name: seconds["exact"] / s for name, s in seconds.items()}
    for name, value in precision.items():
        lost = precision["exact"] - value
        part.row(name, f"{value:.4f}", f"{lost:+.4f}", f"{gains[name]:.1f}")
    auto = models["auto"].plan_
    part.notes.append(f"auto, with a tolerance of {TOLERANCE} checked by leave-one-out, chose: {auto.how}.")
    for name, target in TARGETS.items():
        if name in precision:
            value = f"{gains[name]:.0f}, AP {precision[name]:.4f}"
            reference = f"exact plain sums, AP {precision['exact']:.4f}"
            part.result(f"{name}: throughput", value, reference, target)
    part.plots["sketches.svg"] = plot([(gains[name], precision[name], name) for name in models])
    return part


def plot(points: list[tuple[float, float, str]]):
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for kind in sorted({name.rstrip("0123456789 ") for _, _, name in points}):
        some = sorted((x, y) for x, y, name in points if name.rstrip("0123456789 ") == kind)
        axes.plot(*zip(*some, strict=True), "o-", label=kind)
    axes.set(xscale="log", xlabel="throughput, times the exact sums", ylabel="average precision")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")
    return figure

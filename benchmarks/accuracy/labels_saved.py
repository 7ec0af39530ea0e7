"""Learning curves: labeling the rows that `suggest` picks compared with random rows, on emotions and scene.

A third of the rows is for testing, at most 600 others are the pool; a tenth of it is labeled at the
start, and a twentieth is added in every round. Ten seeds; average precision on the test rows. `suggest`
was developed on yeast and image with other seeds.
"""

from __future__ import annotations

import joblib
import matplotlib.pyplot as plt
import numpy as np
from _shared.data import dense, shared
from _shared.report import Part, mean_error
from _shared.timing import Scale

from simlabel import SMLClassifier
from simlabel.metrics import average_precision

SETS, INFLUENCES, PICKERS = ("emotions", "scene"), ("uniform", "ridge"), ("suggest", "random")
SEEDS, POOL, ROUNDS = range(1000, 1010), 600, 18
SHARES = 0.1 + 0.05 * np.arange(ROUNDS + 1)
SHOWN = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def curve(X: np.ndarray, Y: np.ndarray, influence: str, picker: str, seed: int) -> list[float]:
    """Return the average precision on the test rows for each labeled share of the pool."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    test, pool = order[: len(X) // 3], order[len(X) // 3 :][:POOL]
    counts = np.round(SHARES * len(pool)).astype(int)
    known, rest, values = pool[: counts[0]], pool[counts[0] :], []
    for more in [*np.diff(counts), 0]:
        model = SMLClassifier(
            normalizer=["zscore", "l2"], influence=influence, tuning="loo", n_jobs=1, random_state=0
        ).fit(X[known], Y[known])
        values.append(average_precision(Y[test], model.decision_function(X[test])))
        if more:
            suggested = picker == "suggest"
            picked = model.suggest(X[rest], more) if suggested else rng.choice(len(rest), more, replace=False)
            known, rest = np.concatenate([known, rest[picked]]), np.delete(rest, picked)
    return values


def needed(suggested: np.ndarray, goal: float) -> float:
    """Return the labeled share at which the suggested curve first reaches a goal; NaN if it never does."""
    above = np.flatnonzero(suggested >= goal)
    if not len(above):
        return float("nan")
    i = int(above[0])
    if i == 0:
        return float(SHARES[0])
    return float(np.interp(goal, suggested[i - 1 : i + 1], SHARES[i - 1 : i + 1]))


def compared(part: Part, suggested: np.ndarray, at_random: np.ndarray) -> None:
    """Add a row for each share that is shown; curves are (n_seeds, n_shares)."""
    ours, theirs = suggested.mean(axis=0), at_random.mean(axis=0)
    for share in SHOWN:
        i = int(np.argmin(np.abs(SHARES - share)))
        ratio = needed(ours, theirs[i]) / share
        difference = mean_error(suggested[:, i] - at_random[:, i], 3, "+")
        part.row(f"{share:.0%}", f"{ours[i]:.3f}", f"{theirs[i]:.3f}", difference, f"{ratio:.0%}")


def run(scale: Scale) -> Part:
    intro = (
        f"Average precision on held-out rows, mean of {len(SEEDS)} seeds, by the share of a pool of {POOL}\n"
        "(emotions: 396) instances that is labeled. The difference is paired, with its standard error.\n"
        "The last column is the number of labels that `suggest` needs for the same average precision,\n"
        "relative to random rows."
    )
    shown = "labeled", "suggest", "random", "difference", "labels needed"
    part = Part("Which to label next", shown, intro)
    part.plots["labels_saved.png"], axes = plt.subplots(1, len(SETS), figsize=(10, 4), layout="tight")
    seeds = SEEDS[: 2 if scale.small else None]
    for name, ax in zip(SETS, axes, strict=True):
        X, Y = dense(shared(name, scale))
        tasks = [(influence, picker) for influence in INFLUENCES for picker in PICKERS]
        runs = [joblib.delayed(curve)(X, Y, *task, seed) for task in tasks for seed in seeds]
        found = np.array(joblib.Parallel(n_jobs=2)(runs)).reshape(len(tasks), len(seeds), -1)
        curves = dict(zip(tasks, found, strict=True))
        for influence in INFLUENCES:
            pair = [curves[influence, picker] for picker in PICKERS]
            part.section(f"{name}, influence={influence!r}")
            compared(part, *pair)
            for picker, values, style in zip(PICKERS, pair, ("-", ":"), strict=True):
                color = "C0" if influence == "ridge" else "C1"
                ax.plot(SHARES, values.mean(axis=0), style, color=color, label=f"{influence}, {picker}")
        ax.set(title=name, xlabel="share of the pool that is labeled", ylabel="average precision")
        ax.legend()
    return part

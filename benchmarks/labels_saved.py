"""Learning curves: labelling what `suggest` picks beside labelling at random, on emotions and scene.

A third of the rows is for testing, at most 600 others are the pool; a tenth of it is labelled at the
start, and a twentieth is added in every round. Ten seeds; average precision on the test rows. How
`suggest` picks was decided on yeast and image with other seeds. Writes a table and a figure to
docs/results. Needs the two data sets (SIMLABEL_DATA).
"""

from __future__ import annotations

from pathlib import Path

import joblib
import matplotlib as mpl
import numpy as np

mpl.use("Agg")
import matplotlib.pyplot as plt

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.metrics import average_precision

OUT = Path(__file__).parent.parent / "docs" / "results"
SETS, INFLUENCES, PICKERS = ("emotions", "scene"), ("uniform", "ridge"), ("suggest", "random")
SEEDS, POOL, ROUNDS = range(1000, 1010), 600, 18
SHARES = 0.1 + 0.05 * np.arange(ROUNDS + 1)
SHOWN = (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)


def curve(X: np.ndarray, Y: np.ndarray, influence: str, picker: str, seed: int) -> list[float]:
    """Average precision on the test rows with each share of the pool labelled."""
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
    """Share of the pool with which the suggested curve first reaches a goal; NaN where it never does."""
    above = np.flatnonzero(suggested >= goal)
    if not len(above):
        return float("nan")
    i = int(above[0])
    if i == 0:
        return float(SHARES[0])
    return float(np.interp(goal, suggested[i - 1 : i + 1], SHARES[i - 1 : i + 1]))


def table(title: str, suggested: np.ndarray, at_random: np.ndarray) -> list[str]:
    ours, theirs = suggested.mean(axis=0), at_random.mean(axis=0)
    lines = [
        "",
        f"## {title}",
        "",
        "| labelled | suggest | random | difference | suggest needs |",
        "|---" * 5 + "|",
    ]
    for share in SHOWN:
        i = int(np.argmin(np.abs(SHARES - share)))
        apart = suggested[:, i] - at_random[:, i]
        error = apart.std(ddof=1) / np.sqrt(len(apart))
        ratio = needed(ours, theirs[i]) / share
        lines.append(
            f"| {share:.0%} | {ours[i]:.3f} | {theirs[i]:.3f} | {apart.mean():+.3f} ± {error:.3f} "
            f"| {ratio:.0%} |"
        )
    return lines


def main() -> None:
    lines = [
        "# Which to label next",
        "",
        f"Average precision on held-out rows, mean of {len(SEEDS)} seeds, by the share of a pool of {POOL}",
        "(emotions: 396) instances that is labelled. The difference is paired, with its standard error.",
        "The last column is how many labels `suggest` needs for the same average precision, in those of",
        "random picking.",
        "",
        "![Learning curves](labels_saved.png)",
    ]
    figure, axes = plt.subplots(1, len(SETS), figsize=(10, 4))
    for name, ax in zip(SETS, axes, strict=True):
        data = load_dataset(name)
        X, Y = np.asarray(data.X, dtype=np.float64), np.asarray(data.Y.toarray(), dtype=int)
        tasks = [(influence, picker) for influence in INFLUENCES for picker in PICKERS]
        runs = [joblib.delayed(curve)(X, Y, *task, seed) for task in tasks for seed in SEEDS]
        found = np.array(joblib.Parallel(n_jobs=2)(runs)).reshape(len(tasks), len(SEEDS), -1)
        curves = dict(zip(tasks, found, strict=True))
        for influence in INFLUENCES:
            pair = [curves[influence, picker] for picker in PICKERS]
            lines += table(f"{name}, influence={influence!r}", *pair)
            for picker, values, style in zip(PICKERS, pair, ("-", ":"), strict=True):
                colour = "C0" if influence == "ridge" else "C1"
                ax.plot(SHARES, values.mean(axis=0), style, color=colour, label=f"{influence}, {picker}")
        ax.set(title=name, xlabel="share of the pool that is labelled", ylabel="average precision")
        ax.legend()
    figure.tight_layout()
    figure.savefig(OUT / "labels_saved.png", dpi=100)
    lines += ["", "By `benchmarks/labels_saved.py`."]
    (OUT / "labels_saved.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))


if __name__ == "__main__":
    main()

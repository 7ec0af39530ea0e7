"""Learning curves: labelling what `suggest` picks beside labelling at random, on emotions and scene.

A third of the rows is for testing, at most 600 others are the pool; a tenth of it is labelled at the
start, and a twentieth is added in every round. Ten seeds; average precision on the test rows. The
last column says what share of the random picker's labels `suggest` needs for the same average
precision as random picking has with 100, 90, ... 50% of them.
"""

from __future__ import annotations

import numpy as np
from rich.console import Console
from rich.table import Table

from simlabel import SMLClassifier
from simlabel.datasets import load_dataset
from simlabel.metrics import average_precision

SEEDS, POOL, ROUNDS = 10, 600, 18


def curve(X: np.ndarray, Y: np.ndarray, seed: int, *, suggested: bool) -> list[float]:
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(X))
    test, pool = order[: len(X) // 3], order[len(X) // 3 :][:POOL]
    start, step = len(pool) // 10, len(pool) // 20
    known, rest, values = pool[:start], pool[start:], []
    for _ in range(ROUNDS + 1):
        model = SMLClassifier("rbf", normalizer=["zscore", "l2"], random_state=0).fit(X[known], Y[known])
        values.append(average_precision(Y[test], model.decision_function(X[test])))
        count = min(step, len(rest))
        if not count:
            break
        picked = model.suggest(X[rest], count) if suggested else rng.choice(len(rest), count, replace=False)
        known, rest = np.concatenate([known, rest[picked]]), np.delete(rest, picked)
    return values


def needed(suggested: np.ndarray, at_random: np.ndarray, shares: np.ndarray, share: float) -> float:
    """Share of labels with which the suggested curve first reaches what random picking has at `share`."""
    goal = np.interp(share, shares, at_random)
    above = np.flatnonzero(suggested >= goal)
    return float(shares[above[0]] / share) if len(above) else float("nan")


def main() -> None:
    for name in ("emotions", "scene"):
        data = load_dataset(name)
        X, Y = np.asarray(data.X, dtype=np.float64), np.asarray(data.Y.toarray(), dtype=int)
        means = {
            how: np.mean([curve(X, Y, seed, suggested=how == "suggest") for seed in range(SEEDS)], axis=0)
            for how in ("suggest", "random")
        }
        shares = 0.1 + 0.05 * np.arange(len(means["random"]))
        table = Table("labels", "suggest", "random", "suggest needs", title=name)
        for share in (0.2, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9):
            i = int(np.argmin(np.abs(shares - share)))
            ratio = needed(means["suggest"], means["random"], shares, share)
            table.add_row(
                f"{share:.0%}", f"{means['suggest'][i]:.3f}", f"{means['random'][i]:.3f}", f"{ratio:.0%}"
            )
        Console(width=100).print(table)


if __name__ == "__main__":
    main()

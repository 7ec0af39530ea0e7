"""Leagues of made-up figures."""

from __future__ import annotations

from simlabel.experiments._run import TOO_LONG
from simlabel.experiments.league import League, Score, SetFacts


def score(*values, seconds=1.0, criterion="average_precision"):
    every = (
        "average_precision",
        "ranking_loss",
        "f1_micro",
        "f1_macro",
        "hamming_loss",
        "one_error",
        "coverage",
    )
    each = (seconds,) * len(values)
    return Score(dict.fromkeys(every, values) | {criterion: values}, each, each, each, (10.0,) * len(values))


def table(scores, late=(), kinds=("dense", "dense", "made"), ratio=0.25):
    """A league of these scores, its sets in the order in which they come."""
    names = list(dict.fromkeys(name for name, _ in [*scores, *late]))
    facts = {
        name: SetFacts(name, kind, 10, 2, 3, 1.0, "folds", ratio=ratio)
        for name, kind in zip(names, kinds, strict=False)
    }
    rivals = list(dict.fromkeys(rival for _, rival in [*scores, *late]))
    titles = {rival: rival for rival in rivals}
    return League(
        facts,
        titles,
        titles,
        scores,
        dict.fromkeys(late, f"{TOO_LONG} 60 processor seconds"),
        {},
        {},
        "here",
        60.0,
    )


THREE = {
    ("a", "autosml"): score(0.8, 0.9),
    ("a", "rf"): score(0.7, 0.7, seconds=10.0),
    ("a", "lr"): score(0.6, 0.9, seconds=0.1),
    ("b", "autosml"): score(0.5, 0.5),
    ("b", "rf"): score(0.6, 0.6, seconds=10.0),
    ("b", "lr"): score(0.505, 0.505, seconds=0.1),
}

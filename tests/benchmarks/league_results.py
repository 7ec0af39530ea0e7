"""Benchmark results with chosen values."""

from __future__ import annotations

from league.data import BenchmarkSet
from league.results import MAIN, Results, Score

from made_data import make_data
from simlabel.experiments import KFolds

CRITERIA = (*MAIN, "hamming_loss", "one_error", "coverage")


def score(*values, seconds=1.0, criterion="average_precision"):
    return Score(
        dict.fromkeys(CRITERIA, values) | {criterion: values},
        (seconds,) * len(values),
        (10.0,) * len(values),
    )


def table(scores, failed=(), kinds=("dense", "dense", "synthetic")):
    """Results with these scores, on sets in the order of their names."""
    names = list(dict.fromkeys(name for name, _ in [*scores, *failed]))
    kinds = dict(zip(names, kinds, strict=False))
    sets = {name: BenchmarkSet(make_data(name), kinds[name], KFolds(5)) for name in names}
    methods = list(dict.fromkeys(method for _, method in [*scores, *failed]))
    return Results(sets, {name: name for name in methods}, scores, dict.fromkeys(failed, "timed out"))


THREE = {
    ("a", "autosml"): score(0.8, 0.9),
    ("a", "rf"): score(0.7, 0.7, seconds=10.0),
    ("a", "lr"): score(0.6, 0.9, seconds=0.1),
    ("b", "autosml"): score(0.5, 0.5),
    ("b", "rf"): score(0.6, 0.6, seconds=10.0),
    ("b", "lr"): score(0.505, 0.505, seconds=0.1),
}

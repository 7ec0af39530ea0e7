"""The results of the benchmark: criteria, time and memory of each method on each fold."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from league.data import BenchmarkSet
from simlabel._utils.validation import FloatArray
from simlabel.metrics import find_criterion

MAIN = ("average_precision", "ranking_loss", "f1_micro", "f1_macro")  # the criteria of the mean ranks
OURS = "autosml"
Key = tuple[str, str]  # data set, method


@dataclass(frozen=True)
class Score:
    """One method on one data set: criteria, processor seconds and memory of each fold."""

    values: Mapping[str, Sequence[float]]
    cpu_seconds: Sequence[float]
    peak_mib: Sequence[float | None]

    @classmethod
    def of(cls, folds: Sequence[Mapping[str, Any]]) -> Score:
        """Join the records of folds."""
        values = {
            name: [math.nan if (v := fold["values"][name]) is None else v for fold in folds]
            for name in folds[0]["values"]
        }
        return cls(values, [fold["cpu_seconds"] for fold in folds], [fold["peak_mib"] for fold in folds])

    def folds(self, criterion: str) -> FloatArray:
        """Return a criterion on each fold; NaN where it is undefined or was not measured."""
        return np.array(self.values.get(criterion, [math.nan] * len(self.cpu_seconds)), dtype=np.float64)

    def mean(self, criterion: str) -> float:
        """Return the mean over the folds on which the criterion is defined."""
        return float(pd.Series(self.folds(criterion)).mean())

    def error(self, criterion: str) -> float:
        """Return the standard error of the mean; NaN for a single fold."""
        return float(pd.Series(self.folds(criterion)).sem())


@dataclass(frozen=True)
class Results:
    """All results of a run.

    Attributes
    ----------
    sets : dict of str to BenchmarkSet
    titles : dict of str to str
        Of the methods, by name.
    scores : dict of (data set, method) to Score
    failed : dict of (data set, method) to str
        Methods that timed out or failed, and why: they get the last rank on the data set.
    skipped : dict of (data set, method) to str
        Methods that are not evaluated on a data set, and why: this does not count against them.
    """

    sets: Mapping[str, BenchmarkSet]
    titles: Mapping[str, str]
    scores: Mapping[Key, Score] = field(default_factory=dict)
    failed: Mapping[Key, str] = field(default_factory=dict)
    skipped: Mapping[Key, str] = field(default_factory=dict)

    @property
    def own(self) -> str:
        """The method that the others are compared with: AutoSML, or else the first."""
        return OURS if OURS in self.titles else next(iter(self.titles))

    def methods(self) -> list[str]:
        """Return the methods with an outcome on any data set."""
        there = {name for _, name in (*self.scores, *self.failed)}
        return [name for name in self.titles if name in there]

    def means(self, criterion: str, sets: Sequence[str] | None = None) -> pd.DataFrame:
        """Return the mean of a criterion, (n_sets, n_methods); NaN where there is none."""
        rows = list(self.sets) if sets is None else list(sets)
        frame = pd.DataFrame(math.nan, index=rows, columns=self.methods())
        for (data, method), score in self.scores.items():
            if data in frame.index:
                frame.loc[data, method] = score.mean(criterion)
        return frame

    def for_ranks(self, criterion: str, sets: Sequence[str]) -> pd.DataFrame:
        """Return `means`, with a value slightly worse than the worst one for methods that failed."""
        frame = self.means(criterion, sets)
        better = 1.0 if find_criterion(criterion).higher_is_better else -1.0
        worst = better * (better * frame).min(axis=1) - better * 1e-6
        for data, method in self.failed:
            if data in frame.index and method in frame:
                frame.loc[data, method] = worst[data]
        return frame

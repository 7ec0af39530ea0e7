"""What came out of a comparison, and the tables it makes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from simlabel._utils.text import for_terminal, one_line
from simlabel._utils.validation import FloatArray
from simlabel.experiments._fold import FoldResult
from simlabel.experiments._statistics import Ranking, rank_algorithms
from simlabel.metrics import CRITERIA, Criterion, Evaluation, find_criterion


@dataclass(frozen=True)
class CrossValidation:
    """What came out on each fold.

    Attributes
    ----------
    folds : tuple of Evaluation
        In order.
    """

    folds: tuple[Evaluation, ...]

    def values(self, criterion: str) -> FloatArray:
        """A criterion on each fold."""
        if criterion not in self.folds[0].values:
            raise ValueError(
                f"criterion {criterion!r} was not measured; there are {', '.join(self.folds[0].values)}."
            )
        return np.array([fold[criterion] for fold in self.folds])

    def mean(self, criterion: str) -> float:
        """Mean over the folds on which the criterion is defined."""
        values = self.values(criterion)
        values = values[~np.isnan(values)]
        return float(values.mean()) if values.size else float("nan")

    def std(self, criterion: str) -> float:
        """Standard deviation over those folds; NaN for a single one."""
        values = self.values(criterion)
        values = values[~np.isnan(values)]
        return float(values.std(ddof=1)) if values.size > 1 else float("nan")


@dataclass(frozen=True)
class Failure:
    """An algorithm that failed on a fold of a data set, or that is not installed."""

    data: str
    algorithm: str
    split: str
    message: str

    def __str__(self) -> str:
        where = f" on {self.data}, {self.split}" if self.data else ""
        return one_line(f"{self.algorithm}{where}: {self.message}")


@dataclass(frozen=True, repr=False)
class Comparison:
    """Results of several algorithms on several data sets.

    Attributes
    ----------
    protocol : str
        In words.
    titles : dict of str to str
        Names of the algorithms and how they are shown, in the order in which they were asked for.
    results : dict of (data set, algorithm) to tuple of FoldResult
        Only what is complete.
    failures : tuple of Failure
        What did not get through, with the reason.
    metrics : tuple of Criterion
        What `compare` was asked to measure, the first is shown first; empty for all that have a name here.

    Examples
    --------
    >>> import scipy.sparse as sp
    >>> from simlabel.datasets import Dataset
    >>> from simlabel.experiments import KFolds, compare
    >>> Y = sp.csr_array(np.array([[1, 0], [0, 1]] * 6, dtype=np.int8))
    >>> data = Dataset("pairs", np.array([[0.0, 1.0], [1.0, 0.0]] * 6), Y, ("a", "b"), ("x", "y"))
    >>> result = compare(data, ["sml", "no.such:Thing"], KFolds(3))
    >>> result
    Comparison: 3-fold cross-validation
    Average precision ↑; means(...) has other criteria, of(...) the folds
           SML (the paper's)
    pairs                1.0
    left out: no.such:Thing: no.such:Thing is not installed here: No module named 'no'.
    >>> result.of("pairs", "sml").std("average_precision")
    0.0
    """

    protocol: str
    titles: Mapping[str, str]
    results: Mapping[tuple[str, str], tuple[FoldResult, ...]]
    failures: tuple[Failure, ...] = field(default=())
    metrics: tuple[Criterion, ...] = ()

    def __repr__(self) -> str:
        lines = [f"Comparison: {self.protocol}"]
        if self.algorithms():
            first = self._first(self.shown)
            heading = self.metric(first).heading
            means = self.means(first).rename(index=for_terminal, columns=for_terminal)
            shown = means.round(3).to_string(max_rows=20, max_cols=20)
            lines += [f"{heading}; means(...) has other criteria, of(...) the folds", shown]
        return "\n".join([*lines, *(f"left out: {failure}" for failure in self.failures)])

    @property
    def shown(self) -> list[str]:
        """What reports show: the metrics that were asked for, or the paper's five."""
        return [one.name for one in self.metrics] or list(CRITERIA)

    def metric(self, name: str) -> Criterion:
        """What there is to know about a metric, which may be one of your own."""
        own = next((one for one in self.metrics if one.name == name), None)
        return find_criterion(name) if own is None else own

    @staticmethod
    def _first(names: Sequence[str]) -> str:
        """Average precision, or the first of the names where that is not among them."""
        return "average_precision" if "average_precision" in names else names[0]

    @property
    def data_names(self) -> list[str]:
        """Data sets with at least one result."""
        return list(dict.fromkeys(data for data, _ in self.results))

    def algorithms(self, data: str | None = None) -> list[str]:
        """Algorithms with a result: on a data set, or on every one."""
        wanted = self.data_names if data is None else [data]
        return [name for name in self.titles if all((one, name) in self.results for one in wanted)]

    def of(self, data: str, algorithm: str) -> CrossValidation:
        """The folds of one algorithm on one data set."""
        if (data, algorithm) not in self.results:
            there = ", ".join(f"{one!r} on {name!r}" for name, one in self.results)
            raise ValueError(f"there is no result of {algorithm!r} on {data!r}; there are {there or 'none'}.")
        return CrossValidation(tuple(fold.evaluation for fold in self.results[data, algorithm]))

    def n_folds(self, data: str) -> int:
        """How many folds there are of a data set; 1 where it was divided, or asked about, once."""
        return next(len(folds) for (one, _), folds in self.results.items() if one == data)

    def criteria(self, data: str) -> list[str]:
        """Criteria that were measured on a data set."""
        folds = next(folds for (one, _), folds in self.results.items() if one == data)
        return list(folds[0].evaluation.values)

    def best(self, data: str, criterion: str) -> set[str]:
        """The algorithms with the best mean, more than one where they are equal to three digits."""
        means = {name: round(self.of(data, name).mean(criterion), 3) for name in self.algorithms(data)}
        means = {name: mean for name, mean in means.items() if not np.isnan(mean)}
        if not means:
            return set()
        top = max(means.values()) if self.metric(criterion).higher_is_better else min(means.values())
        return {name for name, mean in means.items() if mean == top}

    def means(self, criterion: str) -> pd.DataFrame:
        """Mean of a criterion: a row for each data set, a column for each algorithm that ran on all."""
        names = self.algorithms()
        rows = [[self.of(data, name).mean(criterion) for name in names] for data in self.data_names]
        return pd.DataFrame(rows, index=self.data_names, columns=[self.titles[name] for name in names])

    def ranking(self, criteria: Sequence[str] | None = None) -> Ranking | None:
        """Ranks by average precision, or by the first of the criteria where that is not among them.

        None where there is only one data set, or one algorithm that ran on all.
        """
        if len(self.data_names) < 2 or len(self.algorithms()) < 2:
            return None
        criterion = self._first(self.shown if criteria is None else criteria)
        return rank_algorithms(self.means(criterion), self.metric(criterion))

    def to_frame(self) -> pd.DataFrame:
        """One row for each data set, algorithm, fold and criterion."""
        rows: list[dict[str, Any]] = []
        for (data, name), folds in self.results.items():
            for number, fold in enumerate(folds, 1):
                for criterion, value in fold.evaluation.values.items():
                    rows.append(
                        {
                            "data": data,
                            "algorithm": self.titles[name],
                            "fold": number,
                            "criterion": criterion,
                            "value": value,
                        }
                    )
        return pd.DataFrame(rows, columns=["data", "algorithm", "fold", "criterion", "value"])

    def to_dict(self, criteria: Sequence[str] | None = None) -> dict[str, Any]:
        """Means, deviations and folds, for machines; a criterion that is nowhere defined is None."""
        by_data: dict[str, Any] = {}
        for (data, name), folds in self.results.items():
            series = self.of(data, name)
            by_data.setdefault(data, {})[name] = {
                "criteria": {
                    criterion: {
                        "mean": _number(series.mean(criterion)),
                        "std": _number(series.std(criterion)),
                        "folds": [_number(value) for value in series.values(criterion)],
                    }
                    for criterion in (self.shown if criteria is None else criteria)
                    if criterion in self.criteria(data)
                },
                "fit_seconds": sum(fold.fit_seconds for fold in folds),
                "predict_seconds": sum(fold.predict_seconds for fold in folds),
                "notes": sorted({note for fold in folds for note in fold.notes}),
            }
        failures = [vars(failure) for failure in self.failures]
        return {"protocol": self.protocol, "results": by_data, "failures": failures}


def _number(value: float) -> float | None:
    return None if np.isnan(value) else float(value)

"""Results of comparisons and cross-validation, and statistical tests over several data sets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from simlabel._utils.text import for_terminal, one_line
from simlabel._utils.validation import FloatArray
from simlabel.experiments._fold import FoldResult
from simlabel.metrics import CRITERIA, Criterion, Evaluation, find_criterion

FEWEST_SETS, FEWEST_ALGORITHMS = 2, 3  # of Friedman's test


@dataclass(frozen=True)
class CrossValidation:
    """Results of each fold.

    Attributes
    ----------
    folds : tuple of Evaluation
        In order.
    """

    folds: tuple[Evaluation, ...]

    def values(self, criterion: str) -> FloatArray:
        """Return a criterion on each fold."""
        if criterion not in self.folds[0].values:
            raise ValueError(
                f"criterion {criterion!r} was not measured; there are {', '.join(self.folds[0].values)}."
            )
        return np.array([fold[criterion] for fold in self.folds])

    def mean(self, criterion: str) -> float:
        """Return the mean over the folds on which the criterion is defined."""
        return float(pd.Series(self.values(criterion)).mean())

    def std(self, criterion: str) -> float:
        """Return the standard deviation over those folds; NaN for a single one."""
        return float(pd.Series(self.values(criterion)).std())


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
        Description of the protocol.
    titles : dict of str to str
        Names of the algorithms and their names in reports, in the given order.
    results : dict of (data set, algorithm) to tuple of FoldResult
        Complete results only.
    failures : tuple of Failure
        Algorithms without complete results, with the reason.
    metrics : tuple of Criterion
        The `metrics` argument of `compare`; empty for all named metrics.

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
        """The metrics in reports: those of `metrics`, or the paper's five."""
        return [one.name for one in self.metrics] or list(CRITERIA)

    def metric(self, name: str) -> Criterion:
        """Return a metric by name, which may be user-defined."""
        own = next((one for one in self.metrics if one.name == name), None)
        return find_criterion(name) if own is None else own

    @staticmethod
    def _first(names: Sequence[str]) -> str:
        """Return average precision, or the first name if that is not among them."""
        return "average_precision" if "average_precision" in names else names[0]

    @property
    def data_names(self) -> list[str]:
        """Data sets with at least one result."""
        return list(dict.fromkeys(data for data, _ in self.results))

    def algorithms(self, data: str | None = None) -> list[str]:
        """Return the algorithms with a result on a data set, or on all data sets."""
        requested = self.data_names if data is None else [data]
        return [name for name in self.titles if all((one, name) in self.results for one in requested)]

    def of(self, data: str, algorithm: str) -> CrossValidation:
        """Return the folds of one algorithm on one data set."""
        if (data, algorithm) not in self.results:
            there = ", ".join(f"{one!r} on {name!r}" for name, one in self.results)
            raise ValueError(f"there is no result of {algorithm!r} on {data!r}; there are {there or 'none'}.")
        return CrossValidation(tuple(fold.evaluation for fold in self.results[data, algorithm]))

    def n_folds(self, data: str) -> int:
        """Return the number of folds of a data set."""
        return next(len(folds) for (one, _), folds in self.results.items() if one == data)

    def criteria(self, data: str) -> list[str]:
        """Return the criteria that were measured on a data set."""
        folds = next(folds for (one, _), folds in self.results.items() if one == data)
        return list(folds[0].evaluation.values)

    def best(self, data: str, criterion: str) -> set[str]:
        """Return the algorithms with the best mean, several if they are equal to three digits."""
        means = {name: round(self.of(data, name).mean(criterion), 3) for name in self.algorithms(data)}
        means = {name: mean for name, mean in means.items() if not np.isnan(mean)}
        if not means:
            return set()
        top = max(means.values()) if self.metric(criterion).higher_is_better else min(means.values())
        return {name for name, mean in means.items() if mean == top}

    def means(self, criterion: str) -> pd.DataFrame:
        """Return the mean of a criterion: a row per data set, a column per algorithm that ran on all."""
        names = self.algorithms()
        rows = [[self.of(data, name).mean(criterion) for name in names] for data in self.data_names]
        return pd.DataFrame(rows, index=self.data_names, columns=[self.titles[name] for name in names])

    def ranking(self, criteria: Sequence[str] | None = None) -> Ranking | None:
        """Rank the algorithms by average precision, or by the first criterion if that is not among them.

        None if there is only one data set, or one algorithm that ran on all.
        """
        if len(self.data_names) < 2 or len(self.algorithms()) < 2:
            return None
        criterion = self._first(self.shown if criteria is None else criteria)
        return rank_algorithms(self.means(criterion), self.metric(criterion))

    def to_frame(self) -> pd.DataFrame:
        """Return a row per data set, algorithm, fold and criterion."""
        rows = [
            (data, self.titles[name], number, criterion, value)
            for (data, name), folds in self.results.items()
            for number, fold in enumerate(folds, 1)
            for criterion, value in fold.evaluation.values.items()
        ]
        return pd.DataFrame(rows, columns=["data", "algorithm", "fold", "criterion", "value"])

    def to_dict(self, criteria: Sequence[str] | None = None) -> dict[str, Any]:
        """Return means, standard deviations and folds for JSON; undefined values are None."""
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


@dataclass(frozen=True)
class Pair:
    """Wilcoxon's signed-rank test of two algorithms, with Holm's correction for the number of pairs."""

    first: str
    second: str
    p_value: float
    p_holm: float


@dataclass(frozen=True)
class Ranking:
    """Ranks of algorithms over several data sets by one criterion, with significance tests.

    Attributes
    ----------
    criterion, title : str
        Its name, and its name in reports.
    n_sets : int
        Number of data sets.
    mean_ranks : dict of str to float
        1 is best; ties share the mean of their ranks. Best first.
    friedman : float
        p-value of Friedman's test that all algorithms are equal; NaN with fewer than three algorithms.
    critical_difference : float
        Mean ranks that differ by less do not differ significantly by Nemenyi's test, at `alpha`.
    nemenyi : DataFrame or None
        p-values of Nemenyi's test for each pair, if the package scikit-posthocs is installed.
    pairs : tuple of Pair
        Wilcoxon with Holm's correction.
    alpha : float
    """

    criterion: str
    title: str
    n_sets: int
    mean_ranks: dict[str, float]
    friedman: float
    critical_difference: float
    nemenyi: pd.DataFrame | None
    pairs: tuple[Pair, ...]
    alpha: float

    def __str__(self) -> str:
        ranks = ", ".join(f"{for_terminal(name)} {rank:.2f}" for name, rank in self.mean_ranks.items())
        lines = [f"Mean ranks by {self.title} on {self.n_sets} data sets: {ranks}."]
        if math.isnan(self.friedman):
            lines.append("Friedman's test needs at least three algorithms.")
        else:
            verdict = "differ" if self.friedman < self.alpha else "do not differ significantly"
            lines.append(
                f"Friedman: p = {self.friedman:.3g}, the algorithms {verdict} at {self.alpha:g}. "
                f"Nemenyi: critical difference {self.critical_difference:.2f}."
            )
        apart = [pair for pair in self.pairs if pair.p_holm < self.alpha]
        named = "; ".join(f"{pair.first} and {pair.second} (p = {pair.p_holm:.3g})" for pair in apart)
        lines.append(f"Significant by Wilcoxon with Holm: {for_terminal(named) or 'no pair'}.")
        return "\n".join(lines)


def rank_algorithms(
    means: pd.DataFrame,
    criterion: str | Criterion,
    *,
    alpha: float = 0.05,
    measured: pd.DataFrame | None = None,
) -> Ranking:
    """Rank algorithms over data sets, and test the differences.

    Parameters
    ----------
    means : DataFrame, (n_sets, n_algorithms)
        Means of a criterion, as of `Comparison.means`; rows with a missing value are ignored.
    criterion : str or Criterion
        Its name, or a result of `make_metric`; it tells whether higher is better.
    alpha : float
        Level of significance.
    measured : DataFrame, optional
        The same without the entries of `means` that only determine a rank. Pairs are compared on the data
        sets on which both were measured.

    Examples
    --------
    >>> means = pd.DataFrame({"A": [0.9, 0.8, 0.7], "B": [0.8, 0.7, 0.6], "C": [0.7, 0.6, 0.65]})
    >>> print(rank_algorithms(means, "average_precision"))
    Mean ranks by Average precision on 3 data sets: A 1.00, B 2.33, C 2.67.
    Friedman: p = 0.097, the algorithms do not differ significantly at 0.05.
    Nemenyi: critical difference 1.91.
    Significant by Wilcoxon with Holm: no pair.
    """
    values = means.dropna()
    n_sets, n_algorithms = values.shape
    if n_sets < FEWEST_SETS or n_algorithms < 2:
        raise ValueError(
            f"ranks need at least {FEWEST_SETS} data sets and 2 algorithms that ran on all of them; "
            f"got {n_sets} and {n_algorithms}."
        )
    found = find_criterion(criterion) if isinstance(criterion, str) else criterion
    sign = -1.0 if found.higher_is_better else 1.0
    # rounding errors must not decide between equal values
    ranks = stats.rankdata(np.round(sign * values.to_numpy(), 12), axis=1).mean(axis=0)
    by_rank = sorted(zip(values.columns, ranks.tolist(), strict=True), key=lambda pair: pair[1])
    columns = [values[name].to_numpy() for name in values.columns]
    enough = n_algorithms >= FEWEST_ALGORITHMS
    return Ranking(
        found.name,
        found.title,
        n_sets,
        dict(by_rank),
        float(stats.friedmanchisquare(*columns).pvalue) if enough else math.nan,
        critical_difference(n_algorithms, n_sets, alpha),
        _nemenyi(sign * values),
        _pairs(values if measured is None else measured.loc[values.index, values.columns]),
        alpha,
    )


def critical_difference(n_algorithms: int, n_sets: int, alpha: float = 0.05) -> float:
    """Return Nemenyi's critical difference of two mean ranks.

    Examples
    --------
    >>> round(critical_difference(5, 30), 2)  # 2.728 * sqrt(5 * 6 / (6 * 30))
    1.11
    """
    q = stats.studentized_range.ppf(1 - alpha, n_algorithms, np.inf) / math.sqrt(2.0)
    return float(q * math.sqrt(n_algorithms * (n_algorithms + 1) / (6.0 * n_sets)))


def _nemenyi(values: pd.DataFrame) -> pd.DataFrame | None:
    try:
        from scikit_posthocs import posthoc_nemenyi_friedman
    except ImportError:
        return None
    p_values: pd.DataFrame = posthoc_nemenyi_friedman(values.reset_index(drop=True))
    return p_values


def _pairs(values: pd.DataFrame) -> tuple[Pair, ...]:
    names = list(combinations(values.columns, 2))
    raw = [_wilcoxon(values[first].to_numpy() - values[second].to_numpy()) for first, second in names]
    corrected = holm(raw)
    return tuple(Pair(*pair, p, q) for pair, p, q in zip(names, raw, corrected, strict=True))


def _wilcoxon(differences: np.ndarray) -> float:
    differences = differences[~np.isnan(differences)]
    return float(stats.wilcoxon(differences).pvalue) if np.any(differences) else 1.0


def holm(p_values: list[float]) -> list[float]:
    """Correct p-values for multiple tests by Holm's step-down method.

    Examples
    --------
    >>> holm([0.04, 0.01, 0.03])
    [0.06, 0.03, 0.06]
    """
    corrected = [1.0] * len(p_values)
    largest = 0.0
    for step, position in enumerate(np.argsort(p_values, kind="stable")):
        largest = max(largest, min(1.0, (len(p_values) - step) * p_values[position]))
        corrected[position] = largest
    return corrected

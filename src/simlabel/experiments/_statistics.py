"""Which differences between algorithms, over several data sets, are more than chance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from simlabel._utils.text import for_terminal
from simlabel.metrics import Criterion, find_criterion

FEWEST_SETS, FEWEST_ALGORITHMS = 2, 3  # below these Friedman's test says nothing


@dataclass(frozen=True)
class Pair:
    """Two algorithms: Wilcoxon's signed-rank test, corrected for the number of pairs by Holm."""

    first: str
    second: str
    p_value: float
    p_holm: float


@dataclass(frozen=True)
class Ranking:
    """Algorithms over several data sets by one criterion.

    Attributes
    ----------
    criterion, title : str
        Its name, and how it is shown.
    n_sets : int
        Data sets that are counted.
    mean_ranks : dict of str to float
        1 is best; equals share the mean of their ranks. Best first.
    friedman : float
        p-value of Friedman's test that all algorithms are alike; NaN with fewer than three algorithms.
    critical_difference : float
        Mean ranks that differ by less are not told apart by Nemenyi's test, at `alpha`.
    nemenyi : DataFrame or None
        p-values of Nemenyi's test for each pair, where the package scikit-posthocs is installed.
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
            verdict = "differ" if self.friedman < self.alpha else "are not told apart"
            lines.append(
                f"Friedman: p = {self.friedman:.3g}, the algorithms {verdict} at {self.alpha:g}. "
                f"Nemenyi: critical difference {self.critical_difference:.2f}."
            )
        apart = [pair for pair in self.pairs if pair.p_holm < self.alpha]
        named = "; ".join(f"{pair.first} and {pair.second} (p = {pair.p_holm:.3g})" for pair in apart)
        lines.append(f"Wilcoxon with Holm tells apart: {for_terminal(named) or 'no pair'}.")
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
        A criterion's mean, as `Comparison.means` gives it; rows with a missing value are left out.
    criterion : str or Criterion
        Its name, or what `make_metric` gave: says whether higher is better.
    alpha : float
        Level of significance.
    measured : DataFrame, optional
        The same, where some of `means` only stand for a place: missing where nothing was measured. Pairs
        are compared on the sets on which both were.

    Examples
    --------
    >>> means = pd.DataFrame({"A": [0.9, 0.8, 0.7], "B": [0.8, 0.7, 0.6], "C": [0.7, 0.6, 0.65]})
    >>> print(rank_algorithms(means, "average_precision"))
    Mean ranks by Average precision on 3 data sets: A 1.00, B 2.33, C 2.67.
    Friedman: p = 0.097, the algorithms are not told apart at 0.05. Nemenyi: critical difference 1.91.
    Wilcoxon with Holm tells apart: no pair.
    """
    values = means.dropna()
    n_sets, n_algorithms = values.shape
    if n_sets < FEWEST_SETS or n_algorithms < 2:
        raise ValueError(
            f"ranks need at least {FEWEST_SETS} data sets and 2 algorithms that ran on all of them; "
            f"got {n_sets} and {n_algorithms}."
        )
    judge = find_criterion(criterion) if isinstance(criterion, str) else criterion
    sign = -1.0 if judge.higher_is_better else 1.0
    # rounding must not decide between equals
    ranks = stats.rankdata(np.round(sign * values.to_numpy(), 12), axis=1).mean(axis=0)
    by_rank = sorted(zip(values.columns, ranks.tolist(), strict=True), key=lambda pair: pair[1])
    columns = [values[name].to_numpy() for name in values.columns]
    enough = n_algorithms >= FEWEST_ALGORITHMS
    return Ranking(
        judge.name,
        judge.title,
        n_sets,
        dict(by_rank),
        float(stats.friedmanchisquare(*columns).pvalue) if enough else math.nan,
        critical_difference(n_algorithms, n_sets, alpha),
        _nemenyi(sign * values),
        _pairs(values if measured is None else measured.loc[values.index, values.columns]),
        alpha,
    )


def critical_difference(n_algorithms: int, n_sets: int, alpha: float = 0.05) -> float:
    """Nemenyi's: how far apart two mean ranks must be.

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
    """Holm's step-down correction for several tests.

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

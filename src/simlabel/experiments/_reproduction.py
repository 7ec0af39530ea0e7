"""The paper's two tables and claims, and `reproduce`, which runs the tables again.

Rossi, Ahmed, Eldardiry and Zhou, "Similarity-based Multi-label Learning". The tables have mean and standard
deviation over 10 folds. The set of the second table, which the paper calls scene, has 2,000 images and 5
labels: its name here is image.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import product
from typing import Any

from simlabel._utils.text import join_names
from simlabel.datasets import Dataset, load_dataset
from simlabel.experiments._comparison import Comparison
from simlabel.experiments._run import FoldProgress, compare
from simlabel.experiments._splits import KFolds
from simlabel.metrics import CRITERIA

FULL = ("sml", "autosml", "mlknn", "boostexter", "adtboost", "ranksvm")
QUICK = ("sml", "mlknn")
_IN_THE_PAPER = {"sml": "SML"}  # other algorithms have the names of the paper
_DIGITS = 3  # of the paper's tables


@dataclass(frozen=True)
class PaperValue:
    """A mean and standard deviation over folds."""

    mean: float
    std: float

    def agrees(self, measured: float) -> bool:
        """Return whether a measured mean is within one published standard deviation.

        Examples
        --------
        >>> PaperValue(0.193, 0.013).agrees(0.200)
        True
        """
        return abs(measured - self.mean) <= self.std

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.std:.3f}"


_COLUMNS = ("SML", "ML-kNN", "BoosTexter", "ADTBoost.MH", "Rank-SVM")

# a line per criterion, in the order of CRITERIA: mean and standard deviation of each algorithm
_TABLES = {
    "yeast": """
        0.193 0.013 | 0.194 0.010 | 0.220 0.011 | 0.207 0.010 | 0.207 0.013
        0.220 0.021 | 0.230 0.030 | 0.278 0.034 | 0.244 0.035 | 0.243 0.039
        6.082 0.184 | 6.275 0.240 | 6.550 0.243 | 6.390 0.203 | 7.090 0.503
        0.155 0.011 | 0.167 0.016 | 0.186 0.015 |     N/A     | 0.195 0.021
        0.783 0.016 | 0.765 0.021 | 0.737 0.022 | 0.744 0.025 | 0.749 0.026
    """,
    "image": """
        0.140 0.009 | 0.169 0.016 | 0.179 0.015 | 0.193 0.014 | 0.253 0.055
        0.252 0.026 | 0.300 0.046 | 0.311 0.041 | 0.375 0.049 | 0.491 0.135
        0.984 0.112 | 0.939 0.100 | 0.939 0.092 | 1.102 0.111 | 1.382 0.381
        0.164 0.020 | 0.168 0.024 | 0.168 0.020 |     N/A     | 0.278 0.096
        0.852 0.016 | 0.803 0.027 | 0.798 0.024 | 0.755 0.027 | 0.682 0.093
    """,
}


def _parsed(table: str) -> dict[str, dict[str, PaperValue | None]]:
    cells = [[cell.split() for cell in line.split("|")] for line in table.strip().splitlines()]
    values = [[None if cell == ["N/A"] else PaperValue(*map(float, cell)) for cell in line] for line in cells]
    columns = zip(*values, strict=True)
    return {
        name: dict(zip(CRITERIA, column, strict=True)) for name, column in zip(_COLUMNS, columns, strict=True)
    }


#: data set -> algorithm -> criterion -> value (None if the paper has none)
PUBLISHED = {name: _parsed(table) for name, table in _TABLES.items()}


ResultTable = Mapping[str, Mapping[str, PaperValue]]  # algorithm -> criterion -> value
_Test = Callable[[ResultTable, Sequence[str]], tuple[bool | None, str]]


@dataclass(frozen=True)
class Claim:
    """A claim of the paper, and whether the measured values support it.

    Attributes
    ----------
    text : str
        The claim.
    holds : bool or None
        None if it cannot be judged, because no baseline was run.
    because : str
        The values that decide.
    """

    text: str
    holds: bool | None
    because: str

    @property
    def verdict(self) -> str:
        """Description of `holds`."""
        return {True: "holds", False: "does not hold", None: "cannot be judged"}[self.holds]


def check_claims(name: str, table: ResultTable) -> list[Claim]:
    """Judge the claims about a data set by the values of SML and of the baselines in a table.

    Examples
    --------
    >>> sml = dict.fromkeys(CRITERIA, PaperValue(0.2, 0.01)) | {"average_precision": PaperValue(0.8, 0.01)}
    >>> other = dict.fromkeys(CRITERIA, PaperValue(0.3, 0.02)) | {"average_precision": PaperValue(0.7, 0.02)}
    >>> [claim.verdict for claim in check_claims("yeast", {"SML": sml, "ML-kNN": other})]
    ['holds', 'holds', 'holds']
    """
    baselines = [name for name in table if name != "SML"]
    claims = []
    for text, test in _CLAIMS[name]:
        if "SML" not in table or not baselines:
            claims.append(Claim(text, None, "SML and at least one baseline are needed"))
        else:
            claims.append(Claim(text, *test(table, baselines)))
    return claims


def _best_on(criteria: Sequence[str], table: ResultTable, baselines: Sequence[str]) -> tuple[bool, str]:
    lost = []
    for criterion in criteria:
        own = round(table["SML"][criterion].mean, _DIGITS)
        for baseline in baselines:
            other = round(table[baseline][criterion].mean, _DIGITS)
            better = own > other if CRITERIA[criterion].higher_is_better else own < other
            if not better and not math.isnan(other):
                lost.append(f"{_title(criterion)} of {baseline} is {other:.3f}, of SML {own:.3f}")
    n = len(criteria)
    return not lost, "; ".join(lost) or (
        f"SML has the best mean on {n} of {n} criteria against {join_names(baselines)}"
    )


def _smaller_spread(
    criteria: Sequence[str], every: bool, table: ResultTable, baselines: Sequence[str]
) -> tuple[bool, str]:
    won, against = 0, []
    for criterion, baseline in product(criteria, baselines):
        own, other = (table[name][criterion].std for name in ("SML", baseline))
        if own < other:
            won += 1
        elif not math.isnan(other):
            against.append(f"{_title(criterion)} against {baseline}")
    n = won + len(against)
    because = f"SML's standard deviation is the smaller one in {won} of {n} cases"
    because += f"; not in {', '.join(against)}" if against else ""
    return (not against if every else won > n / 2), because


def _behind_on_coverage(table: ResultTable, baselines: Sequence[str]) -> tuple[bool | None, str]:
    present = [name for name in ("ML-kNN", "BoosTexter") if name in baselines]
    if not present:
        return None, "neither ML-kNN nor BoosTexter was run"
    own, *others = (round(table[name]["coverage"].mean, _DIGITS) for name in ("SML", *present))
    listed = ", ".join(f"{value:.3f} of {name}" for name, value in zip(present, others, strict=True))
    return all(value < own for value in others), f"coverage {own:.3f} of SML, {listed}"


def _title(criterion: str) -> str:
    return CRITERIA[criterion].title.lower()


_ALL = tuple(CRITERIA)
_CLAIMS: dict[str, list[tuple[str, _Test]]] = {
    "yeast": [
        ("SML is better than all others on all five criteria", partial(_best_on, _ALL)),
        (
            "the variance of SML is smaller than that of the others in most cases",
            partial(_smaller_spread, _ALL, False),
        ),
        (
            "it is smaller than that of all others for coverage, average precision and ranking loss",
            partial(_smaller_spread, ("coverage", "average_precision", "ranking_loss"), True),
        ),
    ],
    "image": [
        (
            "SML is better than all others on all criteria but coverage",
            partial(_best_on, [criterion for criterion in _ALL if criterion != "coverage"]),
        ),
        ("ML-kNN and BoosTexter have slightly lower coverage than SML", _behind_on_coverage),
    ],
}


@dataclass(frozen=True)
class ReproducedRow:
    """One criterion of one algorithm; `agrees` is None if the paper has no value."""

    algorithm: str
    criterion: str
    published: PaperValue | None
    measured: PaperValue
    agrees: bool | None


@dataclass(frozen=True)
class Reproduction:
    """One of the paper's tables, measured again.

    Attributes
    ----------
    data : Dataset
    comparison : Comparison
    """

    data: Dataset
    comparison: Comparison

    def rows(self) -> list[ReproducedRow]:
        """Return all values, algorithm by algorithm."""
        rows = []
        for name in self.comparison.algorithms(self.data.name):
            series = self.comparison.of(self.data.name, name)
            title = _IN_THE_PAPER.get(name, self.comparison.titles[name])
            table = PUBLISHED[self.data.name].get(title, {})
            for criterion in CRITERIA:
                published = table.get(criterion)
                measured = PaperValue(series.mean(criterion), series.std(criterion))
                agrees = None if published is None else published.agrees(measured.mean)
                rows.append(ReproducedRow(title, criterion, published, measured, agrees))
        return rows

    def claims(self) -> list[Claim]:
        """Judge the paper's claims about this data set by the measured values."""
        name = self.data.name
        measured: dict[str, dict[str, PaperValue]] = {}
        for row in self.rows():
            if row.algorithm in PUBLISHED[name]:
                measured.setdefault(row.algorithm, {})[row.criterion] = row.measured
        return check_claims(name, measured)

    def to_dict(self) -> dict[str, Any]:
        """Convert to a dict for JSON."""
        return {
            "data": self.data.name,
            "rows": [asdict(row) for row in self.rows()],
            "claims": [asdict(claim) for claim in self.claims()],
            "absent_or_failed": [asdict(failure) for failure in self.comparison.failures],
        }


def reproduce(
    name: str,
    *,
    algorithms: Sequence[str] = FULL,
    folds: int = 10,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    on_progress: FoldProgress | None = None,
) -> Reproduction:
    """Run one of the paper's tables again, with the protocol of the paper.

    Parameters
    ----------
    name : {"yeast", "image"}
    algorithms : sequence of str
        By default SML, AutoSML and the paper's four baselines.
    folds : int
        10 in the paper.
    seed : int
        Of the shuffle, and of the algorithms.
    folder, jobs, on_progress
        As in `compare`.
    """
    if name not in PUBLISHED:
        raise ValueError(f"the paper has tables for {' and '.join(PUBLISHED)}, got {name!r}.")
    data = load_dataset(name)
    protocol = KFolds(folds, seed=seed)
    comparison = compare(
        data, algorithms, protocol, folder=folder, jobs=jobs, seed=seed, on_progress=on_progress
    )
    return Reproduction(data, comparison)

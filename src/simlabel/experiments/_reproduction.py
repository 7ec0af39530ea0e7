"""The paper's two tables, run again: published beside measured, and what becomes of the claims."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simlabel.datasets import Dataset, load_dataset
from simlabel.experiments._claims import Claim, judge
from simlabel.experiments._comparison import Comparison
from simlabel.experiments._protocols import KFolds
from simlabel.experiments._published import PUBLISHED, Figure
from simlabel.experiments._run import Progress, compare
from simlabel.metrics import CRITERIA

FULL = ("sml", "autosml", "mlknn", "boostexter", "adtboost", "ranksvm")
QUICK = ("sml", "mlknn")
_IN_THE_PAPER = {"sml": "SML"}  # others have the paper's names


@dataclass(frozen=True)
class Row:
    """One criterion of one algorithm; `agrees` is None where the paper has no figure."""

    algorithm: str
    criterion: str
    published: Figure | None
    measured: Figure
    agrees: bool | None


@dataclass(frozen=True)
class Reproduction:
    """One of the paper's tables, run again.

    Attributes
    ----------
    data : Dataset
    comparison : Comparison
    """

    data: Dataset
    comparison: Comparison

    def rows(self) -> list[Row]:
        """All figures, algorithm by algorithm."""
        rows = []
        for name in self.comparison.algorithms(self.data.name):
            series = self.comparison.of(self.data.name, name)
            title = _IN_THE_PAPER.get(name, self.comparison.titles[name])
            table = PUBLISHED[self.data.name].get(title, {})
            for criterion in CRITERIA:
                published = table.get(criterion)
                measured = Figure(series.mean(criterion), series.std(criterion))
                agrees = None if published is None else published.agrees(measured.mean)
                rows.append(Row(title, criterion, published, measured, agrees))
        return rows

    def claims(self) -> list[Claim]:
        """The paper's claims about this set, judged by what was measured."""
        name = self.data.name
        measured: dict[str, dict[str, Figure]] = {}
        for row in self.rows():
            if row.algorithm in PUBLISHED[name]:
                measured.setdefault(row.algorithm, {})[row.criterion] = row.measured
        return judge(name, measured)

    def to_dict(self) -> dict[str, Any]:
        """For machines."""
        rows = [
            {
                "algorithm": row.algorithm,
                "criterion": row.criterion,
                "published": None if row.published is None else vars(row.published),
                "measured": vars(row.measured),
                "agrees": row.agrees,
            }
            for row in self.rows()
        ]
        claims = [vars(claim) for claim in self.claims()]
        failures = [vars(failure) for failure in self.comparison.failures]
        return {"data": self.data.name, "rows": rows, "claims": claims, "absent_or_failed": failures}


def reproduce(
    name: str,
    *,
    algorithms: Sequence[str] = FULL,
    folds: int = 10,
    seed: int = 0,
    folder: str | os.PathLike[str] | None = None,
    jobs: int = 1,
    on_progress: Progress | None = None,
) -> Reproduction:
    """Run one of the paper's tables again, with the paper's protocol.

    Parameters
    ----------
    name : {"yeast", "image"}
    algorithms : sequence of str
        By default SML, AutoSML and the paper's four rivals.
    folds : int
        The paper has 10.
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

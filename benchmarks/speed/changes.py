"""Teach, correct and forget with learned influence: seconds per change beside the fit.

There are four ways to solve: a factor of the similarities, of the columns, or of the features of inducing
references, and conjugate gradients. The first change after a fit prepares the linear system. A change
includes the next prediction of one row, which shows that the change counts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from _shared.data import label_rows, raw_table, unit_rows
from _shared.report import Part
from _shared.timing import Scale, seconds

from simlabel import SMLClassifier, Tagger
from simlabel.ridge import Ridge
from simlabel.similarities import RBF

ROUNDS, BATCH = 5, 50


@dataclass
class Case:
    """A model, and rows for its fit and for the changes after it."""

    name: str
    model: Any
    X: Any
    y: Any
    n: int  # rows of the fit

    def rows(self, some: slice) -> tuple[Any, Any]:
        """Return some rows with their labels."""
        return (
            (self.X.iloc[some], self.y.iloc[some])
            if hasattr(self.X, "iloc")
            else (self.X[some], self.y[some])
        )


def texts(name: str, columns: Sequence[str], labels: str, n: int, scale: Scale) -> tuple[Any, Any, int]:
    table = raw_table(name)
    rows = scale.rows(n + 500)
    return table[list(columns)].iloc[:rows], table[labels].iloc[:rows], rows - min(500, rows // 3)


def cases(scale: Scale) -> list[Case]:
    n = scale.rows(100_000)
    more = n + 500
    X, Y = unit_rows(more, 120, 0), label_rows(more, 28, 1.2).toarray().astype(int)
    linear = SMLClassifier("linear", influence=Ridge(0.1), normalizer=None)
    rbf = SMLClassifier(RBF(2.0), influence=Ridge(0.1), normalizer=None)
    return [
        Case(
            "texts, factor of the similarities",
            Tagger(),
            *texts("netflix", ["title", "description"], "listed_in", 3_000, scale),
        ),
        Case("120 columns, factor of the columns", linear, X, Y, n),
        Case("120 columns, inducing references", rbf, X, Y, n),
        Case(
            "texts, conjugate gradients",
            Tagger(),
            *texts("debtags", ["package", "summary"], "tags", 10_000, scale),
        ),
    ]


def measured(case: Case, scale: Scale) -> list[float]:
    """Return seconds of the fit, of the first change, and medians of the changes of one and of 50 rows."""
    model, (X, y) = case.model, case.rows(slice(0, case.n))
    ids = [f"row {i}" for i in range(case.n)]
    out, last = [seconds(lambda: model.fit(X, y, ids=ids))], case.n
    one = case.rows(slice(0, 1))[0]

    def timed(change: Callable[[], Any]) -> float:
        def both() -> None:
            change()
            model.decision_function(one)

        return seconds(both)

    def teach(k: int) -> float:
        nonlocal last
        more, its = case.rows(slice(last, last + k))
        last += k
        return timed(lambda: model.partial_fit(more, its, ids=[f"new {i}" for i in range(last - k, last)]))

    def correct(k: int, round_: int) -> float:
        names, (_, its) = ids[k * round_ : k * (round_ + 1)], case.rows(slice(k, 2 * k))
        return timed(lambda: model.correct(names, its))

    out.append(teach(1))
    for k, rounds in ((1, scale.rounds(ROUNDS)), (min(BATCH, (len(case.X) - case.n) // 8), scale.rounds(3))):
        first = case.n - k * rounds - (0 if k == 1 else ROUNDS)
        out.append(np.median([teach(k) for _ in range(rounds)]))
        out.append(np.median([correct(k, i) for i in range(rounds)]))
        gone = [ids[first + k * i : first + k * (i + 1)] for i in range(rounds)]
        out.append(np.median([timed(lambda names=names: model.forget(names)) for names in gone]))
    return out


def run(scale: Scale) -> Part:
    columns = ["model", "rows", "labels", "fit, s", "first change, s"]
    columns += [f"{what} {k}, s" for k in (1, BATCH) for what in ("teach", "correct", "forget")]
    part = Part("Changes of learned influence", columns)
    for case in cases(scale):
        times = measured(case, scale)
        part.row(case.name, f"{case.n:,}", len(case.model.classes_), *(f"{each:.3g}" for each in times))
        part.result(
            f"teach one row, {case.name}, s",
            f"{times[2]:.3g}",
            f"fit {times[0]:.3g}",
            "0.1" if case.n < 10_000 else "1",
        )
    part.notes = [
        "Medians of 5 changes of one row and of 3 of 50 rows, each with a prediction of one row after it.",
        "The first change after a fit prepares the linear system.",
    ]
    return part

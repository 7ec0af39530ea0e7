"""Leave-one-out over all rows, all candidates in one symmetric pass."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlabel._utils.arithmetic import n_copies
from simlabel._utils.rows import Stack, drawn_copies
from simlabel._utils.validation import IntArray, check_number
from simlabel.ridge import Problem
from simlabel.sums import References
from simlabel.tuning._criterion import Judgement, criterion_of
from simlabel.tuning._masked import is_every_row, measure
from simlabel.tuning._problem import Candidate
from simlabel.tuning._search import Search


class LeaveOneOut(Search):
    """Score every labelled row against all others.

    Inner products or distances of a pair are computed once, for all candidates and for both rows
    of the pair.

    Parameters
    ----------
    criterion : str or callable
        What decides: any criterion by the name that `simlabel.metrics.find_criterion` knows, or a
        function (Y_true, scores) -> float, the higher the better.
    most_rows : int
        Beyond this number of rows, a seeded sample of so many is scored, against all others.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.1]]
    >>> model = SMLClassifier("rbf", tuning="loo").fit(X, [{"a"}, {"a"}, {"b"}, {"b"}])
    >>> model.tuning_.n_queries
    4
    """

    name = "loo"
    file_key = "tuning.LeaveOneOut"

    def __init__(self, criterion: Judgement = "average_precision", most_rows: int = 20_000) -> None:
        self.criterion = criterion
        self.most_rows = most_rows

    def check(self) -> None:
        """Raise ValueError where the criterion or the number of rows is not understood."""
        super().check()
        check_number("LeaveOneOut", "most_rows", self.most_rows, at_least=1, integer=True)

    def queries(self, references: References, seed: int) -> IntArray:
        """All rows, or a seeded sample of them."""
        if n_copies(references.weights) <= self.most_rows:
            return np.arange(references.n_rows)
        return drawn_copies(references.order, references.weights, self.most_rows, seed)

    def measure(
        self, problem: Problem, candidates: Sequence[Candidate], rows: IntArray
    ) -> list[tuple[float, float]]:
        """Mean and standard error of the criterion for each candidate, each pair touched once."""
        all_rows = is_every_row(rows, problem) and not isinstance(problem.references.X, Stack)
        return measure(problem, candidates, rows, criterion_of(self.criterion), symmetric=all_rows)

    def note(self, rows: IntArray, problem: Problem) -> str:
        """Whether a sample was scored."""
        n = problem.references.n_rows
        return (
            ""
            if is_every_row(rows, problem)
            else f"{len(rows):,} of {n:,} rows were scored, against all others"
        )

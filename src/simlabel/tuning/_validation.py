"""The paper's search: some of the labelled rows are queries, all others are references."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlabel._utils.arithmetic import n_copies
from simlabel._utils.rows import drawn_copies, drawn_rows, fold_numbers
from simlabel._utils.validation import IntArray, check_flag, check_number
from simlabel.ridge import Problem
from simlabel.sums import References
from simlabel.tuning._criterion import Judgement, criterion_of
from simlabel.tuning._masked import measure_folds
from simlabel.tuning._problem import Candidate
from simlabel.tuning._search import Search


class Validation(Search):
    """Score a random share of the labelled rows against all other labelled rows.

    "Cross-validation on 10% of the labeled data", read so that the bandwidth suits the number of
    references that the model will have: 10% are the queries, and each is compared with all rows
    but itself.

    Parameters
    ----------
    share : float
        Share of the rows, weights counted as copies, that are queries. Up to 1,000, all are; there are never
        more than 2,000, nor, beyond 50, so many that a candidate has more than 4 million scores
        (of 100,000 labels, 50 rows).
    criterion : str or callable
        What decides: any criterion by the name that `simlabel.metrics.find_criterion` knows, or a
        function (Y_true, scores) -> float, the higher the better.
    literal : bool
        True: to the letter of the paper, `folds` folds inside the share, compared with each other
        only. The bandwidth that this finds suits a tenth of the references. Groups stay whole.
    folds : int
        How many, where `literal`.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.1]]
    >>> model = SMLClassifier("rbf", tuning=Validation(criterion="ranking_loss"))
    >>> model.fit(X, [{"a"}, {"a"}, {"b"}, {"b"}]).tuning_.criterion
    'ranking_loss'
    """

    name = "validation"
    file_key = "tuning.Validation"

    _ALL_UP_TO, _AT_MOST, _FEWEST = 1000, 2000, 50
    _SCORES = 1 << 22  # of a candidate: with more labels, each row says more

    def __init__(
        self,
        share: float = 0.1,
        criterion: Judgement = "average_precision",
        literal: bool = False,
        folds: int = 10,
    ) -> None:
        self.share = share
        self.criterion = criterion
        self.literal = literal
        self.folds = folds

    def check(self) -> None:
        """Raise ValueError where the share, the folds or the criterion is not understood."""
        super().check()
        check_number("Validation", "share", self.share, above=0)
        check_flag("Validation", "literal", self.literal)
        check_number("Validation", "folds", self.folds, at_least=2, integer=True)
        if self.share > 1:
            raise ValueError(f"Validation: share must be at most 1, got {self.share!r}.")
        if self.literal and not criterion_of(self.criterion).needs_scores:
            raise ValueError("Validation: literal folds score labels, not sets; choose another criterion.")

    def queries(self, references: References, seed: int) -> IntArray:
        """A seeded sample of the rows, in rising order; one of several copies may come several times."""
        n = references.n_rows if self.literal else n_copies(references.weights)
        most = min(self._AT_MOST, max(self._FEWEST, self._SCORES // max(1, references.n_labels)))
        if n <= min(self._ALL_UP_TO, most) and not self.literal:
            return np.arange(references.n_rows)
        fewest = min(n, self.folds) if self.literal else 1
        size = min(n, most, max(fewest, round(self.share * n)))
        if self.literal:
            return drawn_rows(references.order, size, seed)
        return drawn_copies(references.order, references.weights, size, seed)

    def measure(
        self, problem: Problem, candidates: Sequence[Candidate], rows: IntArray
    ) -> list[tuple[float, float]]:
        """Mean and standard error of the criterion for each candidate."""
        if not self.literal:
            return super().measure(problem, candidates, rows)
        parts = fold_numbers(problem.references.units[rows], self.folds, problem.stages.seed)
        if parts.max() == 0:
            return super().measure(problem, candidates, rows)
        folds = [(rows[parts != part], rows[parts == part]) for part in range(int(parts.max()) + 1)]
        return measure_folds(problem, candidates, folds, criterion_of(self.criterion))

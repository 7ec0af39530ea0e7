"""The paper's search: some of the labelled rows are queries, all others are references."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from simlabel._references import References
from simlabel._validation import check_number
from simlabel.tuning._search import Search


class Validation(Search):
    """Score a random share of the labelled rows against all other labelled rows.

    "Cross-validation on 10% of the labeled data", read so that the bandwidth suits the number of
    references that the model will have: 10% are the queries, and each is compared with all rows
    but itself.

    Parameters
    ----------
    share : float
        Share of the rows that are queries. Up to 1,000 rows, all of them are; there are never
        more than 2,000.
    criterion : str
        What decides: ``"average_precision"``, ``"ranking_loss"``, ``"coverage"`` or ``"one_error"``.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[0.0, 1.0], [0.1, 1.0], [1.0, 0.0], [1.0, 0.1]]
    >>> model = SMLClassifier("rbf", tuning=Validation(criterion="ranking_loss"))
    >>> model.fit(X, [{"a"}, {"a"}, {"b"}, {"b"}]).tuning_.criterion
    'ranking_loss'
    """

    name = "validation"

    _ALL_UP_TO, _AT_MOST = 1000, 2000

    def __init__(self, share: float = 0.1, criterion: str = "average_precision") -> None:
        self.share = share
        self.criterion = criterion

    def check(self) -> None:
        """Raise ValueError where the share or the criterion is not understood."""
        super().check()
        check_number("Validation", "share", self.share, above=0)
        if self.share > 1:
            raise ValueError(f"Validation: share must be at most 1, got {self.share!r}.")

    def queries(self, references: References, seed: int) -> npt.NDArray[np.int64]:
        """A seeded sample of the rows, in rising order."""
        n = references.Y.shape[0]
        if n <= self._ALL_UP_TO:
            return np.arange(n)
        size = min(n, self._AT_MOST, max(1, round(self.share * n)))
        return np.sort(np.random.default_rng(seed).choice(n, size, replace=False))

"""The share of right labels among those that are given."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.guarantees._base import Guarantee
from simlabel.guarantees._grounds import Grounds
from simlabel.guarantees._measured import Measured, Sets, Truths, hits, measured
from simlabel.guarantees._promise import Promise
from simlabel.guarantees._risk import Inside, passing_threshold


class Precision(Guarantee):
    """Of the labels in a set, this share is expected to be right: rows that are given a set.

    Rows for which no label is sure enough get None, and do not count. The share may rise and fall with the
    threshold, so thresholds are tested on rows held out (Learn-then-Test): with the stated confidence, over
    the draw of these rows, the promise holds. Where no threshold passes, all rows get None.

    Parameters
    ----------
    level : float
        The share, between 0 and 1.
    confidence : float
        How sure the promise is, between 0 and 1.
    most : int, optional
        The largest set that is of use; larger ones become None.

    Notes
    -----
    3 of 10 rows of the model are held out, or rows that it has not seen are given to `guarantee`. Which
    thresholds are tried, and in which order, is decided by leave-one-out scores of the other rows.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 400, 1.0] for i in range(200)] + [[1.0, i / 400] for i in range(200)]
    >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 200 + [{"trees"}] * 200)
    >>> model.predict_sets([[0.1, 1.0], [1.0, 0.1]], guarantee=Precision(0.9))
    [('sea',), ('trees',)]
    """

    name = "precision"
    methods = ("split",)
    method = "split"

    def __init__(self, level: float = 0.9, *, confidence: float = 0.9, most: int | None = None) -> None:
        self.level = level
        self.confidence = confidence
        self.most = most

    def check(self) -> None:
        """Raise ValueError where a parameter is out of range."""
        super().check()
        check_number("Precision", "confidence", self.confidence, above=0)
        if not self.confidence < 1:
            raise ValueError(f"Precision: confidence must be below 1, got {self.confidence!r}.")

    def promise(self, grounds: Grounds) -> Promise:
        """The lowest threshold that passes."""
        split = grounds.split
        fresh = (split.left_out, split.Y)
        threshold = passing_threshold(split.training(), fresh, self.alpha, 1.0 - self.confidence)

        def choose(Q: Rows) -> tuple[FloatArray, Inside]:
            scores = split.score(Q)
            return scores, scores >= threshold

        return self._promised(
            grounds,
            "split",
            statement=f"Of the labels in a set at least {self.level:g} are expected to be right, with a "
            f"confidence of {self.confidence:g} (Learn-then-Test, {split.Y.shape[0]:,} rows held out)."
            + (
                ""
                if threshold < math.inf
                else " No threshold passed the test: every row is left to a person."
            ),
            n_rows=split.Y.shape[0],
            choose=choose,
        )

    def useless(self, inside: Inside) -> npt.NDArray[np.bool_]:
        """Empty sets, and those above `most`."""
        sizes = inside.sum(axis=1)
        return (sizes == 0) | (sizes > (self.most or inside.shape[1]))

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """The mean share of right labels, over rows that were given a set."""
        pairs = [(truth, found) for truth, found in zip(truths, sets, strict=True) if found]
        return measured(self.level, [hits(*pair) / len(pair[1]) for pair in pairs], sets)

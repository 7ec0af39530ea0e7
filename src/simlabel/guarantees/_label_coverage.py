"""Each label's own error."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from simlabel._utils.validation import FloatArray, Rows
from simlabel.guarantees._base import Guarantee
from simlabel.guarantees._grounds import Grounds
from simlabel.guarantees._measured import Measured, Sets, Truths, measured
from simlabel.guarantees._promise import Promise
from simlabel.guarantees._risk import Inside, allowed


class LabelCoverage(Guarantee):
    """Whenever a label is true, it is in the set with this probability: for every label by itself.

    Rare labels are not paid for by frequent ones ("Mondrian"). A label that fewer than 1 / (1 - level) - 1
    rows have, 9 for 0.9, can never be excluded: it is in every set, and `Promise.always` names it.

    Parameters
    ----------
    level : float
        The probability, between 0 and 1.
    method : {"auto", "full", "split"}
        "full": conformal p-values from all rows, with nothing held back; exact for sums, and for ridge
        before scores are mixed. "split": 3 of 10 rows are held out, and the others score them and the
        queries; for every model. "auto": full where it is possible.
    most : int, optional
        The largest set that is of use; larger ones, and those with all labels, become None.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
    >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> model.predict_sets([[0.1, 1.0], [1.0, 0.1]], guarantee=LabelCoverage(0.9))
    [('sea',), ('trees',)]
    """

    name = "label coverage"
    methods = ("full", "split")

    def __init__(self, level: float = 0.9, *, method: str = "auto", most: int | None = None) -> None:
        self.level = level
        self.method = method
        self.most = most

    def promise(self, grounds: Grounds) -> Promise:
        """P-values from all rows, or from those held out."""
        method = self.resolved_method(grounds)
        rows = grounds.rows(method)
        n = rows.Y.shape[0]
        excluded = np.array([allowed(self.alpha, int(count)) for count in rows.Y.sum(axis=0)])

        def choose(Q: Rows) -> tuple[FloatArray, Inside]:
            scores, weaker = rows.compare(Q)
            return scores, weaker + 1 > excluded  # the p-value is above alpha

        return self._promised(
            grounds,
            method,
            statement=f"Whenever a label is true, it is in the set with a probability of at least "
            f"{self.level:g}, each label by itself ({method} conformal, {n:,} rows).",
            n_rows=n,
            choose=choose,
            always=tuple(grounds.model.labels.classes[excluded < 1].tolist()),
        )

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """The share of a label's rows whose set has it: the mean over labels, and the lowest."""
        found: dict[object, list[bool]] = {}
        for truth, some in zip(truths, sets, strict=True):
            for label in truth:
                found.setdefault(label, []).append(some is None or label in some)
        shares = {label: (float(np.mean(each)), len(each)) for label, each in found.items()}
        worst = min(shares, key=lambda label: shares[label], default=None)
        spread = sum(share * (1 - share) / n for share, n in shares.values())
        return replace(
            measured(self.level, [share for share, _ in shares.values()], sets),
            error=math.sqrt(spread) / max(1, len(shares)),
            lowest=None if worst is None else (worst, *shares[worst]),
        )

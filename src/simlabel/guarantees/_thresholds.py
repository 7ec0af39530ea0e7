"""Guarantees that are kept by one threshold, since what they promise only falls as it rises."""

from __future__ import annotations

import numpy as np

from simlabel._utils.validation import FloatArray, Rows
from simlabel.guarantees._bag import Bag
from simlabel.guarantees._base import Guarantee
from simlabel.guarantees._grounds import Grounds
from simlabel.guarantees._measured import Measured, Sets, Truths, hits, measured
from simlabel.guarantees._promise import Chooser, Promise
from simlabel.guarantees._risk import Inside, affordable, allowed


class Recall(Guarantee):
    """Of a row's true labels, this share is expected to be in its set: rows that have any.

    Conformal risk control: the threshold is as high as the losses of labelled rows allow. The bound is the
    level itself, for any number of rows.

    Parameters
    ----------
    level : float
        The share, between 0 and 1.
    method : {"auto", "full", "split"}
        "full": each row is scored without itself and with the query, in the worst case of its labels; all
        rows score and all count. Exact for sums, and for ridge before scores are mixed. "split": 3 of 10
        rows are held out, and the others score them and the queries; for every model. "auto": full where
        it is possible.
    most : int, optional
        The largest set that is of use; larger ones, and those with all labels, become None.

    Notes
    -----
    A threshold taken from plain leave-one-out scores, with queries scored by all rows, has no bound, and
    jackknife+ one of 1 - 2 (1 - level); both ways that are taken here have the level.

    See Also
    --------
    simlabel.rules.AimedRule : An aim in place of a promise.
    SetCoverage : No true label is missed.
    LabelCoverage : Each label by itself.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
    >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> model.predict_sets([[0.1, 1.0], [1.0, 0.1]], guarantee=Recall(0.9))
    [('sea',), ('trees',)]
    """

    name = "recall"
    methods = ("full", "split")

    def __init__(self, level: float = 0.9, *, method: str = "auto", most: int | None = None) -> None:
        self.level = level
        self.method = method
        self.most = most

    def promise(self, grounds: Grounds) -> Promise:
        """A threshold for all labels."""
        method = self.resolved_method(grounds)
        rows = grounds.rows(method)
        sizes = np.diff(rows.Y.indptr)
        n = int(np.count_nonzero(sizes))
        return self._promised(
            grounds,
            method,
            statement=f"Of the true labels of a row a share of at least {self.level:g} is expected in its "
            f"set ({method} conformal risk control, {n:,} rows that have labels).",
            n_rows=n,
            choose=_affordable(rows, 1.0 / np.maximum(sizes, 1), affordable(self.alpha, n), whole=False),
        )

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """The mean share of true labels that are in the set, over rows that have any."""
        pairs = [(truth, found) for truth, found in zip(truths, sets, strict=True) if truth]
        return measured(self.level, [hits(*pair) / len(pair[0]) for pair in pairs], sets)


class SetCoverage(Guarantee):
    """All true labels of a row are in its set, with this probability.

    Parameters
    ----------
    level : float
        The probability, between 0 and 1.
    method : {"auto", "full", "bonferroni", "split"}
        As in `Recall`. "bonferroni" is a conformal p-value for each label, which may miss a share of
        (1 - level) / n_labels of all rows: sets are larger where labels are many.
    most : int, optional
        The largest set that is of use; larger ones, and those with all labels, become None.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
    >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> model.predict_sets([[0.1, 1.0], [1.0, 0.1]], guarantee=SetCoverage(0.9))
    [('sea',), ('trees',)]
    """

    name = "set coverage"
    methods = ("full", "bonferroni", "split")

    def __init__(self, level: float = 0.9, *, method: str = "auto", most: int | None = None) -> None:
        self.level = level
        self.method = method
        self.most = most

    def promise(self, grounds: Grounds) -> Promise:
        """A threshold for all labels, or a p-value for each."""
        method = self.resolved_method(grounds)
        rows = grounds.rows(method)
        n, n_labels = rows.Y.shape
        if method == "bonferroni":
            choose = _by_label(rows, allowed(self.alpha / max(1, n_labels), n))
        else:
            choose = _affordable(rows, np.ones(n), affordable(self.alpha, n), whole=True)
        return self._promised(
            grounds,
            method,
            statement=f"All true labels of a row are in its set with a probability of at least "
            f"{self.level:g} ({method} conformal, {n:,} rows).",
            n_rows=n,
            choose=choose,
        )

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """The share of rows whose set has all true labels."""
        pairs = zip(truths, sets, strict=True)
        return measured(self.level, [float(hits(*pair) == len(pair[0])) for pair in pairs], sets)


def _affordable(rows: Bag, losses: FloatArray, most: float, *, whole: bool) -> Chooser:
    """Leave out labels that may be missed, and all that score no more: the losses of rows allow it."""

    def choose(Q: Rows) -> tuple[FloatArray, Inside]:
        scores, lost = rows.lost(Q, losses, whole=whole)
        return scores, lost > most

    return choose


def _by_label(rows: Bag, most: int) -> Chooser:
    """Leave out labels whose p-value, among all rows and not those with the label, is small."""

    def choose(Q: Rows) -> tuple[FloatArray, Inside]:
        scores, weaker = rows.compare(Q)
        return scores, weaker + 1 > most

    return choose

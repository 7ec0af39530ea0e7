"""Guarantees that are kept by one threshold, since what they promise only falls as it rises."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from simlabel.guarantees._bag import Counts
from simlabel.guarantees._base import Guarantee
from simlabel.guarantees._grounds import Grounds
from simlabel.guarantees._measured import Measured, Sets, Truths, hits, measured
from simlabel.guarantees._promise import Chooser, Inside, Promise
from simlabel.guarantees._risk import allowed, highest_threshold, true_scores
from simlabel.support.validation import FloatArray, Rows

_ROUNDING = 1e-9  # a label is not excluded for a digit


class Recall(Guarantee):
    """Of a row's true labels, this share is expected to be in its set: rows that have any.

    Conformal risk control: the threshold is as high as the losses of labelled rows allow. The bound is the
    level itself, for any number of rows.

    Parameters
    ----------
    level : float
        The share, between 0 and 1.
    method : {"auto", "jackknife", "split"}
        "jackknife": each row is scored without itself, and a query gets what any of the models without one
        row would give it (minmax); all rows score and all count. "split": 3 of 10 rows are held out, and the
        others score them and the queries; for every model. "auto": jackknife where it is possible.
    most : int, optional
        The largest set that is of use; larger ones, and those with all labels, become None.

    Notes
    -----
    A threshold taken from plain leave-one-out scores, with queries scored by all rows, has no bound, and
    jackknife+ one of 1 - 2 (1 - level); the way that is taken here has the level.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
    >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> model.predict_sets([[0.1, 1.0], [1.0, 0.1]], guarantee=Recall(0.9))
    [('sea',), ('trees',)]
    """

    name = "recall"
    methods = ("jackknife", "split")

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
        losses = np.repeat(1.0 / np.maximum(sizes, 1), sizes)  # of each true label that is not found
        threshold = highest_threshold(true_scores(rows.left_out, rows.Y), losses, n, self.alpha)
        return self._promised(
            grounds,
            method,
            statement=f"Of the true labels of a row at least {self.level:g} are expected in its set "
            f"(conformal risk control, {method}, {n:,} rows that have labels).",
            n_rows=n,
            choose=_above(rows.best, threshold),
            threshold=threshold,
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
    method : {"auto", "jackknife", "bonferroni", "split"}
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
    methods = ("jackknife", "bonferroni", "split")

    def __init__(self, level: float = 0.9, *, method: str = "auto", most: int | None = None) -> None:
        self.level = level
        self.method = method
        self.most = most

    def promise(self, grounds: Grounds) -> Promise:
        """A threshold for all labels, or a p-value for each."""
        method = self.resolved_method(grounds)
        rows = grounds.rows(method)
        (n, n_labels), threshold = rows.Y.shape, None
        if method == "bonferroni":
            choose = _by_label(rows.compare, allowed(self.alpha / max(1, n_labels), n))
        else:
            weakest = _weakest(rows.left_out, rows.Y)
            threshold = highest_threshold(weakest, np.ones(len(weakest)), n, self.alpha)
            choose = _above(rows.best, threshold)
        return self._promised(
            grounds,
            method,
            statement=f"All true labels of a row are in its set with a probability of at least "
            f"{self.level:g} ({method}, {n:,} rows).",
            n_rows=n,
            choose=choose,
            threshold=threshold,
        )

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """The share of rows whose set has all true labels."""
        pairs = zip(truths, sets, strict=True)
        return measured(self.level, [float(hits(*pair) == len(pair[0])) for pair in pairs], sets)


def _above(score: Callable[[Rows], tuple[FloatArray, FloatArray]], threshold: float) -> Chooser:
    least = threshold - _ROUNDING * abs(threshold) if np.isfinite(threshold) else threshold

    def choose(Q: Rows) -> tuple[FloatArray, Inside]:
        scores, best = score(Q)
        return scores, best >= least

    return choose


def _by_label(compare: Callable[[Rows], tuple[FloatArray, Counts]], excluded: int) -> Chooser:
    def choose(Q: Rows) -> tuple[FloatArray, Inside]:
        scores, weaker = compare(Q)
        return scores, weaker + 1 > excluded  # of all n + 1 rows, not of those with the label

    return choose


def _weakest(scores: FloatArray, Y: sp.csr_array) -> FloatArray:
    """What the weakest true label of each row scores, of rows that have any."""
    some = np.flatnonzero(np.diff(Y.indptr))
    return np.minimum.reduceat(true_scores(scores, Y), Y.indptr[some]) if len(some) else np.empty(0)

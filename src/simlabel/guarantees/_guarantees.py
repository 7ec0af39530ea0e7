"""The guarantees of recall, set coverage, label coverage and precision.

A threshold t accepts all labels that score at least t. Recall and coverage only fall as t rises, so one bound
for the loss on n rows is enough: the highest t with

    (sum of the losses of the n rows at t + 1) / (n + 1) <= alpha

has an expected loss of at most alpha on the next row (conformal risk control: Angelopoulos et al. 2024). The
1 is for the next row, whose loss is at most 1; it makes the bound hold for any n.

- Rows that are not used to score ("split"): the bound is alpha.
- Each row scored without itself and with the query, whatever its labels ("full", see `_conformal`): the bound
  is alpha, and all rows are used for scoring and for calibration.
- Each row scored without itself, and the query by all rows (a plain leave-one-out threshold): there is no
  bound, because a model may change too much with one row.
- Jackknife+, which compares the query with each row by the model without that row: 2 alpha.

Precision may rise and fall with t. There, thresholds are tested one after the other, in an order that is
fixed before the held-out rows are seen, from the most promising one towards larger sets. The last threshold
before a test fails is taken (Learn-then-Test: Angelopoulos et al. 2025): it holds with the stated confidence.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.special import bdtr

from simlabel._utils.limits import limits
from simlabel._utils.validation import BoolArray, FloatArray, IntArray, Rows, check_number
from simlabel.guarantees._base import Chooser, FittedGuarantee, Guarantee, Measured, Sets, Truths, mean_share
from simlabel.guarantees._calibration_data import CalibrationData, CalibrationRows

_CANDIDATES = 400  # thresholds: quantiles of the scores of training rows
_ROUNDING = 1e-9


class Recall(Guarantee):
    """The expected share of a row's true labels that are in its set, for rows with true labels.

    Conformal risk control: the threshold is as high as the losses of labeled rows allow. The bound is the
    level itself, for any number of rows.

    Parameters
    ----------
    level : float
        The share, between 0 and 1.
    method : {"auto", "full", "split"}
        "full": each row is scored without itself and with the query, in the worst case of the query's labels;
        all rows are used for scoring and for calibration. Exact for sums, and for ridge before scores are
        mixed. "split": 3 of 10 rows are held out, and the others score them and the queries; works for every
        model. "auto": full if it is possible.
    max_labels : int, optional
        The largest useful set; larger sets, and those with all labels, become None.

    Notes
    -----
    A threshold from plain leave-one-out scores, with queries scored by all rows, has no bound, and jackknife+
    has one of 1 - 2 (1 - level); both methods here have the level.

    See Also
    --------
    simlabel.rules.OperatingPointRule : An aim without a guarantee.
    SetCoverage : No true label is missed.
    LabelCoverage : Each label separately.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
    >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> model.predict_sets([[0.1, 1.0], [1.0, 0.1]], guarantee=Recall(0.9))
    [('sea',), ('trees',)]
    """

    name = "recall"

    def calibrate(self, calibration_data: CalibrationData) -> FittedGuarantee:
        """Compute a threshold for all labels."""
        method = self.resolved_method(calibration_data)
        rows = calibration_data.rows(method)
        sizes = np.diff(rows.Y.indptr)
        n = int(np.count_nonzero(sizes))
        return self._make_fitted(
            calibration_data,
            method,
            statement=f"Of the true labels of a row a share of at least {self.level:g} is expected in its "
            f"set ({method} conformal risk control, {n:,} rows that have labels).",
            n_rows=n,
            choose=_by_losses(rows, 1.0 / np.maximum(sizes, 1), self.alpha * (n + 1) - 1.0, whole=False),
        )

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """Measure the mean share of true labels that are in the set, over rows with true labels."""
        pairs = [(truth, found) for truth, found in zip(truths, sets, strict=True) if truth]
        return mean_share(self.level, [_hits(*pair) / len(pair[0]) for pair in pairs], sets)


class SetCoverage(Guarantee):
    """The probability that all true labels of a row are in its set.

    Parameters
    ----------
    level : float
        The probability, between 0 and 1.
    method : {"auto", "full", "bonferroni", "split"}
        As in `Recall`. "bonferroni" is a conformal p-value for each label, which may miss a share of
        (1 - level) / n_labels of all rows: with many labels, sets are larger.
    max_labels : int, optional
        The largest useful set; larger sets, and those with all labels, become None.

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

    def calibrate(self, calibration_data: CalibrationData) -> FittedGuarantee:
        """Compute a threshold for all labels, or a p-value for each."""
        method = self.resolved_method(calibration_data)
        rows = calibration_data.rows(method)
        n, n_labels = rows.Y.shape
        if method == "bonferroni":
            choose = _by_p_values(rows, _most_weaker(self.alpha / max(1, n_labels), n))
        else:
            choose = _by_losses(rows, np.ones(n), self.alpha * (n + 1) - 1.0, whole=True)
        return self._make_fitted(
            calibration_data,
            method,
            statement=f"All true labels of a row are in its set with a probability of at least "
            f"{self.level:g} ({method} conformal, {n:,} rows).",
            n_rows=n,
            choose=choose,
        )

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """Measure the share of rows whose set has all true labels."""
        pairs = zip(truths, sets, strict=True)
        return mean_share(self.level, [float(_hits(*pair) == len(pair[0])) for pair in pairs], sets)


class LabelCoverage(Guarantee):
    """The probability that a true label is in the set, for each label separately.

    Frequent labels do not compensate for rare ones ("Mondrian"). A label of fewer than 1 / (1 - level) - 1
    rows, 9 for 0.9, can never be excluded: it is in every set, and `FittedGuarantee.always` lists it.

    Parameters
    ----------
    level : float
        The probability, between 0 and 1.
    method : {"auto", "full", "split"}
        "full": conformal p-values from all rows, with no rows held out; exact for sums, and for ridge before
        scores are mixed. "split": 3 of 10 rows are held out, and the others score them and the queries; works
        for every model. "auto": full if it is possible.
    max_labels : int, optional
        The largest useful set; larger sets, and those with all labels, become None.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
    >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
    >>> model.predict_sets([[0.1, 1.0], [1.0, 0.1]], guarantee=LabelCoverage(0.9))
    [('sea',), ('trees',)]
    """

    name = "label coverage"

    def calibrate(self, calibration_data: CalibrationData) -> FittedGuarantee:
        """Compute p-values from all rows, or from the held-out rows."""
        method = self.resolved_method(calibration_data)
        rows = calibration_data.rows(method)
        excluded = np.array([_most_weaker(self.alpha, int(count)) for count in rows.Y.sum(axis=0)])
        return self._make_fitted(
            calibration_data,
            method,
            statement=f"Whenever a label is true, it is in the set with a probability of at least "
            f"{self.level:g}, each label by itself ({method} conformal, {rows.Y.shape[0]:,} rows).",
            n_rows=rows.Y.shape[0],
            choose=_by_p_values(rows, excluded),
            always=tuple(calibration_data.model.labels.classes[excluded < 1].tolist()),
        )

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """Measure the share of a label's rows whose set has it: the mean over labels, and the lowest."""
        found: dict[Any, list[bool]] = {}
        for truth, some in zip(truths, sets, strict=True):
            for label in truth:
                found.setdefault(label, []).append(some is None or label in some)
        shares = {label: (float(np.mean(each)), len(each)) for label, each in found.items()}
        worst = min(shares, key=lambda label: shares[label], default=None)
        variance = sum(share * (1 - share) / n for share, n in shares.values())
        return replace(
            mean_share(self.level, [share for share, _ in shares.values()], sets),
            error=math.sqrt(variance) / max(1, len(shares)),
            lowest=None if worst is None else (worst, *shares[worst]),
        )


class Precision(Guarantee):
    """The expected share of correct labels in a set, for rows with a set.

    Rows for which no label is certain enough get None, and do not count. The share may rise and fall with the
    threshold, so thresholds are tested on held-out rows (Learn-then-Test): the guarantee holds with the
    stated confidence, over the draw of these rows. If no threshold passes, all rows get None.

    Parameters
    ----------
    level : float
        The share, between 0 and 1.
    confidence : float
        The probability that the guarantee holds, between 0 and 1.
    max_labels : int, optional
        The largest useful set; larger sets become None.

    Notes
    -----
    3 of 10 rows of the model are held out, or rows that it has not seen are passed to `guarantee`. The
    leave-one-out scores of the other rows decide which thresholds are tested, and in which order.

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

    def __init__(self, level: float = 0.9, *, confidence: float = 0.9, max_labels: int | None = None) -> None:
        self.level = level
        self.confidence = confidence
        self.max_labels = max_labels

    def check(self) -> None:
        """Raise ValueError if a parameter is out of range."""
        super().check()
        check_number("Precision", "confidence", self.confidence, above=0)
        if not self.confidence < 1:
            raise ValueError(f"Precision: confidence must be below 1, got {self.confidence!r}.")

    def calibrate(self, calibration_data: CalibrationData) -> FittedGuarantee:
        """Compute the lowest threshold that passes."""
        split = calibration_data.split
        held_out = (split.loo_scores, split.Y)
        threshold = passing_threshold(split.training(), held_out, self.alpha, 1.0 - self.confidence)

        def choose(Q: Rows) -> tuple[FloatArray, BoolArray]:
            scores = split.score(Q)
            return scores, scores >= threshold

        none = "" if threshold < math.inf else " No threshold passed the test: every row is left to a person."
        return self._make_fitted(
            calibration_data,
            "split",
            statement=f"Of the labels in a set at least {self.level:g} are expected to be right, with a "
            f"confidence of {self.confidence:g} (Learn-then-Test, {split.Y.shape[0]:,} rows held out).{none}",
            n_rows=split.Y.shape[0],
            choose=choose,
        )

    def trivial(self, inside: BoolArray) -> BoolArray:
        """Return which sets are empty or larger than `max_labels`, (n_queries,)."""
        sizes = inside.sum(axis=1)
        return (sizes == 0) | (sizes > (self.max_labels or inside.shape[1]))

    def measure(self, truths: Truths, sets: Sets) -> Measured:
        """Measure the mean share of correct labels, over rows with a set."""
        pairs = [(truth, found) for truth, found in zip(truths, sets, strict=True) if found]
        return mean_share(self.level, [_hits(*pair) / len(pair[1]) for pair in pairs], sets)


def _hits(truth: Set[Any], found: tuple[Any, ...] | None) -> int:
    """Count the true labels in a set; None misses none."""
    return len(truth) if found is None else sum(label in truth for label in found)


def _by_losses(rows: CalibrationRows, losses: FloatArray, budget: float, *, whole: bool) -> Chooser:
    """Exclude a label if the rows' losses at its score stay within the budget: alpha (n + 1) - 1."""

    def choose(Q: Rows) -> tuple[FloatArray, BoolArray]:
        scores, lost = rows.lost(Q, losses, whole=whole)
        return scores, lost > budget + _ROUNDING

    return choose


def _by_p_values(rows: CalibrationRows, most_weaker: int | IntArray) -> Chooser:
    """Exclude labels with a p-value of at most alpha."""

    def choose(Q: Rows) -> tuple[FloatArray, BoolArray]:
        scores, weaker = rows.compare(Q)
        return scores, weaker + 1 > most_weaker

    return choose


def _most_weaker(alpha: float, n: int) -> int:
    """Return the largest whole number that is at most alpha (n + 1)."""
    return math.floor(alpha * (n + 1) + _ROUNDING)


def precisions(scores: FloatArray, truth: BoolArray, threshold: float) -> FloatArray:
    """Return the precision of each label set that is not empty, (n_sets,).

    Examples
    --------
    >>> precisions(np.array([[0.9, 0.6], [0.2, 0.1]]), np.array([[True, False], [True, True]]), 0.5)
    array([0.5])
    """
    taken = scores >= threshold
    sizes = taken.sum(axis=1)
    right = (taken & truth).sum(axis=1)
    return right[sizes > 0] / sizes[sizes > 0]


def risk_p_value(mean: float, n: int, alpha: float) -> float:
    """Bound the probability of so low a mean loss if the expected loss is alpha: Hoeffding and Bentkus.

    Examples
    --------
    >>> round(risk_p_value(0.0, 20, 0.1) / 0.9**20, 9), risk_p_value(0.2, 200, 0.1), risk_p_value(0.0, 0, 0.1)
    (1.0, 1.0, 1.0)
    """
    if n == 0 or mean >= alpha:
        return 1.0
    a = min(max(mean, 0.0), 1.0)
    entropy = (a * math.log(a / alpha) if a > 0 else 0.0) + (1 - a) * math.log((1 - a) / (1 - alpha))
    bentkus = math.e * float(bdtr(math.ceil(n * a - _ROUNDING), n, alpha))
    return min(1.0, math.exp(-n * entropy), bentkus)


def passing_threshold(
    training: tuple[FloatArray, sp.csr_array],
    held_out: tuple[FloatArray, sp.csr_array],
    alpha: float,
    delta: float,
) -> float:
    """Return the lowest threshold that passes, or infinity.

    Parameters
    ----------
    training : scores (n, n_labels), labels
        They choose the candidates and their order: first where the test is most likely to pass, then lower
        and lower. Of many rows an evenly spaced part is used.
    held_out : scores (m, n_labels), labels
        On which the candidates are tested.
    alpha : float
        The largest expected loss, 1 - precision.
    delta : float
        The probability of a mistake.
    """
    n = len(training[0])
    some = np.unique(np.linspace(0, n - 1, min(n, limits().compared_rows)).astype(np.int64))
    scores, truth = training[0][some], training[1][some].toarray() > 0
    candidates = np.unique(np.quantile(scores, np.linspace(0.0, 1.0, _CANDIDATES)))[::-1]
    size = len(held_out[0]) / len(scores)
    likely = [_p_value(precisions(scores, truth, t), alpha, size) for t in candidates]
    tested, found = held_out[1].toarray() > 0, math.inf
    for t in candidates[int(np.argmin(likely)) :]:
        if _p_value(precisions(held_out[0], tested, t), alpha) > delta:
            break
        found = float(t)
    return found


def _p_value(shares: FloatArray, alpha: float, size: float = 1.0) -> float:
    """Test the precision of some sets, or of `size` times as many similar sets."""
    return risk_p_value(1.0 - float(shares.mean()), round(len(shares) * size), alpha) if len(shares) else 1.0

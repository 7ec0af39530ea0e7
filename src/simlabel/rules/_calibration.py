"""Probabilities calibrated on leave-one-out scores, and their correction for missing positives."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
import scipy.optimize
import scipy.special
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks as parts_of
from simlabel._utils.validation import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    check_flag,
    check_number,
    check_numbers,
)
from simlabel.ridge import logistic_lines
from simlabel.rules._scores import (
    ScoreBlock,
    TrainingBlock,
    class_shares,
    inside,
    label_shares,
    merged_blocks,
    n_outside,
)

_STEEPEST = 100.0  # largest slope or offset of a logistic curve
_FEW_OUTSIDE = 0.2  # if more of the shares are outside [0, 1], sums are calibrated in place of shares
_SURE = 0.9  # quantile of the recorded rows above which a label is taken to be certain
_PRIOR_ROWS = 20.0  # the estimate of a label with fewer rows is mostly that of the other labels
_MIN = 0.05  # smallest share of recorded labels: no row counts for more than 20


class LeaveOneOutCalibration(BaseEstimator):
    """Map the share of the similarity of each label to its frequency among training rows with that share.

    The shares of the training rows leave each row out of its own sums, as for new rows. If similarities may
    be negative, so that sums are not shares, the sums themselves are used. A label with enough rows on both
    sides gets an isotonic curve, a rarer one a logistic curve with Platt's smoothing. A label that all n rows
    have, or none, has probability (n + 1) / (n + 2) or 1 / (n + 2) for every row, until `retune`. A 1-D y
    gets one temperature for all classes, which keeps their order.

    Parameters
    ----------
    enough : int
        Number of rows with, and of rows without, a label that an isotonic curve needs.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[0.0], [0.1], [1.0], [1.1]], [{"a"}, {"a"}, {"b"}, {"b"}]
    >>> model = SMLClassifier(normalizer=None, calibration="loo").fit(X, y)
    >>> p = model.predict_proba([[0.05]])
    >>> bool(p[0, 0] > p[0, 1])
    True
    """

    name = "loo"
    file_key = "calibration.LeaveOneOutCalibration"
    fitted_state = ("single_", "temperature_", "curves_", "sum_scale_")
    #: root mean square of sums that are not shares, by which they are divided; None for shares
    sum_scale_: float | None = None

    def __init__(self, enough: int = 100) -> None:
        self.enough = enough

    def check(self) -> None:
        """Raise ValueError if `enough` or a learned value is out of range."""
        check_number("LeaveOneOutCalibration", "enough", self.enough, at_least=1, integer=True)
        check_flag("LeaveOneOutCalibration", "single_", getattr(self, "single_", False))
        check_number("LeaveOneOutCalibration", "temperature_", getattr(self, "temperature_", 1.0), above=0)
        check_number("LeaveOneOutCalibration", "sum_scale_", self.sum_scale_, above=0, also=(None,))
        for curve in getattr(self, "curves_", ()):
            curve.check()

    def fit(self, blocks: Iterable[TrainingBlock], *, single: bool) -> Self:
        """Return a copy fitted to leave-one-out scores; `single` if each row has one class."""
        block = merged_blocks(blocks, np.inf)
        fitted = copy.copy(self)
        fitted.single_ = single
        if not single:
            fitted.sum_scale_ = None
            scores = block.varying().scores
            if n_outside(scores) > _FEW_OUTSIDE * scores.ranking.size:  # sums that are not shares
                size = np.sqrt(np.mean(np.square(scores.ranking, dtype=np.float64)))
                fitted.sum_scale_ = float(size) or None
        evidence, Y = fitted._evidence(block.scores), block.Y.toarray()
        if single:
            fitted.temperature_ = _temperature(evidence, Y, block.weights)
        else:
            fitted.curves_ = _curves(evidence, Y, block.weights, block.known, self.enough)
        return fitted

    def _evidence(self, scores: ScoreBlock) -> FloatArray:
        """Return what the curves, or the temperature, are applied to: numbers between 0 and 1."""
        if self.single_:
            return class_shares(scores)
        if self.sum_scale_ is None:
            return label_shares(scores)
        return inside(scipy.special.expit(scores.ranking.astype(np.float64) / self.sum_scale_))

    def adapted(self, places: IntArray, n_labels: int) -> Self:
        """Return a copy for more labels; labels that it has not learned from keep their share."""
        if self.single_:
            return self
        adapted = copy.copy(self)
        adapted.curves_ = [LogisticCurve(1.0, 0.0)] * n_labels
        for old, new in enumerate(places):
            adapted.curves_[new] = self.curves_[old]
        return adapted

    def probabilities(self, scores: ScoreBlock) -> FloatArray:
        """Return calibrated probabilities, (n_queries, n_labels), strictly inside (0, 1) for label sets."""
        evidence = self._evidence(scores)
        if self.single_:
            return scipy.special.softmax(_logarithm(evidence) / self.temperature_, axis=1)
        calibrated = np.empty(evidence.shape)  # there may be no label at all
        logistic, curve_of_all = self._logistic()
        if logistic:
            calibrated[:, logistic] = curve_of_all(evidence[:, logistic])
        for k, curve in enumerate(self.curves_):
            if isinstance(curve, PiecewiseCurve):
                calibrated[:, k] = curve(evidence[:, k])
        return calibrated

    def _logistic(self) -> tuple[list[int], LogisticCurve]:
        """Return the labels with a logistic curve, and their curves as one: a call per label takes long."""
        curves, cached = self.__dict__.get("_cached", (None, None))
        if curves is not self.curves_:  # a copy for other labels has other curves
            logistic = [k for k, curve in enumerate(self.curves_) if isinstance(curve, LogisticCurve)]
            parts = [(self.curves_[k].slope, self.curves_[k].offset, self.curves_[k].edge) for k in logistic]
            cached = logistic, LogisticCurve(*np.array(parts, dtype=np.float64).reshape(-1, 3).T)
            self._cached = self.curves_, cached
        return cached


@dataclass(frozen=True, eq=False)
class PiecewiseCurve:
    """A nondecreasing curve through points, strictly inside (0, 1)."""

    file_key: ClassVar[str] = "calibration.PiecewiseCurve"

    x: FloatArray
    y: FloatArray

    def check(self) -> None:
        """Raise ValueError if the points decrease, or leave (0, 1)."""
        check_numbers("PiecewiseCurve", "x", self.x, (None,))
        check_numbers("PiecewiseCurve", "y", self.y, self.x.shape, above=0, at_most=1)
        if not len(self.x) or (np.diff(self.x) < 0).any() or (np.diff(self.y) < 0).any():
            raise ValueError(
                "PiecewiseCurve: there must be at least one point, and x and y must not decrease."
            )

    def __call__(self, shares: FloatArray) -> FloatArray:
        return np.interp(shares, self.x, self.y)


@dataclass(frozen=True, eq=False)
class LogisticCurve:
    """1 / (1 + exp(-(slope * logit(share) + offset))), at least `edge` away from 0 and 1."""

    file_key: ClassVar[str] = "calibration.LogisticCurve"

    slope: float
    offset: float
    edge: float = float(np.finfo(np.float64).eps)

    def check(self) -> None:
        """Raise ValueError if the curve would decrease."""
        check_number("LogisticCurve", "slope", self.slope, at_least=0)
        check_number("LogisticCurve", "offset", self.offset)
        check_number("LogisticCurve", "edge", self.edge, above=0)
        if self.edge > 0.5:
            raise ValueError(f"LogisticCurve: edge must be at most 0.5, got {self.edge!r}.")

    def __call__(self, shares: FloatArray) -> FloatArray:
        p = scipy.special.expit(self.slope * scipy.special.logit(shares) + self.offset)
        return np.clip(p, self.edge, 1 - self.edge)


def logistic_probabilities(
    scores: FloatArray, Y: FloatArray, weights: FloatArray, known: BoolArray
) -> FloatArray:
    """Fit one logistic curve for each label, and return the probabilities of the same rows.

    Unlike `LeaveOneOutCalibration`, this keeps the order of the scores exactly.

    Parameters
    ----------
    scores, Y : array, (n_rows, n_labels)
        Scores on any scale, and true labels.
    weights : array, (n_rows,)
    known : array of bool, (n_rows, n_labels)
        Where `Y` is known.
    """
    slopes, offsets, _ = _platt(scores, Y, weights, known)
    nothing = ~known.any(axis=0)
    slopes[nothing] = offsets[nothing] = 0.0
    return np.asarray(scipy.special.expit(slopes * scores + offsets))


def _curves(
    p: FloatArray, Y: FloatArray, w: FloatArray, known: BoolArray, enough: int
) -> list[PiecewiseCurve | LogisticCurve]:
    """Return one curve for each label; a label without known entries keeps its share."""
    present, absent = _counts(Y, w, known)
    many = np.minimum(present, absent) >= enough
    curves: list[PiecewiseCurve | LogisticCurve] = [LogisticCurve(1.0, 0.0)] * len(many)
    for k in np.flatnonzero(many):
        rows = known[:, k]
        isotonic = IsotonicRegression(out_of_bounds="clip").fit(p[rows, k], Y[rows, k], sample_weight=w[rows])
        edge = 1.0 / (present[k] + absent[k] + 2.0)
        curves[k] = PiecewiseCurve(isotonic.X_thresholds_, np.clip(isotonic.y_thresholds_, edge, 1 - edge))
    few = np.flatnonzero(~many & known.any(axis=0))
    for part in parts_of(len(few), max(1, limits().block_entries // (4 * max(1, len(p))))):
        at = few[part]
        found = _platt(scipy.special.logit(p[:, at]), Y[:, at], w, known[:, at])
        for k, *curve in zip(at, *map(np.ndarray.tolist, found), strict=True):
            curves[k] = LogisticCurve(*curve)
    return curves


def _counts(Y: FloatArray, w: FloatArray, known: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return the weight of the rows that have each label, and of those that do not, (n_labels,) both."""
    return w @ (known & (Y > 0)), w @ (known & (Y == 0))


def _platt(
    x: FloatArray, Y: FloatArray, w: FloatArray, known: BoolArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Fit a logistic regression on smoothed targets (Platt 1999) for each label; slopes are not negative.

    Returns slopes, offsets and the least distance of probabilities from 0 and 1, (n_labels,) each: n rows
    give no evidence for a probability below 1 / (n + 2).
    """
    present, absent = _counts(Y, w, known)
    edges = np.minimum(0.5, 1.0 / (present + absent + 2.0))
    slopes, offsets = np.zeros(len(edges)), scipy.special.logit(np.where(present > 0, 1.0 - edges, edges))
    at = np.flatnonzero(np.minimum(present, absent) > 0)  # other labels do not vary
    high, low = (present + 1.0) / (present + 2.0), 1.0 / (absent + 2.0)
    target, weights = np.where(Y > 0, high, low)[:, at], w[:, None] * known[:, at]
    slopes[at], offsets[at] = logistic_lines(x[:, at], target, weights)
    falling = np.flatnonzero(slopes < 0)
    shares = (present * high + absent * low)[falling] / (present + absent)[falling]
    slopes[falling], offsets[falling] = 0.0, scipy.special.logit(shares)
    offsets[at] = np.clip(offsets[at], -_STEEPEST, _STEEPEST)
    return np.minimum(slopes, _STEEPEST), offsets, edges


def _temperature(p: FloatArray, Y: FloatArray, w: FloatArray) -> float:
    """Return the temperature with the smallest log loss."""
    logs = _logarithm(p)

    def loss(log_temperature: float) -> float:
        log_p = scipy.special.log_softmax(logs / np.exp(log_temperature), axis=1)
        return -float(w @ (Y * log_p).sum(axis=1)) / float(w.sum())

    return float(np.exp(scipy.optimize.minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))


def _logarithm(p: FloatArray) -> FloatArray:
    return np.log(np.maximum(p, np.finfo(np.float64).tiny))


class PositiveUnlabeled(BaseEstimator):
    """Correct for missing positives: a label that a row does not have may be true all the same.

    This is positive-unlabeled (PU) learning. If a share c_k of the rows with label k is recorded, at random,
    then scores learned from recorded labels are too low by the factor c_k for every row (Elkan and Noto
    2008). So each recorded label counts for 1 / c_k in label weights and probabilities, and the number of
    labels of a row is the sum of its probabilities. Thresholds are tuned for the estimated number of true
    labels.

    Parameters
    ----------
    missing : float, dict of label to float, or "auto"
        The share of true labels that are not recorded, 1 - c_k, for all labels or for each. It cannot be
        learned from the data alone: "auto" assumes that the tenth of the recorded rows with the highest
        (calibrated, leave-one-out) probabilities of a label is certain, so that what their probability lacks
        to 1 is missing. If a label is never certain, this overestimates the missing share: give a number.

    Attributes
    ----------
    In a fitted model, ``label_frequency_`` has c_k for each label.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.8, 0.1], [0.0, 1.0]], [{"sea"}, {"sea"}, set(), {"trees"}]
    >>> unlabeled = PositiveUnlabeled(missing={"sea": 0.3, "trees": 0.0})
    >>> model = SMLClassifier("linear", unlabeled=unlabeled).fit(X, y)
    >>> model.predict_proba([[1.0, 0.1]]).round(2)
    array([[0.92, 0.03]])
    """

    name = "unknown"
    file_key = "calibration.PositiveUnlabeled"

    def __init__(self, missing: float | Mapping[Any, float] | Literal["auto"] = "auto") -> None:
        self.missing = missing

    def check(self) -> None:
        """Raise ValueError if a share is not at least 0 and below 1."""
        shares = self.missing.values() if isinstance(self.missing, Mapping) else [self.missing]
        for share in shares:
            check_number("PositiveUnlabeled", "missing", share, at_least=0, also=("auto",))
            if share != "auto" and share >= 1:
                raise ValueError(f"PositiveUnlabeled: missing must be below 1, got {share!r}.")

    def label_frequency(self, classes: AnyArray, blocks: Iterable[TrainingBlock]) -> FloatArray:
        """Return c_k, (n_labels,): given, or estimated from leave-one-out scores of recorded labels."""
        names = classes.tolist()
        if isinstance(self.missing, Mapping):
            without = [name for name in names if name not in self.missing]
            if without:
                raise ValueError(f"PositiveUnlabeled: missing has no share for the label {without[0]!r}.")
            return 1.0 - np.array([self.missing[name] for name in names], dtype=np.float64)
        if self.missing != "auto":
            return np.full(len(names), 1.0 - float(self.missing))
        return _estimated(merged_blocks(blocks, np.inf))


def _estimated(block: TrainingBlock) -> FloatArray:
    """Return the probability that a label is recorded where it is almost certain, (n_labels,)."""
    p = LeaveOneOutCalibration().fit([block], single=False).probabilities(block.scores)
    Y = block.Y.toarray() > 0
    numbers = Y.sum(axis=0)
    own = np.array([np.quantile(p[Y[:, k], k], _SURE) if numbers[k] else np.nan for k in range(Y.shape[1])])
    if np.isnan(own).all():
        return np.ones(len(own))
    common = float(np.nansum(own * numbers) / numbers.sum())
    shrunk = (np.nan_to_num(own) * numbers + common * _PRIOR_ROWS) / (numbers + _PRIOR_ROWS)
    return np.clip(shrunk, _MIN, 1.0)


def scale_by_label_frequency(scores: ScoreBlock, label_frequency: FloatArray | None) -> ScoreBlock:
    """Return scores of recorded labels, given scores of true labels."""
    if label_frequency is None:
        return scores
    return replace(scores, labels=scores.labels * label_frequency, ranking=scores.ranking * label_frequency)


def correct_for_missing(probabilities: FloatArray, label_frequency: FloatArray) -> FloatArray:
    """Return probabilities that labels are true, given those that they are recorded."""
    return inside(probabilities / label_frequency)

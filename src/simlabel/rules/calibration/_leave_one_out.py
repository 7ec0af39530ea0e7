"""Probabilities calibrated on leave-one-out scores."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.optimize
import scipy.special
from sklearn.base import BaseEstimator
from sklearn.isotonic import IsotonicRegression

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel._utils.validation import FloatArray, IntArray, check_flag, check_number, check_numbers
from simlabel.ridge import logistic_lines
from simlabel.rules._base import ScoreBlock, TrainingBlock
from simlabel.rules.calibration._shares import class_shares, label_shares, n_outside, squeezed

Labels = npt.NDArray[np.int8]  # 0/1

_STEEPEST = 100.0  # slope or offset of a logistic curve
_FEW_OUTSIDE = 0.2  # of the shares: with more of them outside [0, 1], they are none


class LeaveOneOutCalibration(BaseEstimator):
    """For each label, how often it was right at a given share of the similarity.

    The shares of the training rows are taken with each row left out, so that they are like those
    of new instances; where similarities may be below 0 and sums are no shares, the sums themselves. A
    label with enough examples on both sides gets an isotonic curve, a rarer one
    a logistic curve with Platt's smoothing; one that all n rows have, or none, has (n + 1) / (n + 2) or
    1 / (n + 2) for every instance, until `retune`. A 1-D y gets one temperature for all classes, which
    keeps their order.

    Parameters
    ----------
    enough : int
        Rows with and rows without a label that make an isotonic curve.

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
    #: what sums are divided by before a curve sees them; None where they are shares
    sum_scale_: float | None = None

    def __init__(self, enough: int = 100) -> None:
        self.enough = enough

    def check(self) -> None:
        """Raise ValueError where `enough` is not a positive whole number."""
        check_number("LeaveOneOutCalibration", "enough", self.enough, at_least=1, integer=True)
        check_flag("LeaveOneOutCalibration", "single_", getattr(self, "single_", False))
        check_number("LeaveOneOutCalibration", "temperature_", getattr(self, "temperature_", 1.0), above=0)
        check_number("LeaveOneOutCalibration", "sum_scale_", self.sum_scale_, above=0, also=(None,))
        for curve in getattr(self, "curves_", ()):
            curve.check()

    def fit(self, blocks: Iterable[TrainingBlock], *, single: bool) -> Self:
        """Return a copy that has learnt from leave-one-out scores; `single` for one class per row."""
        blocks = list(blocks)
        fitted = copy.copy(self)
        fitted.single_ = single
        if not single:
            fitted.sum_scale_ = _scale([block.varying().scores for block in blocks])
        p = np.concatenate([fitted._evidence(block.scores) for block in blocks])
        Y = np.concatenate([block.Y.toarray() for block in blocks])
        w = np.concatenate([block.weights for block in blocks])
        known = [
            np.ones(block.Y.shape, dtype=bool) if block.known is None else block.known for block in blocks
        ]
        asked = np.concatenate(known)
        if single:
            fitted.temperature_ = _temperature(p, Y, w)
        else:
            fitted.curves_ = _curves(p, Y, w, asked, self.enough)
        return fitted

    def _evidence(self, scores: ScoreBlock) -> FloatArray:
        """What the curves, or the temperature, are applied to: numbers between 0 and 1."""
        if self.single_:
            return class_shares(scores)
        return label_shares(scores) if self.sum_scale_ is None else squeezed(scores, self.sum_scale_)

    def adapted(self, places: IntArray, n_labels: int) -> Self:
        """Return a copy for more labels: those that it has not learnt from keep their share."""
        if self.single_:
            return self
        adapted = copy.copy(self)
        adapted.curves_ = [LogisticCurve(1.0, 0.0)] * n_labels
        for old, new in enumerate(places):
            adapted.curves_[new] = self.curves_[old]
        return adapted

    def probabilities(self, scores: ScoreBlock) -> FloatArray:
        """Calibrated probabilities, (n_queries, n_labels), strictly inside (0, 1) for label sets."""
        if self.single_:
            return scipy.special.softmax(_logarithm(self._evidence(scores)) / self.temperature_, axis=1)
        shares = self._evidence(scores)
        calibrated = np.empty(shares.shape)  # there may be no label at all
        smooth, together = self._logistic()
        if smooth:
            calibrated[:, smooth] = together(shares[:, smooth])
        for k, curve in enumerate(self.curves_):
            if isinstance(curve, PiecewiseCurve):
                calibrated[:, k] = curve(shares[:, k])
        return calibrated

    def _logistic(self) -> tuple[list[int], LogisticCurve]:
        """Labels with a logistic curve, and their curves in one: a call for each of many takes long."""
        known, kept = self.__dict__.get("_kept", (None, None))
        if known is not self.curves_:  # a copy for other labels has other curves
            smooth = [k for k, curve in enumerate(self.curves_) if isinstance(curve, LogisticCurve)]
            parts = np.array([_parts(self.curves_[k]) for k in smooth]).reshape(-1, 3)
            kept = smooth, LogisticCurve(*parts.T)
            self._kept = self.curves_, kept
        return kept


@dataclass(frozen=True, eq=False)
class PiecewiseCurve:
    """A rising curve through points, strictly inside (0, 1)."""

    file_key: ClassVar[str] = "calibration.PiecewiseCurve"

    x: FloatArray
    y: FloatArray

    def check(self) -> None:
        """Raise ValueError where the points do not rise, or leave (0, 1)."""
        check_numbers("PiecewiseCurve", "x", self.x, (None,))
        check_numbers("PiecewiseCurve", "y", self.y, self.x.shape, above=0, at_most=1)
        if not len(self.x) or (np.diff(self.x) < 0).any() or (np.diff(self.y) < 0).any():
            raise ValueError("PiecewiseCurve: the points must be at least one, and rise.")

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
        """Raise ValueError where the curve would fall."""
        check_number("LogisticCurve", "slope", self.slope, at_least=0)
        check_number("LogisticCurve", "offset", self.offset)
        check_number("LogisticCurve", "edge", self.edge, above=0)
        if self.edge > 0.5:
            raise ValueError(f"LogisticCurve: edge must be at most 0.5, got {self.edge!r}.")

    def __call__(self, shares: FloatArray) -> FloatArray:
        p = scipy.special.expit(self.slope * scipy.special.logit(shares) + self.offset)
        return np.clip(p, self.edge, 1 - self.edge)


def logistic_probabilities(
    scores: FloatArray, Y: FloatArray, weights: FloatArray, known: npt.NDArray[np.bool_]
) -> FloatArray:
    """Probabilities of the rows that the curves are learnt from, one logistic curve for each label.

    Unlike those of `LeaveOneOutCalibration` they keep the order of the scores to the last.

    Parameters
    ----------
    scores, Y : array, (n_rows, n_labels)
        On any scale, and what is true.
    weights : array, (n_rows,)
    known : array of bool, (n_rows, n_labels)
        Where `Y` is known.
    """
    slopes, offsets, _ = _platt(scores, Y, weights, known)
    nothing = ~known.any(axis=0)
    slopes[nothing] = offsets[nothing] = 0.0
    return np.asarray(scipy.special.expit(slopes * scores + offsets))


def _parts(curve: LogisticCurve) -> tuple[float, float, float]:
    return curve.slope, curve.offset, curve.edge


def _scale(blocks: Sequence[ScoreBlock]) -> float | None:
    """What sums are divided by where they are no shares: their root mean square; None where they are."""
    n, outside = (
        sum(counts) for counts in zip(*((b.ranking.size, n_outside(b)) for b in blocks), strict=True)
    )
    if not n or outside <= _FEW_OUTSIDE * n:
        return None
    squares = sum(float(np.sum(np.square(b.ranking, dtype=np.float64))) for b in blocks)
    return float(np.sqrt(squares / n)) or None


def _curves(
    p: FloatArray, Y: Labels, w: FloatArray, known: npt.NDArray[np.bool_], enough: int
) -> list[PiecewiseCurve | LogisticCurve]:
    """One curve for each label; of a label of which nothing is known the share stays."""
    present, absent = _counts(Y, w, known)
    many = np.minimum(present, absent) >= enough
    curves: list[PiecewiseCurve | LogisticCurve] = [LogisticCurve(1.0, 0.0)] * len(many)
    for k in np.flatnonzero(many):
        a = known[:, k]
        isotonic = IsotonicRegression(out_of_bounds="clip").fit(p[a, k], Y[a, k], sample_weight=w[a])
        edge = 1.0 / (present[k] + absent[k] + 2.0)
        curves[k] = PiecewiseCurve(isotonic.X_thresholds_, np.clip(isotonic.y_thresholds_, edge, 1 - edge))
    few = np.flatnonzero(~many & known.any(axis=0))
    for part in blocks(len(few), max(1, limits().block_entries // (4 * max(1, len(p))))):
        at = few[part]
        found = _platt(scipy.special.logit(p[:, at]), Y[:, at], w, known[:, at])
        for k, slope, offset, edge in zip(at, *map(np.ndarray.tolist, found), strict=True):
            curves[k] = LogisticCurve(slope, offset, edge)
    return curves


def _counts(
    Y: FloatArray | Labels, w: FloatArray, known: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray]:
    """Weight of the rows that have each label, and of those that do not, (n_labels,) both."""
    return w @ (known & (Y > 0)), w @ (known & (Y == 0))


def _platt(
    x: FloatArray, Y: FloatArray | Labels, w: FloatArray, known: npt.NDArray[np.bool_]
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Logistic regression on smoothed targets (Platt 1999) for each label; slopes are not negative.

    Slopes, offsets and how near to 0 and 1 probabilities come, (n_labels,) each: n rows say no more than
    1 / (n + 2) about what they have not seen.
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


def _temperature(p: FloatArray, Y: Labels, w: FloatArray) -> float:
    """The temperature with the smallest log loss."""
    logs = _logarithm(p)

    def loss(log_temperature: float) -> float:
        log_p = scipy.special.log_softmax(logs / np.exp(log_temperature), axis=1)
        return -float(w @ (Y * log_p).sum(axis=1)) / float(w.sum())

    return float(np.exp(scipy.optimize.minimize_scalar(loss, bounds=(-3.0, 3.0), method="bounded").x))


def _logarithm(p: FloatArray) -> FloatArray:
    return np.log(np.maximum(p, np.finfo(np.float64).tiny))

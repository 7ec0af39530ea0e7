"""One threshold per label, tuned on leave-one-out scores."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np

from simlabel._validation import FloatArray, check_numbers
from simlabel.label_rules._base import Counts, LabelRule, Needs, ScoreBlock, TrainingBlock
from simlabel.label_rules._gather import Gathered, gather

CRITERIA = ("macro_f1", "micro_f1", "instance_f1", "hamming_loss")
_SWEEPS = 5


class PerLabel(LabelRule):
    """All labels whose weight is above their own threshold.

    Parameters
    ----------
    criterion : {"macro_f1", "micro_f1", "instance_f1", "hamming_loss"}
        What the thresholds are tuned for, on leave-one-out scores: F1 averaged over labels, over all
        entries, or over instances, or the share of wrong entries. All but ``"instance_f1"`` are
        optimal; that one is the best that changing one threshold at a time reaches.
    thresholds : array, (n_labels,), or dict of label number to float, optional
        Thresholds of your own, in place of tuned ones; with a dict the others are tuned.
    minimum, maximum : int
        Bounds on the number of labels.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0], [0.1, 0.9]], [{"a"}, {"a"}, {"b"}, {"b"}]
    >>> model = SMLClassifier("linear", label_rule=PerLabel("macro_f1")).fit(X, y)
    >>> model.predict([[0.8, 0.1]])
    [{'a'}]
    """

    name = "per_label"
    fitted_state = ("thresholds_",)

    def __init__(
        self,
        criterion: str = "macro_f1",
        thresholds: Any = None,
        minimum: int = 0,
        maximum: int | None = None,
    ) -> None:
        self.criterion = criterion
        self.thresholds = thresholds
        self.minimum = minimum
        self.maximum = maximum

    @property
    def needs(self) -> Needs:  # type: ignore[override]
        """Nothing where all thresholds are given."""
        return "nothing" if self._all_given else "leave_one_out"

    @property
    def _all_given(self) -> bool:
        return self.thresholds is not None and not isinstance(self.thresholds, Mapping)

    def check(self) -> None:
        """Raise ValueError where the criterion is not one of those above."""
        super().check()
        if self.criterion not in CRITERIA:
            raise ValueError(
                f"PerLabel: criterion must be one of {', '.join(CRITERIA)}, got {self.criterion!r}."
            )
        if self.thresholds is not None:
            given = (
                list(self.thresholds.values()) if isinstance(self.thresholds, Mapping) else self.thresholds
            )
            given = np.asarray(given, dtype=np.float64)
            check_numbers("PerLabel", "thresholds", given, (None,), finite=False)
        if hasattr(self, "thresholds_"):  # infinite for a label that is never there
            check_numbers("PerLabel", "thresholds_", self.thresholds_, (None,), finite=False)

    def fit(self, sizes: Counts, blocks: Iterable[TrainingBlock]) -> Self:
        """Tune the thresholds."""
        fitted = copy.copy(self)
        if self._all_given:
            fitted.thresholds_ = np.asarray(self.thresholds, dtype=np.float64)
            return fitted
        fitted.thresholds_ = tuned_thresholds(gather(blocks), self.criterion)
        for label, value in (self.thresholds or {}).items():
            fitted.thresholds_[label] = value
        return fitted

    def adapted(self, sizes: Counts, places: Counts, n_labels: int) -> Self:
        """Return a copy in which labels that it has not learnt from have the median threshold."""
        adapted = copy.copy(self)
        known = self.thresholds_[np.isfinite(self.thresholds_)]
        adapted.thresholds_ = np.full(n_labels, np.median(known) if known.size else 0.5)
        adapted.thresholds_[places] = self.thresholds_
        return adapted

    def count(self, scores: ScoreBlock) -> Counts:
        """How many weights are above their threshold."""
        if self.thresholds_.shape != (scores.labels.shape[1],):
            raise ValueError(
                f"PerLabel: thresholds have shape {self.thresholds_.shape}, "
                f"but there are {scores.labels.shape[1]} labels."
            )
        return np.count_nonzero(scores.labels > self.thresholds_, axis=1)

    def rank_by(self, scores: ScoreBlock) -> FloatArray:
        """How far above its threshold a label is."""
        return scores.ranking - np.where(np.isfinite(self.thresholds_), self.thresholds_, 1e300)


def tuned_thresholds(data: Gathered, criterion: str) -> FloatArray:
    """Thresholds, (n_labels,), that are best for a criterion; infinity for a label that is never there.

    Examples
    --------
    >>> scores = np.array([[0.1], [0.4], [0.8]])
    >>> tuned_thresholds(Gathered(scores, np.array([[0], [1], [1]]), np.ones(3)), "macro_f1")
    array([0.25])
    """
    sweeps = [_Sweep(data.scores[:, k], data.truth[:, k], data.weights) for k in range(data.scores.shape[1])]
    if criterion == "macro_f1":
        cuts = [sweep.best(sweep.f1()) for sweep in sweeps]
    elif criterion == "hamming_loss":
        cuts = [sweep.best(sweep.gains(2.0 * sweep.truth - 1.0)) for sweep in sweeps]
    else:
        cuts = _best_for_micro(sweeps)
        if criterion == "instance_f1":
            cuts = _improve_instances(sweeps, cuts, data)
    return np.array([sweep.threshold(cut) for sweep, cut in zip(sweeps, cuts, strict=True)])


class _Sweep:
    """One label's scores from the highest down; a cut takes so many of them."""

    def __init__(self, scores: FloatArray, truth: Any, weights: FloatArray) -> None:
        self.order = np.argsort(-scores, kind="stable")
        self.scores, self.truth, self.weights = scores[self.order], truth[self.order], weights[self.order]
        # no threshold lies between equal scores
        self.possible = np.concatenate([[True], self.scores[1:] < self.scores[:-1], [True]])
        self.taken = np.concatenate([[0.0], np.cumsum(self.weights)])
        self.right = np.concatenate([[0.0], np.cumsum(self.weights * self.truth)])

    def f1(self) -> FloatArray:
        """F1 of every cut."""
        return 2.0 * self.right / np.maximum(self.taken + self.right[-1], 1e-300)

    def gains(self, gain: FloatArray) -> FloatArray:
        """Sum of a gain per row over what every cut takes."""
        return np.concatenate([[0.0], np.cumsum(self.weights * gain)])

    def best(self, objective: FloatArray) -> int:
        """The cut with the highest objective, the smallest of equals."""
        return int(np.argmax(np.where(self.possible, objective, -np.inf)))

    def threshold(self, cut: int) -> float:
        """A value between the last score that is taken and the first that is not."""
        if cut == 0:
            return float("inf") if self.right[-1] == 0 else float(np.nextafter(self.scores[0], np.inf))
        if cut == len(self.scores):
            return float(np.nextafter(self.scores[-1], -np.inf))
        return float((self.scores[cut - 1] + self.scores[cut]) / 2.0)


def _best_for_micro(sweeps: list[_Sweep]) -> list[int]:
    """2 TP / (taken + true) over all labels is a ratio of sums: Dinkelbach's iteration finds its maximum."""
    true = sum(sweep.right[-1] for sweep in sweeps)
    ratio, cuts = 0.0, [0] * len(sweeps)
    for _ in range(100):
        cuts = [sweep.best(2.0 * sweep.right - ratio * sweep.taken) for sweep in sweeps]
        right = sum(sweep.right[cut] for sweep, cut in zip(sweeps, cuts, strict=True))
        taken = sum(sweep.taken[cut] for sweep, cut in zip(sweeps, cuts, strict=True))
        better = 2.0 * right / (taken + true) if taken + true > 0 else 0.0
        if better <= ratio * (1 + 1e-12):
            break
        ratio = better
    return cuts


def _improve_instances(sweeps: list[_Sweep], cuts: list[int], data: Gathered) -> list[int]:
    """Change one threshold at a time while the mean F1 of the instances rises."""
    predicted = np.zeros(data.truth.shape, dtype=bool)
    for k, cut in enumerate(cuts):
        predicted[sweeps[k].order[:cut], k] = True
    n_true, right, taken = (
        data.truth.sum(axis=1),
        (predicted & (data.truth > 0)).sum(axis=1),
        predicted.sum(axis=1),
    )
    for _ in range(_SWEEPS):
        before = list(cuts)
        for k, sweep in enumerate(sweeps):
            true = data.truth[:, k] > 0
            others, others_right = taken - predicted[:, k], right - (predicted[:, k] & true)
            with_k = _f1(others_right + true, others + 1, n_true)
            gain = with_k - _f1(others_right, others, n_true)
            cuts[k] = sweep.best(sweep.gains(gain[sweep.order]))
            predicted[:, k] = False
            predicted[sweep.order[: cuts[k]], k] = True
            taken, right = others + predicted[:, k], others_right + (predicted[:, k] & true)
        if cuts == before:
            break
    return cuts


def _f1(right: Any, taken: Any, true: Any) -> FloatArray:
    """F1 of each instance; nothing predicted where nothing is true counts as 1."""
    both = taken + true
    return np.where(both > 0, 2.0 * right / np.maximum(both, 1), 1.0)

"""Thresholds that are best for a criterion, found by sweeping down each label's scores."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from simlabel.label_rules._gather import Gathered
from simlabel.support.validation import FloatArray, IntArray

_SWEEPS = 5


def tuned_thresholds(data: Gathered, criterion: str) -> FloatArray:
    """Thresholds, (n_labels,), that are best for a criterion; infinity for a label that is never there.

    Examples
    --------
    >>> scores = np.array([[0.1], [0.4], [0.8]])
    >>> tuned_thresholds(Gathered(scores, np.array([[0], [1], [1]]), np.ones(3)), "f1_macro")
    array([0.25])
    """
    sweeps = [_Sweep(data.scores[:, k], data.truth[:, k], data.weights) for k in range(data.scores.shape[1])]
    cuts = TUNED[criterion](sweeps, data)
    return np.array([sweep.threshold(cut) for sweep, cut in zip(sweeps, cuts, strict=True)])


class _Sweep:
    """One label's scores from the highest down; a cut takes so many of them."""

    def __init__(self, scores: FloatArray, truth: npt.NDArray[np.int8], weights: FloatArray) -> None:
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


def _best_for_macro(sweeps: list[_Sweep], data: Gathered) -> list[int]:
    return [sweep.best(sweep.f1()) for sweep in sweeps]


def _best_for_hamming(sweeps: list[_Sweep], data: Gathered) -> list[int]:
    return [sweep.best(sweep.gains(2.0 * sweep.truth - 1.0)) for sweep in sweeps]


def _best_for_micro(sweeps: list[_Sweep], data: Gathered) -> list[int]:
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


def _best_for_instances(sweeps: list[_Sweep], data: Gathered) -> list[int]:
    """From the best for micro F1, one threshold at a time is changed while the instances' mean F1 rises."""
    cuts = _best_for_micro(sweeps, data)
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


def _f1(right: IntArray, taken: IntArray, true: IntArray) -> FloatArray:
    """F1 of each instance; nothing predicted where nothing is true counts as 1."""
    both = taken + true
    return np.where(both > 0, 2.0 * right / np.maximum(both, 1), 1.0)


#: criteria that thresholds can be tuned for -> from sweeps to the cut of each label
TUNED: dict[str, Callable[[list[_Sweep], Gathered], list[int]]] = {
    "f1_macro": _best_for_macro,
    "f1_micro": _best_for_micro,
    "f1_instance": _best_for_instances,
    "hamming_loss": _best_for_hamming,
}

"""Thresholds that are best for a criterion, found by sweeping down each label's scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
import numpy.typing as npt

from simlabel._utils.limits import limits
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.rules._gather import Gathered

Strength = float | Literal["full"]
Truths = npt.NDArray[np.int8]
RowValue = Callable[[IntArray, IntArray, IntArray], FloatArray]

_SWEEPS = 5

#: thresholds accept no more than so many times what is true: F1 alone would take all of a rare label
AT_MOST = 2.0


def tuned_thresholds(
    data: Gathered, criterion: str, strengths: Sequence[Strength] = (0.0,), at_most: float | None = None
) -> list[FloatArray]:
    """Thresholds, (n_labels,), that are best for a criterion; infinity for a label that is never there.

    Parameters
    ----------
    data : Gathered
    criterion : str
        One of `TUNED`.
    strengths : list of float or "full"
        For each, thresholds that are drawn so strongly towards those common to all labels.
    at_most : float, optional
        No label is accepted more often than this many times as often as it is true.

    Examples
    --------
    >>> scores = np.array([[0.1], [0.4], [0.8]])
    >>> tuned_thresholds(Gathered(scores, np.array([[0], [1], [1]]), np.ones(3)), "f1_macro")
    [array([0.25])]
    """
    true = data.weights @ data.truth
    there = true > 0
    thresholds = [np.full(len(true), np.inf) for _ in strengths]
    if not there.any():
        return thresholds
    data = data if there.all() else data.of_labels(there)
    sweeps = [
        Sweep(data.scores[:, k], data.truth[:, k], data.weights, at_most, data.known_of(k))
        for k in range(data.scores.shape[1])
    ]
    own = _at(sweeps, TUNED[criterion](sweeps, data))
    common = own if set(strengths) == {0.0} else _common(sweeps, data, criterion, at_most)
    lowest = _at(sweeps, [sweep.last(np.inf) for sweep in sweeps])
    for each, strength in zip(thresholds, strengths, strict=True):
        share = 0.0 if strength == "full" else true[there] / (true[there] + strength)
        each[there] = np.maximum(share * own + (1.0 - share) * common, lowest)
    return thresholds


def common_threshold(
    scores: FloatArray, data: Gathered, criterion: str, at_most: float | None = AT_MOST
) -> float:
    """The one threshold for all labels that is best for a criterion, on `scores` of the rows of `data`.

    All labels together are accepted no more often than `at_most` times as often as they are true.
    """
    some = data.with_scores(scores).every(-(-scores.size // limits().judged_entries))
    flat = flat_sweep(some, at_most)
    if criterion == "f1_micro":
        return flat.threshold(flat.best(flat.f1()))
    gains = _GAINS[criterion](some)
    return flat.threshold(flat.best(np.concatenate([[0.0], np.cumsum(gains.ravel()[flat.order])])))


def flat_sweep(data: Gathered, at_most: float | None = None) -> Sweep:
    """All labels' scores from the highest down, as if they were one's."""
    weights = np.repeat(data.weights, data.scores.shape[1])
    known = None if data.known is None else data.known.ravel()
    return Sweep(data.scores.ravel(), data.truth.ravel(), weights, at_most, known)


def _at(sweeps: list[Sweep], cuts: list[int]) -> FloatArray:
    return np.array([sweep.threshold(cut) for sweep, cut in zip(sweeps, cuts, strict=True)])


def _common(sweeps: list[Sweep], data: Gathered, criterion: str, at_most: float | None) -> FloatArray:
    """What labels have in common may be a score, or how often they are accepted: midway between the two."""
    score = common_threshold(data.scores, data, criterion, at_most)
    rates = np.column_stack([sweep.rates() for sweep in sweeps])
    rate = -common_threshold(-rates, data, criterion, at_most)
    return (score + _at(sweeps, [sweep.last(rate) for sweep in sweeps])) / 2.0


class Sweep:
    """One label's scores from the highest down, where it is known; a cut takes so many of them."""

    def __init__(
        self,
        scores: FloatArray,
        truth: Truths,
        weights: FloatArray,
        at_most: float | None = None,
        known: npt.NDArray[np.bool_] | None = None,
    ) -> None:
        self.n_rows = len(scores)
        if known is None:
            self.order = np.argsort(-scores)  # no cut parts equal scores, so their order does not matter
        else:
            rows = np.flatnonzero(known)
            self.order = rows[np.argsort(-scores[rows])]
        self.scores, self.truth, self.weights = scores[self.order], truth[self.order], weights[self.order]
        # no threshold lies between equal scores
        self.possible = np.concatenate([[True], self.scores[1:] < self.scores[:-1], [True]])
        self.taken = np.concatenate([[0.0], np.cumsum(self.weights)])
        self.right = np.concatenate([[0.0], np.cumsum(self.weights * self.truth)])
        if at_most is not None:
            self.possible &= self.taken <= at_most * self.right[-1] * (1 + 1e-12)

    def f1(self) -> FloatArray:
        """F1 of every cut."""
        return 2.0 * self.right / np.maximum(self.taken + self.right[-1], 1e-300)

    def gains(self, gain: FloatArray) -> FloatArray:
        """Sum of a gain per row over what every cut takes."""
        return np.concatenate([[0.0], np.cumsum(self.weights * gain)])

    def rates(self) -> FloatArray:
        """For each row what a cut just below its score takes, as a multiple of what is true."""
        rates = np.zeros(self.n_rows)
        rates[self.order] = self.taken[np.searchsorted(-self.scores, -self.scores, side="right")]
        return rates / self.right[-1]

    def last(self, rate: float) -> int:
        """The largest cut that takes no more than a multiple of what is true."""
        return int(np.flatnonzero(self.possible & (self.taken <= rate * self.right[-1]))[-1])

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


def _best_for_macro(sweeps: list[Sweep], data: Gathered) -> list[int]:
    return [sweep.best(sweep.f1()) for sweep in sweeps]


def _best_for_hamming(sweeps: list[Sweep], data: Gathered) -> list[int]:
    return [sweep.best(sweep.gains(2.0 * sweep.truth - 1.0)) for sweep in sweeps]


def _best_for_micro(sweeps: list[Sweep], data: Gathered) -> list[int]:
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


def _best_for_rows(
    sweeps: list[Sweep], data: Gathered, value: RowValue, start: Callable[[list[Sweep], Gathered], list[int]]
) -> list[int]:
    """From the best for another criterion, one threshold at a time is changed while the rows' mean rises."""
    cuts = start(sweeps, data)
    predicted = np.zeros(data.truth.shape, dtype=bool)
    for k, cut in enumerate(cuts):
        predicted[sweeps[k].order[:cut], k] = True
    n_true, right, taken = (
        data.truth.sum(axis=1),
        (predicted & (data.truth > 0)).sum(axis=1),
        predicted.sum(axis=1),
    )
    # frequent labels first, so that the order of the columns does not matter
    order = sorted(range(len(sweeps)), key=lambda k: (-sweeps[k].right[-1], *sweeps[k].scores[:1]))
    for _ in range(_SWEEPS):
        before = list(cuts)
        for k in order:
            sweep = sweeps[k]
            true = data.truth[:, k] > 0
            others, others_right = taken - predicted[:, k], right - (predicted[:, k] & true)
            gain = value(others_right + true, others + 1, n_true) - value(others_right, others, n_true)
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


def _exact(right: IntArray, taken: IntArray, true: IntArray) -> FloatArray:
    """1 for each instance whose set is the true one."""
    return ((right == taken) & (right == true)).astype(np.float64)


# What an entry adds to a criterion when it is taken after all that score higher, (n_rows, n_labels).


def _gains_for_hamming(data: Gathered) -> FloatArray:
    return data.weights[:, None] * (2.0 * data.truth - 1.0)


def _gains_for_macro(data: Gathered) -> FloatArray:
    gains: FloatArray = np.zeros(data.scores.shape)
    for k in range(data.scores.shape[1]):
        sweep = Sweep(data.scores[:, k], data.truth[:, k], data.weights, known=data.known_of(k))
        gains[sweep.order, k] = np.diff(sweep.f1())
    return gains


def _gains_for_rows(data: Gathered, value: RowValue) -> FloatArray:
    order = np.argsort(-data.scores, axis=1, kind="stable")
    right = np.cumsum(np.take_along_axis(data.truth, order, axis=1), axis=1, dtype=np.int64)
    right = np.pad(right, ((0, 0), (1, 0)))
    taken: IntArray = np.broadcast_to(np.arange(right.shape[1]), right.shape)
    if data.known is not None:
        taken = np.zeros(right.shape, dtype=np.int64)
        np.cumsum(np.take_along_axis(data.known, order, axis=1), axis=1, out=taken[:, 1:])
    values = value(right, taken, right[:, -1:])
    gains = np.empty(data.scores.shape)
    np.put_along_axis(gains, order, data.weights[:, None] * np.diff(values, axis=1), axis=1)
    return gains


_GAINS: dict[str, Callable[[Gathered], FloatArray]] = {
    "hamming_loss": _gains_for_hamming,
    "f1_macro": _gains_for_macro,
    "f1_instance": partial(_gains_for_rows, value=_f1),
    "subset_accuracy": partial(_gains_for_rows, value=_exact),
}
#: criteria that thresholds can be tuned for -> from sweeps to the cut of each label
TUNED: dict[str, Callable[[list[Sweep], Gathered], list[int]]] = {
    "f1_macro": _best_for_macro,
    "f1_micro": _best_for_micro,
    "f1_instance": partial(_best_for_rows, value=_f1, start=_best_for_micro),
    "subset_accuracy": partial(_best_for_rows, value=_exact, start=_best_for_hamming),
    "hamming_loss": _best_for_hamming,
}

"""Search for the thresholds, or the label rule, that are best for a metric on leave-one-out scores."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Literal

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.validation import AnyArray, BoolArray, FloatArray, IntArray
from simlabel.metrics import Truth, find_criterion
from simlabel.rules._scores import TrainingBlock, merged_blocks

if TYPE_CHECKING:
    from simlabel.rules._rules import LabelRule

Strength = float | Literal["full"]
RowValue = Callable[[IntArray, IntArray, IntArray], FloatArray]
CutSearch = Callable[[list["Sweep"], TrainingBlock], list[int]]

_SWEEPS = 5
_FOLDS = 5
_MAX_MICRO_LOSS = 0.05

#: default bound on how often a label is accepted, relative to how often it is true: F1 alone would
#: accept a rare label everywhere
AT_MOST = 2.0


class Sweep:
    """The scores of one label in descending order, where it is known; a cut accepts the first ones.

    Parameters
    ----------
    scores, truth, weights : array, (n_rows,)
    known : array of bool, (n_rows,), or None
        Where the truth is known; None for everywhere.
    at_most : float, optional
        No cut accepts more than this multiple of what is true.
    """

    def __init__(
        self,
        scores: FloatArray,
        truth: AnyArray,
        weights: FloatArray,
        known: BoolArray | None,
        at_most: float | None = None,
    ) -> None:
        self.n_rows = len(scores)
        if known is None:
            self.order = np.argsort(-scores)  # the order of equal scores does not matter
        else:
            rows = np.flatnonzero(known)
            self.order = rows[np.argsort(-scores[rows])]
        self.scores, self.truth, self.weights = scores[self.order], truth[self.order], weights[self.order]
        # no threshold lies between equal scores
        self.possible = np.concatenate([[True], self.scores[1:] < self.scores[:-1], [True]])
        self.taken = np.concatenate([[0.0], np.cumsum(self.weights)])
        self.right = self.gains(self.truth)
        if at_most is not None:
            self.possible &= self.taken <= at_most * self.right[-1] * (1 + 1e-12)

    def f1(self) -> FloatArray:
        """Return the F1 of every cut."""
        return 2.0 * self.right / np.maximum(self.taken + self.right[-1], 1e-300)

    def correct(self) -> FloatArray:
        """Return the number of correct entries of every cut, up to a constant."""
        return self.gains(2.0 * self.truth - 1.0)

    def gains(self, gain: FloatArray) -> FloatArray:
        """Return the sum of a gain per row over the rows that each cut accepts."""
        return np.concatenate([[0.0], np.cumsum(self.weights * gain)])

    def rates(self) -> FloatArray:
        """Return, for each row, what a cut just below its score accepts, as a multiple of what is true."""
        rates = np.zeros(self.n_rows)
        rates[self.order] = self.taken[np.searchsorted(-self.scores, -self.scores, side="right")]
        return rates / self.right[-1]

    def last(self, rate: float) -> int:
        """Return the largest cut that accepts no more than a multiple of what is true."""
        return int(np.flatnonzero(self.possible & (self.taken <= rate * self.right[-1]))[-1])

    def best(self, objective: FloatArray) -> int:
        """Return the cut with the highest objective; of equals, the smallest."""
        return int(np.argmax(np.where(self.possible, objective, -np.inf)))

    def threshold(self, cut: int) -> float:
        """Return a value between the last score that is accepted and the first that is not."""
        if cut == 0:
            return float("inf") if self.right[-1] == 0 else float(np.nextafter(self.scores[0], np.inf))
        if cut == len(self.scores):
            return float(np.nextafter(self.scores[-1], -np.inf))
        return float((self.scores[cut - 1] + self.scores[cut]) / 2.0)


def tuned_thresholds(
    block: TrainingBlock, criterion: str, strengths: Sequence[Strength], at_most: float | None
) -> list[FloatArray]:
    """Return thresholds, (n_labels,), that are best for a metric; infinity for a label that no row has.

    Parameters
    ----------
    block : TrainingBlock
    criterion : str
        One of `TUNED_METRICS`.
    strengths : list of float or "full"
        Strengths of shrinkage towards the thresholds common to all labels; one result for each.
    at_most : float or None
        No label is accepted more often than this many times as often as it is true.
    """
    true = block.weights @ block.truth
    there = true > 0
    thresholds = [np.full(len(true), np.inf) for _ in strengths]
    if not there.any():
        return thresholds
    block = block if there.all() else block.of_labels(np.flatnonzero(there))
    sweeps = _sweeps(block, at_most)
    own = _at(sweeps, TUNED_METRICS[criterion](sweeps, block))
    common = own if set(strengths) == {0.0} else _common(sweeps, block, criterion, at_most)
    lowest = _at(sweeps, [sweep.last(np.inf) for sweep in sweeps])
    for each, strength in zip(thresholds, strengths, strict=True):
        share = 0.0 if strength == "full" else true[there] / (true[there] + strength)
        each[there] = np.maximum(share * own + (1.0 - share) * common, lowest)
    return thresholds


def common_threshold(block: TrainingBlock, criterion: str, at_most: float | None = AT_MOST) -> float:
    """Return the single threshold for all labels that is best for a metric.

    All labels together are accepted no more often than `at_most` times as often as they are true.
    """
    step = -(-block.Y.shape[0] * block.Y.shape[1] // limits().evaluated_entries)
    if step > 1:
        block = block.of_rows(np.argsort(np.asarray(block.places))[::step])
    flat = flat_sweep(block, at_most)
    if criterion == "f1_micro":
        objective = flat.f1()
    elif criterion == "hamming_loss":
        objective = flat.correct()
    else:
        gains = _GAINS[criterion](block).ravel()[flat.order]
        objective = np.concatenate([[0.0], np.cumsum(gains)])
    return flat.threshold(flat.best(objective))


def flat_sweep(block: TrainingBlock, at_most: float | None = None) -> Sweep:
    """Return the sweep of all labels together."""
    known = None if block.unknown is None else block.known.ravel()
    weights = np.repeat(block.weights, block.Y.shape[1])
    return Sweep(block.scores.labels.ravel(), block.truth.ravel(), weights, known, at_most)


def _sweeps(block: TrainingBlock, at_most: float | None = None) -> list[Sweep]:
    """Return the sweep of each label."""
    known = [None] * block.Y.shape[1] if block.unknown is None else block.known.T
    columns = zip(block.scores.labels.T, block.truth.T, known, strict=True)
    return [Sweep(scores, truth, block.weights, where, at_most) for scores, truth, where in columns]


def _at(sweeps: list[Sweep], cuts: list[int]) -> FloatArray:
    return np.array([sweep.threshold(cut) for sweep, cut in zip(sweeps, cuts, strict=True)])


def _common(sweeps: list[Sweep], block: TrainingBlock, criterion: str, at_most: float | None) -> FloatArray:
    """Return the mean of two thresholds: the best common score, and the best common acceptance rate."""
    score = common_threshold(block, criterion, at_most)
    rates = replace(block.scores, labels=-np.column_stack([sweep.rates() for sweep in sweeps]))
    rate = -common_threshold(replace(block, scores=rates), criterion, at_most)
    return (score + _at(sweeps, [sweep.last(rate) for sweep in sweeps])) / 2.0


# The best cut of each label for a metric.


def _best_for_macro(sweeps: list[Sweep], block: TrainingBlock) -> list[int]:
    return [sweep.best(sweep.f1()) for sweep in sweeps]


def _best_for_hamming(sweeps: list[Sweep], block: TrainingBlock) -> list[int]:
    return [sweep.best(sweep.correct()) for sweep in sweeps]


def _best_for_micro(sweeps: list[Sweep], block: TrainingBlock) -> list[int]:
    """2 TP / (taken + true) over all labels is a ratio of sums: Dinkelbach's iteration finds its maximum."""
    true = sum(sweep.right[-1] for sweep in sweeps)
    ratio, cuts = 0.0, [0] * len(sweeps)
    for _ in range(100):
        cuts = [sweep.best(2.0 * sweep.right - ratio * sweep.taken) for sweep in sweeps]
        counts = [(sweep.right[cut], sweep.taken[cut]) for sweep, cut in zip(sweeps, cuts, strict=True)]
        right, taken = np.sum(counts, axis=0)
        better = 2.0 * right / (taken + true) if taken + true > 0 else 0.0
        if better <= ratio * (1 + 1e-12):
            break
        ratio = better
    return cuts


def _best_for_rows(sweeps: list[Sweep], block: TrainingBlock, value: RowValue, start: CutSearch) -> list[int]:
    """Start from the best cuts for another metric; change one at a time while the mean over rows rises."""
    cuts = start(sweeps, block)
    truth = block.truth > 0
    predicted = np.zeros(truth.shape, dtype=bool)
    for k, cut in enumerate(cuts):
        predicted[sweeps[k].order[:cut], k] = True
    n_true, right = truth.sum(axis=1), (predicted & truth).sum(axis=1)
    taken = predicted.sum(axis=1)
    # frequent labels first, so that the order of the columns does not matter
    order = sorted(range(len(sweeps)), key=lambda k: (-sweeps[k].right[-1], *sweeps[k].scores[:1]))
    for _ in range(_SWEEPS):
        before = list(cuts)
        for k in order:
            sweep, true = sweeps[k], truth[:, k]
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
    """Return the F1 of each row; 1 if nothing is true and nothing predicted."""
    both = taken + true
    return np.where(both > 0, 2.0 * right / np.maximum(both, 1), 1.0)


def _exact(right: IntArray, taken: IntArray, true: IntArray) -> FloatArray:
    """Return 1 for each row whose predicted set is the true one, else 0."""
    return ((right == taken) & (right == true)).astype(np.float64)


# What an entry adds to a metric if it is accepted after all that score higher, (n_rows, n_labels).


def _gains_for_macro(block: TrainingBlock) -> FloatArray:
    gains = np.zeros(block.Y.shape)
    for k, sweep in enumerate(_sweeps(block)):
        gains[sweep.order, k] = np.diff(sweep.f1())
    return gains


def _gains_for_rows(block: TrainingBlock, value: RowValue) -> FloatArray:
    order = np.argsort(-block.scores.labels, axis=1, kind="stable")

    def before(counted: AnyArray) -> IntArray:
        sums = np.cumsum(np.take_along_axis(counted, order, axis=1), axis=1, dtype=np.int64)
        return np.pad(sums, ((0, 0), (1, 0)))

    right = before(block.truth)
    values = value(right, before(block.known), right[:, -1:])
    gains = np.empty(block.Y.shape)
    np.put_along_axis(gains, order, block.weights[:, None] * np.diff(values, axis=1), axis=1)
    return gains


_GAINS: dict[str, Callable[[TrainingBlock], FloatArray]] = {
    "f1_macro": _gains_for_macro,
    "f1_instance": partial(_gains_for_rows, value=_f1),
    "subset_accuracy": partial(_gains_for_rows, value=_exact),
}
#: metrics that thresholds can be tuned for -> function from sweeps to the cut of each label
TUNED_METRICS: dict[str, CutSearch] = {
    "f1_macro": _best_for_macro,
    "f1_micro": _best_for_micro,
    "f1_instance": partial(_best_for_rows, value=_f1, start=_best_for_micro),
    "subset_accuracy": partial(_best_for_rows, value=_exact, start=_best_for_hamming),
    "hamming_loss": _best_for_hamming,
}


def folds(block: TrainingBlock) -> Iterator[tuple[TrainingBlock, TrainingBlock]]:
    """Split rows into training and held-out rows, five times; fewer times if fewer rows differ.

    The fold of a row depends on its scores and not on its position. So the order of rows does not matter,
    equal rows are in the same fold, and every fold has rows with high scores and with low ones.
    """
    labels = block.scores.labels
    highest, lowest = labels.max(axis=1, initial=-np.inf), labels.min(axis=1, initial=np.inf)
    keys = np.column_stack([highest, lowest, np.diff(block.Y.indptr)])
    fold_of = np.unique(keys, axis=0, return_inverse=True)[1].ravel() % _FOLDS
    for fold in range(_FOLDS):
        held = fold_of == fold
        if held.any() and not held.all():
            yield block.of_rows(np.flatnonzero(~held)), block.of_rows(np.flatnonzero(held))


def best_by_folds(
    fit_all: Callable[[Iterable[TrainingBlock]], Sequence[LabelRule]], block: TrainingBlock, criterion: str
) -> LabelRule:
    """Return the first of the rules that `fit_all` fits, unless another is clearly better on held-out rows.

    On a few hundred rows most differences between rules are due to chance. A rule is clearly better if its
    gain on held-out rows exceeds two standard errors, estimated by the jackknife over folds, since most
    metrics are not means over rows. Of the rules that are clearly better, the best is returned. For macro F1
    no rule is returned whose micro F1 is more than 0.05 below that of another: labels that cannot be
    predicted would outweigh those that can.
    """
    held_out: list[TrainingBlock] = []
    predicted: list[list[sp.csr_array]] = []  # by fold and rule
    for rest, held in folds(merged_blocks([block], limits().evaluated_entries)):
        held_out.append(held)
        predicted.append([rule.predict(held.scores) for rule in fit_all([rest])])
    return fit_all([block])[_clearly_best(held_out, predicted, criterion) if held_out else 0]


def _clearly_best(held_out: list[TrainingBlock], predicted: list[list[sp.csr_array]], criterion: str) -> int:
    def losses(criterion: str, without: int | None = None) -> FloatArray:
        some = [fold for fold in range(len(held_out)) if fold != without]
        block = merged_blocks([held_out[fold] for fold in some], np.inf)
        by_rule = zip(*(predicted[fold] for fold in some), strict=True)
        return np.array([_loss(sp.vstack(sets, format="csr"), block, criterion) for sets in by_rule])

    loss = losses(criterion)
    jackknife = np.array([losses(criterion, fold) for fold in range(len(held_out))])
    possible = np.ones(len(loss), dtype=bool)
    if criterion == "f1_macro":
        micro = losses("f1_micro")
        possible = micro <= micro.min() + _MAX_MICRO_LOSS
    first = int(np.argmax(possible))
    with np.errstate(invalid="ignore"):  # if nothing is true and nothing is predicted, no loss is finite
        gain, gains = loss[first] - loss, jackknife[:, [first]] - jackknife
        clear = possible & (np.round(gain, 9) > 2.0 * np.sqrt(len(held_out) - 1) * gains.std(axis=0))
    return int(np.argmin(np.where(clear, loss, np.inf))) if clear.any() else first


def _loss(predicted: sp.csr_array, block: TrainingBlock, criterion: str) -> float:
    """Return the metric, negated if higher is better."""
    if block.label_frequency is not None:
        return _loss_of_true(predicted, block, criterion)
    record = find_criterion(criterion)
    truth = Truth(Truth.of(block.Y).Y, block.unknown)
    value = record.function(truth, predicted, sample_weight=block.weights)
    if np.isnan(value):
        return -np.inf  # nothing is true, and nothing was predicted
    return -value if record.higher_is_better else value


def _loss_of_true(predicted: sp.csr_array, block: TrainingBlock, criterion: str) -> float:
    """Return the loss from the counts of each label, if a recorded label represents several true ones."""
    truth, weights = block.truth, block.weights[:, None]
    sets = predicted.toarray() * weights * block.known
    right, taken, true = (sets * truth).sum(axis=0), sets.sum(axis=0), (truth * weights).sum(axis=0)
    if criterion == "hamming_loss":
        return float((taken + true - 2.0 * right).sum())
    if criterion == "f1_micro":
        right, taken, true = (each.sum(keepdims=True) for each in (right, taken, true))
    there = taken + true > 0
    return -float((2.0 * right[there] / (taken + true)[there]).mean()) if there.any() else -np.inf

"""Labels of which only the presence is recorded: what is not tagged may still apply."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from simlabel._utils.validation import FloatArray, check_number
from simlabel.rules._base import ScoreBlock, TrainingBlock
from simlabel.rules.calibration._leave_one_out import LeaveOneOutCalibration

_SURE = 0.9  # quantile of the recorded rows: where a label is as good as certain
_ALIKE = 20.0  # rows: the estimate of a label that fewer have is drawn towards that of the others
_LEAST = 0.05  # a smaller share recorded would make one row worth more than twenty


class PresenceOnly(BaseEstimator):
    """A label that a row has not been given may apply all the same.

    If of the rows that have label k a share c_k is recorded, whichever rows these are, then what the
    recorded labels say is c_k times too low, for every instance (Elkan and Noto 2008). Each recorded label
    counts for 1 / c_k then, in label weights and probabilities, and the number of labels of an instance is
    what the probabilities add up to. Thresholds are tuned for as many true labels as there must be.

    Parameters
    ----------
    missing : float, dict of label to float, or "auto"
        The share of true labels that are not recorded, 1 - c_k, for all labels or for each. It is not in the
        data: "auto" takes the label to be certain for the surest tenth of the recorded rows, so that
        whatever they lack in (calibrated, leave-one-out) probability is missing. Where a label is never
        certain, too much is taken to be missing; say what you know instead.

    Attributes
    ----------
    In a fitted model, ``recorded_`` has c_k for each label.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.8, 0.1], [0.0, 1.0]], [{"sea"}, {"sea"}, set(), {"trees"}]
    >>> model = SMLClassifier("linear", absent=PresenceOnly(missing={"sea": 0.3, "trees": 0.0})).fit(X, y)
    >>> model.predict_proba([[1.0, 0.1]]).round(2)
    array([[0.92, 0.03]])
    """

    name = "unknown"
    file_key = "calibration.PresenceOnly"

    def __init__(self, missing: float | Mapping[Any, float] | Literal["auto"] = "auto") -> None:
        self.missing = missing

    def check(self) -> None:
        """Raise ValueError where a share is not at least 0 and below 1."""
        shares = self.missing.values() if isinstance(self.missing, Mapping) else [self.missing]
        for share in shares:
            check_number("PresenceOnly", "missing", share, at_least=0, also=("auto",))
            if share != "auto" and share >= 1:
                raise ValueError(f"PresenceOnly: missing must be below 1, got {share!r}.")

    def recorded(self, classes: npt.NDArray[Any], blocks: Iterable[TrainingBlock]) -> FloatArray:
        """c_k, (n_labels,): given, or estimated from leave-one-out scores of what is recorded."""
        names = classes.tolist()
        if isinstance(self.missing, Mapping):
            without = [name for name in names if name not in self.missing]
            if without:
                raise ValueError(f"PresenceOnly: missing says nothing of the label {without[0]!r}.")
            return 1.0 - np.array([self.missing[name] for name in names], dtype=np.float64)
        if self.missing != "auto":
            return np.full(len(names), 1.0 - float(self.missing))
        return _estimated(list(blocks))


def _estimated(blocks: list[TrainingBlock]) -> FloatArray:
    """The probability of being recorded where a label is as good as certain, (n_labels,)."""
    calibration = LeaveOneOutCalibration().fit(blocks, single=False)
    p = np.concatenate([calibration.probabilities(block.scores) for block in blocks])
    Y = np.concatenate([block.Y.toarray() for block in blocks]) > 0
    numbers = Y.sum(axis=0)
    own = np.array([np.quantile(p[Y[:, k], k], _SURE) if numbers[k] else np.nan for k in range(Y.shape[1])])
    if np.isnan(own).all():
        return np.ones(len(own))
    common = float(np.nansum(own * numbers) / numbers.sum())
    drawn = (np.nan_to_num(own) * numbers + common * _ALIKE) / (numbers + _ALIKE)
    return np.clip(drawn, _LEAST, 1.0)


def as_recorded(scores: ScoreBlock, recorded: FloatArray | None) -> ScoreBlock:
    """Scores of what is true as those of what is recorded."""
    if recorded is None:
        return scores
    return replace(scores, labels=scores.labels * recorded, ranking=scores.ranking * recorded)


def as_true(probabilities: FloatArray, recorded: FloatArray) -> FloatArray:
    """Probabilities of being recorded as those of being true, strictly inside (0, 1)."""
    edge = np.finfo(np.float64).eps
    return np.clip(probabilities / recorded, edge, 1.0 - edge)

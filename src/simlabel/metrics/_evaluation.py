"""All criteria at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from simlabel._utils.html import escaped, table
from simlabel.metrics._criteria import CRITERIA
from simlabel.metrics._named import find_criterion
from simlabel.metrics._own import Metric, as_metrics, is_known
from simlabel.metrics._truth import LabelMatrix, Truth, Weights


@dataclass(frozen=True)
class Evaluation:
    """The criteria of one set of predictions.

    Attributes
    ----------
    values : dict of str to float
        By name.
    undefined : dict of str to int
        Number of rows that a criterion leaves out because it is not defined on them: rows with
        no true label, for ranking loss also rows with all of them, and rows of which too few labels are
        known.
    n_rows : int
        Number of rows in all.
    """

    values: dict[str, float]
    undefined: dict[str, int]
    n_rows: int

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def only(self, names: Sequence[str]) -> Evaluation:
        """Some of the criteria, in the order of the names."""
        values = {name: self.values[name] for name in names}
        return replace(self, values=values, undefined={name: self.undefined[name] for name in names})

    def _repr_html_(self) -> str:
        rows = [
            [
                escaped(find_criterion(name).heading if is_known(name) else name),
                f"{value:.4f}",
                str(self.undefined[name] or ""),
            ]
            for name, value in self.values.items()
        ]
        return table(["criterion", "value", "rows left out: undefined"], rows, f"{self.n_rows:,} rows")

    def __str__(self) -> str:
        lines = []
        for name, value in self.values.items():
            left_out = self.undefined[name]
            note = f"  ({left_out} of {self.n_rows} rows left out: undefined)" if left_out else ""
            title = find_criterion(name).title if is_known(name) else name
            lines.append(f"{title:<18} {value:.4f}{note}")
        return "\n".join(lines)


def evaluate(
    Y_true: LabelMatrix,
    Y_pred: LabelMatrix,
    scores: npt.ArrayLike,
    *,
    criteria: Sequence[Metric] | Mapping[str, Any] | None = None,
    propensity: npt.ArrayLike | None = None,
    sample_weight: Weights = None,
) -> Evaluation:
    """The paper's five criteria, or those that are given.

    Parameters
    ----------
    Y_true, Y_pred : array or sparse of 0/1, (n_rows, n_labels)
        True and predicted label sets. What is unknown in the truth (NaN, or masked, in a dense array, or by
        `simlabel.labels.Known`) counts in no criterion.
    scores : array, (n_rows, n_labels)
        Label weights, as `label_weights` gives them, or any other scores.
    criteria : sequence of str or callable, or dict of str to callable, optional
        Names out of `CRITERIA` (the default, all five) and `MORE_CRITERIA`, and functions
        ``(Y_true, Y_pred, scores) -> float`` as `make_metric` describes them.
    propensity : array, (n_labels,), optional
        What `propensities` says of the training labels, for ``psp@k``.
    sample_weight : array, (n_rows,), optional
        How many times each row counts.

    Examples
    --------
    >>> print(evaluate([[1, 0], [0, 1]], [[1, 0], [1, 0]], [[0.9, 0.1], [0.6, 0.4]]))
    Hamming loss       0.5000
    One-error          0.5000
    Coverage           0.5000
    Ranking loss       0.5000
    Average precision  0.7500
    >>> print(evaluate([[1, 0]], [[1, 1]], [[0.9, 0.6]], criteria=["subset_accuracy", "precision@1"]))
    Subset accuracy    0.0000
    Precision@1        1.0000
    """
    truth = Truth.of(Y_true)
    asked = as_metrics(list(CRITERIA) if criteria is None else criteria)
    values = {each.name: each.measure(truth, Y_pred, scores, propensity, sample_weight) for each in asked}
    return Evaluation(values, {each.name: each.n_undefined(truth) for each in asked}, truth.Y.shape[0])

"""All criteria at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simlabel.metrics._criteria import (
    CRITERIA,
    as_truth,
    average_precision,
    coverage,
    hamming_loss,
    one_error,
    ranking_loss,
)


@dataclass(frozen=True)
class Evaluation:
    """The five criteria of one set of predictions.

    Attributes
    ----------
    values : dict of str to float
        By the names in `CRITERIA`.
    undefined : dict of str to int
        Number of rows that a criterion leaves out because it is not defined on them: rows with
        no true label, and for ranking loss also rows with all of them.
    n_rows : int
        Number of rows in all.
    """

    values: dict[str, float]
    undefined: dict[str, int]
    n_rows: int

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def __str__(self) -> str:
        lines = []
        for name, value in self.values.items():
            left_out = self.undefined[name]
            note = f"  ({left_out} of {self.n_rows} rows left out: undefined)" if left_out else ""
            lines.append(f"{CRITERIA[name].title:<18} {value:.4f}{note}")
        return "\n".join(lines)


def evaluate(Y_true: Any, Y_pred: Any, scores: Any) -> Evaluation:
    """The paper's five criteria.

    Parameters
    ----------
    Y_true, Y_pred : array or sparse of 0/1, (n_rows, n_labels)
        True and predicted label sets.
    scores : array, (n_rows, n_labels)
        Label weights, as `decision_function` gives them.

    Examples
    --------
    >>> print(evaluate([[1, 0], [0, 1]], [[1, 0], [1, 0]], [[0.9, 0.1], [0.6, 0.4]]))
    Hamming loss       0.5000
    One-error          0.5000
    Coverage           0.5000
    Ranking loss       0.5000
    Average precision  0.7500
    """
    truth = as_truth(Y_true)
    counts = np.diff(truth.indptr)
    none = int(np.sum(counts == 0))
    no_pairs = int(np.sum((counts == 0) | (counts == truth.shape[1])))
    values = {
        "hamming_loss": hamming_loss(truth, Y_pred),
        "one_error": one_error(truth, scores),
        "coverage": coverage(truth, scores),
        "ranking_loss": ranking_loss(truth, scores),
        "average_precision": average_precision(truth, scores),
    }
    undefined = dict.fromkeys(values, none) | {"hamming_loss": 0, "ranking_loss": no_pairs}
    return Evaluation(values, undefined, truth.shape[0])

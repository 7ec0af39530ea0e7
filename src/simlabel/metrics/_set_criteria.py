"""Criteria of predicted label sets, by scikit-learn: subset accuracy and the three F1 scores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import accuracy_score, f1_score

from simlabel.metrics._criteria import as_truth


def _pair(Y_true: Any, Y_pred: Any) -> tuple[Any, Any]:
    truth, predicted = as_truth(Y_true), as_truth(Y_pred, "Y_pred")
    if truth.shape != predicted.shape:
        raise ValueError(f"Y_pred has shape {predicted.shape}, but Y_true has {truth.shape}.")
    if truth.shape[1] > 1:
        return truth, predicted
    # scikit-learn reads one column as classes; a second, empty one changes none of these criteria
    empty = sp.csr_array(truth.shape, dtype=truth.dtype)
    return sp.hstack([truth, empty], format="csr"), sp.hstack([predicted, empty], format="csr")


def subset_accuracy(Y_true: Any, Y_pred: Any) -> float:
    """Share of instances whose label set is predicted exactly.

    Examples
    --------
    >>> subset_accuracy([[1, 0], [1, 1]], [[1, 0], [1, 0]])
    0.5
    """
    return float(accuracy_score(*_pair(Y_true, Y_pred)))


def f1_micro(Y_true: Any, Y_pred: Any) -> float:
    """F1 over all instance-label pairs together; NaN where no label is true and none is predicted.

    Examples
    --------
    >>> round(f1_micro([[1, 0], [1, 1]], [[1, 0], [1, 0]]), 4)
    0.8
    """
    return float(f1_score(*_pair(Y_true, Y_pred), average="micro", zero_division=np.nan))


def f1_macro(Y_true: Any, Y_pred: Any) -> float:
    """Mean over the labels of their F1; labels that are nowhere true and nowhere predicted are left out.

    Examples
    --------
    >>> f1_macro([[1, 0, 0], [1, 1, 0]], [[1, 0, 0], [1, 0, 0]])
    0.5
    """
    return float(f1_score(*_pair(Y_true, Y_pred), average="macro", zero_division=np.nan))


def f1_instance(Y_true: Any, Y_pred: Any) -> float:
    """Mean over the instances of their F1; an empty set that is predicted empty counts 1.

    Examples
    --------
    >>> round(f1_instance([[1, 0], [1, 1]], [[1, 0], [1, 0]]), 4)
    0.8333
    """
    return float(f1_score(*_pair(Y_true, Y_pred), average="samples", zero_division=1.0))

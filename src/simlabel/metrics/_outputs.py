"""Scores, label sets and probabilities of any scikit-learn multi-label estimator, in one form each."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.validation import FloatArray
from simlabel.metrics._truth import Mask


def label_scores(model: Any, X: Any, n_labels: int) -> FloatArray:
    """Scores, (n_rows, n_labels): by `decision_function`, or without one by `predict_proba`.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(1).fit([[0.0], [1.0]], [[1, 0, 0], [0, 1, 0]])
    >>> label_scores(model, [[0.9]], 3)  # predict_proba is a list here, and the third label never occurs
    array([[0., 1., 0.]])
    """
    for method in ("decision_function", "predict_proba"):
        ask = getattr(model, method, None)
        if ask is not None:
            return _matrix(ask(X), model, n_labels)
    raise TypeError(
        f"{type(model).__name__} has neither decision_function nor predict_proba: nothing ranks its labels."
    )


def rank_constant_labels(scores: FloatArray, absent: Any, always: Any = None) -> FloatArray:
    """Return scores with absent labels ranked last and labels that all training rows have ranked first.

    A method cannot learn a label that does not vary in training, and the score that it gives is a convention:
    scikit-learn's ``OneVsRestClassifier`` gives 0 to an absent label, above all negative scores.
    So that no method gains by its convention, comparisons replace these scores for every method.

    Parameters
    ----------
    scores : array, (n_rows, n_labels)
    absent, always : array of bool, (n_labels,)
        Labels that no training row has, and labels that all training rows have.

    Examples
    --------
    >>> rank_constant_labels(np.array([[-3.0, 0.0, -1.0]]), [False, True, False])
    array([[-3., -4., -1.]])
    """
    absent = np.asarray(absent, dtype=bool)
    always = np.zeros_like(absent) if always is None else np.asarray(always, dtype=bool)
    if not (absent.any() or always.any()):
        return scores
    varying = scores[:, ~(absent | always)]
    varying = varying if varying.shape[1] else np.zeros((len(scores), 1))
    low, high = varying.min(axis=1, keepdims=True), varying.max(axis=1, keepdims=True)
    ranked = scores.copy()  # far from 0 a step of 1 is lost in rounding, so the next number is taken there
    ranked[:, absent] = np.minimum(low - 1.0, np.nextafter(low, -np.inf))
    ranked[:, always] = np.maximum(high + 1.0, np.nextafter(high, np.inf))
    return ranked


def constant_labels(Y: sp.csr_array) -> tuple[Mask, Mask]:
    """Return which labels no row has, and which labels all rows have, each (n_labels,)."""
    counts = np.bincount(Y.indices[Y.data != 0], minlength=Y.shape[1])
    return counts == 0, (counts == Y.shape[0]) & (counts > 0)


def absent_labels(model: Any, n_labels: int) -> Mask:
    """Return which labels no training row of a fitted model had, (n_labels,), as far as the model tells.

    Ours know it, and ``OneVsRestClassifier`` keeps a constant in place of a classifier; also inside a
    pipeline or a search. Of others every label counts as present.
    """
    model = getattr(model, "best_estimator_", model)
    model = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(model, "_absent_labels"):
        return np.asarray(model._absent_labels(), dtype=bool)
    parts = getattr(model, "estimators_", ()) if type(model).__module__ == "sklearn.multiclass" else ()
    absent = [hasattr(part, "y_") and not np.any(part.y_) for part in parts]
    return np.array(absent) if len(absent) == n_labels else np.zeros(n_labels, dtype=bool)


def label_probabilities(model: Any, X: Any, n_labels: int) -> FloatArray | None:
    """Probabilities, (n_rows, n_labels), or None where the estimator has none."""
    ask = getattr(model, "predict_proba", None)
    try:
        return None if ask is None else _matrix(ask(X), model, n_labels)
    except AttributeError as error:
        if error.name != "predict_proba":
            raise
        return None  # OneVsRestClassifier has the method if its first part, for a constant label, has it


def _matrix(output: Any, model: Any, n_labels: int) -> FloatArray:
    if isinstance(output, list):  # one array for each label, one column for each of its classes
        columns = [
            _column_of_one(part, classes) for part, classes in zip(output, model.classes_, strict=True)
        ]
        matrix = np.column_stack(columns)
    else:
        matrix = np.asarray(output, dtype=np.float64)
        if n_labels == 1:  # a problem of one label is one of two classes to most estimators
            matrix = _column_of_one(matrix, model.classes_)[:, None] if matrix.ndim == 2 else matrix[:, None]
    if matrix.ndim != 2 or matrix.shape[1] != n_labels:
        raise ValueError(
            f"{type(model).__name__} gives scores of shape {matrix.shape}; "
            f"expected {n_labels} columns, one per label."
        )
    return matrix


def _column_of_one(part: Any, classes: Any) -> FloatArray:
    """The column of class 1; where the label never occurred there is none, where it always did only that."""
    part = np.asarray(part, dtype=np.float64)
    if part.shape[1] == 1 and len(classes) != 1:
        return part[:, 0]
    where = np.flatnonzero(np.asarray(classes) == 1)
    column: FloatArray = part[:, where[0]] if where.size else np.zeros(len(part))
    return column


def label_sets(model: Any, X: Any, n_labels: int) -> sp.csr_array:
    """Predicted sets, (n_rows, n_labels)."""
    predicted = model.predict(X)
    if not sp.issparse(predicted):
        predicted = np.asarray(predicted)
        predicted = predicted[:, None] if predicted.ndim == 1 and n_labels == 1 else predicted
    if predicted.ndim != 2 or predicted.shape[1] != n_labels:
        raise ValueError(
            f"{type(model).__name__} predicts an array of shape {predicted.shape}; "
            f"expected {n_labels} columns, one per label."
        )
    return sp.csr_array(predicted).astype(np.int8)

"""Every criterion by its name: the paper's five, sets, and the first k labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from simlabel._validation import FloatArray
from simlabel.metrics import _criteria, _set_criteria, _top_k
from simlabel.metrics._criteria import CRITERIA, Criterion, row_criteria

_OF_SETS: dict[str, tuple[str, Callable[[Any, Any], float]]] = {
    "subset_accuracy": ("Subset accuracy", _set_criteria.subset_accuracy),
    "f1_micro": ("F1 (micro)", _set_criteria.f1_micro),
    "f1_macro": ("F1 (macro)", _set_criteria.f1_macro),
    "f1_instance": ("F1 (by instance)", _set_criteria.f1_instance),
}
_AT_K = {"precision": "Precision", "ndcg": "nDCG", "psp": "PS precision"}
_K = (1, 3, 5)

#: names beside the paper's five; any other k is understood too
MORE_CRITERIA = (*_OF_SETS, *(f"{family}@{k}" for family in _AT_K for k in _K))


def find_criterion(name: str) -> Criterion:
    """The criterion of a name: one of `CRITERIA`, of `MORE_CRITERIA`, or one of the latter at another k.

    Examples
    --------
    >>> find_criterion("precision@7").title
    'Precision@7'
    >>> find_criterion("f1")
    Traceback (most recent call last):
        ...
    ValueError: unknown criterion 'f1'; expected one of hamming_loss, ..., psp@5 (any k will do).
    """
    if name in CRITERIA:
        return CRITERIA[name]
    if name in _OF_SETS:
        return Criterion(name, _OF_SETS[name][0], True, None)
    family, k = _split(name)
    if family is None:
        known = ", ".join((*CRITERIA, *MORE_CRITERIA))
        raise ValueError(f"unknown criterion {name!r}; expected one of {known} (any k will do).")
    return Criterion(name, f"{_AT_K[family]}@{k}", True, None)


def _split(name: str) -> tuple[str | None, int]:
    family, at, k = name.partition("@")
    known = at and family in _AT_K and k.isascii() and k.isdigit() and int(k) > 0
    return (family, int(k)) if known else (None, 0)


def needs_propensities(name: str) -> bool:
    """Whether a criterion asks how frequent the labels are in training."""
    return _split(name)[0] == "psp"


def needs_scores(name: str) -> bool:
    """Whether a criterion reads the scores, rather than the predicted sets."""
    return name != "hamming_loss" and name not in _OF_SETS


def measure(name: str, truth: Any, Y_pred: Any, scores: Any, propensity: Any = None) -> float:
    """One criterion of one set of predictions."""
    if name in CRITERIA:
        value: float = getattr(_criteria, name)(truth, scores if needs_scores(name) else Y_pred)
        return value
    if name in _OF_SETS:
        return _OF_SETS[name][1](truth, Y_pred)
    find_criterion(name)
    family, k = _split(name)
    if family == "precision":
        return _top_k.precision_at(truth, scores, k)
    if family == "ndcg":
        return _top_k.ndcg_at(truth, scores, k)
    if propensity is None:
        raise ValueError(f"{name} needs the propensities of the training labels: propensities(Y_train).")
    return _top_k.propensity_scored_precision_at(truth, scores, k, propensity)


def criterion_rows(name: str, Y_true: Any, scores: Any, propensity: Any = None) -> FloatArray:
    """A criterion of the scores on each row, (n_rows,), for means with an error; NaN where undefined.

    For ``psp@k`` the rows are the gains that are not yet divided by the best possible sum.

    Examples
    --------
    >>> criterion_rows("precision@1", [[1, 0], [0, 1]], [[0.9, 0.1], [0.6, 0.4]])
    array([1., 0.])
    """
    criterion = find_criterion(name)
    if not needs_scores(name):
        raise ValueError(f"{name} is about label sets, not about scores.")
    if criterion.column is not None:
        rows: FloatArray = row_criteria(Y_true, scores)[:, criterion.column]
        return rows
    family, k = _split(name)
    if family == "precision":
        return _top_k.precision_at_rows(Y_true, scores, k)
    if family == "ndcg":
        return _top_k.ndcg_at_rows(Y_true, scores, k)
    weights = _top_k.propensities(Y_true) if propensity is None else propensity
    return _top_k.psp_rows(Y_true, scores, k, weights)

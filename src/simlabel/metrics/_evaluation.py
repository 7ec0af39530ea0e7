"""Criteria by name, user-defined metrics, and `evaluate`, which computes several at once."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simlabel._utils.text import escaped, html_table
from simlabel._utils.validation import check_sample_weight
from simlabel.metrics._criteria import CRITERIA, Criterion
from simlabel.metrics._sets import SET_CRITERIA
from simlabel.metrics._top_k import TOP_K_CRITERIA
from simlabel.metrics._truth import LabelMatrix, SampleWeights, Truth, check_scores, check_sets

#: a metric: a name for `find_criterion`, ``function(Y_true, Y_pred, scores)``, or a result of `make_metric`
Metric: TypeAlias = "str | Callable[..., float] | Criterion"

#: the default numbers of top labels
USUAL_K = (1, 3, 5)

#: names other than the paper's five; any other k is accepted too
MORE_CRITERIA = (
    *(criterion.name for criterion in SET_CRITERIA),
    *(criterion.at(k).name for criterion in TOP_K_CRITERIA for k in USUAL_K),
)

_KNOWN = CRITERIA | {criterion.name: criterion for criterion in SET_CRITERIA}


def find_criterion(name: str) -> Criterion:
    """Return the criterion with a name: one of `CRITERIA` or `MORE_CRITERIA`, the latter at any k.

    Examples
    --------
    >>> find_criterion("precision@7").title
    'Precision@7'
    >>> find_criterion("f1")
    Traceback (most recent call last):
        ...
    ValueError: unknown criterion 'f1'; expected one of hamming_loss, ..., psp@5 (any k will do).
    """
    if name in _KNOWN:
        return _KNOWN[name]
    top_k = {criterion.name: criterion for criterion in TOP_K_CRITERIA}
    family, at, k = name.partition("@")
    if not (at and family in top_k and k.isascii() and k.isdigit() and int(k) > 0):
        known = ", ".join((*CRITERIA, *MORE_CRITERIA))
        raise ValueError(f"unknown criterion {name!r}; expected one of {known} (any k will do).")
    return top_k[family].at(int(k))


def is_known(name: str) -> bool:
    """Return whether `find_criterion` knows a name."""
    try:
        find_criterion(name)
    except ValueError:
        return False
    return True


@dataclass(frozen=True)
class UserMetric(Criterion):
    """A user-defined metric, ``function(Y_true, Y_pred, scores)``; see `make_metric`."""

    def measure(
        self,
        Y_true: LabelMatrix,
        Y_pred: LabelMatrix,
        scores: npt.ArrayLike,
        propensity: npt.ArrayLike | None = None,
        sample_weight: SampleWeights = None,
    ) -> float:
        """Call the function with arrays, and check its result."""
        truth, predicted = check_sets(Y_true, Y_pred)
        given: dict[str, Any] = {}
        if sample_weight is not None:
            if "sample_weight" not in inspect.signature(self.function).parameters:
                raise TypeError(
                    f"metric {self.name!r} takes no sample_weight: give its function such a parameter."
                )
            given["sample_weight"] = check_sample_weight(sample_weight, truth.shape[0])
        known = truth.Y.toarray().astype(np.int64) if truth.unknown is None else truth.with_nan()
        sets, scores = predicted.toarray().astype(np.int64), check_scores(scores, truth)
        try:
            value = self.function(known, sets, scores, **given)
        except Exception as error:
            raise ValueError(f"metric {self.name!r}: {type(error).__name__}: {error}") from error
        return _as_number(value, self.name)


def _as_number(value: Any, name: str) -> float:
    if np.ndim(value) or not isinstance(value, numbers.Real | np.bool_):
        raise TypeError(f"metric {name!r} must return a number, but returned {repr(value)[:80]}.")
    return float(value)


def make_metric(
    function: Callable[..., float], *, name: str | None = None, higher_is_better: bool = True
) -> Criterion:
    """Make a metric from a function, for `compare` and `evaluate`.

    Parameters
    ----------
    function : callable
        ``function(Y_true, Y_pred, scores)`` returns a number. `Y_true` and `Y_pred` are arrays of 0 and 1,
        (n_rows, n_labels), the true and the predicted label sets; `Y_true` is NaN where a label is unknown.
        `scores` are label weights, an array of float of the same shape. If `evaluate` gets a
        `sample_weight`, the function needs a parameter of that name. NaN means undefined.
    name : str, optional
        Name in results; by default the function's name.
    higher_is_better : bool
        Direction; False for a loss.

    Examples
    --------
    >>> from simlabel.metrics import evaluate
    >>> def size_error(Y_true, Y_pred, scores):
    ...     return abs(Y_true.sum(axis=1) - Y_pred.sum(axis=1)).mean()
    >>> metric = make_metric(size_error, higher_is_better=False)
    >>> print(evaluate([[1, 0], [1, 1]], [[1, 0], [1, 0]], [[0.9, 0.1], [0.9, 0.2]], criteria=[metric]))
    size_error         0.5000
    """
    if not callable(function) or isinstance(function, type):
        raise TypeError(f"a metric must be a function (Y_true, Y_pred, scores) -> float, got {function!r}.")
    name = getattr(function, "__name__", "<lambda>") if name is None else name
    if not isinstance(name, str) or not name.isprintable() or name in ("", "<lambda>"):
        raise ValueError(f"the metric {function!r} has no name: give a dict, {{'name': function}}.")
    if is_known(name):
        raise ValueError(f"{name!r} is the name of a metric of simlabel: choose another name.")
    return UserMetric(name, name, function, higher_is_better=bool(higher_is_better), aggregation="whole")


def as_metrics(metrics: Sequence[Metric] | Mapping[str, Any]) -> list[Criterion]:
    """Return the `Criterion` of each name, function or criterion of a list, or function of a dict.

    Examples
    --------
    >>> [metric.name for metric in as_metrics(["f1_micro", make_metric(max, name="mine")])]
    ['f1_micro', 'mine']
    """
    if isinstance(metrics, str) or not isinstance(metrics, Mapping | Sequence):
        raise TypeError(f"metrics must be a list of names and functions, or a dict, got {metrics!r}.")
    named = metrics.items() if isinstance(metrics, Mapping) else ((None, one) for one in metrics)
    found = [_as_metric(one, name) for name, one in named]
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"two metrics are called {name!r}: give each a different name.")
    return found


def _as_metric(one: Metric, name: str | None) -> Criterion:
    if name is None and isinstance(one, str | Criterion):
        return find_criterion(one) if isinstance(one, str) else one
    if isinstance(one, UserMetric):
        return make_metric(one.function, name=name, higher_is_better=one.higher_is_better)
    return make_metric(one, name=name)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Evaluation:
    """Values of the criteria for one set of predictions.

    Attributes
    ----------
    values : dict of str to float
        By name.
    undefined : dict of str to int
        Number of rows on which a criterion is undefined, so that it ignores them: rows without true labels,
        for ranking loss also rows with all labels, and rows with too few known labels.
    n_rows : int
        Total number of rows.
    """

    values: dict[str, float]
    undefined: dict[str, int]
    n_rows: int

    def __getitem__(self, name: str) -> float:
        return self.values[name]

    def only(self, names: Sequence[str]) -> Evaluation:
        """Select criteria, in the order of the names."""
        values = {name: self.values[name] for name in names}
        return replace(self, values=values, undefined={name: self.undefined[name] for name in names})

    def _repr_html_(self) -> str:
        rows = [
            [escaped(criterion.heading if criterion else name), f"{value:.4f}", str(undefined or "")]
            for name, criterion, value, undefined in self._rows()
        ]
        return html_table(["criterion", "value", "rows left out: undefined"], rows, f"{self.n_rows:,} rows")

    def __str__(self) -> str:
        lines = []
        for name, criterion, value, undefined in self._rows():
            note = f"  ({undefined} of {self.n_rows} rows left out: undefined)" if undefined else ""
            lines.append(f"{criterion.title if criterion else name:<18} {value:.4f}{note}")
        return "\n".join(lines)

    def _rows(self) -> Iterator[tuple[str, Criterion | None, float, int]]:
        for name, value in self.values.items():
            yield name, find_criterion(name) if is_known(name) else None, value, self.undefined[name]


def evaluate(
    Y_true: LabelMatrix,
    Y_pred: LabelMatrix,
    scores: npt.ArrayLike,
    *,
    criteria: Sequence[Metric] | Mapping[str, Any] | None = None,
    propensity: npt.ArrayLike | None = None,
    sample_weight: SampleWeights = None,
) -> Evaluation:
    """Compute the paper's five criteria, or others.

    Parameters
    ----------
    Y_true, Y_pred : array or sparse of 0/1, (n_rows, n_labels)
        True and predicted label sets. Labels that are unknown in `Y_true` (NaN or masked in a dense array, or
        not `simlabel.labels.MaskedIndicator`) are ignored by all criteria.
    scores : array, (n_rows, n_labels)
        Label weights of `label_weights`, or any other scores.
    criteria : sequence of str or callable, or dict of str to callable, optional
        Names out of `CRITERIA` (the default, all five) and `MORE_CRITERIA`, and functions
        ``(Y_true, Y_pred, scores) -> float`` as `make_metric` describes them.
    propensity : array, (n_labels,), optional
        `propensities` of the training labels, for ``psp@k``.
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
    chosen = as_metrics(list(CRITERIA) if criteria is None else criteria)
    values = {each.name: each.measure(truth, Y_pred, scores, propensity, sample_weight) for each in chosen}
    return Evaluation(values, {each.name: each.n_undefined(truth) for each in chosen}, truth.Y.shape[0])

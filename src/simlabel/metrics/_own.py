"""Metrics of one's own, next to those that have a name here."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from simlabel._utils.validation import check_sample_weight
from simlabel.metrics._named import find_criterion
from simlabel.metrics._record import Criterion
from simlabel.metrics._truth import LabelMatrix, Weights, check_scores, check_sets

#: a metric: a name for `find_criterion`, ``function(Y_true, Y_pred, scores)``, or what `make_metric` gives
Metric: TypeAlias = "str | Callable[..., float] | Criterion"


@dataclass(frozen=True)
class OwnMetric(Criterion):
    """A metric by a function of the user, ``function(Y_true, Y_pred, scores)``; see `make_metric`."""

    def measure(
        self,
        Y_true: LabelMatrix,
        Y_pred: LabelMatrix,
        scores: npt.ArrayLike,
        propensity: npt.ArrayLike | None = None,
        sample_weight: Weights = None,
    ) -> float:
        """Call the function with arrays, and check what it returns."""
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
    """A metric of one's own, for `compare` and `evaluate`.

    Parameters
    ----------
    function : callable
        ``function(Y_true, Y_pred, scores)`` returns a number. `Y_true` and `Y_pred` are arrays of 0 and 1,
        (n_rows, n_labels), the true and the predicted label sets; `Y_true` is NaN where a label is unknown.
        `scores` are label weights, an array of float of the same shape. If `evaluate` gets a
        `sample_weight`, the function needs a parameter of that name. NaN means undefined.
    name : str, optional
        What it is called in results; by default the function's name.
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
        raise ValueError(f"{name!r} is the name of one of simlabel's metrics: give yours another name.")
    return OwnMetric(name, name, function, higher_is_better=bool(higher_is_better), aggregation="whole")


def as_metrics(metrics: Sequence[Metric] | Mapping[str, Any]) -> list[Criterion]:
    """Records of metrics that are given as names, functions or records, or as a dict of functions.

    Examples
    --------
    >>> [metric.name for metric in as_metrics(["f1_micro", make_metric(max, name="mine")])]
    ['f1_micro', 'mine']
    """
    if isinstance(metrics, str) or not isinstance(metrics, Mapping | Sequence):
        raise TypeError(f"metrics must be a list of names and functions, or a dict, got {metrics!r}.")
    if isinstance(metrics, Mapping):
        found = [_named(name, one) for name, one in metrics.items()]
    else:
        found = [_as_metric(one) for one in metrics]
    names = [one.name for one in found]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise ValueError(f"two metrics are called {twice[0]!r}: give each a name of its own.")
    return found


def is_known(name: str) -> bool:
    """Whether `find_criterion` knows a name."""
    try:
        find_criterion(name)
    except ValueError:
        return False
    return True


def _named(name: str, one: Any) -> Criterion:
    if isinstance(one, OwnMetric):
        return make_metric(one.function, name=name, higher_is_better=one.higher_is_better)
    return make_metric(one, name=name)


def _as_metric(one: Metric) -> Criterion:
    if isinstance(one, Criterion):
        return one
    return find_criterion(one) if isinstance(one, str) else make_metric(one)

"""Algorithms by name: SML, the paper's four baselines, some of scikit-learn, and any importable class."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from simlabel.baselines import ADTBoostMH, BoosTexter, ConstantFallback, LabelPowerset, MLkNN, RankSVM
from simlabel.estimators import AutoSMLClassifier, SMLClassifier

_TREES = 300
_MAX_ITER = 1000  # of logistic regression


class AlgorithmNotInstalled(LookupError):
    """An algorithm is not installed, or does not exist."""

    def __str__(self) -> str:
        return str(self.args[0])


@dataclass(frozen=True)
class Algorithm:
    """A named estimator.

    Attributes
    ----------
    name : str
        For `find_algorithm`.
    title : str
        For reports.
    estimator : estimator
        Not yet fitted.
    sparse_labels : bool
        Whether it accepts a sparse indicator; others get a dense one.
    reseeded : bool
        Whether each split adds its number to every integer `random_state`; False for your own estimators,
        which keep theirs.
    """

    name: str
    title: str
    estimator: Any
    sparse_labels: bool = False
    reseeded: bool = True

    def for_split(self, number: int) -> Any:
        """Return a clone of the estimator with the random state of a split.

        With one seed for all splits, an unlucky draw, such as the label sets of RAkEL, would affect all of
        them, and the standard deviation over the splits would not show it.

        Examples
        --------
        >>> find_algorithm("rf", seed=5).for_split(2).random_state
        7
        """
        estimator = clone(self.estimator)
        if not (self.reseeded and number):
            return estimator
        seeds = {
            name: value + number
            for name, value in estimator.get_params().items()
            if name.rpartition("__")[2] == "random_state" and type(value) is int
        }
        return estimator.set_params(**seeds)


@dataclass(frozen=True)
class _Entry:
    title: str
    what: str
    make: Callable[[int, int], Any]  # of seed and n_jobs
    sparse_labels: bool = False


def _ours(title: str, what: str, kind: Callable[[], Any]) -> _Entry:
    """Return an entry of an estimator of simlabel, which accepts labels in any form."""
    return _Entry(title, what, lambda seed, jobs: _seeded(kind(), seed, jobs), sparse_labels=True)


def _scaled(estimator: Any) -> Any:
    """Scale columns to unit variance first, without centering, so that sparse rows stay sparse."""
    return make_pipeline(StandardScaler(with_mean=False), estimator)


def _logistic() -> LogisticRegression:
    return LogisticRegression(max_iter=_MAX_ITER)


_ENTRIES = {
    "sml": _ours("SML (the paper's)", "the paper's method, gamma by its search", SMLClassifier),
    "autosml": _ours("AutoSML", "chooses among configurations by leave-one-out", AutoSMLClassifier),
    "mlknn": _ours("ML-kNN", "10 nearest neighbors, Bayesian", MLkNN),
    "boostexter": _ours("BoosTexter", "500 boosted stumps", BoosTexter),
    "adtboost": _ours("ADTBoost.MH", "alternating decision tree, 50 rounds", ADTBoostMH),
    "ranksvm": _ours("Rank-SVM", "ranking SVM, polynomial of degree 8", RankSVM),
    "br": _Entry(
        "BR-logistic",
        "binary relevance, one logistic regression per label",
        lambda seed, jobs: _scaled(OneVsRestClassifier(_logistic())),
    ),
    "cc": _Entry(
        "CC-logistic",
        "classifier chain of logistic regressions, in a random order",
        lambda seed, jobs: _scaled(
            ClassifierChain(ConstantFallback(_logistic()), order="random", random_state=seed)
        ),
    ),
    "lp": _Entry(
        "LP-logistic",
        "label powerset: one logistic regression over the distinct label sets",
        lambda seed, jobs: _scaled(LabelPowerset(_logistic())),
    ),
    "knn": _Entry(
        "KNeighbors",
        "10 nearest neighbors",
        lambda seed, jobs: _scaled(KNeighborsClassifier(10, n_jobs=jobs)),
    ),
    "rf": _Entry(
        "RandomForest",
        f"{_TREES} trees",
        lambda seed, jobs: RandomForestClassifier(_TREES, random_state=seed, n_jobs=jobs),
    ),
    "et": _Entry(
        "ExtraTrees",
        f"{_TREES} trees",
        lambda seed, jobs: ExtraTreesClassifier(_TREES, random_state=seed, n_jobs=jobs),
    ),
}

#: names for `find_algorithm`
ALGORITHMS = tuple(_ENTRIES)


def find_algorithm(name: str, *, seed: int = 0, n_jobs: int = 1) -> Algorithm:
    """Return the algorithm of a name, or of ``module:Class``.

    Parameters
    ----------
    name : str
        One of `ALGORITHMS`, or the address of a class with no required parameters, such as
        ``"sklearn.neural_network:MLPClassifier"``.
    seed : int
        Its `random_state`, if it has one.
    n_jobs : int
        Its `n_jobs`, if it has one.

    Raises
    ------
    AlgorithmNotInstalled
        If there is none of that name.

    Examples
    --------
    >>> find_algorithm("knn").title
    'KNeighbors'
    >>> find_algorithm("sklearn.tree:DecisionTreeClassifier", seed=7).estimator.random_state
    7
    """
    if name in _ENTRIES:
        entry = _ENTRIES[name]
        return Algorithm(name, entry.title, entry.make(seed, n_jobs), entry.sparse_labels)
    if ":" not in name:
        known = ", ".join(ALGORITHMS)
        raise AlgorithmNotInstalled(f"unknown algorithm {name!r}; expected one of {known}, or module:Class.")
    return Algorithm(name, name.partition(":")[2], _imported(name, seed, n_jobs))


def _imported(address: str, seed: int, n_jobs: int) -> Any:
    module, _, name = address.partition(":")
    try:
        make = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise AlgorithmNotInstalled(f"{address} is not installed here: {error}.") from None
    try:
        return _seeded(make(), seed, n_jobs)
    except (TypeError, AttributeError) as error:
        raise AlgorithmNotInstalled(
            f"{address} is not a scikit-learn estimator without required parameters: {error}."
        ) from None


def _seeded(estimator: Any, seed: int, n_jobs: int) -> Any:
    """Set the seed and the number of jobs, if it has such parameters."""
    known = estimator.get_params(deep=False)
    requested = {"random_state": seed, "n_jobs": n_jobs}
    return estimator.set_params(**{key: value for key, value in requested.items() if key in known})


def list_algorithms() -> pd.DataFrame:
    """Return the names for `find_algorithm`, with titles and descriptions.

    Examples
    --------
    >>> list_algorithms().loc["rf", "title"]
    'RandomForest'
    """
    rows = [{"name": name, "title": one.title, "what": one.what} for name, one in _ENTRIES.items()]
    return pd.DataFrame(rows).set_index("name")

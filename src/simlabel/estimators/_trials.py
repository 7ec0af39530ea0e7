"""Configurations that AutoSML chooses from, and what came out for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel.engines import Exact
from simlabel.estimators._problem import make_problem
from simlabel.fitted import Batch
from simlabel.influence import INFLUENCES, Problem, Stages
from simlabel.normalization import Normalizer, resolve_normalizer
from simlabel.similarities import RBF, SIMILARITIES, ChiSquare, Cosine, Laplacian, Polynomial, Similarity
from simlabel.support.validation import Rows
from simlabel.tuning import LeaveOneOut, TuningResult, two_sided

if TYPE_CHECKING:
    import pandas as pd

Values = dict[str, Any]  # of parameters that were searched, by nested names


@dataclass(frozen=True)
class Configuration:
    """A choice of stages."""

    normalizer: Any
    similarity: Similarity
    influence: str

    @property
    def steps(self) -> str | Normalizer | None:
        """The normalizer as a table shows it: a list of names as one."""
        return "+".join(self.normalizer) if isinstance(self.normalizer, list) else self.normalizer

    def __str__(self) -> str:
        return f"{self.steps} / {self.similarity!r} / {self.influence}"


@dataclass(frozen=True)
class Trial:
    """What came out for a configuration."""

    configuration: Configuration
    best: Problem
    curve: TuningResult
    n_rows: int

    @property
    def value(self) -> float:
        """The criterion of the best candidate."""
        return self._at_best(self.curve.values)

    @property
    def error(self) -> float:
        """Its standard error."""
        return self._at_best(self.curve.errors)

    @property
    def similarity(self) -> Similarity:
        """The configuration's, with the best values in it."""
        own = {name: v for name, v in self.curve.best.items() if not name.startswith("influence__")}
        return self.configuration.similarity.replaced(own)

    def _at_best(self, figures: Sequence[float]) -> float:
        pairs = zip(figures, self.curve.candidates, strict=True)
        return next((figure for figure, candidate in pairs if candidate == self.curve.best), float("nan"))


def default_configurations(X: Rows) -> list[Configuration]:
    """The fixed list: what suits dense or sparse features, of any sign or not.

    Examples
    --------
    >>> for configuration in default_configurations(sp.csr_array([[1.0, 0.0]])):
    ...     print(configuration)
    l2 / RBF() / ridge
    zscore+l2 / RBF() / ridge
    l2 / Polynomial(coef0='auto', degree='auto') / ridge
    zscore+l2 / Polynomial(coef0='auto', degree='auto') / ridge
    l2 / RBF() / uniform
    zscore+l2 / RBF() / uniform
    l2 / Cosine() / uniform
    zscore+l2 / Cosine() / uniform
    """
    if sp.issparse(X):  # sums over coordinates would make rows dense
        normalizers: list[str | list[str]] = ["l2", ["zscore", "l2"]]
        learned: list[Similarity] = [RBF(), Polynomial("auto", "auto")]
        plain: list[Similarity] = [RBF(), Cosine()]
    else:
        normalizers = ["l2", ["zscore", "l2"], "zscore", "minmax"]
        learned = [RBF(), Laplacian(), RBF() + Laplacian(), Polynomial("auto", "auto")]
        plain = [RBF(), Laplacian()]
    chosen = [Configuration(n, s, "ridge") for s in learned for n in normalizers if _goes_with(s, n)]
    if not sp.issparse(X) and (X.size == 0 or X.min() >= 0):
        chosen += [Configuration(n, ChiSquare(), "ridge") for n in ("l2", "minmax")]
    return chosen + [Configuration(n, s, "uniform") for s in plain for n in normalizers if _goes_with(s, n)]


def _goes_with(similarity: Similarity, normalizer: str | list[str]) -> bool:
    """Whether a pair is worth trying: inner products want rows of one length."""
    bounded = normalizer == "l2" or (isinstance(normalizer, list) and normalizer[-1] == "l2")
    return bounded or not isinstance(similarity, Cosine | Polynomial)


def checked_configurations(given: Sequence[Any]) -> list[Configuration]:
    """What the user gave to choose from: (normalizer, similarity, influence), names or objects."""
    for one in given:
        if not isinstance(one, list | tuple) or len(one) != 3:
            raise ValueError(
                f"AutoSMLClassifier: a configuration is (normalizer, similarity, influence), got {one!r}."
            )
    configurations = [Configuration(n, SIMILARITIES.resolve(s), i) for n, s, i in given]
    if not configurations:
        raise ValueError("AutoSMLClassifier: configurations is empty; give at least one, or None.")
    for one in configurations:
        if one.similarity.form == "precomputed":
            raise ValueError(
                "AutoSMLClassifier compares similarities on features, of which a precomputed matrix has "
                "none; use SMLClassifier('precomputed')."
            )
        resolve_normalizer(one.normalizer)
        one.similarity.check()
        INFLUENCES.resolve(one.influence).check_similarity(one.similarity, None)
    return configurations


@dataclass(frozen=True)
class Trials:
    """Tries configurations on some rows.

    Attributes
    ----------
    batch : Batch
        Checked training rows.
    names : array of str or None
        Of their features.
    search : LeaveOneOut
    n_jobs : int or None
    seed : int
    """

    batch: Batch
    names: npt.NDArray[Any] | None
    search: LeaveOneOut
    n_jobs: int | None
    seed: int

    @property
    def n_rows(self) -> int:
        """How many there are."""
        return len(self.batch.weights)

    def sampled(self, most: int) -> Trials:
        """The same on at most so many rows."""
        if self.n_rows <= most:
            return self
        rows = np.sort(np.random.default_rng(self.seed).choice(self.n_rows, most, replace=False))
        return replace(self, batch=self.batch.part(rows))

    def run(self, configuration: Configuration, start: Values | None = None) -> Trial:
        """Tune one configuration on these rows, from given values on if there are any."""
        stages = Stages(
            similarity=configuration.similarity,
            influence=INFLUENCES.resolve(configuration.influence),
            engine=Exact(),
            n_jobs=self.n_jobs,
            seed=self.seed,
        )
        _, problem = make_problem(self.batch, configuration.normalizer, stages, self.names)
        best, curve = self.search.run(problem, start)
        if not curve.values:  # nothing was left open: it is measured all the same
            curve = replace(curve, candidates=({},), **_measured(self.search, problem))
        return Trial(configuration, best, curve, self.n_rows)


def _measured(search: LeaveOneOut, problem: Problem) -> Values:
    value, error = search.measure(two_sided(problem), [{}], np.arange(problem.references.n_rows))[0]
    return {"values": (value,), "errors": (error,), "n_queries": problem.references.n_rows}


def ranked(trials: Sequence[Trial], higher: bool) -> list[Trial]:
    """Most rows first, then the best; the first of equals, and undefined ones last."""

    def key(trial: Trial) -> tuple[float, ...]:
        value = trial.value if higher else -trial.value
        return (-trial.n_rows, float(np.isnan(value)), -round(float(np.nan_to_num(value)), 9))

    return sorted(trials, key=key)


def best_of_each_kind(ranking: Sequence[Trial]) -> list[Trial]:
    """The first trial of each similarity and influence: on few rows they differ by more than noise."""
    first: dict[tuple[str, str], Trial] = {}
    for trial in ranking:
        first.setdefault((repr(trial.configuration.similarity), trial.configuration.influence), trial)
    return list(first.values())


def leaderboard(trials: Sequence[Trial]) -> pd.DataFrame:
    """What was tried, as a table."""
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "normalizer": trial.configuration.steps,
                "similarity": repr(trial.similarity),
                "influence": repr(trial.best.stages.influence),
                trial.curve.criterion: trial.value,
                "standard_error": trial.error,
                "rows": trial.n_rows,
            }
            for trial in trials
        ]
    )

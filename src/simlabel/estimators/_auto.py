"""AutoSMLClassifier: chooses among configurations by leave-one-out on the training rows."""

from __future__ import annotations

import copy
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted

from simlabel.engines import Exact
from simlabel.estimators._sml import SMLClassifier
from simlabel.influence import INFLUENCES, Problem, Ridge, Stages
from simlabel.labels import LabelSpace
from simlabel.normalization import fit_normalizer, resolve_normalizer
from simlabel.rows import References
from simlabel.similarities import RBF, SIMILARITIES, ChiSquare, Cosine, Laplacian, Polynomial, Similarity
from simlabel.support.limits import limits
from simlabel.support.progress import progress
from simlabel.support.validation import (
    FloatArray,
    check_features,
    check_number,
    check_same_length,
    check_sample_weight,
)
from simlabel.tuning import LeaveOneOut, TuningResult, two_sided
from simlabel.tuning._criterion import criterion_of

if TYPE_CHECKING:
    import pandas as pd

_SCREEN_ROWS = 400  # all configurations are tried on so many rows
_FINALISTS = 3  # and the best of so many similarities on all rows


@dataclass(frozen=True)
class Configuration:
    """A choice of stages."""

    normalizer: Any
    similarity: Similarity
    influence: str

    @property
    def steps(self) -> Any:
        """The normalizer as a table shows it: a list of names as one."""
        return "+".join(self.normalizer) if isinstance(self.normalizer, list) else self.normalizer

    def __str__(self) -> str:
        return f"{self.steps} / {self.similarity!r} / {self.influence}"


@dataclass(frozen=True)
class Trial:
    """What came out for a configuration."""

    configuration: Configuration
    found: Problem
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

    def _at_best(self, figures: Sequence[float]) -> float:
        pairs = zip(figures, self.curve.candidates, strict=True)
        return next((figure for figure, candidate in pairs if candidate == self.curve.best), float("nan"))


def default_configurations(X: Any) -> list[Configuration]:
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
        normalizers: list[Any] = ["l2", ["zscore", "l2"]]
        learned: list[Similarity] = [RBF(), Polynomial("auto", "auto")]
        plain: list[Similarity] = [RBF(), Cosine()]
    else:
        normalizers = ["l2", ["zscore", "l2"], "zscore", "minmax"]
        learned = [RBF(), Laplacian(), RBF() + Laplacian(), Polynomial("auto", "auto")]
        plain = [RBF(), Laplacian()]
    found = [Configuration(n, s, "ridge") for s in learned for n in normalizers if _goes_with(s, n)]
    if not sp.issparse(X) and (X.size == 0 or X.min() >= 0):
        found += [Configuration(n, ChiSquare(), "ridge") for n in ("l2", "minmax")]
    return found + [Configuration(n, s, "uniform") for s in plain for n in normalizers if _goes_with(s, n)]


def _goes_with(similarity: Similarity, normalizer: Any) -> bool:
    """Whether a pair is worth trying: inner products want rows of one length."""
    bounded = normalizer == "l2" or (isinstance(normalizer, list) and normalizer[-1] == "l2")
    return bounded or not isinstance(similarity, Cosine | Polynomial)


class AutoSMLClassifier(ClassifierMixin, BaseEstimator):
    """Chooses normalization, similarity, influence and label rule by itself.

    Every configuration is tuned and judged by leave-one-out on at most 400 of the training rows. The
    best of each kind of similarity stand for it, and the best three of these are tuned again on all
    rows (up to 2,500); the winner is fitted, if its influence is learned with scores mixed over labels
    (`Ridge(mixing=True)`). Nothing outside the training rows is looked at.

    Parameters
    ----------
    criterion : str or callable
        What decides: any criterion by the name that `simlabel.metrics.find_criterion` knows, or a
        function (Y_true, scores) -> float, the higher the better.
    label_rule : str, LabelRule or callable
        As in `SMLClassifier`; "auto" takes the rule with the smallest leave-one-out hamming loss.
    calibration : None, str or LeaveOneOutCalibration
        As in `SMLClassifier`.
    configurations : list of (normalizer, similarity, influence), optional
        What to choose from, in place of the fixed list.
    budget : float, optional
        Seconds after which no further configuration is begun. Without it, equal data give equal
        results; with it, a slower moment may try fewer.
    verbose : bool
        Whether to show a progress bar.
    n_jobs : int or None
        Threads; None for all cores.
    random_state : int, RandomState or None
        For the choice of rows.

    Attributes
    ----------
    best_estimator_ : SMLClassifier
        The choice as a plain classifier with all values fixed, fitted.
    leaderboard_ : DataFrame
        What was tried, best first, with the criterion and its standard error.
    classes_, n_features_in_, feature_names_in_
        As in `SMLClassifier`.

    Examples
    --------
    >>> X = [[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.8]]
    >>> y = [{"sea", "sunset"}, {"sea"}, {"trees"}, {"trees"}]
    >>> model = AutoSMLClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 1.0]])
    [{'trees'}]
    """

    def __init__(
        self,
        *,
        criterion: Any = "average_precision",
        label_rule: Any = "auto",
        calibration: Any = None,
        configurations: Any = None,
        budget: float | None = None,
        verbose: bool = False,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.criterion = criterion
        self.label_rule = label_rule
        self.calibration = calibration
        self.configurations = configurations
        self.budget = budget
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Choose, and fit what was chosen.

        Parameters
        ----------
        X : array, sparse or data frame, (n_rows, n_features)
        y : as in `SMLClassifier`
        sample_weight : array, (n_rows,), optional
            How many times each row counts.
        """
        fitted = copy.copy(self)
        for name in [name for name in vars(fitted) if name.endswith("_")]:
            del fitted.__dict__[name]
        fitted._fit(X, y, sample_weight)
        self.__dict__ = fitted.__dict__  # one assignment: a fit that failed has changed nothing
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> None:
        search = LeaveOneOut(criterion=self.criterion)
        search.check()
        check_number("AutoSMLClassifier", "budget", self.budget, above=0, also=(None,))
        rows = check_features(self, X, reset=True)
        _, Y = LabelSpace.learn(y)
        check_same_length(rows.shape[0], Y, "y")
        weights = check_sample_weight(sample_weight, rows.shape[0])
        there = np.arange(rows.shape[0]) if weights is None else np.flatnonzero(weights)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        chosen_from = self._configurations(rows)
        data = _Data(rows[there], Y[there], np.ones(len(there)) if weights is None else weights[there])
        trials = list(self._trials(chosen_from, data, search, seed))
        ranked = _ranked(trials, criterion_of(self.criterion).higher_is_better)
        self.leaderboard_ = _leaderboard(ranked, search)
        self.best_estimator_ = self._fit_choice(ranked[0], X, y, sample_weight, seed, len(there))
        self.classes_ = self.best_estimator_.classes_

    def _configurations(self, X: Any) -> list[Configuration]:
        if self.configurations is None:
            return default_configurations(X)
        for one in self.configurations:
            if not isinstance(one, list | tuple) or len(one) != 3:
                raise ValueError(
                    f"AutoSMLClassifier: a configuration is (normalizer, similarity, influence), got {one!r}."
                )
        found = [Configuration(n, SIMILARITIES.resolve(s), i) for n, s, i in self.configurations]
        if not found:
            raise ValueError("AutoSMLClassifier: configurations is empty; give at least one, or None.")
        for one in found:
            if one.similarity.form == "precomputed":
                raise ValueError(
                    "AutoSMLClassifier compares similarities on features, of which a precomputed matrix has "
                    "none; use SMLClassifier('precomputed')."
                )
            resolve_normalizer(one.normalizer)
            one.similarity.check()
            INFLUENCES.resolve(one.influence).check_similarity(one.similarity, None)
        return found

    def _trials(
        self, configurations: Sequence[Configuration], data: _Data, search: LeaveOneOut, seed: int
    ) -> Iterator[Trial]:
        """All configurations on few rows, then the best of them on many."""
        started = time.monotonic()
        screened: list[Trial] = []
        some, many = data.sampled(_SCREEN_ROWS, seed), data.sampled(limits().tuned_rows, seed)
        finals = 0 if some.n_rows == many.n_rows else _FINALISTS
        with progress("choosing", len(configurations) + finals, self.verbose) as advance:
            for configuration in configurations:
                if self._out_of_time(started) and screened:
                    break
                screened.append(some.trial(configuration, search, self.n_jobs, seed, None))
                advance()
            yield from screened
            ranked = _ranked(screened, criterion_of(self.criterion).higher_is_better)
            for trial in _best_of_each_kind(ranked)[:finals]:
                if self._out_of_time(started):
                    return
                yield many.trial(trial.configuration, search, self.n_jobs, seed, trial.curve.best)
                advance()

    def _out_of_time(self, started: float) -> bool:
        return self.budget is not None and time.monotonic() - started > self.budget

    def _fit_choice(
        self, trial: Trial, X: Any, y: Any, sample_weight: Any, seed: int, n_references: int
    ) -> SMLClassifier:
        configuration, influence = trial.configuration, trial.found.stages.influence
        if isinstance(influence, Ridge):
            influence = Ridge(influence.penalty, influence.n_inducing(n_references), mixing=True)
        similarity = configuration.similarity.replaced(_own(trial.curve.best))
        model = SMLClassifier(
            similarity,
            normalizer=configuration.normalizer,
            influence=influence,
            label_rule=self.label_rule,
            calibration=self.calibration,
            n_jobs=self.n_jobs,
            random_state=seed,
        ).fit(X, y, sample_weight)
        model.label_rule = clone(model.label_rule_)
        return model

    def _fitted(self) -> SMLClassifier:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    def predict(self, X: Any) -> Any:
        """Label sets, as the kind of y that `fit` was given."""
        return self._fitted().predict(X)

    def predict_sets(self, X: Any) -> list[tuple[Any, ...]]:
        """Label sets as tuples of names, strongest first."""
        return self._fitted().predict_sets(X)

    def predict_set_size(self, X: Any) -> npt.NDArray[np.int64]:
        """Number of labels, (n_queries,)."""
        return self._fitted().predict_set_size(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Probabilities, (n_queries, n_labels)."""
        return self._fitted().predict_proba(X)

    def decision_function(self, X: Any) -> FloatArray:
        """Label weights; for a 1-D y with two classes, (n_queries,)."""
        return self._fitted().decision_function(X)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of instances whose predicted label set is exactly right."""
        return self._fitted().score(X, y, sample_weight)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write what was chosen to one file: `simlabel.load` gives it back as a plain `SMLClassifier`.

        What a model does later, such as `partial_fit`, `forget` and `explain`, it does as
        `best_estimator_`.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> from simlabel import load
        >>> X, y = [[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.8]], [{"sea"}, {"sea"}, {"trees"}, {"trees"}]
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "photos.simlabel"
        >>> AutoSMLClassifier(random_state=0).fit(X, y).save(path)
        >>> load(path).predict([[0.0, 1.0]])
        [{'trees'}]
        """
        self._fitted().save(path)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags


@dataclass(frozen=True)
class _Data:
    """Checked training rows."""

    X: Any
    Y: Any
    weights: FloatArray

    @property
    def n_rows(self) -> int:
        return int(self.X.shape[0])

    def sampled(self, most: int, seed: int) -> _Data:
        if self.n_rows <= most:
            return self
        rows = np.sort(np.random.default_rng(seed).choice(self.n_rows, most, replace=False))
        return replace(self, X=self.X[rows], Y=self.Y[rows], weights=self.weights[rows])

    def trial(
        self, configuration: Configuration, search: LeaveOneOut, n_jobs: int | None, seed: int, start: Any
    ) -> Trial:
        """Tune one configuration on these rows."""
        normalizer = fit_normalizer(resolve_normalizer(configuration.normalizer), self.X, self.weights)
        X = self.X if normalizer is None else normalizer.transform(self.X)
        similarity = configuration.similarity.fit(X, None, self.weights)
        influence = INFLUENCES.resolve(configuration.influence)
        references = References(X, self.Y, self.weights)
        stages = Stages(similarity=similarity, influence=influence, engine=Exact(), n_jobs=n_jobs, seed=seed)
        problem = Problem(stages, references)
        found, curve = search.run(problem, start)
        if not curve.values:  # nothing was left open: it is measured all the same
            curve = replace(curve, candidates=({},), **_measured(search, problem))
        return Trial(configuration, found, curve, self.n_rows)


def _measured(search: LeaveOneOut, problem: Problem) -> dict[str, Any]:
    ranked = two_sided(problem)
    value, error = search.measure(ranked, [{}], np.arange(problem.references.n_rows))[0]
    return {"values": (value,), "errors": (error,), "n_queries": problem.references.n_rows}


def _own(best: dict[str, Any]) -> dict[str, Any]:
    """The values that are the similarity's own."""
    return {name: value for name, value in best.items() if not name.startswith("influence__")}


def _ranked(trials: Sequence[Trial], higher: bool) -> list[Trial]:
    """Most rows first, then the best; the first of equals, and undefined ones last."""

    def key(trial: Trial) -> tuple[float, ...]:
        value = trial.value if higher else -trial.value
        return (-trial.n_rows, float(np.isnan(value)), -round(float(np.nan_to_num(value)), 9))

    return sorted(trials, key=key)


def _best_of_each_kind(ranked: Sequence[Trial]) -> list[Trial]:
    """The first trial of each similarity and influence: on few rows they differ by more than noise."""
    first: dict[tuple[str, str], Trial] = {}
    for trial in ranked:
        first.setdefault((repr(trial.configuration.similarity), trial.configuration.influence), trial)
    return list(first.values())


def _leaderboard(trials: Sequence[Trial], search: LeaveOneOut) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(
        [
            {
                "normalizer": c.steps,
                "similarity": repr(c.similarity.replaced(_own(trial.curve.best))),
                "influence": repr(trial.found.stages.influence),
                trial.curve.criterion: trial.value,
                "standard_error": trial.error,
                "rows": trial.n_rows,
            }
            for trial in trials
            for c in (trial.configuration,)
        ]
    )

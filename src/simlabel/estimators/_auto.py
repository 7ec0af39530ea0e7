"""AutoSMLClassifier: chooses among configurations by leave-one-out on the training rows."""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from simlabel.estimators._sets import SetsMixin
from simlabel.estimators._sml import SMLClassifier
from simlabel.estimators._trials import (
    Configuration,
    Trial,
    Trials,
    best_of_each_kind,
    checked_configurations,
    default_configurations,
    leaderboard,
    ranked,
)
from simlabel.fitted import Model, drop_weightless
from simlabel.influence import Ridge
from simlabel.influence._linear import linear_form
from simlabel.label_rules import LABEL_RULES, LabelRule
from simlabel.labels import LabelSpace
from simlabel.normalization import UnitsWarning
from simlabel.support.limits import limits
from simlabel.support.progress import progress
from simlabel.support.validation import check_features, check_number, check_same_length
from simlabel.tuning import LeaveOneOut
from simlabel.tuning._criterion import criterion_of

_SCREEN_ROWS = 400  # all configurations are tried on so many rows
_FINALISTS = 3  # and the best of so many similarities on all rows


class AutoSMLClassifier(SetsMixin):
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
        As in `SMLClassifier`. A rule that is given by its name, such as "auto", is tuned for `criterion`
        where that is a criterion of label sets (F1, subset accuracy, hamming loss). Others judge scores
        and say nothing of sets: then "auto" is tuned for micro F1, and ``AutoRule(criterion=...)`` for
        what you say.
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
        calibration: Any = "auto",
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

    def fit(self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None) -> Self:
        """Choose, and fit what was chosen.

        Parameters
        ----------
        X : array, sparse or data frame, (n_rows, n_features)
        y : as in `SMLClassifier`
        sample_weight : array, (n_rows,), optional
            How many times each row counts.
        groups : list, (n_rows,), optional
            What each row belongs to, as in `SMLClassifier`: no row is judged by others of its group.
        """
        with self._changing() as changed:
            changed._reset()
            changed._fit(X, y, sample_weight, groups)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, groups: Any) -> None:
        search = LeaveOneOut(criterion=self.criterion)
        search.check()
        check_number("AutoSMLClassifier", "budget", self.budget, above=0, also=(None,))
        rule = self._rule()
        rows = check_features(self, X, reset=True)
        space, Y = LabelSpace.learn(y)
        check_same_length(rows.shape[0], Y, "y")
        batch = drop_weightless(rows, space, Y, sample_weight, range(rows.shape[0]), groups)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        given = self.configurations
        configurations = default_configurations(rows) if given is None else checked_configurations(given)
        trials = Trials(batch, getattr(self, "feature_names_in_", None), search, self.n_jobs, seed)
        ranking = ranked(list(self._tried(configurations, trials)), self._higher_is_better)
        self.leaderboard_ = leaderboard(ranking)
        chosen = self._chosen(ranking[0], rule, trials)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnitsWarning)  # other scales were tried
            self.best_estimator_ = chosen.fit(X, y, sample_weight, groups=groups)
        self.best_estimator_.label_rule = clone(self.best_estimator_.label_rule_)
        self.classes_ = self.best_estimator_.classes_

    @property
    def _higher_is_better(self) -> bool:
        return criterion_of(self.criterion).higher_is_better

    def _tried(self, configurations: Sequence[Configuration], trials: Trials) -> Iterator[Trial]:
        """All configurations on few rows, then the best of them on many."""
        started = time.monotonic()
        screened: list[Trial] = []
        some, many = trials.sampled(_SCREEN_ROWS), trials.sampled(limits().tuned_rows)
        finals = 0 if some.n_rows == many.n_rows else _FINALISTS
        with progress("choosing", len(configurations) + finals, self.verbose) as advance:
            for configuration in configurations:
                if self._out_of_time(started) and screened:
                    break
                screened.append(some.run(configuration))
                advance()
            yield from screened
            for trial in best_of_each_kind(ranked(screened, self._higher_is_better))[:finals]:
                if self._out_of_time(started):
                    return
                yield many.run(trial.configuration, trial.curve.best)
                advance()

    def _out_of_time(self, started: float) -> bool:
        return self.budget is not None and time.monotonic() - started > self.budget

    def _rule(self) -> LabelRule:
        """The rule that was given; a name says nothing of a criterion, so it follows the one asked for."""
        rule = LABEL_RULES.resolve(self.label_rule)
        named, tuned = isinstance(self.label_rule, str), "criterion" in rule.get_params()
        if named and tuned and not criterion_of(self.criterion).needs_scores:
            rule.set_params(criterion=self.criterion)
        return rule

    def _chosen(self, trial: Trial, rule: LabelRule, trials: Trials) -> SMLClassifier:
        influence = trial.best.stages.influence
        if isinstance(influence, Ridge):
            inducing = influence.n_inducing(trials.n_rows)
            if inducing is not None and linear_form(trial.similarity, trial.best.references.X) is not None:
                inducing = None  # solved for all of them without a matrix of all pairs
            influence = Ridge(influence.penalty, inducing, mixing=True)
        return SMLClassifier(
            trial.similarity,
            normalizer=trial.configuration.normalizer,
            influence=influence,
            label_rule=rule,
            calibration=self.calibration,
            n_jobs=self.n_jobs,
            random_state=trials.seed,
        )

    @property
    def _current(self) -> Model:
        return self.best_estimator_._current

    @property
    def _chosen_on_rows(self) -> tuple[str, ...]:
        return ("the configuration",)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "best_estimator_")

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
        check_is_fitted(self)
        self.best_estimator_.save(path)

"""AutoSMLClassifier: chooses among configurations by leave-one-out on the training rows."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.utils import check_random_state

from simlabel._utils.progress import progress
from simlabel._utils.validation import check_features, check_number, check_same_length
from simlabel.estimators._configurations import Configuration, checked_configurations, default_configurations
from simlabel.estimators._inspect import InspectionMixin
from simlabel.estimators._online import OnlineMixin
from simlabel.estimators._problem import can_be_mixed
from simlabel.estimators._relevant import best_weighed
from simlabel.estimators._rounds import FITTED_ROWS, Rounds
from simlabel.estimators._sets import SetsMixin
from simlabel.estimators._sml import SMLClassifier
from simlabel.estimators._trials import Trial, Trials, records
from simlabel.labels import LabelSpace, advise_on_labels, as_hierarchy
from simlabel.model import Batch, drop_weightless, resolve_ids
from simlabel.normalizers import UnitsWarning
from simlabel.ridge import Ridge, is_vocabulary, linear_form
from simlabel.rules import LABEL_RULES, LabelRule
from simlabel.tuning import LeaveOneOut, criterion_of, search_results

if TYPE_CHECKING:
    import pandas as pd


class AutoSMLClassifier(OnlineMixin, InspectionMixin, SetsMixin):
    """Chooses normalization, similarity, influence and label rule by itself.

    Every configuration is tuned and judged by leave-one-out on at most 400 of the training rows. The best of
    each kind of similarity stand for it: the best six of these are tuned again on 800 rows where there are
    many, and the best three of them on all rows (up to 2,500). From 100 rows on, the winner is tried with
    columns weighed by `simlabel.normalizers.Relevance` too, where five folds say that this gains more than
    two standard errors. What has won is fitted; where its influence is learned, from 100 rows on, scores of
    label sets are log-odds (`Ridge(mixing=True)`), and plain sums are not tried. Sparse columns that are all
    in some row count as words of the rows (`Ridge(vocabulary=True)`). Nothing outside the training rows is
    looked at. All else it does as `SMLClassifier` does: `retune` chooses anew.

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
    engine : str or engine
        As in `SMLClassifier`, for the model that was chosen.
    n_jobs : int or None
        Threads; None for all cores.
    random_state : int, RandomState or None
        For the choice of rows.
    absent : None, "unknown" or PresenceOnly
        As in `SMLClassifier`.
    hierarchy : None, str, dict or Hierarchy
        As in `SMLClassifier`.

    Attributes
    ----------
    best_estimator_ : SMLClassifier
        The choice as a plain classifier with all values fixed, fitted.
    leaderboard_ : DataFrame
        What was tried, best first, with the criterion and its standard error.
    cv_results_ : dict of arrays
        The same in the form of scikit-learn's ``cv_results_``.
    tuning_ : TuningResult
        The curve of the search for the configuration that was chosen.
    classes_, n_features_in_, feature_names_in_ and all others
        As in `SMLClassifier`.

    See Also
    --------
    SMLClassifier : Every stage by hand.
    Tagger : For raw tables.

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
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        absent: Any = None,
        hierarchy: Any = None,
    ) -> None:
        self.criterion = criterion
        self.label_rule = label_rule
        self.calibration = calibration
        self.configurations = configurations
        self.budget = budget
        self.verbose = verbose
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.absent = absent
        self.hierarchy = hierarchy

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, groups: Any = None) -> Self:
        """Choose, and fit what was chosen.

        Parameters
        ----------
        X : array, sparse or data frame, (n_rows, n_features)
        y : as in `SMLClassifier`
        sample_weight : array, (n_rows,), optional
            How many times each row counts.
        ids : list, (n_rows,), optional
            What the rows are called, as in `SMLClassifier`.
        groups : list, (n_rows,), optional
            What each row belongs to, as in `SMLClassifier`: no row is judged by others of its group.
        """
        with self._changing() as changed:
            changed._reset()
            batch = changed._fit(X, y, sample_weight, ids, groups, None)
            advise_on_labels(batch.labels.classes.tolist(), batch.Y)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any, groups: Any, classes: Any) -> Batch:
        X = check_features(self, X, reset=True)
        space, Y, unknown = LabelSpace.learn_known(y, as_hierarchy(self.hierarchy))
        check_same_length(X.shape[0], Y, "y")
        names = resolve_ids(ids, X.shape[0], None)
        batch = drop_weightless(X, space, Y, sample_weight, names, groups, unknown)
        if classes is not None:
            batch = batch.relabelled(batch.labels.declared(classes))
        self._learn(batch, None)
        return batch

    def _learn(self, batch: Batch, columns: npt.NDArray[np.int64] | None) -> None:
        search = LeaveOneOut(criterion=self.criterion)
        search.check()
        check_number("AutoSMLClassifier", "budget", self.budget, above=0, also=(None,))
        rule, given = self._rule(), self.configurations
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        configurations = self._configurations(batch)
        names = getattr(self, "feature_names_in_", None)
        trials = Trials(batch, names, search, self.n_jobs, seed)
        criterion = criterion_of(self.criterion)
        rounds = Rounds(trials, criterion.higher_is_better, self.budget)
        last = 1 + trials.n_rows // FITTED_ROWS
        n_steps = rounds.n_steps(configurations) + rounds.work + last
        with progress("choosing", n_steps, self.verbose) as advance:
            ranking = rounds.run(configurations, advance)
            weighed = None
            if given is None:
                weighed = best_weighed(ranking, trials, rounds.n_rows, criterion)
            advance(rounds.work)
            best = ranking[0] if weighed is None else weighed.trial
            chosen = self._recipe(best, rule, trials)
            if names is not None:
                chosen.feature_names_in_ = names
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnitsWarning)  # other scales were tried
                chosen._learn(batch, None)
            advance(last)
        self.tried_ = records(ranking)
        if weighed is not None:
            self.tried_ = (weighed.record, *self.tried_)
        self.tuning_ = replace(best.curve, n_rows=trials.n_rows)
        self._publish(chosen._model)

    def _configurations(self, batch: Batch) -> list[Configuration]:
        if self.configurations is not None:
            return checked_configurations(self.configurations)
        return default_configurations(batch.X, plain=not can_be_mixed(batch, self.absent))

    def _rule(self) -> LabelRule:
        """The rule that was given; a name says nothing of a criterion, so it follows the one asked for."""
        rule = LABEL_RULES.resolve(self.label_rule)
        named, tuned = isinstance(self.label_rule, str), "criterion" in rule.get_params()
        if named and tuned and not criterion_of(self.criterion).needs_scores:
            rule.set_params(criterion=self.criterion)
        return rule

    def _recipe(self, trial: Trial, rule: LabelRule, trials: Trials) -> SMLClassifier:
        influence = trial.best.stages.influence
        if isinstance(influence, Ridge):
            inducing = influence.n_inducing(trials.n_rows)
            if inducing is not None and linear_form(trial.similarity, trial.best.references.X) is not None:
                inducing = None  # solved for all of them without a matrix of all pairs
            influence = Ridge(
                influence.penalty,
                inducing,
                mixing=can_be_mixed(trials.batch, self.absent),
                vocabulary=is_vocabulary(trials.batch.X),
            )
        return SMLClassifier(
            trial.similarity,
            normalizer=trial.configuration.normalizer,
            influence=influence,
            label_rule=rule,
            calibration=self.calibration,
            engine=self.engine,
            n_jobs=self.n_jobs,
            random_state=trials.seed,
            absent=self.absent,
            hierarchy=self.hierarchy,
        )

    @property
    def best_estimator_(self) -> SMLClassifier:
        """The choice as a plain classifier with all values fixed, fitted."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("best_estimator_ is there after fit.")
        stages = self._model.scorer.stages
        plain = SMLClassifier(
            clone(self.similarity_),
            normalizer=None if self.normalizer_ is None else clone(self.normalizer_),
            influence=clone(self.influence_),
            label_rule=clone(self.label_rule_),
            calibration=self.calibration,
            engine=self.engine,
            n_jobs=self.n_jobs,
            random_state=stages.seed,
            absent=self.absent,
            hierarchy=self.hierarchy,
        )
        learnt = ("n_features_in_", "feature_names_in_", "tuning_")
        plain.__dict__ |= {name: getattr(self, name) for name in learnt if hasattr(self, name)}
        plain._publish(self._model)
        return plain

    @property
    def _chosen_on_rows(self) -> tuple[str, ...]:
        return ("the configuration",)

    @property
    def cv_results_(self) -> dict[str, Any]:
        """What was tried, in the form of scikit-learn's ``cv_results_``: arrays of one length.

        A row for each row of `leaderboard_`, in its order, with ``n_rows`` and ``judged`` as it has them.
        ``rank_test_score`` is that order: a configuration that was judged on more rows comes first, as scores
        on other rows do not compare. Scores of losses are negative.
        """
        if not self.__sklearn_is_fitted__():
            raise AttributeError("cv_results_ is there after fit.")
        criterion, tried = criterion_of(self.criterion), self.tried_
        params = [{name: one[name] for name in ("normalizer", "similarity", "influence")} for one in tried]
        scores = np.array([one[criterion.name] for one in tried], dtype=np.float64)
        errors = [one["standard_error"] for one in tried]
        sign = 1.0 if criterion.higher_is_better else -1.0
        results = search_results(params, sign * scores, errors, np.arange(1, len(tried) + 1))
        extra = {"n_rows": "rows", "judged": "judged"}
        return results | {name: np.array([one[key] for one in tried]) for name, key in extra.items()}

    @property
    def leaderboard_(self) -> pd.DataFrame:
        """What was tried, best first, with the criterion and its standard error."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("leaderboard_ is there after fit.")
        import pandas as pd

        return pd.DataFrame(list(self.tried_))

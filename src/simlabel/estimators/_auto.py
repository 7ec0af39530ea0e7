"""AutoSMLClassifier: chooses among configurations by leave-one-out on the training rows."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.progress import progress
from simlabel._utils.validation import Rows, check_features, check_number
from simlabel.estimators._inspection import InspectionMixin
from simlabel.estimators._problem import can_be_mixed, draw_seed
from simlabel.estimators._search import (
    FITTED_ROWS,
    Configuration,
    Rounds,
    Trial,
    Trials,
    best_with_relevance,
)
from simlabel.estimators._sml import SMLClassifier, chosen_classifier
from simlabel.estimators._updates import UpdateMixin
from simlabel.model import Batch
from simlabel.normalizers import UnitsWarning, resolve_normalizer
from simlabel.ridge import INFLUENCES, Ridge, is_vocabulary, linear_form
from simlabel.rules import LABEL_RULES, LabelRule
from simlabel.similarities import RBF, SIMILARITIES, ChiSquare, Cosine, Laplacian, Polynomial, Similarity
from simlabel.tuning import LeaveOneOut, criterion_of, search_results

if TYPE_CHECKING:
    import pandas as pd


class AutoSMLClassifier(UpdateMixin, InspectionMixin):
    """Choose normalizer, similarity, influence and label rule automatically.

    Every configuration is tuned and compared by leave-one-out on at most 400 of the training rows. With more
    than 1,200 rows, the best six are tuned again on 800 rows. Then the best three are tuned on all rows (up
    to 2,500). At most two configurations of a kind of similarity enter each of these rounds. From 100 rows
    on, the winner is compared with a copy whose columns are weighted by `simlabel.normalizers.Relevance`,
    which replaces it if five folds show a gain of more than two standard errors. The winner is then fitted
    as an `SMLClassifier`. For 100 or more rows with complete label sets, the default list has no plain sums,
    and learned scores become log-odds (`Ridge(mixing=True)`). If X is sparse and no column is empty, learned
    influence treats columns as words of the rows (`Ridge(vocabulary=True)`). Only the training rows are
    used. All methods are those of `SMLClassifier`; `retune` chooses again.

    Parameters
    ----------
    criterion : str or callable
        Metric to optimize: the name of one that `simlabel.metrics.find_criterion` knows, or a
        function (Y_true, scores) -> float, the higher the better.
    label_rule : str, LabelRule or callable
        As in `SMLClassifier`. A rule that is given by its name, such as "auto", is tuned for `criterion`
        if that is a metric of label sets (F1, subset accuracy, hamming loss). Others measure scores, not
        sets: then "auto" is tuned for micro F1; use ``AutoRule(criterion=...)`` for another.
    calibration : None, str or LeaveOneOutCalibration
        As in `SMLClassifier`.
    configurations : list of (normalizer, similarity, influence), optional
        The configurations to compare, in place of the default list.
    budget : float, optional
        Seconds after which no further configuration is begun. Without it, equal data give equal
        results; with it, a slower machine may try fewer.
    verbose : bool
        Whether to show a progress bar.
    engine : str or engine
        As in `SMLClassifier`, for the chosen model.
    n_jobs : int or None
        Number of threads; None for all cores.
    random_state : int, RandomState or None
        For the choice of rows.
    unlabeled : None, "unknown" or PositiveUnlabeled
        As in `SMLClassifier`.
    hierarchy : None, str, dict or Hierarchy
        As in `SMLClassifier`.

    Attributes
    ----------
    best_estimator_ : SMLClassifier
        The choice as a plain classifier with all values fixed, fitted.
    leaderboard_ : DataFrame
        The configurations that were tried, best first, with the criterion and its standard error.
    cv_results_ : dict of arrays
        The same in the form of scikit-learn's ``cv_results_``.
    tuning_ : TuningResult
        The curve of the search for the chosen configuration.
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
        unlabeled: Any = None,
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
        self.unlabeled = unlabeled
        self.hierarchy = hierarchy

    def _check_training_rows(self, X: Any) -> Rows:
        return check_features(self, X, reset=True)

    def _learn(self, batch: Batch) -> None:
        search, criterion = LeaveOneOut(criterion=self.criterion), criterion_of(self.criterion)
        search.check()
        check_number("AutoSMLClassifier", "budget", self.budget, above=0, also=(None,))
        rule, configurations = self._rule(), self._configurations(batch)
        names = getattr(self, "feature_names_in_", None)
        trials = Trials(batch, names, search, self.n_jobs, draw_seed(self.random_state))
        rounds = Rounds(trials, criterion, self.budget)
        last = 1 + trials.n_rows // FITTED_ROWS
        n_steps = rounds.n_steps(configurations) + rounds.work + last
        with progress("choosing", n_steps, self.verbose) as advance:
            ranking = rounds.run(configurations, advance)
            best = ranking[0]
            self.trials_ = tuple(
                each.record(each.curve.best_value, each.curve.best_error, "leave-one-out") for each in ranking
            )
            relevant = best_with_relevance(ranking, rounds) if self.configurations is None else None
            if relevant is not None:
                best, record = relevant
                self.trials_ = (record, *self.trials_)
            advance(rounds.work)
            normalizer, influence = best.configuration.normalizer, self._influence(best, batch)
            chosen = chosen_classifier(self, best.similarity, normalizer, influence, rule, trials.seed)
            if names is not None:
                chosen.feature_names_in_ = names
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", UnitsWarning)  # other scales were tried
                chosen._learn(batch)
            advance(last)
        self.tuning_ = replace(best.curve, n_rows=trials.n_rows)
        self._publish(chosen._model)

    def _configurations(self, batch: Batch) -> list[Configuration]:
        if self.configurations is not None:
            return _checked_configurations(self.configurations)
        return default_configurations(batch.X, plain=not can_be_mixed(batch, self.unlabeled))

    def _rule(self) -> LabelRule:
        """Return the label rule; one that is given by its name is tuned for the criterion, if it can be."""
        rule = LABEL_RULES.resolve(self.label_rule)
        by_name, tuned = isinstance(self.label_rule, str), "criterion" in rule.get_params()
        if by_name and tuned and not criterion_of(self.criterion).needs_scores:
            rule.set_params(criterion=self.criterion)
        return rule

    def _influence(self, trial: Trial, batch: Batch) -> Any:
        """Return the influence of the best trial, for all rows."""
        influence = trial.best.stages.influence
        if not isinstance(influence, Ridge):
            return influence
        inducing = influence.n_inducing(len(batch.weights))
        if inducing is not None and linear_form(trial.similarity, trial.best.references.X) is not None:
            inducing = None  # solved for all rows without a matrix of all pairs
        mixing, vocabulary = can_be_mixed(batch, self.unlabeled), is_vocabulary(batch.X)
        return Ridge(influence.penalty, inducing, mixing=mixing, vocabulary=vocabulary)

    @property
    def best_estimator_(self) -> SMLClassifier:
        """The choice as a plain classifier with all values fixed, fitted."""
        model = self._fitted_model
        stages = self.similarity_, self.normalizer_, self.influence_, self.label_rule_
        similarity, normalizer, influence, rule = (clone(stage, safe=False) for stage in stages)
        plain = chosen_classifier(self, similarity, normalizer, influence, rule, model.scorer.stages.seed)
        for name in ("n_features_in_", "feature_names_in_", "tuning_"):
            if hasattr(self, name):
                setattr(plain, name, getattr(self, name))
        plain._publish(model)
        return plain

    @property
    def _tuned_parameters(self) -> tuple[str, ...]:
        return ("the configuration",)

    @property
    def cv_results_(self) -> dict[str, Any]:
        """The leaderboard in the form of scikit-learn's ``cv_results_``: arrays of equal length.

        A row for each row of `leaderboard_`, in its order, with its ``n_rows`` and ``judged``.
        ``rank_test_score`` is that order: a configuration that was tried on more rows comes first, since
        scores on different rows do not compare. Scores of losses are negative.
        """
        check_is_fitted(self)
        criterion, tried = criterion_of(self.criterion), self.trials_
        params = [{name: one[name] for name in ("normalizer", "similarity", "influence")} for one in tried]
        scores = np.array([one[criterion.name] for one in tried], dtype=np.float64)
        errors = [one["standard_error"] for one in tried]
        sign = 1.0 if criterion.higher_is_better else -1.0
        results = search_results(params, sign * scores, errors, np.arange(1, len(tried) + 1))
        extra = {"n_rows": "rows", "judged": "judged"}
        return results | {name: np.array([one[key] for one in tried]) for name, key in extra.items()}

    @property
    def leaderboard_(self) -> pd.DataFrame:
        """The configurations that were tried, best first, with the criterion and its standard error."""
        check_is_fitted(self)
        import pandas as pd

        return pd.DataFrame(list(self.trials_))


def default_configurations(X: Rows, *, plain: bool = True) -> list[Configuration]:
    """Return the configurations for dense or sparse features, of any sign or not; plain sums if `plain`.

    Learned scores are compared before they become log-odds, which improves them: plain sums that are
    slightly better in the comparison are worse in the end.

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
        summed: list[Similarity] = [RBF(), Cosine()]
    else:
        normalizers = ["l2", ["zscore", "l2"], "zscore", "minmax", "quantile"]
        learned = [RBF(), Laplacian(), RBF() + Laplacian(), Polynomial("auto", "auto")]
        summed = [RBF(), Laplacian()]
    chosen = [Configuration(n, s, "ridge") for s in learned for n in normalizers if _goes_with(s, n)]
    if not sp.issparse(X) and (X.size == 0 or X.min() >= 0):
        chosen += [Configuration(n, ChiSquare(), "ridge") for n in ("l2", "minmax")]
    sums = [Configuration(n, s, "uniform") for s in summed for n in normalizers if _goes_with(s, n)]
    return chosen + sums if plain else chosen


def _goes_with(similarity: Similarity, normalizer: str | list[str]) -> bool:
    """Whether to try a pair: inner products need rows of unit length."""
    bounded = normalizer == "l2" or (isinstance(normalizer, list) and normalizer[-1] == "l2")
    return bounded or not isinstance(similarity, Cosine | Polynomial)


def _checked_configurations(given: Sequence[Any]) -> list[Configuration]:
    """Return the (normalizer, similarity, influence) of the user, names or objects, as configurations."""
    for one in given:
        if not isinstance(one, list | tuple) or len(one) != 3:
            raise ValueError(
                f"AutoSMLClassifier: a configuration is (normalizer, similarity, influence), got {one!r}."
            )
    configurations = [Configuration(n, SIMILARITIES.resolve(s), i) for n, s, i in given]
    if not configurations:
        raise ValueError("AutoSMLClassifier: configurations is empty: pass at least one, or None.")
    for one in configurations:
        if one.similarity.form == "precomputed":
            raise ValueError(
                "AutoSMLClassifier compares similarities of features, and a precomputed matrix has none: use "
                "SMLClassifier('precomputed')."
            )
        resolve_normalizer(one.normalizer)
        one.similarity.check()
        INFLUENCES.resolve(one.influence).check_similarity(one.similarity, None)
    return configurations

"""SMLClassifier: the stages, wired together."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from simlabel.calibration import CALIBRATIONS, binary_margin
from simlabel.engines import Plan, Sampled, is_objects, resolve_engine
from simlabel.estimators._inspect import Asking
from simlabel.estimators._online import Living
from simlabel.fitted import (
    Batch,
    Model,
    Scorer,
    drop_weightless,
    left_out_scores,
    numbered,
    one_teacher,
    training_blocks,
)
from simlabel.influence import INFLUENCES, Problem, Stages
from simlabel.label_rules import LABEL_RULES, LabelRule
from simlabel.labels import LabelSpace
from simlabel.normalization import fit_normalizer, resolve_normalizer
from simlabel.rows import (
    LazyRows,
    References,
    as_rows,
    check_lazy,
    is_collection,
    is_lazy,
    is_remote,
    n_rows,
    transformed,
)
from simlabel.sampling import draw, resolve_sampler
from simlabel.similarities import SIMILARITIES, Function, Similarity
from simlabel.sketching import SketchProblem, fit_sketch, resolve_sketch
from simlabel.support.validation import FloatArray, Rows, check_features, check_same_length
from simlabel.tuning import TUNERS
from simlabel.weightings import Weighting, resolve_weighting


class SMLClassifier(Living, Asking, ClassifierMixin, BaseEstimator):
    """Similarity-based multi-label classifier.

    For a new instance it adds up its similarity to every labelled instance, label by label. The
    same sum over the sizes of the label sets predicts how many labels the instance has; so many
    of the strongest labels are the answer. There is no training phase: `fit` only keeps the
    instances, and chooses the bandwidth where it is left open.

    Parameters
    ----------
    similarity : str, Similarity or callable
        What it means to be alike: "rbf", "laplacian", "polynomial", "linear", "quadratic", "cosine",
        "chi_square", "jaccard", "precomputed", an object (``RBF(gamma=8.0)``), or a function of two
        instances. Objects can be added and multiplied.
    normalizer : str, list, transformer or None
        What is done to the features first: "l2" (unit length, the paper's), "zscore", "minmax", a
        list of these, any scikit-learn transformer, or None.
    weighting : str, Weighting, callable or None
        How much a similarity of a given strength counts: "power", "top_k", "cutoff", a function.
    influence : str or Influence
        How much each reference contributes: "uniform" (the paper's), "label_mean" (for rare labels),
        or "ridge" (learnt, which is usually the most accurate).
    label_rule : str, LabelRule or callable
        From label weights to a set: "set_size" (the paper's), "threshold", "fixed_size", "cutoff",
        "per_label", "auto" (the best of them by leave-one-out), or a function of the weights.
    calibration : None, str or LeaveOneOutCalibration
        None: probabilities are shares of the similarity. "loo": calibrated on leave-one-out scores.
    sampler : None, int, str, Sampler, array or callable
        Sum over some of the references, drawn at fit or anew for each query: a number of them, "uniform",
        "balanced", an object of `simlabel.sampling`, or any probabilities. Label weights stay right on
        average.
    sketch : None, str or Sketch
        The sums in a short form, made at fit, that costs the same for any number of references:
        "condense", "random_features", or "auto" for the cheapest that keeps the average precision.
        Leave-one-out, and so tuning and label rules, stay exact.
    tuning : str or Search
        How parameters that are left open are resolved at fit: "validation" (the paper's), or "loo"
        (leave-one-out over all rows).
    engine : str or engine
        How the sums are computed: "exact", "collapsed", or "auto", the exact way with the lowest predicted
        cost; ``Exact(memory_mib=..., on_block=...)`` bounds the memory and tells progress.
    n_jobs : int or None
        Threads; None for all cores.
    random_state : int, RandomState or None
        For the choice of validation rows.

    Attributes
    ----------
    classes_ : array, (n_labels,)
        Label names, in the order of the columns of `decision_function`.
    n_features_in_ : int
    feature_names_in_ : array of str
        Where X had names.
    similarity_, normalizer_, weighting_, influence_, label_rule_, calibration_, sketch_ : objects
        The stages, resolved and fitted.
    tuning_ : TuningResult
        The curve of the search.
    n_references_ : int
        Number of labelled instances.
    ids_ : array, (n_references,)
        What they are called.
    plan_ : Plan
        How as many queries as there are references would be computed.

    Examples
    --------
    >>> X = [[1.0, 0.1], [0.9, 0.2], [0.1, 1.0], [0.2, 0.8]]
    >>> y = [{"sea", "sunset"}, {"sea"}, {"trees"}, {"trees"}]
    >>> model = SMLClassifier(random_state=0).fit(X, y)
    >>> model.predict([[0.0, 1.0]])
    [{'trees'}]
    >>> model.decision_function([[0.0, 1.0]]).shape
    (1, 3)
    """

    def __init__(
        self,
        similarity: Any = "rbf",
        *,
        normalizer: Any = "l2",
        weighting: Any = None,
        influence: Any = "uniform",
        label_rule: Any = "set_size",
        calibration: Any = None,
        sampler: Any = None,
        sketch: Any = None,
        tuning: Any = "validation",
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.similarity = similarity
        self.normalizer = normalizer
        self.weighting = weighting
        self.influence = influence
        self.label_rule = label_rule
        self.calibration = calibration
        self.sampler = sampler
        self.sketch = sketch
        self.tuning = tuning
        self.engine = engine
        self.n_jobs = n_jobs
        self.random_state = random_state

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None) -> Self:
        """Keep the labelled instances and resolve what is "auto".

        Parameters
        ----------
        X : array, sparse, data frame or list of objects, (n_rows, n_features)
            Instances; with a precomputed similarity, (n_rows, n_rows).
        y : 0/1 array, sparse or data frame (n_rows, n_labels), list of sets, or 1-D array
            Label sets; one class per row in a 1-D array.
        sample_weight : array, (n_rows,), optional
            How many times each row counts; rows of weight 0 are dropped.
        ids : list, (n_rows,), optional
            What the rows are called, for `forget` and `explain`; numbers from 0 by default.
        """
        with one_teacher(self):
            fitted = self._blank()
            fitted._fit(X, y, sample_weight, ids, None)
            # one assignment: a fit that failed has changed nothing, and other threads see old or new
            self.__dict__ = fitted.__dict__
        return self

    def _blank(self) -> Self:
        """A copy with the parameters alone."""
        blank = copy.copy(self)
        for name in [name for name in vars(blank) if name.endswith("_") or name == "_model"]:
            del blank.__dict__[name]
        return blank

    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any, classes: Any) -> None:
        similarity = self._checked_similarity()
        X = self._check_fit_rows(X, similarity)
        space, Y = LabelSpace.learn(self._check_labels(y))
        check_same_length(n_rows(X), Y, "y")
        names = numbered(ids, n_rows(X), None)
        batch = drop_weightless(X, space, Y, sample_weight, names)
        if classes is not None:
            batch = batch.relabelled(batch.labels.declared(classes))
        columns = batch.kept if similarity.form == "precomputed" else None
        if columns is not None:
            batch = replace(batch, X=batch.X[:, columns])
        self._learn(batch, columns)

    def _learn(self, batch: Batch, columns: npt.NDArray[np.int64] | None) -> None:
        similarity = self._checked_similarity()
        weighting, rule = resolve_weighting(self.weighting), LABEL_RULES.resolve(self.label_rule)
        search, engine = TUNERS.resolve(self.tuning), resolve_engine(self.engine)
        if is_remote(batch.X) and not hasattr(engine, "client"):
            engine = self._on_cluster().DaskEngine(batch.X.client, local=engine)
        influence = INFLUENCES.resolve(self.influence)
        calibration = None if self.calibration is None else CALIBRATIONS.resolve(self.calibration)
        for stage in (weighting, rule, search, influence, calibration):
            if stage is not None:
                stage.check()
        X, Y, weights = batch.X, batch.Y, batch.weights
        has_features = similarity.form != "precomputed" and hasattr(X, "shape")
        normalizer = resolve_normalizer(self.normalizer) if has_features else None
        unequal = weights if (weights != 1.0).any() else None
        normalizer = fit_normalizer(normalizer, X, unequal)
        raw = X if normalizer is not None and normalizer.learns else None
        X = X if normalizer is None else transformed(normalizer, X)
        names = getattr(self, "feature_names_in_", None)
        similarity = similarity.fit(X, names, unequal)
        references = References(X, Y, weights, batch.ids, raw)
        seed = int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max))
        references, scales, drawing = self._sampled(references, similarity, weighting, seed)
        sketch = resolve_sketch(self.sketch, similarity, weighting)
        if influence.learned and (sketch is not None or drawing is not None):
            raise ValueError(
                f"influence={self.influence!r} is solved for all references that are kept: not with a sketch "
                f"or a draw for each query. A sampler that draws at fit will do."
            )
        scales = None if influence.learned else scales  # what is learnt is learnt from the rows that are kept
        stages = Stages(
            similarity=similarity,
            weighting=weighting,
            influence=influence,
            engine=engine,
            n_jobs=self.n_jobs,
            seed=seed,
            scales=scales,
        )
        chosen, self.tuning_ = search.run(Problem(stages, references))
        stages = chosen.stages if drawing is None else replace(chosen.stages, engine=drawing)
        scorer = Scorer(stages, references, chosen.solve()).made_ready()
        stages.engine.ready(scorer.prepared, [scorer.job])
        rule = rule.fit(references.sizes, _blocks_for(rule, scorer))
        if calibration is not None:
            calibration = calibration.fit(training_blocks(scorer), single=batch.labels.kind == "single")
        if sketch is not None:
            task = SketchProblem(stages, references, scorer.prepared, scorer.job)
            scorer = replace(scorer, sketch=fit_sketch(sketch, task))
        self._publish(Model(batch.labels, normalizer, scorer, rule, columns, calibration))

    def _sampled(
        self, references: References, similarity: Similarity, weighting: Weighting | None, seed: int
    ) -> tuple[References, FloatArray | None, Sampled | None]:
        """The references that are kept, what each stands for, and the engine that draws for each query."""
        sampler = resolve_sampler(self.sampler)
        if sampler is None:
            return references, None, None
        if similarity.form == "precomputed":
            raise ValueError("sampler: a precomputed matrix has no references to draw; give fit fewer rows.")
        if weighting is not None and weighting.scope == "row":
            raise ValueError(
                f"sampler: {weighting!r} looks at whole rows and is no sum that could be estimated."
            )
        p = sampler.probabilities(references.X, references.Y)
        if sampler.per_query:
            return references, None, Sampled(p, sampler.n, seed)
        rows, scales = draw(p, sampler.n, np.random.default_rng(seed))
        gone = np.setdiff1d(np.arange(references.n_rows), rows)
        return references.without(gone) if len(gone) else references, scales, None

    def _publish(self, model: Model) -> None:
        scorer, stages = model.scorer, model.scorer.stages
        self._model = model
        self.classes_ = model.labels.classes
        self.similarity_, self.normalizer_ = stages.similarity, model.normalizer
        self.weighting_, self.influence_ = stages.weighting, stages.influence
        self.label_rule_, self.calibration_ = model.rule, model.calibration
        self.sketch_ = scorer.sketch
        self.n_references_ = scorer.references.n_rows

    @property
    def ids_(self) -> npt.NDArray[Any]:
        """What the labelled instances are called, (n_references,)."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("ids_ is there after fit.")
        return self._model.scorer.references.ids

    @property
    def plan_(self) -> Plan:
        """How as many queries as there are references would be computed."""
        if not self.__sklearn_is_fitted__():
            raise AttributeError("plan_ is there after fit.")
        return self._model.scorer.plan(self.n_references_)

    def _checked_similarity(self) -> Similarity:
        similarity = SIMILARITIES.resolve(self.similarity)
        similarity.check()
        return similarity

    def _check_fit_rows(self, X: Any, similarity: Similarity) -> Rows:
        if is_objects(X, similarity):
            X = list(X)
            if not X:
                raise ValueError(
                    "Found array with 0 sample(s): X is an empty list; at least one row is required."
                )
            return X
        if similarity.form != "precomputed":
            return self._check_rows(X, reset=True)
        if is_lazy(X) or is_collection(X):
            raise TypeError("A precomputed matrix must be in memory: its columns are the references.")
        X = check_features(self, X, reset=True)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed matrix must be square in fit, (n_rows, n_rows); got shape {X.shape}."
            )
        return X

    def _check_queries(self, X: Any) -> tuple[Model, Rows]:
        check_is_fitted(self)
        model = self._model
        if not hasattr(self, "n_features_in_"):
            return model, list(X)
        return model, self._check_rows(X, reset=False)

    def _check_rows(self, X: Any, *, reset: bool) -> Rows:
        named = X
        if is_collection(X):
            named = getattr(X, "_meta", X) if hasattr(X, "columns") else X
            X = self._on_cluster().remote_rows(X, getattr(self.engine, "client", None))
        else:
            X = as_rows(X)
        if not isinstance(X, LazyRows):
            return check_features(self, X, reset=reset)
        validate_data(self, named, reset=reset, skip_check_array=True)  # names and number of features
        return check_lazy(X)

    def _check_labels(self, y: Any) -> Any:
        """Labels that lie here; those of a Dask collection are fetched."""
        if not is_collection(y):
            return y
        return self._on_cluster().labels_here(y, getattr(self.engine, "client", None))

    @staticmethod
    def _on_cluster() -> Any:
        from simlabel import cluster  # Dask is optional

        return cluster

    def decision_function(self, X: Any) -> FloatArray:
        """Label weights f_k(x).

        Returns
        -------
        array, (n_queries, n_labels)
            For a 1-D y with two classes (n_queries,): (F1 - F0) / (F1 + F0), above 0 for the second.
        """
        model, X = self._check_queries(X)
        weights = model.label_weights(X)
        if model.labels.kind == "single" and weights.shape[1] == 2:
            return binary_margin(weights)
        return weights

    def predict(self, X: Any) -> Any:
        """Label sets, as the kind of y that `fit` was given."""
        index = getattr(X, "index", None)
        model, X = self._check_queries(X)
        Y = model.label_sets(X)
        Y.sort_indices()
        return model.labels.decode(Y, index)

    def predict_sets(self, X: Any) -> list[tuple[Any, ...]]:
        """Label sets as tuples of names, strongest first."""
        model, X = self._check_queries(X)
        Y = model.label_sets(X)
        names = model.labels.classes.tolist()
        ends = zip(Y.indptr[:-1], Y.indptr[1:], strict=True)
        return [tuple(names[k] for k in Y.indices[start:stop]) for start, stop in ends]

    def predict_set_size(self, X: Any) -> npt.NDArray[np.int64]:
        """Number of labels, (n_queries,)."""
        model, X = self._check_queries(X)
        return model.set_sizes(X)

    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the similarity that speaks for each label, (n_queries, n_labels).

        Strictly inside (0, 1) for label sets; rows sum to 1 for a 1-D y.
        """
        model, X = self._check_queries(X)
        return model.probabilities(X)

    def leave_one_out(self) -> FloatArray:
        """Label weights of the training rows, each left out of its own, (n_references, n_labels).

        Normalizer and resolved values stay as they were fitted on all rows.
        """
        check_is_fitted(self)
        return left_out_scores(self._model.scorer)

    def change_rule(self, label_rule: Any) -> Self:
        """Give a fitted model another label rule, without a refit.

        Parameters
        ----------
        label_rule : str, LabelRule or callable
            As in the constructor; one that learns does so from leave-one-out scores.
        """
        check_is_fitted(self)
        rule = LABEL_RULES.resolve(label_rule)
        rule.check()
        with one_teacher(self):
            model = self._model
            fitted = rule.fit(model.scorer.references.sizes, _blocks_for(rule, model.scorer))
            changed = copy.copy(self)
            changed.label_rule = label_rule
            changed._publish(replace(model, rule=fitted))
            self.__dict__ = changed.__dict__
        return self

    def plan(self, X: Any) -> Plan:
        """How a prediction for X would be computed, in words."""
        model, X = self._check_queries(X)
        return model.scorer.plan(n_rows(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of instances whose predicted label set is exactly right."""
        model, X = self._check_queries(X)
        truth, unknown = model.labels.encode(y)
        check_same_length(n_rows(X), truth, "y")
        differs: sp.csr_array = model.label_sets(X) != truth
        exact = (differs.sum(axis=1) == 0) & ~unknown
        return float(accuracy_score(np.ones(len(exact), dtype=bool), exact, sample_weight=sample_weight))

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``similarity__gamma`` needs an object such as ``RBF()`` in place of a name."""
        for name in params:
            stage, _, rest = name.partition("__")
            current = params.get(stage, getattr(self, stage, None))
            if rest and isinstance(current, str):
                raise ValueError(
                    f"{name!r} cannot be set while {stage}={current!r} is a name; give an object, e.g. "
                    f"SMLClassifier({stage}={_as_object(stage, current)})."
                )
        super().set_params(**params)
        return self

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        try:
            similarity = SIMILARITIES.resolve(self.similarity)
            normalizer = resolve_normalizer(self.normalizer)
        except (TypeError, ValueError):
            return tags  # a wrong name is reported by fit
        tags.input_tags.pairwise = similarity.form == "precomputed"
        made_nonnegative = normalizer is not None and normalizer.nonnegative_output
        tags.input_tags.positive_only = bool(similarity.nonnegative_input) and not made_nonnegative
        tags.no_validation = isinstance(similarity, Function)
        return tags


def _as_object(stage: str, name: str) -> str:
    registry: Any = {
        "similarity": SIMILARITIES,
        "label_rule": LABEL_RULES,
        "tuning": TUNERS,
        "influence": INFLUENCES,
    }.get(stage)
    known = registry is not None and name in registry.classes
    return f"{registry.classes[name].__name__}()" if known else "..."


def _blocks_for(rule: LabelRule, scorer: Scorer) -> Any:
    return () if rule.needs == "nothing" else training_blocks(scorer, leave_out=rule.needs == "leave_one_out")

"""SMLClassifier: the method of the paper, every stage by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.utils import Tags

from simlabel._utils.advice import TuningWarning, warn_user
from simlabel._utils.registry import Registry
from simlabel._utils.rows import is_collection, is_lazy, is_objects, is_remote
from simlabel._utils.validation import Rows, check_features, collect_lazy
from simlabel.estimators._inspection import InspectionMixin
from simlabel.estimators._problem import (
    GivenRows,
    check_rows,
    check_table,
    choose_normalizer,
    dask_module,
    draw_seed,
    make_problem,
    sample_references,
)
from simlabel.estimators._updates import UpdateMixin
from simlabel.labels import LabelSpace, refuse_unknown
from simlabel.model import Batch, Model, Scorer, fit_rule_and_calibration, training_blocks
from simlabel.model.sketches import Sketch, SketchProblem, fit_sketch, resolve_sketch
from simlabel.normalizers import Normalizer, UnitsWarning, resolve_normalizer, units_message
from simlabel.ridge import INFLUENCES, Problem, Stages
from simlabel.rules import CALIBRATIONS, LABEL_RULES, UNLABELED_METHODS
from simlabel.similarities import SIMILARITIES, Function, Similarity
from simlabel.sums import WEIGHTINGS, resolve_engine
from simlabel.tables import ENCODERS, Cells, TableEncoder, title_column, warn_about_categories
from simlabel.tuning import TUNERS, Search, curve_problem

_REGISTRIES: dict[str, Registry[Any]] = {
    "similarity": SIMILARITIES,
    "label_rule": LABEL_RULES,
    "tuning": TUNERS,
    "influence": INFLUENCES,
}


class SMLClassifier(UpdateMixin, InspectionMixin):
    """Similarity-based multi-label classifier.

    The score of a label is the sum of the similarities of the query to all labeled instances that have it.
    The same sum over the sizes of the label sets predicts the number of labels; that many of the highest
    scores are predicted. There is no training phase: `fit` stores the instances, and chooses the bandwidth if
    it is not given.

    Parameters
    ----------
    similarity : str, Similarity or callable
        Similarity of two instances: "rbf", "laplacian", "polynomial", "linear", "quadratic", "cosine",
        "chi_square", "jaccard", "precomputed", an object (``RBF(gamma=8.0)``), or a function of two
        instances. Objects can be added and multiplied.
    normalizer : str, list, transformer or None
        Preprocessing of the features: "l2" (unit length, the paper's), "zscore", "minmax",
        "quantile" (normal scores, robust to outliers), "relevance" (weights columns by their relation to the
        labels; after another), a list of these, any scikit-learn transformer, or None. "auto" chooses the
        best of the others by leave-one-out on at most 1,500 rows; `tuning_.note` compares them.
    weighting : str, Weighting, callable or None
        Weight of a similarity as a function of its value: "power", "top_k", "cutoff", a function.
    influence : str or Influence
        How much each reference contributes: "uniform" (the paper's), "label_mean" (for rare labels),
        or "ridge" (learned: the dual coefficients of kernel ridge regression, usually the most accurate).
    label_rule : str, LabelRule or callable
        From label weights to a set: "set_size" (the paper's), "threshold", "fixed_size", "cutoff",
        "per_label", "aimed" (at a precision), "auto" (the best of them by leave-one-out, for micro F1;
        ``AutoRule(criterion=...)`` for another), or a function of the weights.
    calibration : None, str or LeaveOneOutCalibration
        None: probabilities are shares of the similarity. "loo": calibrated on leave-one-out scores.
        "auto": calibrated if that is cheap: if influence is learned, or for 50 to 10,000
        labeled instances (4 million scores; 262,144 calls of a Python function of two instances) in
        memory; shares otherwise. `plan_` and `describe` say which.
    sampler : None, int, str, Sampler, array or callable
        Sum over some of the references, drawn at fit or for each query: a number of them, "uniform",
        "balanced", an object of `simlabel.sums`, or any probabilities. Label weights are unbiased.
    sketch : None, str or Sketch
        Approximation of the sums, computed at fit, whose cost does not depend on the number of references:
        "condense", "random_features", or "auto" for the cheapest that keeps the average precision.
        Leave-one-out, and so tuning and label rules, stay exact.
    tuning : str or Search
        How parameters that are not given are resolved at fit: "validation" (the paper's), or "loo"
        (leave-one-out over all rows).
    engine : str or engine
        How the sums are computed: "exact", "collapsed", or "auto", the exact way with the lowest predicted
        cost; ``Exact(memory_mib=..., on_block=...)`` bounds the memory and reports progress.
    n_jobs : int or None
        Number of threads, of this library and of those that it calls (BLAS, OpenMP). None for all cores that
        this process may use, but no more than ``OMP_NUM_THREADS``, ``threadpool_limits`` or
        ``joblib.parallel_config`` allow.
    random_state : int, RandomState or None
        For the choice of validation rows.
    encoder : None, "table" or TableEncoder
        Encodes the rows of a table with texts, categories and empty cells as numbers. Columns are then
        matched by name, and all methods take tables. `Tagger` chooses it and the other stages by itself.
    hierarchy : None, str, dict or Hierarchy
        Labels that are part of others: a dict from labels to their parents, or the separator of the steps
        of labels that are paths (``"::"`` for ``"mail::imap"``). Rows then have all ancestors of their
        labels, in fit and in predictions, and no label is less probable than its descendants.
    unlabeled : None, "unknown" or PositiveUnlabeled
        How to treat labels that a row does not have: None means that the label does not apply; "unknown"
        means that it may be missing (positive-unlabeled data). Then weights, probabilities and sets are
        corrected for the share of labels that is missing, which ``PositiveUnlabeled(missing=0.3)`` of
        `simlabel.rules` states, or which is estimated under an assumption that `PositiveUnlabeled`
        names. `label_frequency_` has the share that is recorded.

    Attributes
    ----------
    classes_ : array, (n_labels,)
        Label names, in the order of the columns of `decision_function`.
    n_features_in_ : int
    feature_names_in_ : array of str
        If X had names.
    similarity_, normalizer_, weighting_, influence_, label_rule_, calibration_, sketch_ : objects
        The stages, resolved and fitted.
    tuning_ : TuningResult
        The curve of the search.
    cv_results_ : dict of arrays
        That curve in the form of scikit-learn's ``cv_results_``, for ``pd.DataFrame(model.cv_results_)``.
    n_references_ : int
        Number of labeled instances.
    ids_ : array, (n_references,)
        Their ids.
    plan_ : Plan
        Plan of a prediction for as many queries as there are references.

    See Also
    --------
    AutoSMLClassifier : Chooses the stages by itself.
    Tagger : For raw tables: texts, categories, dates, empty cells.
    similarity_sums : The sum on which everything rests.

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
        calibration: Any = "auto",
        sampler: Any = None,
        sketch: Any = None,
        tuning: Any = "validation",
        engine: Any = "auto",
        n_jobs: int | None = None,
        random_state: Any = None,
        encoder: Any = None,
        hierarchy: Any = None,
        unlabeled: Any = None,
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
        self.encoder = encoder
        self.hierarchy = hierarchy
        self.unlabeled = unlabeled

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``similarity__gamma`` needs an object such as ``RBF()`` in place of a name."""
        for name in params:
            stage, _, rest = name.partition("__")
            current = params.get(stage, getattr(self, stage, None))
            if rest and isinstance(current, str):
                classes = _REGISTRIES[stage].classes if stage in _REGISTRIES else {}
                example = f"{classes[current].__name__}()" if current in classes else "..."
                raise ValueError(
                    f"{name!r} cannot be set while {stage}={current!r} is a name: pass an object, e.g. "
                    f"SMLClassifier({stage}={example})."
                )
        super().set_params(**params)
        return self

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.encoder is not None:
            tags.input_tags.string = tags.input_tags.allow_nan = True
        try:
            similarity = SIMILARITIES.resolve(self.similarity)
            is_auto = isinstance(self.normalizer, str) and self.normalizer == "auto"
            normalizer = resolve_normalizer("minmax" if is_auto else self.normalizer)  # "auto" may choose it
        except (TypeError, ValueError):
            return tags  # `fit` reports wrong names
        tags.input_tags.pairwise = similarity.form == "precomputed"
        becomes_nonnegative = normalizer is not None and normalizer.nonnegative_output
        tags.input_tags.positive_only = bool(similarity.nonnegative_input) and not becomes_nonnegative
        tags.no_validation = isinstance(similarity, Function)
        return tags

    def _check_training_rows(self, X: Any) -> Rows:
        similarity = self._resolved_similarity()
        if self.encoder is not None:
            if similarity.form == "precomputed" or isinstance(similarity, Function):
                raise ValueError(f"encoder: {similarity!r} compares no columns: omit the encoder.")
            cells = check_table(X)
            self.n_features_in_ = len(cells.names)
            self.feature_names_in_ = np.array(cells.names, dtype=object)
            return cells.rows
        X = collect_lazy(X)
        if similarity.compares_objects and is_objects(X):
            X = list(X)
            if not X:
                raise ValueError(
                    "Found array with 0 sample(s): X is an empty list; at least one row is required."
                )
            return X
        if similarity.form != "precomputed":
            return check_rows(self, X, self.engine, reset=True)
        if is_lazy(X) or is_collection(X):
            raise TypeError("A precomputed matrix must be in memory: its columns are the references.")
        X = check_features(self, X, reset=True)
        if X.shape[0] != X.shape[1]:
            raise ValueError(
                f"A precomputed matrix must be square in fit, (n_rows, n_rows); got shape {X.shape}."
            )
        return X

    def _training_batch(self, given: GivenRows, classes: Any = None) -> Batch:
        batch = super()._training_batch(given, classes)
        if batch.kept is None or self._resolved_similarity().form != "precomputed":
            return batch
        return replace(batch, X=batch.X[:, batch.kept])

    def _learn(self, batch: Batch, encoder: TableEncoder | None = None) -> None:
        rule, search = LABEL_RULES.resolve(self.label_rule), TUNERS.resolve(self.tuning)
        calibration = self.calibration
        if calibration is not None and not (isinstance(calibration, str) and calibration == "auto"):
            calibration = CALIBRATIONS.resolve(calibration)
        stages = self._stages(batch.X)
        for stage in (stages.weighting, rule, search, stages.influence, calibration):
            if stage is not None and not isinstance(stage, str):
                stage.check()
        if encoder is None and self.encoder is not None:
            encoder = self._fit_encoder(batch)
        normalizer, problem, note = self._normalized(batch, stages, encoder, search)
        problem, drawing = sample_references(problem, self.sampler)
        sketch = None if self.sketch is None else self._resolved_sketch(batch, problem.stages)
        if stages.influence.learned and (sketch is not None or drawing is not None):
            raise ValueError(
                f"influence={self.influence!r} is solved for all stored references, so it cannot be combined "
                f"with a sketch or with a draw for each query: use a sampler that draws at fit."
            )
        learns = calibration is not None or rule.needs == "leave_one_out"
        tuned = search.run(problem, keep=learns and drawing is None and self.unlabeled is None)
        best, curve = tuned.problem, tuned.curve
        if message := curve_problem(curve):
            warn_user(message, TuningWarning)
        self.tuning_ = replace(curve, note="; ".join(filter(None, (note, curve.note)))) if note else curve
        stages = best.stages if drawing is None else replace(best.stages, engine=drawing)
        scorer = Scorer(stages, best.references, best.solve()).with_prepared_references()
        if self.unlabeled is not None:
            scorer = self._correct_for_missing(scorer, batch.labels)
        scorer.stages.engine.warm_up(scorer.prepared, [scorer.job])
        single = batch.labels.kind == "single"
        rule, curves = fit_rule_and_calibration(rule, calibration, scorer, single=single, sums=tuned.sums)
        if sketch is not None:
            task = SketchProblem(scorer.stages, best.references, scorer.prepared, scorer.job)
            scorer = replace(scorer, sketch=fit_sketch(sketch, task))
        columns = batch.kept if stages.similarity.form == "precomputed" else None
        self._publish(Model(batch.labels, normalizer, scorer, rule, columns, curves, encoder))

    def _normalized(
        self, batch: Batch, stages: Stages, encoder: TableEncoder | None, search: Search
    ) -> tuple[Normalizer | None, Problem, str]:
        """Fit the normalizer; return it, the problem on normalized rows, and a note on its choice."""
        names, spec, note = getattr(self, "feature_names_in_", None), self.normalizer, ""
        if isinstance(spec, str) and spec == "auto":
            spec, note = choose_normalizer(batch, stages, names, encoder, search)
        normalizer, problem = make_problem(batch, spec, stages, names, encoder)
        # a normalizer that is passed as an object is meant as it is
        default = self.normalizer is None or (isinstance(self.normalizer, str) and self.normalizer == "l2")
        if default and encoder is None and stages.similarity.form != "precomputed":
            message = units_message(batch.X, normalizer, names)
            if message is not None:
                warn_user(message, UnitsWarning)
        return normalizer, problem, note

    def _resolved_sketch(self, batch: Batch, stages: Stages) -> Sketch:
        sketch = resolve_sketch(self.sketch, stages.similarity, stages.weighting)
        refuse_unknown(batch.imputed[1], "a sketch is of label sets that are all known")
        return sketch

    def _resolved_similarity(self) -> Similarity:
        similarity = SIMILARITIES.resolve(self.similarity)
        similarity.check()
        return similarity

    def _stages(self, X: Rows) -> Stages:
        """Return the stages of the sums as objects, with unresolved "auto" parameters."""
        engine = resolve_engine(self.engine)
        if is_remote(X) and not hasattr(engine, "client"):
            engine = dask_module().DaskEngine(X.client, local=engine)
        return Stages(
            similarity=self._resolved_similarity(),
            weighting=None if self.weighting is None else WEIGHTINGS.resolve(self.weighting),
            influence=INFLUENCES.resolve(self.influence),
            engine=engine,
            n_jobs=self.n_jobs,
            seed=draw_seed(self.random_state),
        )

    def _fit_encoder(self, batch: Batch) -> TableEncoder:
        cells = Cells(tuple(self.feature_names_in_.tolist()), batch.X)
        encoder = ENCODERS.resolve(self.encoder).fit(cells)
        warn_about_categories(cells, encoder)
        self.title_column_ = title_column(cells, encoder.columns_)
        return encoder

    def _correct_for_missing(self, scorer: Scorer, labels: LabelSpace) -> Scorer:
        """Return the scorer with sums corrected for labels that apply but are missing (PU learning)."""
        presence = UNLABELED_METHODS.resolve(self.unlabeled)
        presence.check()
        if labels.kind == "single":
            raise ValueError(
                f"unlabeled={self.unlabeled!r} is for label sets, but y has one class for each row."
            )
        if self.sketch is not None:
            raise ValueError(f"unlabeled={self.unlabeled!r} cannot be combined with a sketch.")
        if getattr(self.influence, "mixing", False):
            raise ValueError(
                f"unlabeled={self.unlabeled!r} needs learned scores that are shares, but Ridge(mixing=True) "
                f"gives log-odds: use Ridge(mixing=False)."
            )
        label_frequency = presence.label_frequency(labels.classes, training_blocks(scorer))
        problem = Problem(replace(scorer.stages, label_frequency=label_frequency), scorer.references)
        return Scorer(problem.stages, problem.references, problem.solve(), scorer.prepared_references)


def chosen_classifier(
    owner: Any, similarity: Similarity, normalizer: Any, influence: Any, rule: Any, seed: int
) -> SMLClassifier:
    """Return a classifier with the chosen stages, and all other parameters of `owner`."""
    others = ("calibration", "engine", "n_jobs", "unlabeled", "hierarchy")
    return SMLClassifier(
        similarity,
        normalizer=normalizer,
        influence=influence,
        label_rule=rule,
        random_state=seed,
        **{name: getattr(owner, name) for name in others},
    )

"""SMLClassifier: the stages, wired together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.utils import Tags, check_random_state

from simlabel.calibration import ABSENCES, CALIBRATIONS
from simlabel.engines import Sampled, resolve_engine
from simlabel.estimators._checks import (
    checked_table,
    checked_training_rows,
    client_of,
    labels_here,
    on_cluster,
)
from simlabel.estimators._inspect import InspectionMixin
from simlabel.estimators._normalizing import choose_normalizer
from simlabel.estimators._online import OnlineMixin
from simlabel.estimators._problem import make_problem
from simlabel.estimators._sets import SetsMixin
from simlabel.fitted import (
    Batch,
    Model,
    Scorer,
    Wanted,
    drop_weightless,
    learnt_outcomes,
    resolve_ids,
    training_blocks,
)
from simlabel.influence import INFLUENCES, Problem, Stages
from simlabel.label_rules import LABEL_RULES
from simlabel.labels import LabelSpace, advise_on_labels, as_hierarchy, refuse_unknown
from simlabel.normalization import Normalizer, UnitsWarning, resolve_normalizer, told_units
from simlabel.rows import is_remote, n_rows
from simlabel.sampling import draw, resolve_sampler
from simlabel.similarities import SIMILARITIES, Function, Similarity
from simlabel.sketching import SketchProblem, fit_sketch, resolve_sketch
from simlabel.support.advice import advise
from simlabel.support.registry import Registry
from simlabel.support.validation import Rows, check_same_length
from simlabel.tables import ENCODERS, Cells, TableEncoder, advise_on_categories, title_column
from simlabel.tuning import TUNERS, advise_on_curve
from simlabel.weightings import resolve_weighting


class SMLClassifier(OnlineMixin, InspectionMixin, SetsMixin):
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
        What is done to the features first: "l2" (unit length, the paper's), "zscore", "minmax",
        "quantile" (normal scores, robust to outliers), a list of these, any scikit-learn transformer, or
        None. "auto" takes the best of them by leave-one-out on at most 1,500 rows; `tuning_.note` tells.
    weighting : str, Weighting, callable or None
        How much a similarity of a given strength counts: "power", "top_k", "cutoff", a function.
    influence : str or Influence
        How much each reference contributes: "uniform" (the paper's), "label_mean" (for rare labels),
        or "ridge" (learnt, which is usually the most accurate).
    label_rule : str, LabelRule or callable
        From label weights to a set: "set_size" (the paper's), "threshold", "fixed_size", "cutoff",
        "per_label", "aimed" (at a precision), "auto" (the best of them by leave-one-out, for micro F1;
        ``AutoRule(criterion=...)`` for another), or a function of the weights.
    calibration : None, str or LeaveOneOutCalibration
        None: probabilities are shares of the similarity. "loo": calibrated on leave-one-out scores.
        "auto": calibrated where that takes little: where influence is learned, and else with at most
        10,000 labelled instances (4 million scores; 262,144 calls of a Python function of two instances),
        on this machine, and at least 50; shares otherwise. `plan_` and `describe` say which.
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
        Threads, of this library and of those that it calls (BLAS, OpenMP). None for all cores that this
        process may use, but no more than ``OMP_NUM_THREADS``, ``threadpool_limits`` or
        ``joblib.parallel_config`` allow.
    random_state : int, RandomState or None
        For the choice of validation rows.
    encoder : None, "table" or TableEncoder
        Where rows are those of a table with texts, categories and empty cells: what makes numbers of them.
        Columns are then matched by name, and all that a model does takes tables. `Tagger` chooses it and
        the other stages by itself.
    hierarchy : None, str, dict or Hierarchy
        Labels that are part of others: a dict from labels to their parents, or what stands between the steps
        of labels that are paths (``"::"`` for ``"mail::imap"``). Rows then have all labels above theirs, in
        fit and in what is predicted, and no label is less probable than those below it.
    absent : None, "unknown" or PresenceOnly
        What it means that a row has not been given a label: None, that it has it not; "unknown", that it
        may have it all the same. Then weights, probabilities and sets are put right for the share of labels
        that is missing, which ``PresenceOnly(missing=0.3)`` of `simlabel.calibration` states, or which is
        estimated under an assumption that `PresenceOnly` names. `recorded_` has the share that is there.

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

    See Also
    --------
    AutoSMLClassifier : Chooses the stages by itself.
    Tagger : The same for raw tables: texts, categories, dates, empty cells.
    similarity_sums : The sum that everything rests on.

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
        absent: Any = None,
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
        self.absent = absent

    def fit(self, X: Any, y: Any, sample_weight: Any = None, ids: Any = None, groups: Any = None) -> Self:
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
        groups : list, (n_rows,), optional
            What each row belongs to, where rows of one group are nearly copies: packages of one source,
            frames of one film, visits of one patient. Wherever a row is left out, its whole group is (all
            of its weight): in tuning, label rules, calibration, `leave_one_out`, `suspicious_labels` and
            `novelty`. None or NaN: a group of its own.

        Examples
        --------
        >>> X, y = [[1.0, 0.0], [1.0, 0.0], [0.8, 0.6]], [{"sea"}, {"sea"}, {"trees"}]
        >>> model = SMLClassifier("linear").fit(X, y, groups=["film", "film", None])
        >>> model.leave_one_out().round(2)
        array([[0. , 0.8],
               [0. , 0.8],
               [1.6, 0. ]])
        """
        with self._changing() as changed:
            changed._reset()
            batch = changed._fit(X, y, sample_weight, ids, groups, None)
            advise_on_labels(batch.labels.classes.tolist(), batch.Y)
        return self

    def _fit(self, X: Any, y: Any, sample_weight: Any, ids: Any, groups: Any, classes: Any) -> Batch:
        similarity, client = self._resolved_similarity(), client_of(self.engine)
        X = self._checked_training_rows(X, similarity, client)
        space, Y, unknown = LabelSpace.learn_known(labels_here(y, client), as_hierarchy(self.hierarchy))
        check_same_length(n_rows(X), Y, "y")
        names = resolve_ids(ids, n_rows(X), None)
        batch = drop_weightless(X, space, Y, sample_weight, names, groups, unknown)
        if classes is not None:
            batch = batch.relabelled(batch.labels.declared(classes))
        columns = batch.kept if similarity.form == "precomputed" else None
        if columns is not None:
            batch = replace(batch, X=batch.X[:, columns])
        self._learn(batch, columns, similarity)
        return batch

    def _checked_training_rows(self, X: Any, similarity: Similarity, client: Any) -> Rows:
        if self.encoder is None:
            return checked_training_rows(self, X, similarity, client)
        if similarity.form == "precomputed" or isinstance(similarity, Function):
            raise ValueError(f"encoder: {similarity!r} compares no columns; leave out the encoder.")
        cells = checked_table(X)
        self.n_features_in_ = len(cells.names)
        self.feature_names_in_ = np.array(cells.names, dtype=object)
        return cells.rows

    def _learn(
        self,
        batch: Batch,
        columns: npt.NDArray[np.int64] | None,
        similarity: Similarity | None = None,
        encoder: TableEncoder | None = None,
    ) -> None:
        rule, search = LABEL_RULES.resolve(self.label_rule), TUNERS.resolve(self.tuning)
        calibration = self._calibration()
        similarity = self._resolved_similarity() if similarity is None else similarity
        stages = self._stages(batch.X, similarity)
        for stage in (stages.weighting, rule, search, stages.influence, calibration):
            if stage is not None and not isinstance(stage, str):
                stage.check()
        names = getattr(self, "feature_names_in_", None)
        encoder = self._fitted_encoder(batch) if encoder is None else encoder
        spec, told = self.normalizer, ""
        if isinstance(spec, str) and spec == "auto":
            spec, told = choose_normalizer(batch, stages, names, encoder, search)
        normalizer, problem = make_problem(batch, spec, stages, names, encoder)
        self._warn_of_units(batch, normalizer)
        problem, drawing = self._sampled(problem)
        sketch = resolve_sketch(self.sketch, problem.stages.similarity, stages.weighting)
        if stages.influence.learned and (sketch is not None or drawing is not None):
            raise ValueError(
                f"influence={self.influence!r} is solved for all references that are kept: not with a sketch "
                f"or a draw for each query. A sampler that draws at fit will do."
            )
        if sketch is not None:
            refuse_unknown(batch.unknown, "a sketch is of label sets that are all known")
        best, self.tuning_ = search.run(problem)
        advise_on_curve(self.tuning_)
        if told:
            self.tuning_ = replace(self.tuning_, note="; ".join(filter(None, (told, self.tuning_.note))))
        stages = best.stages if drawing is None else replace(best.stages, engine=drawing)
        scorer = Scorer(stages, best.references, best.solve()).made_ready()
        if self.absent is not None:
            scorer = self._put_right(scorer, batch.labels)
        stages = scorer.stages
        stages.engine.ready(scorer.prepared, [scorer.job])
        rule, curves = learnt_outcomes(rule, calibration, scorer, single=batch.labels.kind == "single")
        if sketch is not None:
            task = SketchProblem(stages, best.references, scorer.prepared, scorer.job)
            scorer = replace(scorer, sketch=fit_sketch(sketch, task))
        self._publish(Model(batch.labels, normalizer, scorer, rule, columns, curves, encoder))

    def _warn_of_units(self, batch: Batch, normalizer: Normalizer | None) -> None:
        """Of columns that no one has brought to one scale: what an object is given for is meant so."""
        by_name = self.normalizer is None or self.normalizer == "l2"
        if not by_name or self.encoder is not None or self._resolved_similarity().form == "precomputed":
            return
        told = told_units(batch.X, normalizer, getattr(self, "feature_names_in_", None))
        if told is not None:
            advise(told, UnitsWarning)

    def _calibration(self) -> Wanted:
        """The stage as an object, or "auto"."""
        given = self.calibration
        if isinstance(given, str) and given == "auto":
            return "auto"
        return None if given is None else CALIBRATIONS.resolve(given)

    def _put_right(self, scorer: Scorer, labels: LabelSpace) -> Scorer:
        """The same where a label that is recorded counts for those that apply and are not."""
        presence = ABSENCES.resolve(self.absent)
        presence.check()
        if labels.kind == "single":
            raise ValueError(f"absent={self.absent!r} is for label sets; y has one class for each row.")
        if self.sketch is not None:
            raise ValueError(f"absent={self.absent!r} cannot be combined with a sketch.")
        if getattr(self.influence, "mixing", False):
            raise ValueError(
                f"absent={self.absent!r} reads learned scores as shares, and Ridge(mixing=True) makes "
                f"log-odds of them. Use Ridge(mixing=False)."
            )
        recorded = presence.recorded(labels.classes, training_blocks(scorer))
        problem = Problem(replace(scorer.stages, recorded=recorded), scorer.references)
        return Scorer(problem.stages, problem.references, problem.solve(), scorer.ready)

    def _fitted_encoder(self, batch: Batch) -> TableEncoder | None:
        if self.encoder is None:
            return None
        cells = Cells(tuple(self.feature_names_in_.tolist()), batch.X)
        encoder = ENCODERS.resolve(self.encoder).fit(cells)
        advise_on_categories(cells, encoder)
        self.title_column_ = title_column(cells, encoder.columns_)
        return encoder

    def _stages(self, X: Rows, similarity: Similarity) -> Stages:
        """The stages of the sums as objects, with what is "auto" still in them."""
        engine = resolve_engine(self.engine)
        if is_remote(X) and not hasattr(engine, "client"):
            engine = on_cluster().DaskEngine(X.client, local=engine)
        return Stages(
            similarity=similarity,
            weighting=resolve_weighting(self.weighting),
            influence=INFLUENCES.resolve(self.influence),
            engine=engine,
            n_jobs=self.n_jobs,
            seed=int(check_random_state(self.random_state).randint(np.iinfo(np.int32).max)),
        )

    def _sampled(self, problem: Problem) -> tuple[Problem, Sampled | None]:
        """The problem on the references that are drawn, and the engine that draws for each query."""
        sampler, stages, references = resolve_sampler(self.sampler), problem.stages, problem.references
        if sampler is None:
            return problem, None
        if stages.similarity.form == "precomputed":
            raise ValueError("sampler: a precomputed matrix has no references to draw; give fit fewer rows.")
        if stages.weighting is not None and stages.weighting.scope == "row":
            raise ValueError(
                f"sampler: {stages.weighting!r} looks at whole rows and is no sum that could be estimated."
            )
        p = sampler.probabilities(references.X, references.Y)
        if sampler.per_query:
            return problem, Sampled(p, sampler.n, stages.seed)
        rows, scales = draw(p, sampler.n, np.random.default_rng(stages.seed))
        gone = np.setdiff1d(np.arange(references.n_rows), rows)
        references = references.without(gone) if len(gone) else references
        # what is learnt is learnt from the rows that are there
        stages = stages if stages.influence.learned else replace(stages, scales=scales)
        return Problem(stages, references), None

    def _resolved_similarity(self) -> Similarity:
        similarity = SIMILARITIES.resolve(self.similarity)
        similarity.check()
        return similarity

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

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        if self.encoder is not None:
            tags.input_tags.string = tags.input_tags.allow_nan = True
        try:
            similarity = SIMILARITIES.resolve(self.similarity)
            named = isinstance(self.normalizer, str) and self.normalizer == "auto"
            normalizer = resolve_normalizer("minmax" if named else self.normalizer)  # one that it may take
        except (TypeError, ValueError):
            return tags  # a wrong name is reported by fit
        tags.input_tags.pairwise = similarity.form == "precomputed"
        made_nonnegative = normalizer is not None and normalizer.nonnegative_output
        tags.input_tags.positive_only = bool(similarity.nonnegative_input) and not made_nonnegative
        tags.no_validation = isinstance(similarity, Function)
        return tags


def _as_object(stage: str, name: str) -> str:
    registries: dict[str, Registry[Any]] = {
        "similarity": SIMILARITIES,
        "label_rule": LABEL_RULES,
        "tuning": TUNERS,
        "influence": INFLUENCES,
    }
    registry = registries.get(stage)
    known = {} if registry is None else registry.classes
    return f"{known[name].__name__}()" if name in known else "..."

"""SMLClassifier: its parameters, and what scikit-learn asks of it."""

from __future__ import annotations

from typing import Any, Self

from sklearn.utils import Tags

from simlabel._utils.registry import Registry
from simlabel.estimators._inspect import InspectionMixin
from simlabel.estimators._learning import LearningMixin
from simlabel.estimators._sets import SetsMixin
from simlabel.labels import advise_on_labels
from simlabel.normalizers import resolve_normalizer
from simlabel.ridge import INFLUENCES
from simlabel.rules import LABEL_RULES
from simlabel.similarities import SIMILARITIES, Function
from simlabel.tuning import TUNERS


class SMLClassifier(LearningMixin, InspectionMixin, SetsMixin):
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
        "quantile" (normal scores, robust to outliers), "relevance" (columns count by what they say of the
        labels; after another), a list of these, any scikit-learn transformer, or None. "auto" takes the
        best of the others by leave-one-out on at most 1,500 rows; `tuning_.note` tells.
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
        "balanced", an object of `simlabel.sums._samplers`, or any probabilities. Label weights stay right on
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
        that is missing, which ``PresenceOnly(missing=0.3)`` of `simlabel.rules.calibration` states, or which is
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
    cv_results_ : dict of arrays
        The same in the form of scikit-learn's ``cv_results_``, for ``pd.DataFrame(model.cv_results_)``.
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

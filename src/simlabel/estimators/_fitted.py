"""The base class of all classifiers: predictions of a fitted, immutable model, and its file."""

from __future__ import annotations

import copy
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.rows import encode_groups, n_rows
from simlabel._utils.threads import limit_n_jobs, respects_n_jobs
from simlabel._utils.validation import (
    AnyArray,
    BoolArray,
    FloatArray,
    IntArray,
    Rows,
    check_groups,
    check_same_length,
)
from simlabel.estimators._description import Description, describe, warn_about_equal_sets, warn_about_unknown
from simlabel.estimators._problem import check_rows, check_table, fetch_labels
from simlabel.guarantees import CalibrationData, FittedGuarantee, Guarantee, HeldOutRows, SelectionBiasWarning
from simlabel.metrics import Truth, exact_rows
from simlabel.model import (
    Model,
    Outputs,
    PendingRows,
    check_learned,
    lock_for_changes,
)
from simlabel.model.inspection import warn_about_duplicates
from simlabel.model.persistence import Writer, model_state, write_file
from simlabel.rules import binary_margin
from simlabel.tuning import TuningResult

#: fitted attributes that are saved together with the model
SAVED = (
    "n_features_in_",
    "feature_names_in_",
    "tuning_",
    "label_separator_",
    "title_column_",
    "label_column_",
    "trials_",
    "n_queried_",
)


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """Base class: answers from an immutable `Model`, which subclasses fit and publish."""

    calibration: Any
    engine: Any
    _model: Model
    tuning_: TuningResult
    n_queried_: int  # rows that `suggest` picked and `partial_fit` added; only set if there are some
    label_column_: str  # set by the command line
    _suggested: set[bytes]

    def _publish(self, model: Model) -> None:
        """Answer from this model from now on."""
        check_learned(model, getattr(self, "_model", None))
        scorer, stages = model.scorer, model.scorer.stages
        self._model = model
        self.classes_ = model.labels.classes
        self.similarity_, self.normalizer_ = stages.similarity, model.normalizer
        self.weighting_, self.influence_ = stages.weighting, stages.influence
        self.label_rule_, self.calibration_ = model.rule, model.calibration
        self.sketch_, self.encoder_ = scorer.sketch, model.encoder
        self.label_frequency_ = stages.label_frequency
        self.n_references_ = scorer.references.n_rows

    @contextmanager
    def _changing(self) -> Iterator[Self]:
        """Give a copy to change, and take over its state at the end in one assignment.

        If the change fails, nothing has changed. Other threads see either the old state or the new one.
        """
        with lock_for_changes(self), limit_n_jobs(getattr(self, "n_jobs", None), type(self).__name__):
            changed = copy.copy(self)
            yield changed
            self.__dict__ = changed.__dict__

    def _reset(self, *kept: str) -> None:
        """Delete all fitted attributes except for these."""
        for name in list(vars(self)):
            if (name.endswith("_") or name == "_model") and name not in kept:
                del self.__dict__[name]

    @property
    def _fitted_model(self) -> Model:
        if not hasattr(self, "_model"):
            check_is_fitted(self)  # raises; it is slow where it does not
        return self._model

    @property
    def _model_jobs(self) -> int | None:
        """Number of threads that the model was fitted with."""
        return self._model.scorer.stages.n_jobs

    def _check_queries(self, X: Any) -> tuple[Model, Rows]:
        """Return the model, and X checked against it."""
        model = self._fitted_model
        if model.encoder is not None:
            return model, model.encoder.aligned(check_table(X))
        if not hasattr(self, "n_features_in_"):
            return model, list(X)
        return model, check_rows(self, X, model.scorer.stages.engine, reset=False)

    def _read(self, y: Any) -> Any:
        """Return labels in a form that `LabelSpace` reads."""
        return fetch_labels(y, self.engine)

    @property
    def ids_(self) -> AnyArray:
        """Ids of the labeled instances, (n_references,)."""
        return self._fitted_model.scorer.references.ids

    @respects_n_jobs
    def outputs(self, X: Any, pending: PendingRows | None = None) -> Outputs:
        """Return label sets, label weights and probabilities of X from one pass over the references.

        Parameters
        ----------
        X : as in `predict`
        pending : PendingRows, optional
            Result of `pending_rows`: labeled rows that count before they are learned.

        Returns
        -------
        Outputs
            ``sets`` (sparse 0/1, the entries of each row strongest first), ``weights`` and
            ``probabilities``, (n_queries, n_labels) each, with columns as in `classes_`; ``sizes`` of
            the sets, ``confidence`` (the smallest probability among the predicted labels; NaN for an empty
            set) and ``forced`` (whether the set holds labels only because the label rule has a minimum
            number of labels), (n_queries,) each; ``frame("probabilities")`` has the names of the labels,
            and the index of X if that is a data frame.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> outputs = model.outputs([[0.6, 0.8]])
        >>> outputs.sets.toarray(), outputs.sizes, outputs.weights.round(2)
        (array([[0, 1]], dtype=int8), array([1]), array([[0.6, 0.8]]))
        """
        index = X.index if hasattr(X, "iloc") else None
        model, X = self._check_queries(X)
        if pending is None:
            outputs = model.outputs(X)
            warn_about_equal_sets(model, X, outputs.sets)
        else:
            pending.check(model)
            outputs = model.outputs(X, pending)
        return replace(outputs, index=index)

    @respects_n_jobs
    def warm_up(self) -> Self:
        """Precompute the reference sums so that single-row predictions are fast.

        `fit` does this. After loading or changing a model, a single query sums over all references until
        many queries were predicted or this is called. Predictions change by rounding only.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.partial_fit([[0.1, 0.9]], [{"trees"}]).warm_up().predict([[0.2, 0.9]])
        [{'trees'}]
        """
        scorer = self._fitted_model.scorer
        if scorer.sketch is None:
            scorer.stages.engine.warm_up(scorer.prepared, [scorer.job])
        return self

    @respects_n_jobs
    def label_weights(self, X: Any) -> FloatArray:
        """Return the paper's f_k(x), (n_queries, n_labels), on which label rules and explanations rest.

        They rank the labels of one query. They do not compare between queries: a query in a dense region
        has larger sums for all labels. Use `decision_function` for that.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.label_weights([[0.6, 0.8]]).round(2)
        array([[0.6, 0.8]])
        """
        model, X = self._check_queries(X)
        return model.label_weights(X)

    @respects_n_jobs
    def decision_function(self, X: Any) -> FloatArray:
        """Return scores that rank labels as `label_weights` does and compare between queries.

        If no similarity is below 0 they are shares: f_k(x) divided by the similarity of the query to all
        labeled instances; a query that is similar to none gets the frequencies of the labels. Scores of
        learned influence are returned unchanged. Plain sums of similarities that may be negative (linear or
        cosine with such features, a function without ``nonnegative=True``) have no share: these are label
        weights, and rank the labels of one query only.

        Returns
        -------
        array, (n_queries, n_labels)
            For a 1-D y with two classes (n_queries,): (F1 - F0) / (F1 + F0), above 0 for the second.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.decision_function([[0.6, 0.8]]).round(2)
        array([[0.43, 0.57]])
        """
        model, X = self._check_queries(X)
        if model.labels.kind == "single" and len(model.labels.classes) == 2:
            return binary_margin(model.label_weights(X))
        return model.decisions(X)

    @respects_n_jobs
    def predict(self, X: Any) -> Any:
        """Predict label sets, in the form of the y that was passed to `fit`."""
        index = X.index if hasattr(X, "iloc") else None  # of a list or tuple, index is a method
        model, Y = self._label_sets(X)
        Y.sort_indices()
        return model.labels.decode(Y, index)

    def _label_sets(self, X: Any) -> tuple[Model, Any]:
        model, X = self._check_queries(X)
        Y = model.label_sets(X)
        warn_about_equal_sets(model, X, Y)
        return model, Y

    @respects_n_jobs
    def predict_sets(self, X: Any, guarantee: Guarantee | FittedGuarantee | None = None) -> list[Any]:
        """Predict label sets as tuples of names, strongest first.

        Parameters
        ----------
        X : as in `predict`
        guarantee : Recall, Precision, LabelCoverage, SetCoverage or FittedGuarantee, optional
            Property that the sets must have, from `simlabel.guarantees`. It is computed in each call; for
            several calls, compute a `FittedGuarantee` once with the method `guarantee`.

        Returns
        -------
        list of tuple
            With a guarantee, None for a row without a useful set (all labels, more than `most` of them, or
            for `Precision` none): leave it to a person. An empty tuple means that no label is likely.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> from simlabel.guarantees import Recall
        >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
        >>> model = SMLClassifier("cosine").fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
        >>> model.predict_sets([[0.1, 1.0], [1.0, 1.0]], guarantee=Recall(0.95))
        [('sea',), ()]
        >>> model.predict_sets([[0.1, 1.0], [1.0, 1.0]], guarantee=Recall(0.99))  # 40 rows are too few
        [None, None]
        """
        if guarantee is not None:
            _, rows = self._check_queries(X)
            if not isinstance(guarantee, FittedGuarantee):
                guarantee = self.guarantee(guarantee)
            elif guarantee.model is not self._model:
                raise ValueError(
                    f"This guarantee {guarantee.guarantee!r} was computed for another model, or for this one "
                    f"before it was changed: compute it again with model.guarantee(...)."
                )
            return guarantee.sets(rows)
        model, Y = self._label_sets(X)
        names = model.labels.classes.tolist()
        ends = zip(Y.indptr[:-1], Y.indptr[1:], strict=True)
        return [tuple(names[k] for k in Y.indices[start:stop]) for start, stop in ends]

    @respects_n_jobs
    def guarantee(
        self, guarantee: Guarantee, X: Any = None, y: Any = None, groups: Any = None
    ) -> FittedGuarantee:
        """Compute a guarantee for this model, for any number of calls of `predict_sets`.

        It holds for the current model: compute it again after `partial_fit` or `forget`.

        Parameters
        ----------
        guarantee : Recall, Precision, LabelCoverage or SetCoverage
        X, y : as in `fit`, optional
            Held-out labeled rows from the distribution of the queries: with them, nothing that was chosen
            in `fit` affects the guarantee. By default it rests on the rows of the model.
        groups : list, (n_rows,), optional
            Group of each of these rows, as in `fit`. One row of each group counts; the guarantee is
            for a row of a new group.

        Returns
        -------
        FittedGuarantee
            Print it to see what is guaranteed, and which assumptions do not hold.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> from simlabel.guarantees import LabelCoverage
        >>> from simlabel.similarities import RBF
        >>> X = [[i / 40, 1.0] for i in range(20)] + [[1.0, i / 40] for i in range(20)]
        >>> model = SMLClassifier(RBF(2.0)).fit(X, [{"sea"}] * 20 + [{"trees"}] * 20)
        >>> fitted_guarantee = model.guarantee(LabelCoverage(0.9))
        >>> print(fitted_guarantee)
        Whenever a label is true, it is in the set with a probability of at least 0.9, each label by itself
        (full conformal, 40 rows).
        >>> model.predict_sets([[0.1, 1.0]], guarantee=fitted_guarantee), fitted_guarantee.exact
        ([('sea',)], True)
        """
        check_is_fitted(self)
        if not isinstance(guarantee, Guarantee):
            raise TypeError(
                f"guarantee must be one of simlabel.guarantees, e.g. Recall(0.9), got {guarantee!r}."
            )
        guarantee.check()
        if (X is None) != (y is None):
            raise ValueError("guarantee: pass both X and y, held-out labeled rows, or neither.")
        picked: int = getattr(self, "n_queried_", 0)
        if X is None and picked:
            warnings.warn(
                f"{picked:,} of the labeled rows were picked by suggest, so they are not a random sample and "
                f"the guarantee may not hold. Pass rows to guarantee that were drawn at random.",
                SelectionBiasWarning,
                stacklevel=3,
            )
        held_out = None if X is None else self._held_out_rows(X, y, groups)
        return guarantee.calibrate(CalibrationData(self._model, self._tuned_parameters, held_out))

    def _held_out_rows(self, X: Any, y: Any, groups: Any) -> HeldOutRows:
        model, rows = self._check_queries(X)
        Y, unknown = model.labels.encode(y)
        check_same_length(n_rows(rows), Y, "y")
        if unknown.any():
            raise ValueError(
                f"guarantee: row {int(np.argmax(unknown))} of y has a label that the model does not know, "
                f"so no set can contain it. Add the label with partial_fit, or drop such rows."
            )
        names = check_groups(groups, n_rows(rows))
        return HeldOutRows(rows, Y, None if names is None else encode_groups(names))

    @property
    def _tuned_parameters(self) -> tuple[str, ...]:
        """Names of what was chosen on the labeled rows."""
        return tuple(self.tuning_.parameters) if hasattr(self, "tuning_") else ()

    @respects_n_jobs
    def predict_set_size(self, X: Any) -> IntArray:
        """Predict the number of labels, (n_queries,)."""
        model, X = self._check_queries(X)
        return np.diff(model.label_sets(X).indptr).astype(np.int64)

    @respects_n_jobs
    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label, (n_queries, n_labels); `plan_` says if it is calibrated.

        If not, it is the label's share of the similarity. If similarities may be negative or are divided by
        counts, that is no probability, and a `ShareWarning` is issued. Strictly inside (0, 1) for label
        sets; rows sum to 1 for a 1-D y. Always an array; ``outputs(X).frame()`` has label names.
        """
        model, X = self._check_queries(X)
        return model.probabilities(X)

    @respects_n_jobs
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of rows whose predicted label set is exactly right, where it is known."""
        model, X = self._check_queries(X)
        Y, foreign, unknown = model.labels.encode_known(y)
        check_same_length(n_rows(X), Y, "y")
        if foreign.any():
            warn_about_unknown(model.labels, y, int(foreign.sum()))
        if n_rows(X) != model.scorer.references.n_rows:  # otherwise the training score is wanted
            warn_about_duplicates(model, X)
        sets = model.label_sets(X)
        warn_about_equal_sets(model, X, sets)
        exact = exact_rows(Truth(Y, None if unknown is None else unknown.entries), sets)
        exact[foreign] = 0.0
        known = np.flatnonzero(~np.isnan(exact))
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(accuracy_score(np.ones(len(known), dtype=bool), exact[known] > 0, sample_weight=weights))

    def describe(self) -> Description:
        """Return a description of the model and of what was chosen for it, to print.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> dict(model.describe().facts)["similarity"]
        'Linear()'
        """
        return describe(self, self._fitted_model)

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()
        return diagram + self.describe()._repr_html_() if self.__sklearn_is_fitted__() else diagram

    def _absent_labels(self) -> BoolArray:
        """Return which labels no labeled row has, for scorers."""
        Y = self._model.scorer.references.Y
        return np.bincount(Y.indices, minlength=Y.shape[1]) == 0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

    @respects_n_jobs
    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file, for `simlabel.load`.

        Arrays are stored as safetensors, the rest as JSON, all with checksums. The file is written
        to a temporary name and then renamed, so at any time the old model or the new one is there, whole.
        A similarity, weighting or rule given as a Python function is saved by the name under which it
        was registered (`simlabel.model.persistence.register`); scikit-learn transformers cannot be saved.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> from simlabel import SMLClassifier
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "photos.simlabel"
        >>> SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}]).save(path)
        """
        model, writer = self._fitted_model, Writer()
        params = {name: writer.encode(value, name) for name, value in self.get_params(deep=False).items()}
        fitted = {name: writer.encode(getattr(self, name), name) for name in SAVED if hasattr(self, name)}
        encoded = model_state(model, writer)
        state = {"class": type(self).__name__, "params": params, "fitted": fitted, "model": encoded}
        write_file(path, state, writer.arrays)

"""What every classifier here has: a model that is published whole, and what it is asked for."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.rows import n_rows
from simlabel._utils.threads import held_to, within_n_jobs
from simlabel._utils.validation import FloatArray, Rows, check_same_length
from simlabel.estimators._advice import advise_on_sets, advise_on_unknown
from simlabel.estimators._checks import checked_rows, checked_table, client_of
from simlabel.estimators._description import Description, describe
from simlabel.metrics import Truth, exact_rows
from simlabel.model import Model, Notes, Outputs, one_thread_changes
from simlabel.model.inspection import advise_on_copies
from simlabel.rules.calibration import binary_margin


class FittedBase(ClassifierMixin, BaseEstimator):
    """A classifier that answers from an immutable model."""

    _model: Model
    classes_: npt.NDArray[Any]
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]

    @abstractmethod
    def _publish(self, model: Model) -> None:
        """Answer from this model from now on."""

    @property
    def _model_jobs(self) -> int | None:
        """The threads that what answers was fitted with."""
        return self._model.scorer.stages.n_jobs

    @contextmanager
    def _changing(self) -> Iterator[Self]:
        """A copy to work on, which one assignment publishes.

        Work that failed has changed nothing, and other threads see the old state or the new one, whole.
        """
        with one_thread_changes(self), held_to(getattr(self, "n_jobs", None), type(self).__name__):
            changed = copy.copy(self)
            yield changed
            self.__dict__ = changed.__dict__

    def _reset(self, *names: str) -> None:
        """Drop all that was learnt, but for these attributes."""
        for name in list(vars(self)):
            if (name.endswith("_") or name == "_model") and name not in names:
                del self.__dict__[name]

    def _check_queries(self, X: Any) -> tuple[Model, Rows]:
        """The model, and X as it takes it."""
        check_is_fitted(self)
        model = self._model
        if model.encoder is not None:
            return model, model.encoder.aligned(checked_table(X))
        if not hasattr(self, "n_features_in_"):
            return model, list(X)
        client = client_of(model.scorer.stages.engine)
        return model, checked_rows(self, X, reset=False, client=client)

    @within_n_jobs
    def outputs(self, X: Any, notes: Notes | None = None) -> Outputs:
        """Label sets, label weights and probabilities together, for the price of one.

        Parameters
        ----------
        X : as in `predict`
        notes : Notes, optional
            What `noted` gave: rows that are not learnt yet, and that count in sets and probabilities.

        Returns
        -------
        Outputs
            ``sets`` (sparse 0/1, each row's entries strongest first), ``weights`` and
            ``probabilities``, (n_queries, n_labels) each, with columns as in `classes_`; ``sizes`` of
            the sets, ``confidence`` (the smallest probability among the predicted labels; NaN for an empty
            set) and ``forced`` (whether the set holds labels only because the label rule has a minimum
            number of labels), (n_queries,) each; ``frame("probabilities")`` has the names of the labels,
            and the index of X where that is a data frame.

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
        if notes is not None:
            notes.check(model)
            return replace(model.outputs(X, notes), index=index)
        outputs = model.outputs(X)
        advise_on_sets(model, X, outputs.sets)
        return replace(outputs, index=index)

    @within_n_jobs
    def noted(self, X: Any, y: Any) -> Notes:
        """Note labelled rows without learning them, so that they count at once in `outputs`.

        To learn is exact, and takes its time where there are many labelled rows. Meanwhile what is known of
        some more adds to the probabilities of rows that are like them, in plain sums. Notes are on the model
        as it is: after `partial_fit` or `forget` they are to be taken anew. ``notes + more`` joins them,
        ``notes.part(positions)`` has some of them.

        Parameters
        ----------
        X, y : as in `partial_fit`
            Labels may be new, and unknown ones, as of a `simlabel.labels.Partial`, add nothing.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.9, 0.1], [0.0, 1.0]], [{"sea"}, {"sea"}, {"trees"}]
        >>> model = SMLClassifier("linear", influence="ridge").fit(X, y)
        >>> model.outputs([[0.1, 0.9]], model.noted([[0.0, 1.0]], [{"moss"}])).names.tolist()
        ['sea', 'trees', 'moss']
        """
        return Notes.taken(*self._check_queries(X), self._read(y))

    @within_n_jobs
    def make_ready(self) -> Self:
        """Do now what many queries would have done first, for whoever comes one by one.

        A model that was just fitted is ready. One that was loaded, or has changed, sums over its references
        for a single query; where a query costs less once sums are taken before it comes, they are now.
        Predictions do not change but for rounding.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.partial_fit([[0.1, 0.9]], [{"trees"}]).make_ready().predict([[0.2, 0.9]])
        [{'trees'}]
        """
        check_is_fitted(self)
        scorer = self._model.scorer
        if scorer.sketch is None:
            scorer.stages.engine.ready(scorer.prepared, [scorer.job])
        return self

    @within_n_jobs
    def label_weights(self, X: Any) -> FloatArray:
        """The paper's f_k(x), (n_queries, n_labels): what label rules and explanations rest on.

        They rank the labels of one query. Between queries they cannot be compared: one in the thick of
        the labelled instances has larger sums for all labels. `decision_function` can.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> model.label_weights([[0.6, 0.8]]).round(2)
        array([[0.6, 0.8]])
        """
        model, X = self._check_queries(X)
        return model.label_weights(X)

    @within_n_jobs
    def decision_function(self, X: Any) -> FloatArray:
        """Scores that rank labels as `label_weights` does, and that can be compared between queries.

        Where no similarity is below 0 they are shares: f_k(x) over the query's similarity to all labelled
        instances together; a query that is similar to none has the frequencies of the labels. Learned
        influence gives scores that compare as they are. Plain sums of similarities that may be below 0
        (linear or cosine with such features, a function without ``nonnegative=True``) have no share: they
        are label weights, and rank the labels of one query only.

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

    @within_n_jobs
    def predict(self, X: Any) -> Any:
        """Label sets, as the kind of y that `fit` was given."""
        index = X.index if hasattr(X, "iloc") else None  # of a list or tuple, index is a method
        model, X = self._check_queries(X)
        Y = model.label_sets(X)
        advise_on_sets(model, X, Y)
        Y.sort_indices()
        return model.labels.decode(Y, index)

    @within_n_jobs
    def predict_set_size(self, X: Any) -> npt.NDArray[np.int64]:
        """Number of labels, (n_queries,)."""
        model, X = self._check_queries(X)
        return model.set_sizes(X)

    @within_n_jobs
    def predict_proba(self, X: Any) -> FloatArray:
        """How probable each label is, (n_queries, n_labels); `plan_` says whether that is calibrated.

        If not, it is the share of the similarity that speaks for the label; where similarities may be
        below 0 or are divided by counts that is no probability, and a `ShareWarning` says so. Strictly
        inside (0, 1) for label sets; rows sum to 1 for a 1-D y. Always an array, which scikit-learn's tools
        cut by columns; ``outputs(X).frame()`` has the names.
        """
        model, X = self._check_queries(X)
        return model.probabilities(X)

    @within_n_jobs
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of instances whose predicted label set is exactly right, as far as it is known."""
        model, X = self._check_queries(X)
        Y, foreign, unknown = model.labels.encode_known(y)
        check_same_length(n_rows(X), Y, "y")
        if foreign.any():
            advise_on_unknown(model.labels, y, int(foreign.sum()))
        if n_rows(X) != model.scorer.references.n_rows:  # else it is the score of the training rows, as asked
            advise_on_copies(model, X)
        sets = model.label_sets(X)
        advise_on_sets(model, X, sets)
        exact = exact_rows(Truth(Y, None if unknown is None else unknown.entries), sets)
        exact[foreign] = 0.0
        asked = np.flatnonzero(~np.isnan(exact))
        weights = None if sample_weight is None else np.asarray(sample_weight)[asked]
        return float(accuracy_score(np.ones(len(asked), dtype=bool), exact[asked] > 0, sample_weight=weights))

    def describe(self) -> Description:
        """What the model is and what was chosen for it; ``print(model.describe())``.

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> dict(model.describe().facts)["similarity"]
        'Linear()'
        """
        check_is_fitted(self)
        return describe(self, self._model)

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()
        return diagram + self.describe()._repr_html_() if self.__sklearn_is_fitted__() else diagram

    def _absent_labels(self) -> npt.NDArray[np.bool_]:
        """Which labels no labeled row has, for scorers."""
        Y = self._model.scorer.references.Y
        return np.bincount(Y.indices, minlength=Y.shape[1]) == 0

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

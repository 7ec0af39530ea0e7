"""What every classifier here has: a model that is published whole, and what it is asked for."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from simlabel.calibration import binary_margin
from simlabel.estimators._checks import checked_rows, checked_table, client_of
from simlabel.estimators._description import Description, describe
from simlabel.fitted import Model, Outputs, one_thread_changes
from simlabel.rows import n_rows
from simlabel.support.threads import held_to, within_n_jobs
from simlabel.support.validation import FloatArray, Rows, check_same_length


class FittedBase(ClassifierMixin, BaseEstimator):
    """A classifier that answers from an immutable model."""

    _model: Model
    classes_: npt.NDArray[Any]
    n_features_in_: int
    feature_names_in_: npt.NDArray[Any]

    @property
    def _current(self) -> Model:
        """What answers."""
        return self._model

    @contextmanager
    def _changing(self) -> Iterator[Self]:
        """A copy to work on, which one assignment publishes.

        Work that failed has changed nothing, and other threads see the old state or the new one, whole.
        """
        with one_thread_changes(self), held_to(getattr(self, "n_jobs", None)):
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
        model = self._current
        if model.encoder is not None:
            return model, model.encoder.aligned(checked_table(X))
        if not hasattr(self, "n_features_in_"):
            return model, list(X)
        client = client_of(model.scorer.stages.engine)
        return model, checked_rows(self, X, reset=False, client=client)

    @within_n_jobs
    def outputs(self, X: Any) -> Outputs:
        """Label sets, label weights and probabilities together, for the price of one.

        Returns
        -------
        Outputs
            ``sets`` (sparse 0/1, each row's entries strongest first), ``weights`` and
            ``probabilities``, (n_queries, n_labels) each, with columns as in `classes_`; ``sizes`` of
            the sets, (n_queries,).

        Examples
        --------
        >>> from simlabel import SMLClassifier
        >>> model = SMLClassifier("linear").fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}])
        >>> outputs = model.outputs([[0.6, 0.8]])
        >>> outputs.sets.toarray(), outputs.sizes, outputs.weights.round(2)
        (array([[0, 1]], dtype=int8), array([1]), array([[0.6, 0.8]]))
        """
        model, X = self._check_queries(X)
        return model.outputs(X)

    @within_n_jobs
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

    @within_n_jobs
    def predict(self, X: Any) -> Any:
        """Label sets, as the kind of y that `fit` was given."""
        index = X.index if hasattr(X, "iloc") else None  # of a list or tuple, index is a method
        model, X = self._check_queries(X)
        Y = model.label_sets(X)
        Y.sort_indices()
        return model.labels.decode(Y, index)

    @within_n_jobs
    def predict_sets(self, X: Any) -> list[tuple[Any, ...]]:
        """Label sets as tuples of names, strongest first."""
        model, X = self._check_queries(X)
        Y = model.label_sets(X)
        names = model.labels.classes.tolist()
        ends = zip(Y.indptr[:-1], Y.indptr[1:], strict=True)
        return [tuple(names[k] for k in Y.indices[start:stop]) for start, stop in ends]

    @within_n_jobs
    def predict_set_size(self, X: Any) -> npt.NDArray[np.int64]:
        """Number of labels, (n_queries,)."""
        model, X = self._check_queries(X)
        return model.set_sizes(X)

    @within_n_jobs
    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the similarity that speaks for each label, (n_queries, n_labels).

        Strictly inside (0, 1) for label sets; rows sum to 1 for a 1-D y.
        """
        model, X = self._check_queries(X)
        return model.probabilities(X)

    @within_n_jobs
    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of instances whose predicted label set is exactly right."""
        model, X = self._check_queries(X)
        truth, unknown = model.labels.encode(y)
        check_same_length(n_rows(X), truth, "y")
        differs: sp.csr_array = model.label_sets(X) != truth
        exact = (differs.sum(axis=1) == 0) & ~unknown
        return float(accuracy_score(np.ones(len(exact), dtype=bool), exact, sample_weight=sample_weight))

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
        return describe(self, self._current)

    def _html_repr(self) -> str:
        diagram: str = super()._html_repr()
        return diagram + self.describe()._repr_html_() if self.__sklearn_is_fitted__() else diagram

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.sparse = True
        return tags

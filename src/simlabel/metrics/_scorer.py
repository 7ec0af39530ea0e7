"""Scores, label sets and probabilities of any multi-label estimator, and criteria as scikit-learn scorers."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRequest

from simlabel._utils.validation import BoolArray, FloatArray, check_sample_weight
from simlabel.labels import LabelSpace, moved
from simlabel.metrics._criteria import Criterion
from simlabel.metrics._evaluation import find_criterion
from simlabel.metrics._top_k import propensities
from simlabel.metrics._truth import SampleWeights, Truth
from simlabel.tables import label_sets as read_label_sets


def label_scores(model: Any, X: Any, n_labels: int) -> FloatArray:
    """Return the scores of `decision_function`, else of `predict_proba`, (n_rows, n_labels).

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = KNeighborsClassifier(1).fit([[0.0], [1.0]], [[1, 0, 0], [0, 1, 0]])
    >>> label_scores(model, [[0.9]], 3)  # predict_proba returns a list; the third label never occurs
    array([[0., 1., 0.]])
    """
    for method in ("decision_function", "predict_proba"):
        if hasattr(model, method):
            return _matrix(getattr(model, method)(X), model, n_labels)
    raise TypeError(
        f"{type(model).__name__} has neither decision_function nor predict_proba: nothing ranks its labels."
    )


def rank_constant_labels(scores: FloatArray, absent: Any, always: Any = None) -> FloatArray:
    """Return scores with absent labels ranked last and labels that all training rows have ranked first.

    No method can learn a label that does not vary in training, and its score is a convention: scikit-learn's
    ``OneVsRestClassifier`` gives 0 to an absent label, above all negative scores. Comparisons replace these
    scores for every method, so that the convention does not matter.

    Parameters
    ----------
    scores : array, (n_rows, n_labels)
    absent, always : array of bool, (n_labels,)
        Labels that no training row has, and labels that all training rows have.

    Examples
    --------
    >>> rank_constant_labels(np.array([[-3.0, 0.0, -1.0]]), [False, True, False])
    array([[-3., -4., -1.]])
    """
    absent = np.asarray(absent, dtype=bool)
    always = np.zeros_like(absent) if always is None else np.asarray(always, dtype=bool)
    if not (absent.any() or always.any()):
        return scores
    varying = scores[:, ~(absent | always)]
    varying = varying if varying.shape[1] else np.zeros((len(scores), 1))
    low, high = varying.min(axis=1, keepdims=True), varying.max(axis=1, keepdims=True)
    ranked = scores.copy()  # far from 0 a step of 1 is lost in rounding, so the next number is taken there
    ranked[:, absent] = np.minimum(low - 1.0, np.nextafter(low, -np.inf))
    ranked[:, always] = np.maximum(high + 1.0, np.nextafter(high, np.inf))
    return ranked


def constant_columns(Y: sp.csr_array) -> tuple[BoolArray, BoolArray]:
    """Return which labels no row has, and which labels all rows have, each (n_labels,)."""
    counts = np.bincount(Y.indices[Y.data != 0], minlength=Y.shape[1])
    return counts == 0, (counts == Y.shape[0]) & (counts > 0)


def absent_labels(model: Any, n_labels: int) -> BoolArray:
    """Return which labels no training row of a fitted model had, (n_labels,).

    It is known for the estimators of simlabel and for ``OneVsRestClassifier``, also inside a pipeline or a
    search. For others, all labels count as present.
    """
    model = getattr(model, "best_estimator_", model)
    model = model.steps[-1][1] if hasattr(model, "steps") else model
    if hasattr(model, "_absent_labels"):
        return np.asarray(model._absent_labels(), dtype=bool)
    parts = getattr(model, "estimators_", ()) if type(model).__module__ == "sklearn.multiclass" else ()
    absent = [hasattr(part, "y_") and not np.any(part.y_) for part in parts]
    return np.array(absent) if len(absent) == n_labels else np.zeros(n_labels, dtype=bool)


def label_probabilities(model: Any, X: Any, n_labels: int) -> FloatArray | None:
    """Return probabilities, (n_rows, n_labels), or None if the estimator has none."""
    if not hasattr(model, "predict_proba"):
        return None
    try:
        return _matrix(model.predict_proba(X), model, n_labels)
    except AttributeError as error:
        if error.name != "predict_proba":
            raise
        return None  # OneVsRestClassifier has the method if its first part, for a constant label, has it


def _matrix(output: Any, model: Any, n_labels: int) -> FloatArray:
    if isinstance(output, list):  # one array per label, one column per class
        columns = [
            _column_of_one(part, classes) for part, classes in zip(output, model.classes_, strict=True)
        ]
        matrix = np.column_stack(columns)
    else:
        matrix = np.asarray(output, dtype=np.float64)
        if n_labels == 1:  # most estimators treat one label as two classes
            matrix = _column_of_one(matrix, model.classes_)[:, None] if matrix.ndim == 2 else matrix[:, None]
    if matrix.ndim != 2 or matrix.shape[1] != n_labels:
        raise ValueError(
            f"{type(model).__name__} gives scores of shape {matrix.shape}; "
            f"expected {n_labels} columns, one per label."
        )
    return matrix


def _column_of_one(part: Any, classes: Any) -> FloatArray:
    """Return the column of class 1; zeros if the label never occurred."""
    part = np.asarray(part, dtype=np.float64)
    if part.shape[1] == 1 and len(classes) != 1:
        return part[:, 0]
    where = np.flatnonzero(np.asarray(classes) == 1)
    column: FloatArray = part[:, where[0]] if where.size else np.zeros(len(part))
    return column


def predicted_label_sets(model: Any, X: Any, n_labels: int) -> sp.csr_array:
    """Return the predicted sets as an indicator, (n_rows, n_labels)."""
    predicted = model.predict(X)
    if not sp.issparse(predicted):
        predicted = np.asarray(predicted)
        predicted = predicted[:, None] if predicted.ndim == 1 and n_labels == 1 else predicted
    if predicted.ndim != 2 or predicted.shape[1] != n_labels:
        raise ValueError(
            f"{type(model).__name__} predicts an array of shape {predicted.shape}; "
            f"expected {n_labels} columns, one per label."
        )
    return sp.csr_array(predicted).astype(np.int8)


class CriterionScorer:
    """Scorer of a fitted estimator by a criterion. Losses are negated, so that higher is better."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._request = MetadataRequest(owner=self)
        self._request.score.add_request(param="sample_weight", alias=None)

    @property
    def criterion(self) -> Criterion:
        """The criterion of the name."""
        return find_criterion(self.name)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: SampleWeights = None) -> float:
        """Return the criterion of the predictions for X, negated if it is a loss."""
        space, Y = LabelSpace.learn(self._read(estimator, y))
        if space.kind == "single":
            raise ValueError(
                "scorer: y has one class per row, but these criteria are of label sets; use a scorer of "
                "scikit-learn, e.g. scoring='roc_auc'. For one label pass sets or a one-column DataFrame."
            )
        named = space.kind not in ("array", "sparse")
        known = np.asarray(estimator.classes_ if named else space.classes, dtype=object).tolist()
        position = {name: k for k, name in enumerate(dict.fromkeys([*known, *space.classes.tolist()]))}

        def in_columns(space: LabelSpace, Y: sp.csr_array) -> sp.csr_array:
            """Reorder the columns: the labels of the estimator, then those of y only."""
            places = np.array([position[name] for name in space.classes.tolist()], dtype=np.int64)
            return moved(Y, places, len(position))

        truth = Truth.of(in_columns(space, Y))
        criterion, weights = self.criterion, check_sample_weight(sample_weight, truth.shape[0])
        if criterion.needs_scores:
            given: dict[str, Any] = {}
            if criterion.needs_propensities:
                given["propensity"] = propensities(truth, sample_weight=weights)
            scores = label_scores(estimator, X, len(known))
            new = len(position) - len(known)
            absent = np.append(absent_labels(estimator, len(known)), np.ones(new, dtype=bool))
            scores = rank_constant_labels(np.hstack([scores, np.zeros((len(scores), new))]), absent)
            value = criterion.function(truth, scores, **given, sample_weight=weights)
        else:
            sets = estimator.predict(X)
            sets = in_columns(*LabelSpace.learn(sets)) if named else sp.csr_array(sets)
            value = criterion.function(truth, sets, sample_weight=weights)
        return value if criterion.higher_is_better else -value

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Request `sample_weight` for metadata routing, as scikit-learn's scorers do.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: use the weights that are passed. False: ignore them. None: raise an error if weights are
            passed. A str: the name under which they are passed.

        Returns
        -------
        self

        Examples
        --------
        >>> import sklearn
        >>> from sklearn.model_selection import cross_val_score
        >>> from simlabel import SMLClassifier
        >>> X, y = [[1.0, 0.0], [0.0, 1.0]] * 5, [{"sea"}, {"trees"}] * 5
        >>> with sklearn.config_context(enable_metadata_routing=True):
        ...     evaluator = scorer("average_precision").set_score_request(sample_weight=True)
        ...     model = SMLClassifier("linear").set_fit_request(sample_weight=True)
        ...     cross_val_score(model, X, y, scoring=evaluator, params={"sample_weight": [2.0] * 10})
        array([1., 1., 1., 1., 1.])
        """
        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "set_score_request needs metadata routing: sklearn.set_config(enable_metadata_routing=True)."
            )
        self._request.score.add_request(param="sample_weight", alias=sample_weight)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """Return the requests for scikit-learn's metadata routing."""
        return self._request

    def _read(self, estimator: Any, y: Any) -> Any:
        """Return label sets; those of a `Tagger` may be texts with separators."""
        return read_label_sets(y, estimator.label_separator_) if hasattr(estimator, "label_separator_") else y

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"


def scorer(criterion: str) -> CriterionScorer:
    """Make a scorer for ``scoring=`` of scikit-learn's cross_val_score, GridSearchCV and others.

    y may be a 0/1 array, sparse, a frame, or a list of label sets. Losses are negated. A label that is absent
    from the training part is ranked last for the estimators of simlabel and `OneVsRestClassifier`; for
    others, fitted on a 0/1 matrix, the estimator's own score of such a label counts. ``psp@k`` computes
    propensities from the y that it gets. `sample_weight` is routed: see `CriterionScorer.set_score_request`.

    Parameters
    ----------
    criterion : str
        A name for `find_criterion`.

    Examples
    --------
    >>> from sklearn.model_selection import cross_val_score
    >>> from simlabel import SMLClassifier
    >>> X, y = [[1.0, 0.0], [0.0, 1.0]] * 5, [{"sea"}, {"trees"}] * 5
    >>> cross_val_score(SMLClassifier("linear"), X, y, scoring=scorer("average_precision"))
    array([1., 1., 1., 1., 1.])
    """
    find_criterion(criterion)
    return CriterionScorer(criterion)

"""Criteria as scikit-learn's model selection takes them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn import get_config
from sklearn.utils.metadata_routing import MetadataRequest

from simlabel._utils.validation import FloatArray, IntArray, check_sample_weight
from simlabel.labels import LabelSpace, moved
from simlabel.metrics._named import find_criterion
from simlabel.metrics._outputs import absent_labels, label_scores, rank_constant_labels
from simlabel.metrics._record import Criterion
from simlabel.metrics._top_k import propensities
from simlabel.metrics._truth import Mask, Truth, Weights
from simlabel.tables import label_sets


class CriterionScorer:
    """Judges a fitted estimator by a criterion; the higher the better, so losses are negative."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._request = MetadataRequest(owner=self)
        self._request.score.add_request(param="sample_weight", alias=None)

    @property
    def criterion(self) -> Criterion:
        """What it judges by."""
        return find_criterion(self.name)

    def __call__(self, estimator: Any, X: Any, y: Any, sample_weight: Weights = None) -> float:
        """The criterion of what the estimator says of X, with the sign that makes more the better."""
        joint, truth = _Columns.of(estimator, self._read(estimator, y))
        one, weights = self.criterion, check_sample_weight(sample_weight, truth.shape[0])
        if not one.needs_scores:
            value = one.function(truth, joint.indicator(estimator.predict(X)), sample_weight=weights)
        else:
            share = propensities(truth, sample_weight=weights) if one.needs_propensities else None
            known = {} if share is None else {"propensity": share}
            scores = label_scores(estimator, X, joint.n_known)
            scores = joint.with_unknown(scores, absent_labels(estimator, joint.n_known))
            value = one.function(truth, scores, **known, sample_weight=weights)
        return value if one.higher_is_better else -value

    def set_score_request(self, *, sample_weight: bool | str | None) -> Self:
        """Request `sample_weight` where scikit-learn routes metadata, as its own scorers do.

        Parameters
        ----------
        sample_weight : bool, str or None
            True: use the weights that are passed. False: ignore them. None: raise an error where weights are
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
        ...     judge = scorer("average_precision").set_score_request(sample_weight=True)
        ...     model = SMLClassifier("linear").set_fit_request(sample_weight=True)
        ...     cross_val_score(model, X, y, scoring=judge, params={"sample_weight": [2.0] * 10})
        array([1., 1., 1., 1., 1.])
        """
        if not get_config()["enable_metadata_routing"]:
            raise RuntimeError(
                "set_score_request needs metadata routing: sklearn.set_config(enable_metadata_routing=True)."
            )
        self._request.score.add_request(param="sample_weight", alias=sample_weight)
        return self

    def get_metadata_routing(self) -> MetadataRequest:
        """What is requested, for scikit-learn's metadata routing."""
        return self._request

    def _read(self, estimator: Any, y: Any) -> Any:
        """Label sets; of a `Tagger` they may be texts with separators."""
        return label_sets(y, estimator.label_separator_) if hasattr(estimator, "label_separator_") else y

    def __repr__(self) -> str:
        return f"scorer({self.name!r})"


@dataclass(frozen=True)
class _Columns:
    """The estimator's labels, then those that only the truth has."""

    names: tuple[Any, ...] | None  # None where columns have no names
    n_known: int
    n_labels: int

    @classmethod
    def of(cls, estimator: Any, y: Any) -> tuple[_Columns, Truth]:
        space, Y = LabelSpace.learn(y)
        if space.kind == "single":
            raise ValueError(
                "scorer: y has one class per row, and these criteria are of label sets; take one of "
                "scikit-learn's, e.g. scoring='roc_auc'. For one label give sets or a one-column DataFrame."
            )
        if space.kind in ("array", "sparse"):
            return cls(None, Y.shape[1], Y.shape[1]), Truth.of(Y)
        known = np.asarray(estimator.classes_, dtype=object).tolist()
        names = tuple(dict.fromkeys([*known, *space.classes.tolist()]))
        joint = cls(names, len(known), len(names))
        return joint, Truth.of(moved(Y, joint.places(space), len(names)))

    def places(self, space: LabelSpace) -> IntArray:
        """Where the labels of a space stand among these."""
        assert self.names is not None
        at = {name: k for k, name in enumerate(self.names)}
        return np.array([at[name] for name in space.classes.tolist()], dtype=np.int64)

    def indicator(self, predicted: Any) -> sp.csr_array:
        """Predicted label sets, in any form, in these columns."""
        if self.names is None:
            return sp.csr_array(predicted)
        space, Y = LabelSpace.learn(predicted)
        return moved(Y, self.places(space), self.n_labels)

    def with_unknown(self, scores: FloatArray, absent: Mask) -> FloatArray:
        """Scores with labels that the estimator does not know, or never saw, behind all others."""
        new = self.n_labels - self.n_known
        wide = np.hstack([scores, np.zeros((len(scores), new))])
        return rank_constant_labels(wide, np.concatenate([absent, np.ones(new, dtype=bool)]))


def scorer(criterion: str) -> CriterionScorer:
    """A criterion for ``scoring=`` of scikit-learn's cross_val_score, GridSearchCV and the like.

    y may be 0/1, sparse, a frame, or a list of label sets. Criteria that are better the lower are
    negative. A label that the training part does not have counts as ranked last, where the estimator tells:
    ours do, and `OneVsRestClassifier` does; of others, fitted on a 0/1 matrix, the score that they give to
    such a label counts. ``psp@k`` takes the propensities of the labels that it is given. `sample_weight` is
    routed: see `CriterionScorer.set_score_request`.

    Parameters
    ----------
    criterion : str
        A name that `find_criterion` knows.

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

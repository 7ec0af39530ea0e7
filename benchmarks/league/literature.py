"""Methods of the literature on scikit-learn's classifiers: ensembles of chains, RAkEL and IBLR-ML."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.linear_model import LogisticRegression
from sklearn.multioutput import ClassifierChain
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler
from sklearn.utils import check_random_state

from simlabel._utils.validation import FloatArray
from simlabel.baselines import ConstantFallback, LabelPowerset

_MAX_STEPS = 1000  # of the logistic regressions of IBLR-ML
_ALL = 10_000  # up to this number all label sets of RAkEL are listed, and drawn from


class ProbabilisticClassifier(ClassifierMixin, BaseEstimator):
    """A classifier that predicts the labels with a probability above one half."""

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label, (n_rows, n_labels)."""
        raise NotImplementedError

    def predict(self, X: Any) -> Any:
        """Return the labels with a probability above one half, (n_rows, n_labels)."""
        return (self.predict_proba(X) > 0.5).astype(np.int8)


class ChainEnsemble(ProbabilisticClassifier):
    """Classifier chains in random orders, each on a bootstrap sample, by Read and others (2011).

    Parameters
    ----------
    estimator : classifier
        Of 0 and 1, with `predict_proba`; one for each label of each chain.
    n_chains : int
        10 in the paper.
    random_state : int or None
        Of the orders and the rows.

    References
    ----------
    J. Read, B. Pfahringer, G. Holmes and E. Frank. Classifier chains for multi-label classification. Machine
    Learning 85, 2011.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = [[0.0], [0.1], [0.9], [1.0]] * 3, np.array([[1, 0], [1, 0], [0, 1], [0, 1]] * 3)
    >>> ChainEnsemble(LogisticRegression(C=100), random_state=0).fit(X, y).predict([[0.05]])
    array([[1, 0]], dtype=int8)
    """

    def __init__(self, estimator: Any, *, n_chains: int = 10, random_state: Any = None) -> None:
        self.estimator = estimator
        self.n_chains = n_chains
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Fit the chains."""
        X, Y = X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
        random = check_random_state(self.random_state)
        self.chains_ = []
        for _ in range(self.n_chains):
            rows = random.choice(len(Y), len(Y))
            base = ConstantFallback(clone(self.estimator))
            chain = ClassifierChain(base, order=random.permutation(Y.shape[1]))
            self.chains_.append(chain.fit(X[rows], Y[rows]))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the mean of the chains' probabilities, (n_rows, n_labels)."""
        return np.mean([chain.predict_proba(X) for chain in self.chains_], axis=0)


class RAkEL(ProbabilisticClassifier):
    """Random k-labelsets with overlap, by Tsoumakas, Katakis and Vlahavas (2011).

    Different sets of k labels are drawn: twice as many as labels, as in the paper, or as many as there are. A
    label powerset is fitted on each; the score of a label is the share of votes for it among the powersets
    with it.

    The paper's overlapping variant draws all sets at random, so that a label may be in none of them: with 14
    labels and the paper's defaults this happens in about one draw of eighty, and that label is never
    predicted. Here the first ``ceil(n_labels / k)`` sets are a random partition of the labels, as in the
    paper's disjoint variant, and the others are drawn at random: every label is in at least one set.

    Parameters
    ----------
    estimator : classifier
        Multi-class, of the powersets.
    k : int
        Labels in a set; 3 in the paper. At most the number of labels.
    soft : bool
        Whether a powerset votes with its probabilities in place of 0 and 1, so that fewer labels are tied.
    random_state : int or None
        Of the draw.

    References
    ----------
    G. Tsoumakas, I. Katakis and I. Vlahavas. Random k-Labelsets for Multilabel Classification. IEEE
    Transactions on Knowledge and Data Engineering 23(7), 2011.

    Examples
    --------
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> model = RAkEL(KNeighborsClassifier(1), k=2, random_state=0)
    >>> model.fit([[0.0], [1.0]], np.array([[1, 1, 0], [0, 1, 1]])).predict([[0.1]])
    array([[1, 1, 0]], dtype=int8)
    """

    def __init__(self, estimator: Any, *, k: int = 3, soft: bool = False, random_state: Any = None) -> None:
        self.estimator = estimator
        self.k = k
        self.soft = soft
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the sets and fit a powerset on each."""
        Y = np.asarray(y)
        self.n_labels_ = Y.shape[1]
        k = min(self.k, self.n_labels_)
        wanted = min(2 * self.n_labels_, comb(self.n_labels_, k))
        self.labelsets_ = draw_labelsets(self.n_labels_, k, wanted, check_random_state(self.random_state))
        self.models_ = [LabelPowerset(clone(self.estimator)).fit(X, Y[:, own]) for own in self.labelsets_]
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the share of the votes for each label, (n_rows, n_labels)."""
        count = np.zeros(self.n_labels_)
        votes = np.zeros((X.shape[0] if hasattr(X, "shape") else len(X), self.n_labels_))
        for own, model in zip(self.labelsets_, self.models_, strict=True):
            votes[:, own] += model.predict_proba(X) if self.soft else model.predict(X)
            count[own] += 1
        return np.asarray(votes / count)


def draw_labelsets(n_labels: int, k: int, wanted: int, random: Any) -> list[list[int]]:
    """Return different sets of k labels: a random partition of the labels, then sets at random."""
    order = random.permutation(n_labels)
    rest = -n_labels % k  # labels that the last part of the partition lacks; it takes them from the first
    order = np.concatenate([order, order[:rest]])
    drawn = {tuple(sorted(order[at : at + k].tolist())) for at in range(0, len(order), k)}
    if comb(n_labels, k) <= _ALL:
        every = [one for one in combinations(range(n_labels), k) if one not in drawn]
        drawn |= {every[i] for i in random.permutation(len(every))[: wanted - len(drawn)]}
    while len(drawn) < wanted:
        drawn.add(tuple(sorted(random.choice(n_labels, k, replace=False).tolist())))
    return [list(one) for one in sorted(drawn)]


class IBLRML(ProbabilisticClassifier):
    """Instance-based learning and logistic regression, by Cheng and Hüllermeier (2009).

    The shares of a row's k nearest neighbors that have each label are features; one logistic regression per
    label is fitted on all of them, and so learns how labels depend on each other. A training row is not its
    own neighbor.

    Parameters
    ----------
    n_neighbors : int
        Neighbors of a row; 10 in the paper.
    with_features : bool
        Whether the regressions also get the features: IBLR-ML+ in the paper.
    C : float
        Inverse strength of the regressions' ridge penalty. The paper has none; a large value comes near.

    References
    ----------
    W. Cheng and E. Hüllermeier. Combining instance-based learning and logistic regression for multilabel
    classification. Machine Learning 76, 2009.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> y = np.array([[1, 0], [1, 0], [1, 0], [0, 1], [0, 1], [0, 1]])
    >>> IBLRML(2).fit(X, y).predict([[0.05], [1.05]])
    array([[1, 0],
           [0, 1]], dtype=int8)
    """

    def __init__(self, n_neighbors: int = 10, *, with_features: bool = False, C: float = 1e3) -> None:
        self.n_neighbors = n_neighbors
        self.with_features = with_features
        self.C = C

    def fit(self, X: Any, y: Any) -> Self:
        """Count the neighbors of each row among the others, and fit a regression per label."""
        self._Y = np.asarray(y, dtype=np.float64)
        self._scaler = None if sp.issparse(X) else MinMaxScaler().fit(X)
        X = self._scaled(X)
        self._index = NearestNeighbors(n_neighbors=min(self.n_neighbors, len(self._Y) - 1)).fit(X)
        shares = self._shares(self._index.kneighbors(return_distance=False), X)
        base = LogisticRegression(C=self.C, max_iter=_MAX_STEPS)
        self.models_ = [ConstantFallback(base).fit(shares, column) for column in self._Y.T.astype(int)]
        return self

    def _scaled(self, X: Any) -> Any:
        """Scale columns to [0, 1], as for the neighbors of ML-kNN; sparse rows are not changed."""
        return X if self._scaler is None else self._scaler.transform(X)

    def _shares(self, neighbors: Any, X: Any) -> FloatArray:
        shares: FloatArray = self._Y[neighbors].mean(axis=1)
        if not self.with_features:
            return shares
        return np.hstack([shares, X.toarray() if sp.issparse(X) else X])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the probability of each label, (n_rows, n_labels)."""
        X = self._scaled(X)
        shares = self._shares(self._index.kneighbors(X, return_distance=False), X)
        return np.column_stack([model.predict_proba(shares)[:, 1] for model in self.models_])

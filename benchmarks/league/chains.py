"""Ensembles of classifier chains."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.multioutput import ClassifierChain
from sklearn.utils import check_random_state

from simlabel._utils.validation import FloatArray, check_number
from simlabel.baselines import ConstantFallback


class ChainEnsemble(ClassifierMixin, BaseEstimator):
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
        """Learn the chains."""
        check_number("ChainEnsemble", "n_chains", self.n_chains, at_least=1, integer=True)
        X, Y = X if hasattr(X, "shape") else np.asarray(X), np.asarray(y)
        random = check_random_state(self.random_state)
        self.chains_ = []
        for _ in range(int(self.n_chains)):
            rows = random.choice(len(Y), len(Y))
            chain = ClassifierChain(
                ConstantFallback(clone(self.estimator)), order=random.permutation(Y.shape[1])
            )
            self.chains_.append(chain.fit(X[rows], Y[rows]))
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Mean of the chains' probabilities, (n_rows, n_labels)."""
        return np.mean([chain.predict_proba(X) for chain in self.chains_], axis=0)

    def predict(self, X: Any) -> Any:
        """Labels whose mean probability is above one half, (n_rows, n_labels)."""
        return (self.predict_proba(X) > 0.5).astype(np.int8)

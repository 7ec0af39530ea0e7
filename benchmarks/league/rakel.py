"""RAkEL: votes of label powersets, each fitted on a random set of k labels."""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state

from simlabel._utils.validation import FloatArray, check_number
from simlabel.baselines import LabelPowerset

_ALL = 10_000  # so many different sets of labels can be listed and drawn from


class RAkEL(ClassifierMixin, BaseEstimator):
    """Random k-labelsets with overlap, by Tsoumakas, Katakis and Vlahavas (2011).

    `n_sets` different sets of k labels are drawn. A label powerset learns each; a label's score is the share
    of votes for it among the powersets that know it, and it is predicted above one half.

    The paper's overlapping variant draws all sets at random, so that a label may be in none of them: with 14
    labels and the paper's defaults this happens in about one draw of eighty, and that label is never
    predicted. Here the first ``ceil(n_labels / k)`` sets are a random partition of the labels, as in the
    paper's disjoint variant, and the others are drawn at random: every label is in at least one set.

    Parameters
    ----------
    estimator : classifier
        Multi-class, of the powersets.
    k : int
        Labels in a set; 3 in the paper. With fewer labels than that all of them are one set.
    n_sets : int or None
        How many sets; None for twice the number of labels, as in the paper, or as many as there are. At least
        ``ceil(n_labels / k)``, so that every label is in one.
    soft : bool
        Whether a powerset votes with its probabilities in place of 0 and 1, so that fewer labels are level.
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

    def __init__(
        self,
        estimator: Any,
        *,
        k: int = 3,
        n_sets: int | None = None,
        soft: bool = False,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.k = k
        self.n_sets = n_sets
        self.soft = soft
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> Self:
        """Draw the sets and learn a powerset of each."""
        check_number("RAkEL", "k", self.k, at_least=1, integer=True)
        check_number("RAkEL", "n_sets", self.n_sets, at_least=1, integer=True, also=(None,))
        Y = np.asarray(y)
        n_labels = Y.shape[1]
        k = min(int(self.k), n_labels)
        wanted = min(2 * n_labels if self.n_sets is None else int(self.n_sets), comb(n_labels, k))
        if wanted * k < n_labels:
            raise ValueError(
                f"RAkEL: n_sets is {wanted}, but {n_labels} labels need {-(-n_labels // k)} sets of {k} or "
                "more: give a larger n_sets or k."
            )
        self.labelsets_ = _drawn(n_labels, k, wanted, check_random_state(self.random_state))
        self.n_labels_ = n_labels
        self.models_ = [LabelPowerset(clone(self.estimator)).fit(X, Y[:, own]) for own in self.labelsets_]
        return self

    def predict_proba(self, X: Any) -> FloatArray:
        """Share of the votes for each label, (n_rows, n_labels)."""
        count = np.zeros(self.n_labels_)
        votes = np.zeros((X.shape[0] if hasattr(X, "shape") else len(X), self.n_labels_))
        for own, model in zip(self.labelsets_, self.models_, strict=True):
            votes[:, own] += model.predict_proba(X) if self.soft else model.predict(X)
            count[own] += 1
        return np.asarray(votes / count)

    def predict(self, X: Any) -> Any:
        """Labels with more than half of the votes, (n_rows, n_labels)."""
        return (self.predict_proba(X) > 0.5).astype(np.int8)


def _drawn(n_labels: int, k: int, wanted: int, random: Any) -> list[list[int]]:
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

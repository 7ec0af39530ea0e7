"""ADTBoost.MH: multi-label alternating decision trees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.validation import Rows, check_number
from simlabel.baselines._adtree_view import Tree, draw, write
from simlabel.baselines._base import Scores
from simlabel.baselines._boosting import BoostingClassifier
from simlabel.baselines._boosting_kernels import LOWER, Mask
from simlabel.baselines._conditions import Condition, ConditionSearch, Weights, evaluate, searching
from simlabel.baselines._progress import rounds
from simlabel.labels import Indicator


class _Choice(NamedTuple):
    """A condition, the prediction node under which it goes, and the Z of both together."""

    z: float
    node: int
    condition: Condition


class ADTBoostMH(BoostingClassifier):
    """Multi-label alternating decision trees, by De Comite, Gilleron and Tommasi (2003).

    The tree starts with one prediction node. Every round hangs one test with two new prediction
    nodes below a node that is there already; a row follows all tests below each node it reaches, and its
    scores are the sum over the reached nodes. Node and test are the pair of lowest
    Z = 2 sum sqrt(W+ W-) + W(rows that do not reach the node).

    Parameters
    ----------
    n_rounds : int, default=50
        Tests in the tree.
    n_jobs : int, optional
        Threads that look through the columns; -1 takes every core. The result is the same.
    verbose : bool, default=False
        Whether to show a progress bar in fit.

    Attributes
    ----------
    classes_ : array, (n_labels,)
        Names of the labels.
    words_ : bool
        Whether fit was given sparse rows, which are read as words that are present or absent.
    test_nodes_ : array of int, (n_tests,)
        The prediction node below which each test hangs.
    test_columns_ : array of int, (n_tests,)
        The column that each test looks at.
    test_thresholds_ : array, (n_tests,)
        The test is ``x >= threshold``; -inf for words, where it is ``x != 0``.
    node_scores_ : array, (2 * n_tests + 1, n_labels)
        What each prediction node adds: the root, then two for each test t: 2t + 1 where
        it fails and 2t + 2 where it holds.

    Notes
    -----
    The root's prediction, and the update of the weights by it, are those of the alternating trees of Freund
    and Mason (1999). The confidences 1/2 ln((W+ + epsilon) / (W- + epsilon)) are smoothed by
    epsilon = 1 / (n_rows * n_labels), as in BoosTexter, and Z is compared before smoothing.
    Tests are those of :class:`BoosTexter`. Of equally good pairs the older node wins, then the
    first column, then the lowest threshold. There are fewer than `n_rounds` tests
    only where no test parts the rows of any node.

    A label is predicted where its score is above 0, so a score of 0 means absent, and a label set may be
    empty. The paper defines no probabilities.

    References
    ----------
    F. De Comite, R. Gilleron and M. Tommasi. Learning multi-label alternating decision trees from texts
    and data. Machine Learning and Data Mining in Pattern Recognition, LNCS 2734, 2003.

    Y. Freund and L. Mason. The alternating decision tree learning algorithm. ICML, 1999.

    Examples
    --------
    >>> from simlabel.baselines import ADTBoostMH
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = [{"sea"}, {"sea"}, {"sea"}, {"sunset"}, {"sunset"}, {"sunset"}]
    >>> model = ADTBoostMH(n_rounds=1).fit(X, y)
    >>> model.predict([[0.05], [1.05]])
    [{'sea'}, {'sunset'}]
    >>> print(model.to_text(feature_names=["red"]))
    sea +0.00, sunset +0.00
    (1) red < 0.6: sea +0.69, sunset -0.69
    (1) red >= 0.6: sea -0.69, sunset +0.69
    """

    n_features_in_: int
    test_nodes_: npt.NDArray[np.int64]
    test_columns_: npt.NDArray[np.int64]
    test_thresholds_: npt.NDArray[np.float64]
    node_scores_: npt.NDArray[np.float64]

    def __init__(self, n_rounds: int = 50, *, n_jobs: int | None = None, verbose: bool = False) -> None:
        super().__init__(n_rounds, n_jobs=n_jobs, verbose=verbose)

    def _learn(self, X: Rows, Y: Indicator, weights: Scores) -> None:
        n_rounds = self._check_rounds()
        pairs = Weights(Y.toarray().astype(np.float64), weights)
        reached = [np.ones(X.shape[0], dtype=bool)]
        scores = [pairs.confidences(reached[0])]
        pairs.update(np.broadcast_to(scores[0], Y.shape))
        choices: list[_Choice] = []
        with searching(X, self.n_jobs) as search:
            for _ in rounds(n_rounds, "ADTBoost.MH", self.verbose):
                choice = _choose(search, pairs, reached)
                if choice is None:
                    break
                holds = search.holds(choice.condition)
                h = np.zeros(Y.shape)
                for rows in (reached[choice.node] & ~holds, reached[choice.node] & holds):
                    reached.append(rows)
                    scores.append(pairs.confidences(rows))
                    h[rows] = scores[-1]
                pairs.update(h)
                choices.append(choice)
        self.words_ = sp.issparse(X)
        self.test_nodes_ = np.array([choice.node for choice in choices], dtype=np.int64)
        self.test_columns_ = np.array([choice.condition.column for choice in choices], dtype=np.int64)
        self.test_thresholds_ = np.array([choice.condition.threshold for choice in choices])
        self.node_scores_ = np.stack(scores)

    def _score(self, X: Rows) -> Scores:
        return np.asarray(self._reached(X).astype(np.float64) @ self.node_scores_)

    def _reached(self, X: Rows) -> Mask:
        """Which prediction nodes each row reaches, (n_rows, n_nodes)."""
        holds = evaluate(X, self.test_columns_, self.test_thresholds_, self.words_)
        reached = np.ones((X.shape[0], len(self.node_scores_)), dtype=bool)
        for t, node in enumerate(self.test_nodes_):
            reached[:, 2 * t + 1] = reached[:, node] & ~holds[:, t]
            reached[:, 2 * t + 2] = reached[:, node] & holds[:, t]
        return reached

    def to_text(self, *, top: int = 3, feature_names: Sequence[str] | None = None) -> str:
        """Write the tree: one line for each prediction node, tests numbered by their round.

        Parameters
        ----------
        top : int, default=3
            How many labels of a node are shown; those with the largest scores, of either sign.
        feature_names : sequence of str, optional
            Names of the columns; else those that fit was given.

        Returns
        -------
        str
        """
        return write(self._tree(top, feature_names))

    def plot(self, *, top: int = 3, feature_names: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw the tree with matplotlib.

        Parameters
        ----------
        top, feature_names
            As in `to_text`.
        ax : matplotlib axes, optional
            Where to draw; else the current axes.

        Returns
        -------
        matplotlib axes
        """
        return draw(self._tree(top, feature_names), ax)

    def _tree(self, top: int, feature_names: Sequence[str] | None) -> Tree:
        check_number("ADTBoostMH", "top", top, at_least=1, integer=True)
        check_is_fitted(self)
        if feature_names is None:
            feature_names = getattr(
                self, "feature_names_in_", [f"x[{j}]" for j in range(self.n_features_in_)]
            )
        if len(feature_names) != self.n_features_in_:
            raise ValueError(
                f"ADTBoostMH: {len(feature_names)} feature_names for {self.n_features_in_} columns."
            )
        names = [str(feature_names[j]) for j in self.test_columns_]
        thresholds = None if self.words_ else self.test_thresholds_
        return Tree(self.test_nodes_, names, thresholds, self.node_scores_, self.classes_, top)


def _choose(search: ConditionSearch, weights: Weights, reached: list[Mask]) -> _Choice | None:
    """Find the node and the condition of lowest Z."""
    best: _Choice | None = None
    for node, rows in enumerate(reached):
        outside = weights.outside(rows)
        # Z is at least the weight outside, so a node whose rows weigh little need not be searched.
        if best is not None and outside >= best.z * LOWER:
            continue
        condition = search.best(weights, rows)
        if condition is None:
            continue
        z = condition.z + outside
        if best is None or z < best.z * LOWER:
            best = _Choice(z, node, condition)
    return best

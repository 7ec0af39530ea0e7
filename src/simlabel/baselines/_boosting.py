"""The boosting algorithms BoosTexter (boosted stumps) and ADTBoost.MH (alternating decision trees)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.utils.validation import check_is_fitted

from simlabel._utils.text import PLAIN, for_terminal
from simlabel._utils.validation import BoolArray, Rows, check_number
from simlabel.baselines._base import BaselineClassifier, Float64Array, boosting_rounds
from simlabel.baselines._weak_learners import (
    LOWER,
    Condition,
    ConditionSearch,
    PairWeights,
    evaluate_conditions,
    searching,
)
from simlabel.labels import Indicator


class _BoostingClassifier(BaselineClassifier):
    """A sum of confidences, one for every round; a label is predicted if the sum is above 0."""

    def __init__(self, n_rounds: int, *, n_jobs: int | None = None, verbose: bool = False) -> None:
        self.n_rounds = n_rounds
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _rounds(self, name: str) -> Iterator[int]:
        check_number(type(self).__name__, "n_rounds", self.n_rounds, at_least=1, integer=True)
        return boosting_rounds(int(self.n_rounds), name, self.verbose)

    def _relevant(self, scores: Float64Array) -> BoolArray:
        return scores > 0


class BoosTexter(_BoostingClassifier):
    """AdaBoost.MH with real-valued stumps, by Schapire and Singer (2000).

    Every round takes the one-column test with the lowest Z = 2 sum sqrt(W+ W-) under the
    current weights of the (row, label) pairs, gives each of its two sides and each label l the confidence
    1/2 ln((W+ + epsilon) / (W- + epsilon)) with epsilon = 1 / (n_rows * n_labels), and reweights. With
    `sample_weight`, n_rows is the sum of the weights, and pairs start with the weight of their row.

    Parameters
    ----------
    n_rounds : int, default=500
        Boosting rounds.
    n_jobs : int, optional
        Threads that search the columns; -1 uses all cores. The result does not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar in fit.

    Attributes
    ----------
    classes_ : array, (n_labels,)
        Names of the labels.
    words_ : bool
        Whether fit got sparse rows, which are read as words that are present or absent.
    stump_columns_ : array of int, (n_rounds,)
        The column that each round tests.
    stump_thresholds_ : array, (n_rounds,)
        The test is ``x >= threshold``; -inf for words, where it is ``x != 0``.
    stump_scores_ : array, (n_rounds, 2, n_labels)
        What a stump adds to the scores if its test fails, and if it holds.
    normalizers_ : array, (n_rounds,)
        Z of each round after smoothing; their product bounds the hamming loss on the training rows.

    Notes
    -----
    Dense columns are tested at every threshold half-way between two adjacent values, sparse ones for
    presence only. Of equally good stumps the first column wins, and in it the lowest threshold. If no
    column separates the rows, the stump has one side. Z is compared before smoothing, as in the paper.

    `decision_function` is the sum of the confidences; a label is predicted if it is above 0, so a score of 0
    means absent, and a label set may be empty. The paper defines no probabilities.

    References
    ----------
    R. E. Schapire and Y. Singer. BoosTexter: A boosting-based system for text categorization.
    Machine Learning 39(2/3), 2000.

    Examples
    --------
    >>> from simlabel.baselines import BoosTexter
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> y = [{"sea"}, {"sea"}, {"sea"}, {"sea", "sunset"}, {"sunset"}, {"sunset"}]
    >>> model = BoosTexter(n_rounds=10).fit(X, y)
    >>> model.predict([[0.05], [0.92], [1.05]]) == [{"sea"}, {"sea", "sunset"}, {"sunset"}]
    True
    """

    def __init__(self, n_rounds: int = 500, *, n_jobs: int | None = None, verbose: bool = False) -> None:
        super().__init__(n_rounds, n_jobs=n_jobs, verbose=verbose)

    def _learn(self, X: Rows, Y: Indicator, weights: Float64Array) -> None:
        each_round = self._rounds("BoosTexter")
        pairs = PairWeights(Y.toarray().astype(np.float64), weights)
        every_row = np.ones(X.shape[0], dtype=bool)
        stumps, scores, normalizers = [], [], []
        with searching(X, self.n_jobs) as search:
            for _ in each_round:
                stump = search.best(pairs, every_row) or Condition(np.inf, 0, -np.inf)
                side = search.holds(stump)
                confidences = np.stack([pairs.confidences(~side), pairs.confidences(side)])
                stumps.append(stump)
                scores.append(confidences)
                normalizers.append(pairs.update(confidences[side.astype(np.intp)]))
        self.words_ = sp.issparse(X)
        self.stump_columns_ = np.array([stump.column for stump in stumps])
        self.stump_thresholds_ = np.array([stump.threshold for stump in stumps])
        self.stump_scores_ = np.stack(scores)
        self.normalizers_ = np.array(normalizers)

    def _sides(self, X: Rows) -> npt.NDArray[np.intp]:
        holds = evaluate_conditions(X, self.stump_columns_, self.stump_thresholds_, self.words_)
        return holds.astype(np.intp)

    def _score(self, X: Rows) -> Float64Array:
        fails, holds = self.stump_scores_[:, 0], self.stump_scores_[:, 1]
        side = self._sides(X).astype(np.float64)
        return np.asarray(side @ holds + (1 - side) @ fails)

    def staged_decision_function(self, X: Any) -> Iterator[Float64Array]:
        """Score the labels after each round.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Rows to score.

        Yields
        ------
        array, (n_rows, n_labels)
            The `decision_function` of a model with so many rounds.
        """
        sides = self._sides(self._check(X))
        scores = np.zeros((sides.shape[0], len(self.classes_)))
        for side, confidences in zip(sides.T, self.stump_scores_, strict=True):
            scores = scores + confidences[side]
            yield self._present(scores)


class _Choice(NamedTuple):
    """A condition, the prediction node that it is added to, and the Z of both."""

    z: float
    node: int
    condition: Condition


class ADTBoostMH(_BoostingClassifier):
    """Multi-label alternating decision trees, by De Comite, Gilleron and Tommasi (2003).

    The tree starts with one prediction node. Every round adds one test with two new prediction nodes below
    an existing node. A row follows all tests below each node it reaches, and its scores are the sum over
    these nodes. Node and test are the pair with the lowest
    Z = 2 sum sqrt(W+ W-) + W(rows that do not reach the node).

    Parameters
    ----------
    n_rounds : int, default=50
        Tests in the tree.
    n_jobs : int, optional
        Threads that search the columns; -1 uses all cores. The result does not depend on it.
    verbose : bool, default=False
        Whether to show a progress bar in fit.

    Attributes
    ----------
    classes_ : array, (n_labels,)
        Names of the labels.
    words_ : bool
        Whether fit got sparse rows, which are read as words that are present or absent.
    test_nodes_ : array of int, (n_tests,)
        The prediction node above each test.
    test_columns_ : array of int, (n_tests,)
        The column of each test.
    test_thresholds_ : array, (n_tests,)
        The test is ``x >= threshold``; -inf for words, where it is ``x != 0``.
    node_scores_ : array, (2 * n_tests + 1, n_labels)
        What each prediction node adds: the root, then two for each test t: 2t + 1 if it fails and 2t + 2 if
        it holds.

    Notes
    -----
    The root's prediction, and the update of the weights by it, are those of the alternating trees of Freund
    and Mason (1999). The confidences 1/2 ln((W+ + epsilon) / (W- + epsilon)) are smoothed by
    epsilon = 1 / (n_rows * n_labels), as in BoosTexter, and Z is compared before smoothing.
    Tests are those of :class:`BoosTexter`. Of equally good pairs the older node wins, then the first column,
    then the lowest threshold. There are fewer than `n_rounds` tests only if no test separates the rows of any
    node.

    A label is predicted if its score is above 0, so a score of 0 means absent, and a label set may be empty.
    The paper defines no probabilities.

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

    def __init__(self, n_rounds: int = 50, *, n_jobs: int | None = None, verbose: bool = False) -> None:
        super().__init__(n_rounds, n_jobs=n_jobs, verbose=verbose)

    def _learn(self, X: Rows, Y: Indicator, weights: Float64Array) -> None:
        each_round = self._rounds("ADTBoost.MH")
        pairs = PairWeights(Y.toarray().astype(np.float64), weights)
        reached = [np.ones(X.shape[0], dtype=bool)]
        scores = [pairs.confidences(reached[0])]
        pairs.update(np.broadcast_to(scores[0], Y.shape))
        choices: list[_Choice] = []
        with searching(X, self.n_jobs) as search:
            for _ in each_round:
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

    def _score(self, X: Rows) -> Float64Array:
        return np.asarray(self._reached(X).astype(np.float64) @ self.node_scores_)

    def _reached(self, X: Rows) -> BoolArray:
        """Return which prediction nodes each row reaches, (n_rows, n_nodes)."""
        holds = evaluate_conditions(X, self.test_columns_, self.test_thresholds_, self.words_)
        reached = np.ones((X.shape[0], len(self.node_scores_)), dtype=bool)
        for t, node in enumerate(self.test_nodes_):
            reached[:, 2 * t + 1] = reached[:, node] & ~holds[:, t]
            reached[:, 2 * t + 2] = reached[:, node] & holds[:, t]
        return reached

    def to_text(self, *, top: int = 3, feature_names: Sequence[str] | None = None) -> str:
        """Write the tree, one line per prediction node, with the number of the test above it.

        Parameters
        ----------
        top : int, default=3
            Number of labels shown for each node: those with the largest absolute scores.
        feature_names : sequence of str, optional
            Names of the columns; by default those seen in fit.

        Returns
        -------
        str
        """
        scores, conditions = self._texts(top, feature_names)
        lines = [scores[0]]

        def write(node: int, indent: str) -> None:
            for test in np.flatnonzero(self.test_nodes_ == node).tolist():
                for child, condition in zip(_children(test), conditions[test], strict=True):
                    lines.append(f"{indent}({test + 1}) {condition}: {scores[child]}")
                    write(child, indent + "|   ")

        write(0, "")
        return "\n".join(lines)

    def plot(self, *, top: int = 3, feature_names: Sequence[str] | None = None, ax: Any = None) -> Any:
        """Draw the tree with matplotlib.

        Parameters
        ----------
        top, feature_names
            As in `to_text`.
        ax : matplotlib axes, optional
            Axes to draw on; by default the current axes.

        Returns
        -------
        matplotlib axes
        """
        import matplotlib.pyplot as plt

        scores, conditions = self._texts(top, feature_names)
        ax = plt.gca() if ax is None else ax
        style: dict[str, Any] = {"ha": "center", "va": "center", **PLAIN}
        places = self._places()
        for test, node in enumerate(self.test_nodes_):
            (x, y), heights = places[node], [places[child][1] for child in _children(test)]
            middle = sum(heights) / 2
            ax.plot([x, x + 1], [y, middle], "--", color="gray", linewidth=0.8, zorder=0)
            for height, condition in zip(heights, conditions[test], strict=True):
                ax.plot([x + 1, x + 2], [middle, height], "-", color="gray", linewidth=0.8, zorder=0)
                ax.annotate(condition, (x + 1.5, (middle + height) / 2), fontsize=7, **style)
            box = {"boxstyle": "square", "facecolor": "lightyellow", "edgecolor": "gray"}
            ax.text(x + 1, middle, str(test + 1), fontsize=8, bbox=box, **style)
        for place, text in zip(places, scores, strict=True):
            box = {"boxstyle": "round", "facecolor": "aliceblue", "edgecolor": "gray"}
            ax.text(*place, text.replace(", ", "\n"), fontsize=7, bbox=box, **style)
        ax.set_axis_off()
        ax.margins(0.15)
        return ax

    def _texts(
        self, top: int, feature_names: Sequence[str] | None
    ) -> tuple[list[str], list[tuple[str, str]]]:
        """Describe the strongest scores of each node, and both outcomes of each test."""
        check_number("ADTBoostMH", "top", top, at_least=1, integer=True)
        check_is_fitted(self)
        if feature_names is None:
            numbered = [f"x[{j}]" for j in range(self.n_features_in_)]
            feature_names = getattr(self, "feature_names_in_", numbered)
        if len(feature_names) != self.n_features_in_:
            raise ValueError(
                f"ADTBoostMH: {len(feature_names)} feature_names for {self.n_features_in_} columns."
            )
        nodes = []
        for scores in self.node_scores_:
            strongest = np.sort(np.argsort(-np.abs(scores), kind="stable")[:top])
            nodes.append(", ".join(f"{for_terminal(self.classes_[k])} {scores[k]:+.2f}" for k in strongest))
        tests = []
        for column, threshold in zip(self.test_columns_, self.test_thresholds_, strict=True):
            name = for_terminal(str(feature_names[column]))
            at_threshold = f"{name} < {threshold:.4g}", f"{name} >= {threshold:.4g}"
            tests.append((f"no {name}", name) if self.words_ else at_threshold)
        return nodes, tests

    def _places(self) -> list[tuple[float, float]]:
        """Place leaves on separate lines, and every other node in the middle of its children."""
        places = [(0.0, 0.0)] * len(self.node_scores_)
        n_leaves = 0

        def put(node: int, depth: int) -> float:
            nonlocal n_leaves
            tests = np.flatnonzero(self.test_nodes_ == node).tolist()
            heights = [put(child, depth + 1) for test in tests for child in _children(test)]
            if not heights:
                n_leaves += 1
                heights = [-float(n_leaves)]
            places[node] = (2.0 * depth, sum(heights) / len(heights))
            return places[node][1]

        put(0, 0)
        return places


def _children(test: int) -> tuple[int, int]:
    """Return the prediction nodes of a test: where it fails, and where it holds."""
    return 2 * test + 1, 2 * test + 2


def _choose(search: ConditionSearch, weights: PairWeights, reached: list[BoolArray]) -> _Choice | None:
    """Find the node and the condition with the lowest Z."""
    best: _Choice | None = None
    for node, rows in enumerate(reached):
        outside = weights.outside(rows)
        # Z is at least the weight outside: a node with light rows need not be searched.
        if best is not None and outside >= best.z * LOWER:
            continue
        condition = search.best(weights, rows)
        if condition is None:
            continue
        z = condition.z + outside
        if best is None or z < best.z * LOWER:
            best = _Choice(z, node, condition)
    return best

"""In how many trees of a forest two instances share a leaf."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator

from simlabel._kernels import agreements, find_leaves
from simlabel.rows import dense_rows
from simlabel.similarities._base import View
from simlabel.similarities._coordinate import CoordinateSimilarity
from simlabel.support.validation import FloatArray, IntArray, Rows, check_number, check_numbers


class Trees(BaseEstimator):
    """Trees as arrays of nodes; of a row, the leaf of each tree, (n_rows, n_trees).

    Parameters
    ----------
    feature, threshold, left, right : arrays, (n_nodes,)
        Which column a node looks at, up to which value a row goes left, and where to. -1 where it is a leaf.
    roots : array of int, (n_trees,)
        The first node of each tree.
    n_features : int
        Of the rows.
    """

    file_key = "similarities.Trees"

    def __init__(
        self,
        feature: IntArray,
        threshold: FloatArray,
        left: IntArray,
        right: IntArray,
        roots: IntArray,
        n_features: int,
    ) -> None:
        self.feature = feature
        self.threshold = threshold
        self.left = left
        self.right = right
        self.roots = roots
        self.n_features = n_features

    @classmethod
    def of(cls, forest: Any) -> Trees:
        """Of a fitted forest of scikit-learn."""
        trees = [each.tree_ for each in forest.estimators_]
        roots = np.cumsum([0, *(tree.node_count for tree in trees[:-1])]).astype(np.int64)

        def moved(name: str) -> IntArray:
            children = [getattr(tree, name) for tree in trees]
            both = zip(children, roots, strict=True)
            return np.concatenate([np.where(to < 0, -1, to + root) for to, root in both]).astype(np.int64)

        return cls(
            np.concatenate([np.maximum(tree.feature, 0) for tree in trees]).astype(np.int64),
            np.concatenate([tree.threshold for tree in trees]),
            moved("children_left"),
            moved("children_right"),
            roots,
            int(forest.n_features_in_),
        )

    def check(self) -> None:
        """Raise ValueError where a row could leave the trees, or never reach a leaf."""
        n = len(self.feature)
        check_number("Trees", "n_features", self.n_features, at_least=1, integer=True)
        check_numbers("Trees", "threshold", self.threshold, (n,))
        for name in ("feature", "left", "right", "roots"):
            shape = (None,) if name == "roots" else (n,)
            check_numbers("Trees", name, getattr(self, name), shape, kinds="i", at_least=-1)
        inner = self.left >= 0
        later = np.minimum(self.left, self.right)[inner] > np.flatnonzero(inner)
        within = (self.left < n) & (self.right < n) & (self.feature >= 0) & (self.feature < self.n_features)
        starts = len(self.roots) > 0 and self.roots.min() >= 0 and self.roots.max() < n
        if not (later.all() and within.all() and starts):
            raise ValueError("Trees: nodes lead to others that come later, within the trees.")

    def __call__(self, X: Rows) -> FloatArray:
        """The leaves of some rows."""
        rows = np.ascontiguousarray(dense_rows(X), dtype=np.float32)  # as the trees were grown
        if rows.shape[1] != self.n_features:
            raise ValueError(f"Trees: rows have {rows.shape[1]} columns, and the trees {self.n_features}.")
        out = np.empty((len(rows), len(self.roots)))
        find_leaves(rows, self.feature, self.threshold, self.left, self.right, self.roots, out)
        return out


class ForestProximity(CoordinateSimilarity):
    """The share of the trees of a forest in which two instances fall into the same leaf.

    The trees are extremely randomised ones, grown at fit on the labels. Since they have seen these, all that
    is judged on training rows (label rules, calibration, `leave_one_out`) goes by five folds, each scored by
    trees that were grown without it; the influence must be learned, with a penalty that is given
    (`AutoSMLClassifier(effort="high")` finds one). Trees cannot forget: `forget` and `correct` refuse.
    Up to 6,688 instances.

    Parameters
    ----------
    n_trees : int
    min_leaf : int
        The fewest rows of a leaf.

    Examples
    --------
    >>> from simlabel import SMLClassifier
    >>> from simlabel.influence import Ridge
    >>> X = [[i / 10, i % 2] for i in range(10)]
    >>> y = [{"low"} if i < 5 else {"high"} for i in range(10)]
    >>> model = SMLClassifier(ForestProximity(20, 1), normalizer=None, influence=Ridge(1.0), random_state=0)
    >>> model.fit(X, y).predict([[0.1, 0.0], [0.9, 1.0]])
    [{'low'}, {'high'}]
    """

    name = "forest_proximity"
    file_key = "similarities.ForestProximity"
    positive_definite = True
    supervised = True
    sums = staticmethod(agreements)
    fitted_state = ("trees_",)

    def __init__(self, n_trees: int = 200, min_leaf: int = 3) -> None:
        self.n_trees = n_trees
        self.min_leaf = min_leaf

    def check(self) -> None:
        """Raise ValueError where a number is not positive, or trees are damaged."""
        check_number("ForestProximity", "n_trees", self.n_trees, at_least=1, integer=True)
        check_number("ForestProximity", "min_leaf", self.min_leaf, at_least=1, integer=True)
        if hasattr(self, "trees_"):
            self.trees_.check()

    def fit_labels(self, X: Rows, Y: sp.csr_array, sample_weight: FloatArray, seed: int) -> Self:
        """Grow the trees."""
        from sklearn.ensemble import ExtraTreesRegressor

        # of regressors: one tree for all labels together, whatever values a label has in a part of the rows
        forest = ExtraTreesRegressor(
            self.n_trees, min_samples_leaf=self.min_leaf, max_features="sqrt", random_state=seed % 2**31
        )
        targets = np.asarray(Y.toarray(), dtype=np.float64)
        fitted = copy.copy(self)
        fitted.trees_ = Trees.of(forest.fit(dense_rows(X), targets, sample_weight))
        return fitted

    def views(self) -> tuple[View, ...]:
        """Rows as leaves."""
        if not hasattr(self, "trees_"):
            raise ValueError(
                "ForestProximity learns from labels: use it in SMLClassifier, with influence=Ridge(1.0) or "
                "another penalty."
            )
        return (self.trees_,)

    def finish(self, T: FloatArray, q_side: FloatArray, x_side: FloatArray) -> FloatArray:
        """Counts to shares, in place."""
        T /= T.dtype.type(len(self.trees_.roots))
        return T

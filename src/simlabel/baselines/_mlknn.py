"""ML-kNN: nearest neighbors, and the maximum a posteriori rule on how many of them have a label."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.sparsefuncs import min_max_axis

from simlabel._utils.validation import BoolArray, IntArray, Rows, check_number
from simlabel.baselines._base import BaselineClassifier, Float64Array
from simlabel.labels import Indicator


class MLkNN(BaselineClassifier):
    """Multi-label k nearest neighbors, by Zhang and Zhou (2007).

    The evidence for a label is the number of a row's neighbors that have it. The likelihood of each number,
    with and without the label, is counted on the training rows. There a row is never its own neighbor, even
    if it has duplicates.

    Parameters
    ----------
    n_neighbors : int, default=10
        Neighbors of a row. If fit has fewer other rows, all of them are used (`n_neighbors_`).
    smoothing : float, default=1.0
        Laplace smoothing of the counts; 1 in the paper.
    scale : bool, default=True
        Whether to scale every column to [0, 1] by its range in fit, as WEKA and Mulan do; the paper does not
        say. A column that is constant in fit is ignored. Sparse rows are scaled but not shifted, which does
        not change distances.
    n_jobs : int, optional
        Threads of the neighbor search; -1 uses all cores.

    Attributes
    ----------
    classes_ : array, (n_labels,)
        Names of the labels.
    n_neighbors_ : int
        Number of neighbors that were used.
    prior_ : array, (n_labels,)
        Prior probability of each label.
    likelihood_ : array, (2, n_labels, ``n_neighbors_ + 1``)
        ``likelihood_[h, l, j]``: probability that j neighbors have label l, for a row without it (h = 0) and
        with it (h = 1).

    Notes
    -----
    A row with a `sample_weight` of 3 is a neighbor three times; weights must be whole numbers.

    `predict_proba` and `decision_function` return the posterior probability of each label. A label is
    predicted if its presence is more likely than its absence, so a tie means absent, and a label set may be
    empty. With one class per row the posteriors are divided by their sum, and the highest wins. The index of
    scikit-learn's ``NearestNeighbors`` decides among rows at the same distance; the paper does not say.

    References
    ----------
    M.-L. Zhang and Z.-H. Zhou. ML-KNN: A lazy learning approach to multi-label learning.
    Pattern Recognition 40(7), 2007.

    Examples
    --------
    >>> from simlabel.baselines import MLkNN
    >>> X = [[0.0], [0.1], [0.2], [0.9], [1.0], [1.1]]
    >>> y = [{"sea"}, {"sea"}, {"sea"}, {"sunset"}, {"sunset"}, {"sunset"}]
    >>> MLkNN(n_neighbors=2).fit(X, y).predict([[0.05], [1.05]])
    [{'sea'}, {'sunset'}]
    """

    def __init__(
        self,
        n_neighbors: int = 10,
        *,
        smoothing: float = 1.0,
        scale: bool = True,
        n_jobs: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.smoothing = smoothing
        self.scale = scale
        self.n_jobs = n_jobs

    def _learn(self, X: Rows, Y: Indicator, weights: Float64Array) -> None:
        check_number("MLkNN", "n_neighbors", self.n_neighbors, at_least=1, integer=True)
        check_number("MLkNN", "smoothing", self.smoothing, above=0)
        X, Y = _repeated(X, Y, weights)
        n_rows, s = X.shape[0], float(self.smoothing)
        if n_rows < 2:
            raise ValueError(f"MLkNN needs 2 rows or more (none is its own neighbor), got {n_rows} sample.")
        self.n_neighbors_ = min(int(self.n_neighbors), n_rows - 1)
        self._origin, self._factor = _column_ranges(X, bool(self.scale))
        self._index = NearestNeighbors(n_neighbors=self.n_neighbors_, n_jobs=self.n_jobs).fit(self._scaled(X))
        self._Y = Y
        present = Y.toarray().astype(bool)
        self.prior_ = (s + present.sum(axis=0)) / (2 * s + n_rows)
        # Without an argument, kneighbors excludes each row from its own neighbors.
        counts = self._count_labels(self._index.kneighbors(return_distance=False))
        table = _count_table(counts, present, self.n_neighbors_ + 1)
        self.likelihood_ = (s + table) / (s * table.shape[2] + table.sum(axis=2, keepdims=True))

    def _score(self, X: Rows) -> Float64Array:
        """Return the posterior probability of every label, (n_rows, n_labels)."""
        label = np.arange(len(self.classes_))
        counts = self._count_labels(self._index.kneighbors(self._scaled(X), return_distance=False))
        absent = (1 - self.prior_) * self.likelihood_[0, label, counts]
        present = self.prior_ * self.likelihood_[1, label, counts]
        return np.asarray(present / (present + absent))

    def _relevant(self, scores: Float64Array) -> BoolArray:
        return scores > 0.5

    def predict_proba(self, X: Any) -> Float64Array:
        """Return the posterior probability of every label.

        Parameters
        ----------
        X : array-like, sparse or data frame, (n_rows, n_features)
            Rows to score.

        Returns
        -------
        array, (n_rows, n_labels)
            With one class per row, every row sums to 1.
        """
        posterior = self._scores(self._check(X))
        if self._space.kind == "single":
            posterior /= posterior.sum(axis=1, keepdims=True)
        return posterior

    def _scaled(self, X: Rows) -> Rows:
        if isinstance(X, np.ndarray):
            return (X - self._origin) * self._factor
        return X @ sp.diags_array(self._factor)

    def _count_labels(self, neighbors: npt.NDArray[np.intp]) -> IntArray:
        """Count the neighbors with each label, (n_rows, n_labels)."""
        n_rows, k = neighbors.shape
        ones = np.ones(neighbors.size, dtype=np.int64)
        starts = np.arange(0, neighbors.size + 1, k)
        chosen = sp.csr_array((ones, neighbors.ravel(), starts), shape=(n_rows, self._Y.shape[0]))
        return np.asarray((chosen @ self._Y).toarray())


def _repeated(X: Rows, Y: Indicator, weights: Float64Array) -> tuple[Rows, Indicator]:
    """Repeat each row by its weight: neighbors are counted, so weights must be whole numbers."""
    if (weights == 1).all():
        return X, Y
    copies = weights.astype(np.int64)
    if (copies != weights).any():
        raise ValueError(
            "MLkNN counts neighbors, so sample_weight must hold whole numbers, got "
            f"{weights[copies != weights][0]:g}. Scale and round the weights."
        )
    rows = np.repeat(np.arange(len(copies)), copies)
    return X[rows], Y[rows]


def _column_ranges(X: Rows, scale: bool) -> tuple[Float64Array, Float64Array]:
    """Return the offset and the factor of each column."""
    if not scale:
        return np.zeros(X.shape[1]), np.ones(X.shape[1])
    low, high = min_max_axis(X, 0) if sp.issparse(X) else (X.min(axis=0), X.max(axis=0))
    spread = high.astype(np.float64) - low
    factor = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    return low.astype(np.float64), factor


def _count_table(counts: IntArray, present: BoolArray, width: int) -> Float64Array:
    """Count rows: table[h, l, j] are without (h = 0) or with (h = 1) label l, and j neighbors have it."""
    n_labels = counts.shape[1]
    cell = (present * n_labels + np.arange(n_labels)) * width + counts
    return np.bincount(cell.ravel(), minlength=2 * n_labels * width).reshape(2, n_labels, width).astype(float)

"""Rank-SVM: a kernel machine that ranks true labels above false ones, and a learned threshold."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.extmath import row_norms

from simlabel._utils.limits import available_memory, limits
from simlabel._utils.validation import BoolArray, FloatArray, Rows, check_number
from simlabel.baselines._base import BaselineClassifier, Float64Array
from simlabel.baselines._ranksvm_dual import solve_dual
from simlabel.labels import Indicator
from simlabel.rules import best_thresholds

_ROUNDING = 1e-6  # relative: columns of scores that vary less count as constant
_PAIR_BYTES = 80  # of each pair of a true and a false label of a row: position, variable, and their copies

_KERNELS = ("poly", "rbf", "linear")


class RankSVM(BaselineClassifier):
    """Kernel ranking SVM with a learned set size, by Elisseeff and Weston (2001).

    One linear function per label in the kernel's feature space: each true label of a row should score higher
    by 1 than each false one. A row's losses are averaged over its pairs of labels. A label is predicted if
    its score is above a threshold that is a linear function of all scores of the row.

    Parameters
    ----------
    kernel : {"poly", "rbf", "linear"}, default="poly"
        ``(gamma <x, z> + coef0)^degree``, ``exp(-gamma |x - z|^2)``, or ``<x, z>``.
    C : float or "auto", default="auto"
        Weight of the losses. "auto" is 1 / median K(x, x), which does not depend on the scale of the kernel;
        it is not tuned to any data. The paper leaves C open: tune it for a fair comparison.
    degree : int, default=8
        Degree of the polynomial.
    gamma : float or "auto", default="auto"
        Scale in the polynomial and RBF kernels. "auto" is ``1 / mean |x|^2``: 1 for rows of
        unit length, for which the polynomial is the paper's (<x, z> + 1)^degree.
    coef0 : float, default=1.0
        Constant of the polynomial.
    tol : float, default=1e-3
        Relative duality gap, (primal - dual) / primal, at which the solver stops.
    max_iter : int, default=5000
        Maximum number of passes over the rows; a ``ConvergenceWarning`` reports the gap reached.
    verbose : bool, default=False
        Whether to show a progress bar in fit.

    Attributes
    ----------
    classes_ : array, (n_labels,)
        Names of the labels.
    C_, gamma_ : float
        The values that were used.
    support_ : array of int, (n_support,)
        Training rows with a non-zero coefficient.
    support_vectors_ : array or CSR, (n_support, n_features)
        Those rows.
    dual_coef_ : array, (n_support, n_labels)
        Coefficients of the kernel; every column sums to 0.
    intercept_ : array, (n_labels,)
        Biases.
    threshold_coef_, threshold_intercept_ : array, (n_labels,), and float
        The threshold is ``scores @ threshold_coef_ + threshold_intercept_``.
    duality_gap_ : float
        Relative gap reached.
    n_iter_ : int
        Passes over the rows.

    Notes
    -----
    The problem is the paper's, the solver is not: instead of Frank-Wolfe steps by linear programs, the
    dual is solved by coordinate descent over the (true, false) pairs of each row under an augmented
    Lagrangian for the equalities of the biases, until the duality gap of a feasible solution is at
    most `tol`. Fit holds the kernel between all rows, n_rows^2 numbers, and raises ``MemoryError`` before
    it starts where they do not fit in memory. `sample_weight` multiplies the losses of the rows.

    Rows that have all labels, or none, rank nothing and are left out; the paper leaves them open.

    The threshold is fitted by least squares, as in the paper, to the t(x) that parts a row's true and
    false labels with the fewest errors: the middle of the optimal interval; of several intervals, the
    lowest; where the interval has no end, half the row's mean gap between neighboring scores beyond
    the last score (0.5 where all scores are equal). A label whose score equals the threshold is not
    predicted, and a label set may be empty.
    The paper defines no probabilities.

    References
    ----------
    A. Elisseeff and J. Weston. A kernel method for multi-labeled classification. Advances in Neural
    Information Processing Systems 14, 2001.

    Examples
    --------
    >>> from simlabel.baselines import RankSVM
    >>> X = [[0.0, 1.0], [0.1, 1.0], [0.2, 1.0], [1.0, 0.1], [1.0, 0.2], [1.0, 0.0]]
    >>> y = [{"sea"}, {"sea"}, {"sea"}, {"hill", "sunset"}, {"hill", "sunset"}, {"hill", "sunset"}]
    >>> model = RankSVM(degree=2).fit(X, y)
    >>> model.predict([[0.0, 0.9], [0.9, 0.1]]) == [{"sea"}, {"hill", "sunset"}]
    True
    >>> model.duality_gap_ <= model.tol
    True
    """

    def __init__(
        self,
        kernel: str = "poly",
        *,
        C: float | str = "auto",
        degree: int = 8,
        gamma: float | str = "auto",
        coef0: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 5000,
        verbose: bool = False,
    ) -> None:
        self.kernel = kernel
        self.C = C
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.verbose = verbose

    def _learn(self, X: Rows, Y: Indicator, weights: Float64Array) -> None:
        self._check_settings()
        X, labels = X.astype(np.float64), Y.toarray().astype(bool)
        ranked = np.flatnonzero(labels.any(axis=1) & ~labels.all(axis=1))
        if len(ranked) == 0:
            raise ValueError(
                f"RankSVM needs a row with a true and a false label; with {labels.shape[1]} "
                f"class{'es' * (labels.shape[1] > 1)} or labels in y, every row has all or none of them."
            )
        X, labels, weights = X[ranked], labels[ranked], weights[ranked]
        _check_memory(labels)
        squares = np.average(row_norms(X, squared=True), weights=weights)
        self.gamma_ = _inverse(float(squares)) if self.gamma == "auto" else float(self.gamma)
        K = self._gram(X)
        self.C_ = _inverse(_median(np.diag(K), weights)) if self.C == "auto" else float(self.C)
        solution = solve_dual(
            K, labels, self.C_ * weights, tol=self.tol, max_iter=int(self.max_iter), verbose=self.verbose
        )
        if solution.gap > self.tol:
            warnings.warn(
                f"RankSVM stopped after {solution.n_passes} passes at a duality gap of {solution.gap:.2g}, "
                f"above tol={self.tol:g}. Raise max_iter, or lower C (now {self.C_:g}).",
                ConvergenceWarning,
                stacklevel=3,
            )
        targets = row_thresholds(solution.scores, labels)
        chosen = np.flatnonzero(solution.beta.any(axis=1))
        self.support_, self.support_vectors_ = ranked[chosen], X[chosen]
        self.dual_coef_, self.intercept_ = solution.beta[chosen], solution.bias
        self.threshold_coef_, self.threshold_intercept_ = _regression(solution.scores, targets, weights)
        self.duality_gap_, self.n_iter_ = solution.gap, solution.n_passes

    def _check_settings(self) -> None:
        if self.kernel not in list(_KERNELS):  # what is compared may have no hash
            raise ValueError(f"RankSVM: kernel must be one of {', '.join(_KERNELS)}, got {self.kernel!r}.")
        check_number("RankSVM", "C", self.C, above=0, also=("auto",))
        check_number("RankSVM", "degree", self.degree, at_least=1, integer=True)
        check_number("RankSVM", "gamma", self.gamma, above=0, also=("auto",))
        check_number("RankSVM", "coef0", self.coef0, at_least=0)
        check_number("RankSVM", "tol", self.tol, above=0)
        check_number("RankSVM", "max_iter", self.max_iter, at_least=1, integer=True)

    def _gram(self, X: Rows) -> Float64Array:
        """Return the kernel between all rows; for sparse rows block by block, to save memory."""
        if isinstance(X, np.ndarray):
            return np.ascontiguousarray(self._kernel(X, X))
        K = np.empty((X.shape[0], X.shape[0]))
        for start in range(0, len(K), limits().block_rows):
            rows = slice(start, start + limits().block_rows)
            K[rows] = self._kernel(X[rows], X)
        return K

    def _kernel(self, A: Rows, B: Rows) -> Float64Array:
        parameters = {"gamma": self.gamma_, "coef0": self.coef0, "degree": self.degree}
        return np.asarray(pairwise_kernels(A, B, metric=self.kernel, filter_params=True, **parameters))

    def _score(self, X: Rows) -> Float64Array:
        K = self._kernel(X.astype(np.float64), self.support_vectors_)
        return np.asarray(K @ self.dual_coef_ + self.intercept_)

    def _relevant(self, scores: Float64Array) -> BoolArray:
        threshold = scores @ self.threshold_coef_ + self.threshold_intercept_
        return np.asarray(scores > threshold[:, None])


def row_thresholds(scores: Float64Array, labels: BoolArray) -> FloatArray:
    """Return t(x) of each row; an open interval ends one mean gap beyond the last score."""
    gap = np.ptp(scores, axis=1) / (scores.shape[1] - 1)
    return best_thresholds(scores, labels, np.where(gap == 0, 1.0, gap))


def _regression(
    scores: Float64Array, targets: FloatArray, weights: Float64Array
) -> tuple[Float64Array, float]:
    """Return the least-squares coefficients of the thresholds on the scores, and the intercept.

    The scores of a label that no row has, or every row, differ by rounding only: centering the columns shows
    that, and such a label gets the coefficient 0 instead of a huge one.
    """
    share, root = weights / weights.sum(), np.sqrt(weights)
    middle, level = share @ scores, share @ targets
    centered = (scores - middle) * root[:, None]
    coef = np.linalg.lstsq(centered, (targets - level) * root, rcond=_ROUNDING)[0].astype(np.float64)
    return coef, float(level - middle @ coef)


def _check_memory(labels: BoolArray) -> None:
    """Raise MemoryError if the kernel does not fit into memory: the system would kill the process."""
    n_rows, n_labels = labels.shape
    n_true = labels.sum(axis=1)
    pairs = n_rows * n_labels**2 + _PAIR_BYTES * int((n_true * (n_labels - n_true)).sum())
    needed, free = 8 * n_rows**2 + pairs, available_memory()
    if free is None or needed <= free:
        return
    raise MemoryError(
        f"RankSVM keeps the kernel between all rows in memory: {n_rows:,} rows need {needed:,} bytes "
        f"({needed / 2**30:,.1f} GiB), but {free / 2**30:,.1f} GiB are available. Fit on fewer rows: "
        f"at most about {int(np.sqrt(free / needed) * n_rows):,} here."
    )


def _median(values: Float64Array, weights: Float64Array) -> float:
    """Return the weighted median."""
    order = np.argsort(values)
    reached = np.cumsum(weights[order])
    at = [np.searchsorted(reached, reached[-1] / 2, side) for side in ("left", "right")]
    return float(values[order[np.minimum(at, len(order) - 1)]].mean())


def _inverse(value: float) -> float:
    return 1.0 / value if value > 0 else 1.0

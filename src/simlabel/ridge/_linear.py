"""Ridge on similarities that are inner products of columns: exact for any number of references.

With few columns everything follows from their Gram matrix (the primal problem), in closed form. With many
columns, as text has, and many labels, a factor of the similarities of the rows is used if it fits in memory
(`_tiled_cholesky`). Otherwise the influence is found by iteration, and leave-one-out scores are out-of-fold
scores: those of a fold come from the influence of the other rows.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from simlabel._utils.limits import limits
from simlabel._utils.rows import (
    assign_folds,
    blocks,
    by_parts,
    content_units,
    dense_rows,
    is_lazy,
    n_rows,
    squared_lengths,
)
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import BoolArray, FloatArray, IntArray, Rows
from simlabel.ridge._conjugate_gradients import (
    Block,
    MaskedSystem,
    MatrixProducts,
    RidgeSystem,
    SimilarityProducts,
    SketchedSystem,
    Stopped,
)
from simlabel.ridge._leave_one_out import OwnColumnCorrection, RidgeSolution, sums_without_groups
from simlabel.ridge._nystroem import FeatureMap, feature_solution
from simlabel.ridge._tiled_cholesky import (
    FactoredSystem,
    NotPositiveDefinite,
    factored_left_out_scores,
    factorization_pays,
    is_accurate_enough,
)
from simlabel.ridge._unknown_labels import by_patterns, check_work
from simlabel.similarities import Leaf, Similarity

Systems = Callable[[slice], RidgeSystem]  # for some columns of the targets

_FOLDS = 5
TOLERANCE = 1e-7  # relative residual of a column of targets
_FOLD_TOLERANCE = 1e-2  # changes scores far less than leaving out more than one row does
_MIN_WARNED = 1e-6


def fits_in_matrix(n: int) -> bool:
    """Return whether three n x n matrices fit in the memory for closed forms."""
    return 3 * 8 * n**2 <= limits().exact_bytes


@dataclass(frozen=True)
class LinearForm:
    """A similarity as the inner product of a number of columns."""

    leaf: Leaf
    width: int

    def __call__(self, X: Rows) -> FloatArray:
        """Return the columns of some rows, dense, (n_rows, width)."""
        return dense_rows(self.rows(X))

    def rows(self, X: Rows) -> Rows:
        """Return the columns of some rows, sparse if the rows are."""
        return self.leaf.expanded(X.astype(np.float64, copy=False))

    @property
    def constant(self) -> float:
        """Similarity to a row of zeros."""
        zeros = self.leaf.similarity.expanded(sp.csr_array((1, 1)))
        return float(squared_lengths(zeros)[0] * self.leaf.factor)


def linear_form(similarity: Similarity, X: Rows) -> LinearForm | None:
    """Return the inner product for which many rows can be solved for exactly; None if there is none."""
    leaves = similarity.leaves()
    if len(leaves) != 1 or not hasattr(X[:1], "shape") or leaves[0].similarity.form == "precomputed":
        return None
    leaf, n_features = leaves[0], leaves[0].view(X[:1]).shape[1]
    width = leaf.similarity.expanded_width(n_features)
    if width is None:
        return None
    # iteration passes over the rows many times, so that they must be in memory, and not expanded
    iterated = width <= n_features + 1 and not is_lazy(X)
    return LinearForm(leaf, width) if fits_in_matrix(width) or iterated else None


@dataclass(frozen=True)
class LinearRidge:
    """A ridge problem on inner products.

    Attributes
    ----------
    X : rows, (n, n_features)
        All references.
    targets : sparse, (n, n_columns)
        Labels and one-hot set sizes.
    weights : array, (n,)
        Weight of each reference.
    seed : int
        For the sketch and the folds.
    groups : array of int, (n,), or None
        Group of each reference; groups are left out whole.
    known : array of bool, (n, n_columns), or None
        Which targets are known; None for all.
    vocabulary : bool
        Whether rows are left out with the columns that only they have; for sparse rows of many columns.
    units : array of int, (n,), optional
        `References.units`, by which folds are drawn; by default, the positions of the rows.
    """

    form: LinearForm
    X: Rows
    targets: Rows
    weights: FloatArray
    penalty: float
    n_jobs: int | None = None
    seed: int = 0
    groups: IntArray | None = None
    known: BoolArray | None = None
    vocabulary: bool = False
    units: IntArray | None = None

    def solution(self) -> RidgeSolution:
        """Compute the influence of all rows and their leave-one-out scores."""
        if fits_in_matrix(self.form.width):
            check_work(self.known, self.form.width)
            return by_patterns(self._by_columns, self.targets, self.weights, self.known)
        products, _ = self.operator
        if self.known is None and sp.issparse(products.rows) and factorization_pays(*self.targets.shape):
            weights, penalty = self.in_units()
            if is_accurate_enough(products, weights, penalty, self.seed):
                with contextlib.suppress(NotPositiveDefinite):
                    return self._by_factor(FactoredSystem(products, weights, penalty))
        return self._by_iteration()

    def _by_columns(self, targets: Rows, weights: FloatArray) -> RidgeSolution:
        found = feature_solution(self.form, self.X, targets, weights, self.penalty, self.groups)
        influence = PrimalInfluence(self.form, found.V, found.mean, self.penalty)
        V = np.concatenate(by_parts(self.X, influence, targets, weights))
        return RidgeSolution(V, found.mean, found.loo_scores)

    @cached_property
    def operator(self) -> tuple[SimilarityProducts, float]:
        """Products with the similarities in units in which they are about 1, and the unit of the rows."""
        Z = self.form.rows(self.X[:])
        unit = float(np.sqrt(squared_lengths(Z).max())) or 1.0
        return SimilarityProducts(Z / unit, self.n_jobs), unit

    def in_units(self) -> tuple[FloatArray, float]:
        """Return weights of at most 1, and the penalty for these weights and for rows in their unit."""
        weight, (_, unit) = float(self.weights.max()), self.operator
        return self.weights / weight, self.penalty / (unit**2 * weight)

    @cached_property
    def _words(self) -> sp.csr_array | None:
        """All rows, if their columns are words."""
        X = self.form.leaf.view(self.X[:]) if self.vocabulary and self.known is None else None
        return X if sp.issparse(X) else None

    def _by_factor(self, system: FactoredSystem) -> RidgeSolution:
        n, width = self.targets.shape
        _, unit = self.operator
        mean, ones = np.append(self._mean(self.weights), 0.0), sp.csr_array(np.ones((n, 1)))
        targets = sp.csr_array(sp.hstack([self.targets, ones]))
        AY1, residual = self._solve(lambda part: system, targets, mean)
        V, mean = AY1[:, :width].copy(), mean[:width]
        AY1[:, :width] += np.outer(AY1[:, width], mean)
        given = self.targets.toarray(), self.weights, self.penalty, self.groups
        loo_scores, within = factored_left_out_scores(system, unit, AY1, *given)
        if self._words is not None:
            correct = OwnColumnCorrection.of(self._words, self.weights, self.groups, self.form.constant)
            codes = np.arange(n) if self.groups is None else self.groups
            loo_scores = correct(
                loo_scores, *sums_without_groups(within, AY1, self.targets, self.weights, codes)
            )
        return RidgeSolution(V, mean, loo_scores, residual=residual)

    def _by_iteration(self) -> RidgeSolution:
        products, unit = self.operator
        weights, penalty = self.in_units()
        sketch = products.sketched(np.random.default_rng(self.seed))

        def systems(weights: FloatArray) -> Systems:
            """Return the systems of the rows with a weight above 0."""
            there = weights > 0
            some, seen, weights = products, sketch[there], weights[there]
            if not there.all():
                some = products.of_rows(there)
            if self.known is not None:
                known = self.known[there]
                return lambda part: MaskedSystem(some, seen, weights[:, None] * known[:, part], penalty)
            one = SketchedSystem(some, seen, weights, penalty)
            return lambda part: one

        mean = self._mean(self.weights)
        V, residual = self._solve(systems(weights), self.targets, mean)
        loo_scores = np.empty(V.shape)
        left = np.minimum(self.weights, 1.0) if self.groups is None else self.weights
        for fold in self.folds():
            remaining = self.weights - np.where(fold, left, 0.0)
            correct = None
            if self._words is not None:
                others, constant = self._words[remaining > 0], self.form.constant / unit**2
                correct = OwnColumnCorrection.of_fold(self._words[fold], others, constant)
            self._score_fold(systems(remaining / self.weights.max()), fold, remaining, correct, loo_scores)
        return RidgeSolution(V, mean, loo_scores, residual=residual)

    def _solve(self, systems: Systems, targets: Rows, mean: FloatArray) -> tuple[FloatArray, float]:
        """Return the influence of all rows, and the largest relative residual."""
        products, unit = self.operator
        V = np.empty(targets.shape)
        residuals = np.zeros(V.shape[1])

        def work(part: slice, stopped: Stopped) -> None:
            system = systems(part)
            B = targets[:, part].toarray() - mean[part]
            x, residuals[part] = system.solve(system.scale * B, TOLERANCE, stopped)
            V[:, part] = system.scale * x / unit**2

        products.for_columns(V.shape[1], work)
        residual = float(residuals.max(initial=0.0))
        if residual > _MIN_WARNED:
            warnings.warn(
                f"Ridge(penalty={self.penalty:.3g}) is solved by iteration, which did not converge: the "
                f"relative residual is {residual:.1e}. Rows are too large for so small a penalty: raise it, "
                f"or use normalizer='l2'.",
                ConvergenceWarning,
                stacklevel=2,
            )
        return V, residual

    def _score_fold(
        self,
        systems: Systems,
        fold: BoolArray,
        remaining: FloatArray,
        correct: OwnColumnCorrection | None,
        out: FloatArray,
    ) -> None:
        """Write the scores of the rows of a fold, from the systems of the remaining rows."""
        products, _ = self.operator
        there, mean = remaining > 0, self._mean(remaining)
        targets = self.targets[there]

        def work(part: slice, stopped: Stopped) -> None:
            system = systems(part)
            B = targets[:, part].toarray() - mean[part]
            x, _ = system.solve(system.scale * B, _FOLD_TOLERANCE, stopped)
            influence: Block = np.zeros((len(there), x.shape[1]), dtype=np.float32)
            influence[there] = system.scale * x
            scores = products(influence)[fold] + mean[part]
            sums = influence.sum(axis=0)
            out[fold, part] = scores if correct is None else correct(scores, mean[part], sums)

        products.for_columns(out.shape[1], work)

    def _mean(self, weights: FloatArray) -> FloatArray:
        sums = np.asarray(weights @ self.targets).ravel()
        total = weights.sum() if self.known is None else weights @ self.known
        return sums / np.where(total > 0, total, 1.0)

    def folds(self) -> Iterator[BoolArray]:
        """Yield which rows are left out together."""
        units = content_units(np.arange(len(self.weights)), self.groups) if self.units is None else self.units
        folds = assign_folds(units, _FOLDS, self.seed)
        for fold in range(int(folds.max()) + 1):
            yield folds == fold


@dataclass(frozen=True)
class MatrixRidge(LinearRidge):
    """A ridge problem on a matrix of similarities, X, solved by iteration."""

    def solution(self) -> RidgeSolution:
        """Compute the influence of all rows and their leave-one-out scores."""
        return self._by_iteration()

    @cached_property
    def operator(self) -> tuple[SimilarityProducts, float]:
        """Products with the similarities in units in which they are about 1, and the unit of the rows."""
        unit = float(np.sqrt(np.diag(self.X).max())) or 1.0
        return MatrixProducts(self.X / unit**2, self.n_jobs), unit


@dataclass(frozen=True)
class PrimalInfluence:
    """Task: compute the influence of some rows, from the residuals of the primal solution."""

    features: FeatureMap
    coefficients: FloatArray
    mean: FloatArray
    penalty: float

    def __call__(self, X: Rows, targets: Rows, weights: FloatArray) -> FloatArray:
        V = np.empty(targets.shape)
        for part in blocks(n_rows(X), limits().block_rows):
            rest = targets[part].toarray() - self.mean - self.features(X[part]) @ self.coefficients
            V[part] = rest * (weights[part, None] / self.penalty)
        return V

"""Ridge on similarities that are plain inner products of columns: exact for any number of references.

With few columns everything follows from the matrix of their products (the primal), in closed form. With
many, as text has, and many labels, a factor of the rows' similarities is made where it fits (`_factored`).
Else influence is solved for by iteration, and what a row scores where it is left out is computed by folds:
the scores of a fold are those of the other rows' influence.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning

from simlabel._utils.arithmetic import squared_lengths
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, by_parts, content_units, dense_rows, fold_numbers, is_lazy, n_rows
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import FloatArray, IntArray, Rows
from simlabel.ridge._closed_form import RidgeSolution
from simlabel.ridge._conjugate import MaskedSystem, RidgeSystem
from simlabel.ridge._factored import FactoredSystem, exact_enough, scores_left_out, worth_a_factor
from simlabel.ridge._inducing import feature_solution
from simlabel.ridge._own_columns import AskedLinearly, sums_without
from simlabel.ridge._partly import Known, by_patterns, check_work
from simlabel.ridge._products import Block, MatrixProducts, SimilarityProducts
from simlabel.ridge._tiles import NotPositiveDefinite
from simlabel.similarities import Leaf, Similarity

Systems = Callable[[slice], RidgeSystem]  # for some columns of the targets

_FOLDS = 5
_TOLERANCE = 1e-7  # of what is left over, as a share of a column of targets
_FOLD_TOLERANCE = 1e-2  # changes scores far less than leaving out more than one row does
_MOST_NEAR = 2000  # labels among which the nearest start is looked for: it takes their number to the third
_WORTH_A_WARNING = 1e-6


def fits_in_matrix(n: int) -> bool:
    """Whether three n x n matrices are small enough to solve with."""
    return 3 * 8 * n**2 <= limits().exact_bytes


@dataclass(frozen=True)
class LinearForm:
    """A similarity as the plain inner product of so many columns."""

    leaf: Leaf
    width: int

    def __call__(self, X: Rows) -> FloatArray:
        """The columns of some rows, dense, (n_rows, width)."""
        return dense_rows(self.rows(X))

    def rows(self, X: Rows) -> Rows:
        """The columns of some rows, sparse where the rows are."""
        return self.leaf.expanded(X.astype(np.float64, copy=False))

    @property
    def constant(self) -> float:
        """The similarity to a row of zeros."""
        nothing = self.leaf.similarity.expanded(sp.csr_array((1, 1)))
        return float(squared_lengths(nothing)[0] * self.leaf.factor)


def linear_form(similarity: Similarity, X: Rows) -> LinearForm | None:
    """How the similarity of many rows can be solved for exactly; None where it cannot."""
    leaves = similarity.leaves()
    if len(leaves) != 1 or not hasattr(X, "shape") or leaves[0].similarity.form == "precomputed":
        return None
    leaf, n_features = leaves[0], leaves[0].view(X[:1]).shape[1]
    width = leaf.similarity.expanded_width(n_features)
    if width is None:
        return None
    # beyond the primal, rows stay as they are, sparse or not, and are passed over again and again
    iterated = width <= n_features + 1 and not is_lazy(X)
    return LinearForm(leaf, width) if fits_in_matrix(width) or iterated else None


@dataclass(frozen=True)
class LinearRidge:
    """What is to be solved.

    Attributes
    ----------
    X : rows, (n, n_features)
        All references.
    targets : sparse, (n, n_columns)
        What each should score.
    weights : array, (n,)
        How many times each counts.
    seed : int
        For the sketch and the folds.
    groups : array of int, (n,), or None
        Rows of one group are left out together.
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
    known: Known | None = None
    vocabulary: bool = False
    units: IntArray | None = None

    def solution(self, start: FloatArray | None = None) -> RidgeSolution:
        """Influence of all rows and their leave-one-out scores.

        Parameters
        ----------
        start : array, (n, n_columns), optional
            Influence that is known to be near; it saves steps, and does not change the result.
        """
        if fits_in_matrix(self.form.width):
            check_work(self.known, self.form.width)
            return self._by_columns()
        products, unit = self._products()
        if self.known is None and sp.issparse(products.rows) and worth_a_factor(*self.targets.shape):
            weights, penalty = self._in_units(unit)
            if exact_enough(products, weights, penalty, self.seed):
                with contextlib.suppress(NotPositiveDefinite):
                    return self._by_factor(FactoredSystem(products, weights, penalty), unit, start)
        return self._by_iteration(products, unit, start)

    def _by_columns(self) -> RidgeSolution:
        return by_patterns(self._columns_for, self.targets, self.weights, self.known)

    def _columns_for(self, targets: Rows, weights: FloatArray) -> RidgeSolution:
        found = feature_solution(self.form, self.X, targets, weights, self.penalty, self.groups)
        influence = _Influence(self.form, found.coefficients, found.mean, self.penalty)
        V = np.concatenate(by_parts(self.X, influence, targets, weights))
        return RidgeSolution(V, found.mean, found.left_out)

    def _products(self) -> tuple[SimilarityProducts, float]:
        """What multiplies by the similarities, numbers around 1, which float32 can square; and the unit."""
        Z = self.form.rows(self.X[:])
        unit = float(np.sqrt(squared_lengths(Z).max())) or 1.0
        return SimilarityProducts(Z / unit, self.n_jobs), unit

    def _in_units(self, unit: float) -> tuple[FloatArray, float]:
        """Weights of at most 1, and the penalty that goes with them where rows are divided by a unit."""
        weight = float(self.weights.max())
        return self.weights / weight, self.penalty / (unit**2 * weight)

    def _by_factor(self, system: FactoredSystem, unit: float, start: FloatArray | None) -> RidgeSolution:
        n, width = self.targets.shape
        mean, ones = np.append(self._mean(self.weights), 0.0), sp.csr_array(np.ones((n, 1)))
        targets = sp.csr_array(sp.hstack([self.targets, ones]))
        first = None if start is None else np.column_stack([start, np.zeros(n)])
        V1, residual = self._whole(lambda part: system, system.products, unit, targets, mean, first)
        V, mean = V1[:, :width].copy(), mean[:width]
        V1[:, :width] += np.outer(V1[:, width], mean)
        T = self.targets.toarray()
        left_out, within = scores_left_out(system, unit, V1, T, self.weights, self.penalty, self.groups)
        if self._words is not None:
            asked = AskedLinearly.of(self._words, self.weights, self.groups, self.form.constant)
            codes = np.arange(n) if self.groups is None else self.groups
            left_out = asked(left_out, *sums_without(within, V1, self.targets, self.weights, codes))
        return RidgeSolution(V, mean, left_out, residual=residual)

    @cached_property
    def _words(self) -> sp.csr_array | None:
        """All rows, where columns count as words."""
        X = self.form.leaf.view(self.X[:]) if self.vocabulary and self.known is None else None
        return X if sp.issparse(X) else None

    def _by_iteration(
        self, products: SimilarityProducts, unit: float, start: FloatArray | None
    ) -> RidgeSolution:
        weights, penalty = self._in_units(unit)
        sketch = products.sketched(np.random.default_rng(self.seed))

        def systems(kept: FloatArray, there: npt.NDArray[np.bool_]) -> Systems:
            """Of the rows that are there: the others have no part in it."""
            some, seen, kept = products, sketch[there], kept[there]
            if not there.all():
                some = products.of_rows(there)
            if self.known is not None:
                known = self.known[there]
                return lambda part: MaskedSystem(some, seen, kept[:, None] * known[:, part], penalty)
            one = RidgeSystem(some, seen, kept, penalty)
            return lambda part: one

        whole, mean = systems(weights, weights > 0), self._mean(self.weights)
        V, residual = self._whole(whole, products, unit, self.targets, mean, start)
        left_out = np.empty(V.shape)
        for fold in self._folds():
            kept = self.weights - np.where(fold, self._left(), 0.0)
            there = kept > 0
            asked = None
            if self._words is not None:
                constant = self.form.constant / unit**2
                asked = AskedLinearly.beside(self._words[fold], self._words[there], constant)
            self._without(
                systems(kept / self.weights.max(), there),
                there,
                products,
                fold,
                self._mean(kept),
                asked,
                left_out,
            )
        return RidgeSolution(V, mean, left_out, residual=residual)

    def _whole(
        self,
        systems: Systems,
        products: SimilarityProducts,
        unit: float,
        targets: Rows,
        mean: FloatArray,
        start: FloatArray | None,
    ) -> tuple[FloatArray, float]:
        """The influence of all rows, and what is left over."""
        V = np.empty(targets.shape)
        left = np.zeros(V.shape[1])
        if start is not None:  # all labels are known of all rows, so that one system is that of all columns
            system = systems(slice(0))
            near = system.begins_near and start.shape[1] <= _MOST_NEAR
            start = self._near(system, products, unit, targets, mean, start) if near else None

        def work(part: slice, stopped: Callable[[], bool]) -> None:
            system = systems(part)
            B = targets[:, part].toarray() - mean[part]
            first = None if start is None else start[:, part]
            x, left[part] = system.solve(system.scale * B, _TOLERANCE, first, stopped)
            V[:, part] = system.scale * x / unit**2

        products.for_columns(V.shape[1], work)
        residual = float(left.max(initial=0.0))
        _check_residual(residual, self.penalty)
        return V, residual

    def _near(
        self,
        system: RidgeSystem,
        products: SimilarityProducts,
        unit: float,
        targets: Rows,
        mean: FloatArray,
        known: FloatArray,
    ) -> FloatArray:
        """Where to begin, given what the influence was, of which labels may have been mixed since."""
        x = known * (unit**2 / system.scale)
        product = np.empty(x.shape)

        def work(part: slice, stopped: Callable[[], bool]) -> None:
            if not stopped():
                product[:, part] = system.times(x[:, part], np.arange(part.start, part.stop))

        products.for_columns(x.shape[1], work)
        scaled = system.scale * x
        return system.near(x, product, np.asarray(targets.T @ scaled).T - np.outer(scaled.sum(axis=0), mean))

    def _without(
        self,
        systems: Systems,
        there: npt.NDArray[np.bool_],
        products: SimilarityProducts,
        fold: npt.NDArray[np.bool_],
        mean: FloatArray,
        asked: AskedLinearly | None,
        out: FloatArray,
    ) -> None:
        """Write the scores of a fold's rows, from the system of the rows that are there without them."""
        targets = self.targets[there]

        def work(part: slice, stopped: Callable[[], bool]) -> None:
            system = systems(part)
            B = targets[:, part].toarray() - mean[part]
            x, _ = system.solve(system.scale * B, _FOLD_TOLERANCE, stopped=stopped)
            influence: Block = np.zeros((len(there), x.shape[1]), dtype=np.float32)
            influence[there] = system.scale * x
            scores = products(influence)[fold] + mean[part]
            out[fold, part] = scores if asked is None else asked(scores, mean[part], influence.sum(axis=0))

        products.for_columns(out.shape[1], work)

    def _mean(self, weights: FloatArray) -> FloatArray:
        sums = np.asarray(weights @ self.targets).ravel()
        total = weights.sum() if self.known is None else weights @ self.known
        return sums / np.where(total > 0, total, 1.0)

    def _left(self) -> FloatArray:
        """How much of a row is left out: one copy of it, but all that is of its group."""
        return np.minimum(self.weights, 1.0) if self.groups is None else self.weights

    def _folds(self) -> Iterator[npt.NDArray[np.bool_]]:
        """Which rows are left out together."""
        units = content_units(np.arange(len(self.weights)), self.groups) if self.units is None else self.units
        folds = fold_numbers(units, _FOLDS, self.seed)
        for fold in range(int(folds.max()) + 1):
            yield folds == fold


@dataclass(frozen=True)
class MatrixRidge(LinearRidge):
    """The same where the similarities are there as a matrix, and are solved for by iteration."""

    S: FloatArray | None = None

    def solution(self, start: FloatArray | None = None) -> RidgeSolution:
        """Influence of all rows and their leave-one-out scores."""
        return self._by_iteration(*self._products(), None)

    def _products(self) -> tuple[SimilarityProducts, float]:
        assert self.S is not None
        unit = float(np.sqrt(np.diag(self.S).max())) or 1.0
        return MatrixProducts(self.S / unit**2, self.n_jobs), unit


@dataclass(frozen=True)
class _Influence:
    """The influence of some rows: what the columns leave over of their targets."""

    form: LinearForm
    coefficients: FloatArray
    mean: FloatArray
    penalty: float

    def __call__(self, X: Rows, targets: Rows, weights: FloatArray) -> FloatArray:
        V = np.empty(targets.shape)
        for part in blocks(n_rows(X), limits().block_rows):
            rest = targets[part].toarray() - self.mean - self.form(X[part]) @ self.coefficients
            V[part] = rest * (weights[part, None] / self.penalty)
        return V


def _check_residual(residual: float, penalty: float) -> None:
    if residual > _WORTH_A_WARNING:
        warnings.warn(
            f"Ridge(penalty={penalty:.3g}) is solved by iteration, which leaves over {residual:.1e} of what "
            f"is to be scored: rows are too large for so small a penalty. Raise it, or use normalizer='l2'.",
            ConvergenceWarning,
            stacklevel=2,
        )

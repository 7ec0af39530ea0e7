"""Ridge on inner products of many rows with many columns, by preconditioned conjugate gradients.

The matrix s Z Z' s + penalty, with s the square roots of the weights, is never formed: only products of it
with blocks of columns are computed. Similarities of text have a few large eigenvalues and a long flat tail; a
random sketch approximates the former once, as a preconditioner, so that few steps are needed (Frangella,
Tropp and Udell 2023). Block conjugate gradients look for the solutions of many columns in the directions of
all of them (O'Leary 1980), which halves the number of steps. Steps are taken in float32 and residuals are
computed in float64, so that the result is as accurate as the residual says (iterative refinement).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, merge_equal_columns, unshared_column_squares
from simlabel._utils.threads import effective_jobs, limit_blas_threads
from simlabel._utils.validation import BoolArray, FloatArray, IntArray, Rows
from simlabel.ridge._closed_form import positive_definite_inverse
from simlabel.sums import run_tasks, sparse_product

Block = npt.NDArray[np.floating[Any]]  # (n_rows, some columns), float32 or float64
Stopped = Callable[[], bool]

_STEPS = 1000  # of one round; in practice no limit, since a round that does not help ends the search
_ROUNDS = 10
_PER_ROUND = {np.float32: 1e-4, np.float64: 1e-10}  # least relative residual that a round can reach
_SAFE = 1e-5  # of the largest eigenvalue: below it, float32 cannot tell preconditioned values from 0
_ALIKE = {"f": 1e-6, "d": 1e-13}  # squared length of unit directions below which they are rounding errors


class SimilarityProducts:
    """Products Z Z' M with columns M.

    Parameters
    ----------
    Z : array or CSR, (n_rows, n_columns)
        Rows whose inner products are the similarities, float64.
    n_jobs : int or None
        Number of threads; each has columns of its own.
    own : array, (n_rows, 1), optional
        Added to the similarity of each row to itself.
    """

    def __init__(self, Z: Rows, n_jobs: int | None, own: FloatArray | None = None) -> None:
        self.threads, self.own = effective_jobs(n_jobs), own
        if sp.issparse(Z):
            # identical columns become one; terms of one row only make it similar to itself
            Z = sp.csr_array(Z)
            merged = merge_equal_columns(Z)
            alone = unshared_column_squares(Z, merged)
            self.own = alone if own is None else own + alone
            shared = sp.csr_array(Z[:, merged.representatives] * np.sqrt(merged.copies))
            Z = shared if shared.shape[1] else sp.csr_array((Z.shape[0], 1))
        self.shape, self.rows, self.columns = Z.shape, Z, sp.csr_array(Z.T) if sp.issparse(Z) else Z.T

    def of_rows(self, rows: BoolArray) -> Self:
        """Return the products with the similarities of some rows to each other."""
        return type(self)(self.rows[rows], self.threads, None if self.own is None else self.own[rows])

    def __call__(self, M: Block) -> Block:
        product = _product(self.rows, _product(self.columns, np.ascontiguousarray(M)))
        if self.own is not None:
            product += self.own.astype(M.dtype) * M
        return product

    def for_columns(self, width: int, work: Callable[[slice, Stopped], None]) -> None:
        """Call ``work(columns, stopped)`` for blocks of the columns that fit in memory, in threads."""
        most = max(1, limits().iterated_bytes // (8 * max(self.shape) * self.threads))
        n_parts = self.threads * -(-width // (most * self.threads))
        with limit_blas_threads(1):  # BLAS threads would wait for ours, and spin
            run_tasks(work, list(blocks(width, -(-width // n_parts))), self.threads)

    def sketched(self, rng: np.random.Generator) -> Block:
        """Return F, (n_rows, r), float32: F F' approximates Z Z' from below, best in large directions."""
        n = self.shape[0]
        tests = rng.standard_normal((n, min(n, limits().sketched_columns)), dtype=np.float32)
        seen = np.empty_like(tests)

        def work(part: slice, stopped: Stopped) -> None:
            if not stopped():
                seen[:, part] = self(tests[:, part])

        self.for_columns(tests.shape[1], work)
        inner = (tests.T @ seen).astype(np.float64)
        inner = (inner + inner.T) / 2
        # covers rounding in float32, so that the factor exists
        inner[np.diag_indices_from(inner)] += 1e-5 * max(np.abs(inner).sum(axis=1).max(), 1e-300)
        factor = scipy.linalg.cholesky(inner, lower=True, check_finite=False)
        return np.asarray(scipy.linalg.solve_triangular(factor, seen.T, lower=True).T, dtype=np.float32)


class MatrixProducts(SimilarityProducts):
    """Products S M with columns M, for a matrix S, (n_rows, n_rows)."""

    def __init__(self, S: FloatArray, n_jobs: int | None) -> None:
        self.threads, self.shape, self.S = effective_jobs(n_jobs), S.shape, S
        self.short = S.astype(np.float32)

    def of_rows(self, rows: BoolArray) -> Self:
        """Return the products with the similarities of some rows to each other."""
        return type(self)(self.S[np.ix_(rows, rows)], self.threads)

    def __call__(self, M: Block) -> Block:
        return np.asarray((self.short if M.dtype == np.float32 else self.S) @ M)


def _product(A: Any, M: Block) -> Block:
    """Return A M in the precision of M, for sparse or dense A."""
    return sparse_product(A, M) if sp.issparse(A) else np.asarray(A @ M, dtype=M.dtype)


class ConjugateGradients:
    """Conjugate gradients for each column by itself."""

    def __init__(self, system: RidgeSystem) -> None:
        self.system = system

    def steps(self, R: Block, goal: FloatArray, columns: IntArray, stopped: Stopped) -> Block:
        """Solve approximately for columns R of unit length, each until its residual is below its goal."""
        out = np.zeros_like(R)
        at, x = np.arange(R.shape[1]), np.zeros_like(R)
        near = self.system.precondition(R, columns)
        direction, gain = near, _inner(R, near)
        for _ in range(_STEPS):
            if stopped():
                break
            product = self.system.times(direction, columns[at])
            step = _ratio(gain, _inner(direction, product))
            x += step * direction
            R -= step * product
            active = _lengths(R) > goal
            if active.sum() <= 0.75 * len(at):  # drop finished columns, but not too often
                out[:, at] = x
                if not active.any():
                    return out
                at, goal, gain = at[active], goal[active], gain[active]
                x, R, direction = x[:, active], R[:, active], direction[:, active]
            near = self.system.precondition(R, columns[at])
            before, gain = gain, _inner(R, near)
            direction = near + _ratio(gain, before) * direction
        out[:, at] = x
        return out


class BlockConjugateGradients(ConjugateGradients):
    """Conjugate gradients with the directions of all columns.

    The last directions outlive a round: a new start would find again what they are conjugate to.
    """

    def __init__(self, system: RidgeSystem) -> None:
        self.system = system
        self.last: tuple[Block, Block, Any] | None = None  # directions, their products, and a factor

    def steps(self, R: Block, goal: FloatArray, columns: IntArray, stopped: Stopped) -> Block:
        """Solve approximately for columns R of unit length, each until its residual is below its goal."""
        out = np.zeros_like(R)
        at, x = np.arange(R.shape[1]), np.zeros_like(R)
        for _ in range(_STEPS):
            if stopped() or not self._next_directions(R, columns[at]):
                break
            assert self.last is not None
            directions, product, factor = self.last
            step = _solved(factor, directions.T @ R)
            x += directions @ step
            R = R - product @ step
            active = _lengths(R) > goal
            if active.sum() <= 0.9 * len(at):  # drop finished columns, but not too often
                out[:, at] = x
                if not active.any():
                    return out
                at, goal, x, R = at[active], goal[active], x[:, active], R[:, active]
        out[:, at] = x
        return out

    def _next_directions(self, R: Block, columns: IntArray) -> bool:
        """Compute the next directions from the residuals; return whether there are any."""
        towards = self.system.precondition(R, columns)
        if self.last is not None:
            directions, product, factor = self.last
            towards -= directions @ _solved(factor, product.T @ towards)
        towards = _orthonormal(towards)
        product = self.system.times(towards, columns)
        inner = (towards.T @ product).astype(np.float64)
        try:
            factor = scipy.linalg.cho_factor((inner + inner.T) / 2)
        except (ValueError, np.linalg.LinAlgError):  # not finite, or nothing but rounding errors
            return False
        self.last = towards, product, factor
        return towards.shape[1] > 0


class RidgeSystem:
    """The matrix s Z Z' s + penalty, and a preconditioner, which subclasses define.

    s are the square roots of the weights, which are those of all columns, (n_rows,), or of each,
    (n_rows, n_columns).
    """

    #: class that takes the steps; all columns have one matrix, and so share their directions
    search: ClassVar[type[ConjugateGradients]] = BlockConjugateGradients

    def __init__(self, products: SimilarityProducts, weights: FloatArray, penalty: float) -> None:
        self.products, self.penalty = products, penalty
        self.scale = np.sqrt(weights).reshape(len(weights), -1)

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Solve approximately for R, but for a factor; `at` are the columns' positions."""
        raise NotImplementedError

    def times(self, x: Block, at: IntArray) -> Block:
        """Return the product with x; `at` are the columns' positions."""
        scale = self.scale if self.scale.shape[1] == 1 else self.scale[:, at]
        scale = scale.astype(x.dtype, copy=False)
        return scale * self.products(scale * x) + x.dtype.type(self.penalty) * x

    def solve(
        self, B: FloatArray, tolerance: float, stopped: Stopped = lambda: False
    ) -> tuple[FloatArray, float]:
        """Solve for columns B; return the solutions and the largest relative residual."""
        lengths = _lengths(B)
        lengths[lengths == 0] = 1.0
        x, rest = np.zeros_like(B), B.copy()
        kind: Any
        for kind in (np.float32, np.float64):
            search = self.search(self)
            for _ in range(_ROUNDS):
                left = _lengths(rest)
                active = np.flatnonzero(left > tolerance * lengths)
                if stopped() or not len(active):
                    break
                unit, goal = rest[:, active] / left[active], 0.5 * tolerance * lengths[active] / left[active]
                goal = np.maximum(goal, _PER_ROUND[kind])
                found = np.asarray(search.steps(unit.astype(kind), goal, active, stopped), dtype=np.float64)
                tried = x[:, active] + left[active] * found
                after = B[:, active] - self.times(tried, active)
                better = _lengths(after) < 0.5 * left[active]  # False for what is not finite, too
                x[:, active[better]], rest[:, active[better]] = tried[:, better], after[:, better]
                if not better.all():
                    break
        return x, float((_lengths(rest) / lengths).max(initial=0.0))


class SketchedSystem(RidgeSystem):
    """A system with a preconditioner from a sketch of the similarities."""

    def __init__(
        self, products: SimilarityProducts, sketch: Block, weights: FloatArray, penalty: float
    ) -> None:
        super().__init__(products, weights, penalty)
        self.features: Block = sketch * self.scale.astype(np.float32)
        self.inverse = _preconditioner(self.features, penalty)

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Solve approximately for R, but for a factor; `at` are the columns' positions."""
        inner = self.inverse @ (self.features.T @ R.astype(np.float32, copy=False))
        return R - self.features @ inner


class MaskedSystem(RidgeSystem):
    """Sketched systems of which each column has weights of its own: 0 for unknown targets."""

    search = ConjugateGradients

    def __init__(
        self, products: SimilarityProducts, sketch: Block, weights: FloatArray, penalty: float
    ) -> None:
        super().__init__(products, weights, penalty)
        self.sketch = sketch[:, : limits().masked_columns]
        scales = self.scale.T.astype(np.float32)
        self.inverses: Block = np.stack([_preconditioner(self.sketch * s[:, None], penalty) for s in scales])

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Solve approximately for R, but for a factor; `at` are the columns' positions."""
        scale = self.scale[:, at].astype(np.float32)
        inner = self.sketch.T @ (scale * R.astype(np.float32, copy=False))
        inner = np.einsum("kij,jk->ik", self.inverses[at], inner, optimize=True)
        return R - scale * (self.sketch @ inner)


def _preconditioner(features: Block, penalty: float) -> Block:
    G = (features.T @ features).astype(np.float64)
    values = np.linalg.eigvalsh(G)
    # beyond the sketch, eigenvalues are about as large as its smallest
    shift = max(penalty + max(values[0], 0.0), _SAFE * values[-1])
    return positive_definite_inverse(G, np.full(len(G), shift)).astype(np.float32)


def _orthonormal(A: Block) -> Block:
    """Return orthonormal directions that span columns; nearly equal columns give one."""
    lengths = _lengths(A)
    A = A[:, np.isfinite(lengths) & (lengths > 0)]
    A = A / _lengths(A).astype(A.dtype)
    values, vectors = np.linalg.eigh((A.T @ A).astype(np.float64))
    there = values > _ALIKE[A.dtype.char] * max(1, A.shape[1])
    return np.asarray(A @ (vectors[:, there] / np.sqrt(values[there])).astype(A.dtype))


def _solved(factor: Any, towards: Block) -> Block:
    found = scipy.linalg.cho_solve(factor, towards.astype(np.float64), check_finite=False)
    return np.asarray(found, dtype=towards.dtype)


def _inner(A: Block, B: Block) -> Block:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _lengths(A: Block) -> FloatArray:
    return np.sqrt(_inner(A, A)).astype(np.float64)


def _ratio(a: Block, b: Block) -> Block:
    """Return a / b, and 0 where b is 0."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)

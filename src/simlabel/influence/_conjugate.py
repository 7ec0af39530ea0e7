"""Ridge on inner products of many rows with many columns, by preconditioned conjugate gradients.

The matrix s Z Z' s + penalty, s the roots of the weights, is never made: what is asked of it are its
products with some columns at a time. Similarities of text have a few large directions and a long flat
tail; a random sketch finds the former once, and with them out of the way few steps are needed (Frangella,
Tropp and Udell 2023). Steps are taken in float32, and what is left over is computed in float64, so that
the result is as exact as that says (iterative refinement).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from simlabel._kernels import sparse_times_dense
from simlabel.engines.running import run_tasks
from simlabel.influence._closed_form import positive_definite_inverse
from simlabel.rows import blocks
from simlabel.support.limits import limits
from simlabel.support.threads import effective_jobs, held_blas
from simlabel.support.validation import FloatArray, IntArray, Rows

Block = npt.NDArray[np.floating[Any]]  # (n_rows, some columns), float32 or float64

_STEPS = 1000  # of one round, which is as good as endless: a round that does not help ends the search
_ROUNDS = 10
_PER_ROUND = {np.float32: 1e-4, np.float64: 1e-10}  # what a round may gain before rounding eats it
_SAFE = 1e-5  # of the largest direction: below it float32 cannot tell what a preconditioner leaves from 0


class SimilarityProducts:
    """Z Z' M for columns M.

    Parameters
    ----------
    Z : array or CSR, (n_rows, n_columns)
        Rows whose inner products are the similarities, float64.
    n_jobs : int or None
        Threads, each of which has columns of its own.
    """

    def __init__(self, Z: Rows, n_jobs: int | None) -> None:
        self.threads, self.own = effective_jobs(n_jobs), None
        if sp.issparse(Z):
            Z, self.own = _shared_columns(sp.csr_array(Z))
        self.shape, self.rows, self.columns = Z.shape, Z, sp.csr_array(Z.T) if sp.issparse(Z) else Z.T

    def __call__(self, M: Block) -> Block:
        product = _product(self.rows, _product(self.columns, np.ascontiguousarray(M)))
        if self.own is not None:
            product += self.own.astype(M.dtype) * M
        return product

    def for_columns(self, width: int, work: Callable[[slice, Callable[[], bool]], None]) -> None:
        """Call ``work(columns, stopped)`` for some of `width` columns at a time, as many as memory allows."""
        most = limits().iterated_bytes // (8 * max(self.shape) * self.threads)
        parts = list(blocks(width, max(1, min(most, -(-width // self.threads)))))
        with held_blas(1):  # its threads would wait for ours, and spin
            run_tasks(work, parts, self.threads)

    def sketched(self, rng: np.random.Generator) -> Block:
        """F, (n_rows, r), float32: F F' is close to Z Z' in its largest directions, and never above it."""
        n = self.shape[0]
        tests = rng.standard_normal((n, min(n, limits().sketched_columns)), dtype=np.float32)
        seen = np.empty_like(tests)

        def work(part: slice, stopped: Callable[[], bool]) -> None:
            if not stopped():
                seen[:, part] = self(tests[:, part])

        self.for_columns(tests.shape[1], work)
        inner = (tests.T @ seen).astype(np.float64)
        inner = (inner + inner.T) / 2
        # what float32 has lost, so that the factor exists
        inner[np.diag_indices_from(inner)] += 1e-5 * max(np.abs(inner).sum(axis=1).max(), 1e-300)
        factor = scipy.linalg.cholesky(inner, lower=True, check_finite=False)
        return np.asarray(scipy.linalg.solve_triangular(factor, seen.T, lower=True).T, dtype=np.float32)


class MatrixProducts(SimilarityProducts):
    """S M for columns M, where S is there as a matrix, (n_rows, n_rows)."""

    def __init__(self, S: FloatArray, n_jobs: int | None) -> None:
        self.threads, self.shape, self.S = effective_jobs(n_jobs), S.shape, S
        self.short = S.astype(np.float32)

    def __call__(self, M: Block) -> Block:
        return np.asarray((self.short if M.dtype == np.float32 else self.S) @ M)


def _shared_columns(Z: sp.csr_array) -> tuple[sp.csr_array, FloatArray]:
    """The columns that several rows have, and what the others add to each row's similarity to itself.

    Most terms of texts are in one row only: they would be most of the work, and make no two rows alike.
    """
    shared = np.bincount(Z.indices, minlength=Z.shape[1]) > 1
    there = shared[Z.indices]
    rows = np.repeat(np.arange(Z.shape[0]), np.diff(Z.indptr))
    own = np.bincount(rows[~there], Z.data[~there] ** 2, minlength=Z.shape[0]).astype(np.float64)[:, None]
    indices = (np.cumsum(shared) - 1)[Z.indices[there]]
    indptr = np.concatenate([[0], np.cumsum(there)])[Z.indptr]
    shape = (Z.shape[0], max(1, int(shared.sum())))
    return sp.csr_array((Z.data[there], indices, indptr), shape=shape), own


def _product(A: Any, M: Block) -> Block:
    """A M in the precision of M, for sparse or dense A."""
    if not sp.issparse(A):
        return np.asarray(A @ M, dtype=M.dtype)
    out = np.empty((A.shape[0], M.shape[1]), dtype=M.dtype)
    sparse_times_dense(A.indptr, A.indices, A.data, M, out)
    return out


class RidgeSystem:
    """s Z Z' s + penalty, where s is the root of each row's weight, and nearly its inverse.

    A row of weight 0 has no part in it.
    """

    def __init__(
        self, products: SimilarityProducts, sketch: Block, weights: FloatArray, penalty: float
    ) -> None:
        self.products, self.penalty = products, penalty
        self.scale = np.sqrt(weights)[:, None]
        self.features: Block = sketch * self.scale.astype(np.float32)
        G = (self.features.T @ self.features).astype(np.float64)
        values = np.linalg.eigvalsh(G)
        # beyond the sketch, directions are about as large as its smallest
        shift = max(penalty + values[0], _SAFE * values[-1])
        self.inverse = positive_definite_inverse(G, np.full(len(G), shift)).astype(np.float32)

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Nearly the solution for R, but for a factor; `at` says which of the columns these are."""
        inner = self.inverse @ (self.features.T @ R.astype(np.float32, copy=False))
        return R - self.features @ inner

    def times(self, x: Block, at: IntArray) -> tuple[Block, Block]:
        """The product with x, and Z Z' s x; `at` says which of the columns these are."""
        scale = self.scale_of(at).astype(x.dtype, copy=False)
        sums = self.products(scale * x)
        return scale * sums + x.dtype.type(self.penalty) * x, sums

    def scale_of(self, at: IntArray) -> FloatArray:
        """s, for some columns."""
        return self.scale

    def solve(
        self,
        B: FloatArray,
        tolerance: float,
        start: FloatArray | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> tuple[FloatArray, FloatArray, float]:
        """x for columns B, Z Z' s x, and what is left over of B: the largest share of a column's length."""
        lengths = _lengths(B)
        lengths[lengths == 0] = 1.0
        x = np.zeros_like(B) if start is None else start
        every = np.arange(B.shape[1])
        product, sums = (np.zeros_like(B), np.zeros_like(B)) if start is None else self.times(x, every)
        rest: FloatArray = B - product
        kind: Any = np.float32
        for _ in range(_ROUNDS):
            if stopped():
                break
            left = _lengths(rest)
            open_ = np.flatnonzero(left > tolerance * lengths)
            if not len(open_):
                break
            unit = (rest[:, open_] / left[open_]).astype(kind)
            goal = np.maximum(0.5 * tolerance * lengths[open_] / left[open_], _PER_ROUND[kind])
            tried = x[:, open_] + left[open_] * self._steps(unit, goal, open_, stopped)
            product, seen = self.times(tried, open_)
            after = B[:, open_] - product
            better = _lengths(after) < 0.5 * left[open_]  # False for what is not finite, too
            good = open_[better]
            x[:, good], sums[:, good], rest[:, good] = tried[:, better], seen[:, better], after[:, better]
            if not better.all():
                if kind is np.float64:
                    break
                kind = np.float64
        return x, sums, float((_lengths(rest) / lengths).max(initial=0.0))

    def _steps(self, R: Block, goal: FloatArray, columns: IntArray, stopped: Callable[[], bool]) -> Block:
        """Conjugate gradients for columns R of length 1, each until what is left over is below its goal."""
        out = np.zeros_like(R)
        at, x = np.arange(R.shape[1]), np.zeros_like(R)
        near = self.precondition(R, columns)
        direction, gain = near, _inner(R, near)
        for _ in range(_STEPS):
            if stopped():
                break
            product, _sums = self.times(direction, columns[at])
            step = _ratio(gain, _inner(direction, product))
            x += step * direction
            R -= step * product
            open_ = _lengths(R) > goal
            if open_.sum() <= 0.75 * len(at):  # columns that are done are dropped, not too often
                out[:, at] = x
                if not open_.any():
                    return out
                at, goal, gain = at[open_], goal[open_], gain[open_]
                x, R, direction = x[:, open_], R[:, open_], direction[:, open_]
            near = self.precondition(R, columns[at])
            before, gain = gain, _inner(R, near)
            direction = near + _ratio(gain, before) * direction
        out[:, at] = x
        return out


class MaskedSystem(RidgeSystem):
    """The same where each column has weights of its own, (n_rows, n_columns): 0 where it is not known."""

    def __init__(
        self, products: SimilarityProducts, sketch: Block, weights: FloatArray, penalty: float
    ) -> None:
        self.products, self.penalty, self.scale = products, penalty, np.sqrt(weights)
        self.sketch = sketch[:, : limits().masked_columns]
        made = []
        for s in self.scale.T.astype(np.float32):
            features = self.sketch * s[:, None]
            G = (features.T @ features).astype(np.float64)
            values = np.linalg.eigvalsh(G)
            shift = max(penalty + max(values[0], 0.0), _SAFE * values[-1])
            made.append(positive_definite_inverse(G, np.full(len(G), shift)).astype(np.float32))
        self.inverses: Block = np.stack(made)

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Nearly the solution for R, but for a factor."""
        scale = self.scale[:, at].astype(np.float32)
        inner = self.sketch.T @ (scale * R.astype(np.float32, copy=False))
        inner = np.einsum("kij,jk->ik", self.inverses[at], inner, optimize=True)
        return R - scale * (self.sketch @ inner)

    def scale_of(self, at: IntArray) -> FloatArray:
        """s, for some columns."""
        return self.scale[:, at]


def _inner(A: Block, B: Block) -> Block:
    return np.asarray(np.einsum("ij,ij->j", A, B))


def _lengths(A: Block) -> FloatArray:
    return np.sqrt(_inner(A, A)).astype(np.float64)


def _ratio(a: Block, b: Block) -> Block:
    """a / b, and 0 where a column is done."""
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)

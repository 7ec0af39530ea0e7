"""Ridge on inner products of many columns, by a tiled Cholesky factor in single precision.

For up to 32,768 rows with many labels: a factor takes as long for one label as for a thousand, and the error
of single precision is removed by iteration. The inverse gives leave-one-out scores in closed form. Only the
lower half is stored, in square tiles (1.9 GB for 30,000 rows). Nearly all the work is products of tiles, each
by one thread with BLAS to itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import cholesky_in_place, invert_lower_in_place, sparse_times_dense
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel._utils.threads import limit_blas_threads
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.ridge._conjugate_gradients import (
    Block,
    ConjugateGradients,
    RidgeSystem,
    SimilarityProducts,
    Stopped,
)
from simlabel.ridge._leave_one_out import Within, closed_form_loo_scores, scores_without_groups
from simlabel.sums import run_tasks

_DIGITS = 0.2  # share of the penalty that the rounding of the smallest eigenvalues may reach
_WORTH = 3e6  # n^2 over the number of labels, below which a factor is faster than iteration
_POWERS = 8  # power iterations that estimate the largest eigenvalue


class NotPositiveDefinite(ValueError):
    """In single precision there is no factor."""


class Tiles:
    """The lower half of a symmetric matrix, in tiles; `factor` and `invert` change it in place.

    Parameters
    ----------
    n : int
        Number of rows.
    n_jobs : int
        Number of threads.
    """

    def __init__(self, n: int, n_jobs: int) -> None:
        self.side = limits().tile_side
        self.parts = list(blocks(n, self.side))
        self.n, self.threads = n, n_jobs
        self.at: list[list[Block]] = [
            [np.empty((_length(row), _length(column)), dtype=np.float32) for column in self.parts[: i + 1]]
            for i, row in enumerate(self.parts)
        ]

    def put(self, columns: slice, values: Block) -> None:
        """Write columns that lie in one column of tiles.

        The first row of `values` is the first row of the diagonal tile.
        """
        j = columns.start // self.side
        first = self.parts[j].start
        inside = slice(columns.start - first, columns.stop - first)
        for i in range(j, len(self.parts)):
            part = self.parts[i]
            self.at[i][j][:, inside] = values[part.start - first : part.stop - first]

    def add_to_diagonal(self, values: FloatArray) -> None:
        """Add numbers, (n,), to the diagonal."""
        for k, part in enumerate(self.parts):
            self.at[k][k][np.diag_indices(_length(part))] += values[part].astype(np.float32)

    def factor(self) -> None:
        """Replace the matrix by its lower factor L; tiles on the diagonal become inverses of those of L."""
        n = len(self.parts)
        for k in range(n):
            with limit_blas_threads(1):
                own = self.at[k][k] = _inverse_factor(self.at[k][k])

            def solve(i: int, k: int = k, own: Block = own) -> None:
                self.at[i][k] = self.at[i][k] @ own.T

            def update(pair: tuple[int, int], k: int = k) -> None:
                i, j = pair
                self.at[i][j] -= self.at[i][k] @ self.at[j][k].T

            self._each(range(k + 1, n), solve)
            self._each([(i, j) for i in range(k + 1, n) for j in range(k + 1, i + 1)], update)

    def solve(self, B: Block) -> Block:
        """Solve for B, (n, width), by the factor."""
        x = B.astype(np.float32)
        for k, part in enumerate(self.parts):
            for j in range(k):
                x[part] -= self.at[k][j] @ x[self.parts[j]]
            x[part] = self.at[k][k] @ x[part]
        for k, part in reversed(list(enumerate(self.parts))):
            for i in range(k + 1, len(self.parts)):
                x[part] -= self.at[i][k].T @ x[self.parts[i]]
            x[part] = self.at[k][k].T @ x[part]
        return x.astype(B.dtype, copy=False)

    def invert(self) -> None:
        """Replace the factor by its inverse, whose Gram matrix is the inverse of the matrix."""
        n = len(self.parts)
        for j in range(n):
            own = self.at[j][j]
            column = [own] + [np.empty_like(self.at[i][j]) for i in range(j + 1, n)]

            def fill(some: slice, j: int = j, column: list[Block] = column) -> None:
                for i in range(j + 1, n):
                    total = self.at[i][j] @ column[0][:, some]
                    for k in range(j + 1, i):
                        total += self.at[i][k] @ column[k - j][:, some]
                    column[i - j][:, some] = -(self.at[i][i] @ total)

            self._each(list(blocks(len(own), -(-len(own) // self.threads))), fill)
            for i in range(j + 1, n):
                self.at[i][j] = column[i - j]

    def diagonal(self) -> FloatArray:
        """Return the diagonal of the inverse of the matrix, (n,), after `invert`."""
        out = np.zeros(self.n)
        for row in self.at:
            for part, tile in zip(self.parts, row, strict=False):
                out[part] += np.einsum("ij,ij->j", tile, tile, dtype=np.float64)
        return out

    def within(self, groups: IntArray) -> FloatArray:
        """Return blocks of the inverse of the matrix, (n_groups, size, size), after `invert`."""
        n_groups, size = groups.shape
        out = np.zeros((n_groups, size, size))
        most = max(1, limits().block_bytes // (4 * self.side * size))

        def fill(some: slice) -> None:
            which = groups[some].ravel()
            for i in range(len(self.parts)):
                columns = self._columns(i, which).reshape(-1, size, _length(self.parts[i]))
                out[some] += columns @ columns.transpose(0, 2, 1)

        self._each(list(blocks(n_groups, most)), fill)
        return out

    def _columns(self, i: int, which: IntArray) -> Block:
        """Return columns of the inverted factor in the i-th row of tiles, (n_columns, height of a tile)."""
        out = np.zeros((len(which), _length(self.parts[i])), dtype=np.float32)
        of_tile = which // self.side
        for j in np.unique(of_tile[of_tile <= i]).tolist():
            requested = np.flatnonzero(of_tile == j)
            out[requested] = self.at[i][j][:, which[requested] - self.parts[j].start].T
        return out

    def _each(self, tasks: Iterable[object], work: Callable[..., None]) -> None:
        def unless_stopped(task: object, stopped: Stopped) -> None:
            if not stopped():
                work(task)

        with limit_blas_threads(1):  # BLAS threads would wait for ours, and spin
            run_tasks(unless_stopped, list(tasks), self.threads)


def _inverse_factor(A: Block) -> Block:
    factor = np.array(A, order="F")
    if cholesky_in_place(factor):
        raise NotPositiveDefinite("A tile on the diagonal is not positive definite in single precision.")
    invert_lower_in_place(factor)
    return np.ascontiguousarray(np.tril(factor))


def _length(part: slice) -> int:
    return int(part.stop - part.start)


def factorization_pays(n: int, width: int) -> bool:
    """Return whether a factor of n rows fits in memory, and is faster than iteration for so many columns."""
    return 2 * n**2 <= limits().factor_bytes and n**2 <= _WORTH * width


def is_accurate_enough(products: SimilarityProducts, weights: FloatArray, penalty: float, seed: int) -> bool:
    """Return whether single precision can tell the smallest eigenvalues from 0."""
    scale = np.sqrt(weights)[:, None]
    x = np.random.default_rng(seed).standard_normal((products.shape[0], 4))
    largest = 0.0
    for _ in range(_POWERS):
        x /= np.linalg.norm(x, axis=0)
        x = scale * products(scale * x)
        largest = float(np.linalg.norm(x, axis=0).max())
    return bool(np.finfo(np.float32).eps * largest <= _DIGITS * penalty)


class FactoredSystem(RidgeSystem):
    """The matrix s Z Z' s + penalty, with its factor in single precision as the preconditioner."""

    search = ConjugateGradients  # few steps are needed for any column

    def __init__(self, products: SimilarityProducts, weights: FloatArray, penalty: float) -> None:
        super().__init__(products, weights, penalty)
        self.tiles = _similarity_tiles(products, self.scale.ravel(), penalty)
        self.tiles.factor()

    def precondition(self, R: Block, at: IntArray) -> Block:
        """Solve for R in single precision."""
        return self.tiles.solve(R)


def _similarity_tiles(products: SimilarityProducts, scale: FloatArray, penalty: float) -> Tiles:
    """Return the lower half of s Z Z' s + penalty."""
    n = products.shape[0]
    tiles = Tiles(n, products.threads)
    rows = sp.csr_array(sp.diags_array(scale) @ products.rows)
    rows.data = rows.data.astype(np.float32)
    own = penalty + (0.0 if products.own is None else products.own.ravel() * scale**2)
    width = max(16, limits().block_bytes // (4 * rows.shape[1]))

    def fill(part: slice, stopped: Stopped) -> None:
        below, dense = rows[part.start :], np.zeros((rows.shape[1], width), dtype=np.float32)
        for some in blocks(part.stop - part.start, width):
            if stopped():
                return
            columns = slice(part.start + some.start, part.start + some.stop)
            few = rows[columns].tocoo()
            dense[few.col, few.row] = few.data
            out = np.empty((n - part.start, width), dtype=np.float32)
            sparse_times_dense(below.indptr, below.indices, below.data, dense, out)
            dense[few.col] = 0.0
            tiles.put(columns, out[:, : columns.stop - columns.start])

    run_tasks(fill, tiles.parts, products.threads)
    tiles.add_to_diagonal(np.broadcast_to(own, n))
    return tiles


def factored_left_out_scores(
    system: FactoredSystem,
    unit: float,
    AY1: FloatArray,
    targets: FloatArray,
    weights: FloatArray,
    penalty: float,
    groups: IntArray | None,
) -> tuple[FloatArray, Within]:
    """Return scores of each row without itself or its group, (n, width), and the blocks of the inverse.

    Parameters
    ----------
    system : FactoredSystem
        Its factor is inverted in place, so that it solves nothing any more.
    unit : float
        By which the rows were divided.
    AY1 : array, (n, width + 1)
        Solutions for the targets and ones.
    """
    tiles, scale = system.tiles, system.scale.ravel() / unit
    tiles.invert()
    if groups is None:
        diagonal = tiles.diagonal() * scale**2
        scores = closed_form_loo_scores(AY1, diagonal, targets, weights, penalty)
        return scores, lambda rows: diagonal[rows][:, :, None]

    def within(rows: IntArray) -> FloatArray:
        return np.asarray(tiles.within(rows) * scale[rows][:, :, None] * scale[rows][:, None, :])

    return scores_without_groups(within, AY1, targets, weights, groups), within

"""The inverse of a large positive definite matrix, of which half is kept, in square tiles of float32.

Nearly all the work is products of tiles, each by one thread with BLAS to itself; a matrix of 30,000 rows
takes 1.9 GB. Single precision is enough for what a solution is refined by, and for leave-one-out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from simlabel._utils.kernels import cholesky_in_place, invert_lower_in_place
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel._utils.threads import held_blas
from simlabel._utils.validation import FloatArray, IntArray
from simlabel.ridge._groups import Positions
from simlabel.ridge._products import Block
from simlabel.sums import run_tasks


class NotPositiveDefinite(ValueError):
    """Rounding has left no factor."""


class Tiles:
    """The lower half of a symmetric matrix, tile by tile; `factor` and `invert` change it in place.

    Parameters
    ----------
    n : int
        Rows of the matrix.
    n_jobs : int
        Threads.
    """

    def __init__(self, n: int, n_jobs: int) -> None:
        self.side = limits().tile_side
        self.parts = list(blocks(n, self.side))
        self.n, self.threads = n, n_jobs
        self.at: list[list[Block]] = [
            [np.empty((_length(row), _length(column)), dtype=np.float32) for column in self.parts[: i + 1]]
            for i, row in enumerate(self.parts)
        ]

    def put(self, rows: slice, columns: slice, values: Block) -> None:
        """Write all rows from the first of a tile on, for some columns of one tile."""
        j = columns.start // self.side
        inside = slice(columns.start - self.parts[j].start, columns.stop - self.parts[j].start)
        for i in range(j, len(self.parts)):
            part = self.parts[i]
            self.at[i][j][:, inside] = values[part.start - rows.start : part.stop - rows.start]

    def add_to_diagonal(self, values: FloatArray) -> None:
        """Add numbers, (n,), to the diagonal."""
        for k, part in enumerate(self.parts):
            self.at[k][k][np.diag_indices(_length(part))] += values[part].astype(np.float32)

    def factor(self) -> None:
        """Make it the lower factor L of itself, but for tiles on the diagonal, which are inverses of L's."""
        n = len(self.parts)
        for k in range(n):
            with held_blas(1):
                own = self.at[k][k] = _inverse_factor(self.at[k][k])
            self._each(range(k + 1, n), lambda i, k=k, own=own: self._turn(i, k, own))
            pairs = [(i, j) for i in range(k + 1, n) for j in range(k + 1, i + 1)]
            self._each(pairs, lambda pair, k=k: self._update(pair, k))

    def _turn(self, i: int, k: int, own: Block) -> None:
        self.at[i][k] = self.at[i][k] @ own.T

    def _update(self, pair: tuple[int, int], k: int) -> None:
        i, j = pair
        self.at[i][j] -= self.at[i][k] @ self.at[j][k].T

    def solve(self, B: Block) -> Block:
        """What the matrix times it is B, (n, width), for a matrix that has been factored."""
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
        """Make the factor its inverse: the inverse of the matrix is what its columns' products are."""
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
        """Of the inverse of the matrix, (n,), for one that has been inverted."""
        out = np.zeros(self.n)
        for row in self.at:
            for part, tile in zip(self.parts, row, strict=False):
                out[part] += np.einsum("ij,ij->j", tile, tile, dtype=np.float64)
        return out

    def within(self, groups: Positions) -> FloatArray:
        """Of the inverse, what groups of rows have among themselves, (n_groups, size, size)."""
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
        """Some columns of the inverted factor in the i-th row of tiles, (n_columns, height of a tile)."""
        out = np.zeros((len(which), _length(self.parts[i])), dtype=np.float32)
        of_tile = which // self.side
        for j in np.unique(of_tile[of_tile <= i]).tolist():
            wanted = np.flatnonzero(of_tile == j)
            out[wanted] = self.at[i][j][:, which[wanted] - self.parts[j].start].T
        return out

    def _each(self, tasks: Iterable[object], work: Callable[..., None]) -> None:
        def unless_stopped(task: object, stopped: Callable[[], bool]) -> None:
            if not stopped():
                work(task)

        with held_blas(1):  # its threads would wait for ours, and spin
            run_tasks(unless_stopped, list(tasks), self.threads)


def _inverse_factor(A: Block) -> Block:
    factor = np.array(A, order="F")
    if cholesky_in_place(factor):
        raise NotPositiveDefinite("A tile on the diagonal is not positive definite in single precision.")
    invert_lower_in_place(factor)
    return np.ascontiguousarray(np.tril(factor))


def _length(part: slice) -> int:
    return int(part.stop - part.start)

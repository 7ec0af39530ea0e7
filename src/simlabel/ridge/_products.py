"""Products with the similarities of rows that are compared by inner products; their matrix is never made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt
import scipy.linalg
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import alone_in_rows, blocks, merged_columns
from simlabel._utils.threads import effective_jobs, held_blas
from simlabel._utils.validation import FloatArray, Rows
from simlabel.sums import run_tasks, sparse_product

Block = npt.NDArray[np.floating[Any]]  # (n_rows, some columns), float32 or float64


class SimilarityProducts:
    """Z Z' M for columns M.

    Parameters
    ----------
    Z : array or CSR, (n_rows, n_columns)
        Rows whose inner products are the similarities, float64.
    n_jobs : int or None
        Threads, each of which has columns of its own.
    own : array, (n_rows, 1), optional
        What is added to each row's similarity to itself.
    """

    def __init__(self, Z: Rows, n_jobs: int | None, own: FloatArray | None = None) -> None:
        self.threads, self.own = effective_jobs(n_jobs), own
        if sp.issparse(Z):
            Z, alone = _shared_columns(sp.csr_array(Z))
            self.own = alone if own is None else own + alone
        self.shape, self.rows, self.columns = Z.shape, Z, sp.csr_array(Z.T) if sp.issparse(Z) else Z.T

    def of_rows(self, rows: npt.NDArray[np.bool_]) -> Self:
        """Of some of the rows among themselves."""
        return type(self)(self.rows[rows], self.threads, None if self.own is None else self.own[rows])

    def __call__(self, M: Block) -> Block:
        product = _product(self.rows, _product(self.columns, np.ascontiguousarray(M)))
        if self.own is not None:
            product += self.own.astype(M.dtype) * M
        return product

    def for_columns(self, width: int, work: Callable[[slice, Callable[[], bool]], None]) -> None:
        """Call ``work(columns, stopped)`` for some of `width` columns at a time, as many as memory allows.

        All threads have parts of about the same width.
        """
        most = max(1, limits().iterated_bytes // (8 * max(self.shape) * self.threads))
        n_parts = self.threads * -(-width // (most * self.threads))
        with held_blas(1):  # its threads would wait for ours, and spin
            run_tasks(work, list(blocks(width, -(-width // n_parts))), self.threads)

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

    def of_rows(self, rows: npt.NDArray[np.bool_]) -> Self:
        """Of some of the rows among themselves."""
        return type(self)(self.S[np.ix_(rows, rows)], self.threads)

    def __call__(self, M: Block) -> Block:
        return np.asarray((self.short if M.dtype == np.float32 else self.S) @ M)


def _shared_columns(Z: sp.csr_array) -> tuple[sp.csr_array, FloatArray]:
    """Fewer columns with the same inner products, and what else makes each row similar to itself.

    Terms that one row has would be most of the work, and make no two rows alike.
    """
    merged = merged_columns(Z)
    kept = sp.csr_array(Z[:, merged.kept] * np.sqrt(merged.copies))
    return (kept if kept.shape[1] else sp.csr_array((Z.shape[0], 1))), alone_in_rows(Z, merged)


def _product(A: Any, M: Block) -> Block:
    """A M in the precision of M, for sparse or dense A."""
    if not sp.issparse(A):
        return np.asarray(A @ M, dtype=M.dtype)
    return sparse_product(A, M)

"""Sparse rows: only pairs with a column in common are visited, and the sum is still exact.

A pair without a common column has similarity g(q) g(x), whose sum over all references is g(q) times one row
that does not depend on the query, the background. What the other pairs have beyond that is added. If
influence is dense, as learned influence is, similarities are found in this way and summed in one product.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import add_rows, common_terms
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel._utils.validation import BoolArray, FloatArray, IntArray
from simlabel.sums._base import Job, PairProgress, Plan, ReduceCall
from simlabel.sums._prepared import Prepared, row_norms
from simlabel.sums._reducers import SumReducer
from simlabel.sums._running import ProgressCounter, empty_outputs, run_tasks

_SPARSE = "sparse sums"  # key of a job's cache


def reduce_sparse(call: ReduceCall, plan: Plan, on_block: PairProgress | None) -> list[FloatArray]:
    """Reduce pairs with a column in common; tasks are blocks of queries."""
    Q, prepared, outputs = sp.csr_array(call.Q), call.prepared, empty_outputs(plan, call.jobs)
    ticker = ProgressCounter(plan.n_queries * plan.n_references, on_block, prepared)
    ways = [_way(job, prepared) for job in call.jobs]

    def work(queries: slice, stopped: Callable[[], bool]) -> None:
        n, exclude = queries.stop - queries.start, call.excluded(queries)
        rows = Q if n == plan.n_queries else Q[queries]
        readers = {key: _Reader(prepared, key, rows) for key in prepared.leaves}
        found: list[list[FloatArray]] = [[] for _ in ways]
        for i in range(n):
            if stopped():
                return
            own, share = (-1, 0.0) if exclude is None else (int(exclude.own[i]), exclude.share[i])
            for reader in readers.values():
                reader.read(i)
            for way, done in zip(ways, found, strict=True):
                done.append(way.row(readers[way.leaf.key], i, own, share))
        for way, done, output in zip(ways, found, outputs, strict=True):
            output[queries] = way.summed(done)
        ticker.tick(n * plan.n_references)

    run_tasks(work, list(blocks(plan.n_queries, limits().sparse_task_queries)), plan.threads)
    return outputs


class _Reader:
    """What one query after the other has in common with references."""

    def __init__(self, prepared: Prepared, key: Hashable, rows: sp.csr_array) -> None:
        leaf = prepared.leaves[key]
        self.term, self.columns = leaf.common_term, prepared.by_column(key)
        self.rows = sp.csr_array(leaf.view(rows))
        self.norms = row_norms(leaf, self.rows)
        n = prepared.n_rows
        self.dense, self.products = np.full(n, np.nan), np.empty(n)
        self.visited: BoolArray = np.zeros(n, dtype=np.bool_)
        self.space: IntArray = np.empty(n, dtype=np.int64)

    def read(self, i: int) -> None:
        """Find the references that have a column in common with query i."""
        entries = slice(self.rows.indptr[i], self.rows.indptr[i + 1])
        count = common_terms(
            self.term,
            self.rows.indices[entries],
            self.rows.data[entries].astype(np.float64, copy=False),
            self.columns.indptr,
            self.columns.indices,
            self.columns.data,
            self.dense,
            self.visited,
            self.space,
            self.products,
        )
        self.references = self.space[:count]
        self.values = self.products[:count]


def _way(job: Job, prepared: Prepared) -> _Products | _Background:
    """Return how a job is summed; cached, since for one query this takes longer than the sums."""
    known, way = job.cache.get(_SPARSE, (None, None))
    if known is not prepared:
        assert isinstance(job.reducer, SumReducer)
        V = job.reducer.influence.V
        way = _Background(job, prepared, sp.csr_array(V)) if sp.issparse(V) else _Products(job, prepared, V)
        job.cache[_SPARSE] = prepared, way
    return way


class _Products:
    """Dense influence: a row of similarities for each query, and one product for all of them."""

    def __init__(self, job: Job, prepared: Prepared, V: Any) -> None:
        self.job, self.V, self.leaf = job, V, job.leaves[0]
        self.norms: FloatArray = prepared.norms[self.leaf.key][:]
        self.factors: Any = self.leaf.zero_product_factor(self.norms)

    def similarities(self, reader: _Reader, i: int) -> tuple[float, FloatArray]:
        """Return g(q) of query i, and its similarities to references with a common column."""
        norms = reader.norms[i : i + 1]
        g = float(self.leaf.zero_product_factor(norms)[0])  # type: ignore[index]
        sides = norms, self.norms[reader.references]
        S = self.leaf.finish(self.leaf.similarity.from_common(reader.values[None, :].copy(), *sides), *sides)
        return g, (S if self.job.weighting is None else self.job.weighting.apply(S))[0]

    def row(self, reader: _Reader, i: int, own: int, share: float) -> FloatArray:
        """Return the similarities of query i to all references, its own entry times `share`."""
        g, S = self.similarities(reader, i)
        row: FloatArray = g * self.factors
        row[reader.references] = S
        if own >= 0:
            row[own] *= share
        return row

    def summed(self, rows: list[FloatArray]) -> FloatArray:
        """Return the sums of some queries."""
        out: FloatArray = np.stack(rows) @ self.V
        return out


class _Background(_Products):
    """Sparse influence: the sums without common columns, and what a query adds to them."""

    def __init__(self, job: Job, prepared: Prepared, V: sp.csr_array) -> None:
        super().__init__(job, prepared, V)
        self.total = np.asarray(V.T @ self.factors)
        self._by_label: sp.csc_array | None = None

    def row(self, reader: _Reader, i: int, own: int, share: float) -> FloatArray:
        """Return the sums of query i, its own entry times `share`."""
        g, S = self.similarities(reader, i)
        found = reader.references
        beyond = S - g * self.factors[found]
        out = self.total.copy() if own < 0 else self._total_without(own, share)
        out *= g
        if own >= 0:
            beyond[found == own] *= share
        add_rows(beyond, found, self.V.indptr, self.V.indices, self.V.data, out)
        return out

    def summed(self, rows: list[FloatArray]) -> FloatArray:
        """Return the sums of some queries."""
        return np.stack(rows)

    def _total_without(self, own: int, share: float) -> FloatArray:
        """Return the background without a reference; recomputed for labels that it dominates.

        Otherwise it is subtracted: more than half remains, which loses no digit.
        """
        out = self.total.copy()
        entries = slice(self.V.indptr[own], self.V.indptr[own + 1])
        for k, v in zip(self.V.indices[entries], self.V.data[entries], strict=True):
            removed = (1.0 - share) * self.factors[own] * v
            if abs(removed) < 0.5 * abs(out[k]):
                out[k] -= removed
                continue
            if self._by_label is None:
                self._by_label = sp.csc_array(self.V)
            some = slice(self._by_label.indptr[k], self._by_label.indptr[k + 1])
            rows = self._by_label.indices[some]
            terms = self.factors[rows] * self._by_label.data[some]
            terms[rows == own] *= share
            out[k] = terms.sum()
        return out

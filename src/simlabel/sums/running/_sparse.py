"""Sparse rows: only pairs with a column in common are visited, and the sum is still exact.

A pair that shares nothing has similarity g(q) g(x), whose sum over all references is g(q) times
one row that does not depend on the query. What the other pairs have beyond that is added to it. Where
influence is dense, as what is learnt is, similarities are found so and summed in one product.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from simlabel._utils.kernels import add_rows, common_terms
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks
from simlabel._utils.validation import FloatArray
from simlabel.similarities import Leaf
from simlabel.sums._contract import Job, Plan, Progress, ReduceCall
from simlabel.sums._prepared import Prepared, numbers_beside
from simlabel.sums.reducers import SumReducer
from simlabel.sums.running._progress import Ticker
from simlabel.sums.running._tasks import run_tasks
from simlabel.sums.running._tiles import empty_outputs

_KEPT = "sparse"  # where a job keeps how it is summed


class SparseRun:
    """Blocks of queries as tasks; parameters as for the run over all pairs."""

    def __init__(self, call: ReduceCall, plan: Plan, on_block: Progress | None) -> None:
        self.call, self.plan, self.Q = call, plan, sp.csr_array(call.Q)
        self.outputs = empty_outputs(plan, call.jobs)
        self.ticker = Ticker(plan.n_queries * plan.n_references, on_block, call.prepared)
        self.indexes = {key: _Index(call.prepared, key) for key in call.prepared.leaves}
        self.ways = [self._way(job) for job in call.jobs]

    def _way(self, job: Job) -> _Background | _Products:
        """How a job is summed; what does not depend on queries is kept, since one query takes less."""
        known, way = job.kept.get(_KEPT, (None, None))
        if known is not self.call.prepared:
            assert isinstance(job.reducer, SumReducer)
            V, index = job.reducer.influence.V, self.indexes[job.similarity.leaves()[0].key]
            way = _Background(job, index, sp.csr_array(V)) if sp.issparse(V) else _Products(job, index, V)
            job.kept[_KEPT] = self.call.prepared, way
        return way

    def results(self) -> list[FloatArray]:
        """All sums."""
        tasks = list(blocks(self.plan.n_queries, limits().sparse_task_queries))
        run_tasks(self._task, tasks, self.plan.threads)
        return self.outputs

    def _task(self, queries: slice, stopped: Callable[[], bool]) -> None:
        n = queries.stop - queries.start
        rows = self.Q if n == self.plan.n_queries else self.Q[queries]
        readers = {key: _Reader(index, rows) for key, index in self.indexes.items()}
        exclude = self.call.excluded(queries)
        found: list[list[FloatArray]] = [[] for _ in self.ways]
        for i in range(n):
            if stopped():
                return
            own, kept = -1, 0.0
            if exclude is not None:
                own, kept = int(exclude.own[i]), exclude.kept[i]
            for reader in readers.values():
                reader.read(i)
            for way, done in zip(self.ways, found, strict=True):
                done.append(way.row(readers[way.leaf.key], i, own, kept))
        for way, done, output in zip(self.ways, found, self.outputs, strict=True):
            output[queries] = way.summed(done)
        self.ticker.tick((queries.stop - queries.start) * self.plan.n_references)


class _Index:
    """References column by column, and the number beside each."""

    def __init__(self, prepared: Prepared, key: Hashable) -> None:
        self.leaf: Leaf = prepared.leaves[key]
        self.beside: FloatArray = prepared.beside[key][:]
        self.columns = prepared.by_column(key)
        self.term = self.leaf.common_term
        self.n_references = len(self.beside)


class _Reader:
    """What one query after the other has in common with references."""

    def __init__(self, index: _Index, rows: sp.csr_array) -> None:
        viewed = index.leaf.view(rows)
        self.index = index
        self.rows = sp.csr_array(viewed)
        self.beside = numbers_beside(index.leaf, self.rows)
        n = index.n_references
        self.dense, self.products = np.full(n, np.nan), np.empty(n)
        self.met: npt.NDArray[np.bool_] = np.zeros(n, dtype=np.bool_)
        self.space: npt.NDArray[np.int64] = np.empty(n, dtype=np.int64)

    def read(self, i: int) -> None:
        """Find the references that have a column in common with query i."""
        entries, V = slice(self.rows.indptr[i], self.rows.indptr[i + 1]), self.index.columns
        count = common_terms(
            self.index.term,
            self.rows.indices[entries],
            self.rows.data[entries].astype(np.float64, copy=False),
            V.indptr,
            V.indices,
            V.data,
            self.dense,
            self.met,
            self.space,
            self.products,
        )
        self.references = self.space[:count]
        self.values = self.products[:count]


class _Way:
    """How the similarities of a query are found and summed."""

    def __init__(self, job: Job, index: _Index) -> None:
        self.job, self.index = job, index
        self.leaf = job.similarity.leaves()[0]
        self.factors: Any = self.leaf.zero_product_factor(index.beside)

    def similarities(self, reader: _Reader, i: int) -> tuple[float, FloatArray]:
        """g(q) of query i, and its similarities to the references that it meets."""
        beside = reader.beside[i : i + 1]
        g = float(self.leaf.zero_product_factor(beside)[0])  # type: ignore[index]
        sides = beside, self.index.beside[reader.references]
        S = self.leaf.finish(self.leaf.similarity.from_common(reader.values[None, :].copy(), *sides), *sides)
        return g, (S if self.job.weighting is None else self.job.weighting.apply(S))[0]


class _Products(_Way):
    """Dense influence: a row of similarities for each query, and one product for all of them."""

    def __init__(self, job: Job, index: _Index, V: FloatArray) -> None:
        super().__init__(job, index)
        self.V = V

    def row(self, reader: _Reader, i: int, own: int, kept: float) -> FloatArray:
        """Similarities of query i to all references, its own entry counting `kept` times."""
        g, S = self.similarities(reader, i)
        row: FloatArray = g * self.factors
        row[reader.references] = S
        if own >= 0:
            row[own] *= kept
        return row

    def summed(self, rows: list[FloatArray]) -> FloatArray:
        """The sums of some queries."""
        out: FloatArray = np.stack(rows) @ self.V
        return out


class _Background(_Way):
    """Sparse influence: what the sums are when nothing is in common, and what a query adds to that."""

    def __init__(self, job: Job, index: _Index, V: sp.csr_array) -> None:
        super().__init__(job, index)
        self.V = V
        self.total = np.asarray(V.T @ self.factors)
        self._by_label: sp.csc_array | None = None

    def row(self, reader: _Reader, i: int, own: int, kept: float) -> FloatArray:
        """The sums of query i of a reader, its own entry counting `kept` times."""
        g, S = self.similarities(reader, i)
        met = reader.references
        beyond = S - g * self.factors[met]
        out = self.total.copy() if own < 0 else self._total_without(own, kept)
        out *= g
        if own >= 0:
            beyond[met == own] *= kept
        add_rows(beyond, met, self.V.indptr, self.V.indices, self.V.data, out)
        return out

    def summed(self, rows: list[FloatArray]) -> FloatArray:
        """The sums of some queries."""
        return np.stack(rows)

    def _total_without(self, own: int, kept: float) -> FloatArray:
        """The background without a reference; added up anew for labels that it dominates.

        Elsewhere it is subtracted: what stays is then more than half, and loses no digit.
        """
        out = self.total.copy()
        entries = slice(self.V.indptr[own], self.V.indptr[own + 1])
        for k, v in zip(self.V.indices[entries], self.V.data[entries], strict=True):
            gone = (1.0 - kept) * self.factors[own] * v
            if abs(gone) < 0.5 * abs(out[k]):
                out[k] -= gone
                continue
            if self._by_label is None:
                self._by_label = sp.csc_array(self.V)
            some = slice(self._by_label.indptr[k], self._by_label.indptr[k + 1])
            rows = self._by_label.indices[some]
            terms = self.factors[rows] * self._by_label.data[some]
            terms[rows == own] *= kept
            out[k] = terms.sum()
        return out

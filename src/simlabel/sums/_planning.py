"""Plans: which way a sum is computed, in which blocks, on how many threads, and what it costs."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import panel_width
from simlabel._utils.limits import limits
from simlabel._utils.rows import row_width
from simlabel._utils.threads import effective_jobs
from simlabel._utils.validation import Rows
from simlabel.sums._base import DEFAULT_MEMORY_MIB, Job, Plan
from simlabel.sums._prepared import Prepared
from simlabel.sums._reducers import SumReducer
from simlabel.sums._weightings import Cutoff, Power

Visit = Literal["auto", "all", "nonzero"]

# Costs in nanoseconds on one core of a present-day machine. They need to be right only in proportion: they
# choose between ways, never change results. `benchmarks/speed/engine_choice.py` measures how well they do.
_DENSE_PRODUCT = 0.022  # one feature of one pair in float32; float64 takes twice that
_COORDINATE = 0.055  # one feature of one pair of a sum over coordinates
_FINISH = 0.4  # from a statistic to a similarity
_ENTRY = 0.06  # one label of one reference, for one query in a block of many
_COLUMN = 0.026  # one column of a dense product with V
_SPARSE_PRODUCT = 2.0  # one entry of a query times one of a reference
_FOUND = 8.0  # one reference with a column in common
_SCATTERED = 1.2  # one label of one found reference
_SPARSE_MATRIX_PRODUCT = 6.0  # the same product by a library, into a dense block
_FILL = 1.5  # one entry of that block
_SPARSE_BLOCK = 1.5e6  # selecting one block of sparse references, for each block of queries
_BLOCK_QUERIES, _BLOCK_REFERENCES = 512, 1024
_SPARSE_COLUMN = 0.5  # one entry of a sparse row times one column of a collapsed matrix
_EXPAND = 2.0  # one explicit column of one row
_CALL = 2e4  # a query by itself
_FUNCTION = 500.0  # a Python call


def pairs_cost(n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
    """Predict the cost of visiting all pairs, block by block."""
    per_pair = 0.0
    for key, leaf in prepared.leaves.items():
        per_pair += _statistic_cost(prepared, key, leaf.similarity.form)
    for job in jobs:
        per_pair += _FINISH * len(job.leaves)
        if not isinstance(job.reducer, SumReducer):
            per_pair += _COLUMN * 16
        elif job.reducer.influence.by_entry:
            per_pair += _ENTRY * job.reducer.influence.entries_per_row
        else:
            per_pair += _COLUMN * job.reducer.width
    cost = n_queries * prepared.n_rows * per_pair * (prepared.dtype.itemsize / 4)
    if prepared.sparse:
        cost += _SPARSE_BLOCK * -(-n_queries // _BLOCK_QUERIES) * -(-prepared.n_rows // _BLOCK_REFERENCES)
    return cost


def _statistic_cost(prepared: Prepared, key: Hashable, form: str) -> float:
    if form == "block":
        return _FUNCTION
    if form == "precomputed":
        return _FINISH
    if form == "coordinate":
        return _COORDINATE * row_width(prepared.X)
    if prepared.sparse and not prepared.densify(key):
        return _FILL + _SPARSE_MATRIX_PRODUCT * prepared.products_per_query(key) / max(1, prepared.n_rows)
    return _DENSE_PRODUCT * row_width(prepared.X)


def nonzero_cost(n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
    """Predict the cost of visiting only the pairs with a column in common."""
    total = _CALL
    for key in prepared.leaves:
        products = prepared.products_per_query(key)
        total += _SPARSE_PRODUCT * products
        for job in jobs:
            assert isinstance(job.reducer, SumReducer)
            per_pair = _FOUND + _SCATTERED * job.reducer.influence.entries_per_row
            total += min(products, prepared.n_rows) * per_pair
    return n_queries * total


def collapsed_cost(n_rows: int, prepared: Prepared, width: int, n_columns: float) -> float:
    """Predict the cost of `n_rows` rows as explicit columns, times `n_columns` columns."""
    if prepared.sparse:
        entries = prepared.X.nnz / max(1, prepared.n_rows)
        return n_rows * entries * (_EXPAND + _SPARSE_COLUMN * n_columns)
    return n_rows * width * (_EXPAND + 2.0 * _DENSE_PRODUCT * n_columns)


def plan_reduction(
    n_queries: int,
    prepared: Prepared,
    jobs: Sequence[Job],
    n_jobs: int | None = None,
    memory_mib: float = DEFAULT_MEMORY_MIB,
    visit: Visit = "auto",
    Q: Rows = None,
    symmetric: bool = False,
    grouped: bool = False,
) -> Plan:
    """Return the plan of `Exact.reduce`; queries with negative features rule out non-zero products.

    If whole groups are left out (`grouped`), blocks of similarities are computed, in which they are masked.
    """
    threads, nonzero = effective_jobs(n_jobs), np.inf
    unsupported_reason = sparse_unsupported_reason(prepared, jobs, Q)
    if visit == "nonzero" and unsupported_reason is not None:
        raise ValueError(f"Exact: visit='nonzero' is not possible: {unsupported_reason}.")
    cost = pairs_cost(n_queries, prepared, jobs)
    if visit != "all" and unsupported_reason is None and not grouped:
        nonzero = nonzero_cost(n_queries, prepared, jobs)
    if nonzero < cost or (visit == "nonzero" and not grouped):
        plan = _plan_nonzero(n_queries, prepared, jobs, threads, cost / nonzero, memory_mib)
        cost = nonzero
    else:
        bytes_per_query = sum([job.reducer.bytes_per_query for job in jobs])
        leaves = max([len(job.leaves) for job in jobs])
        panels = not grouped and can_use_panels(n_queries, prepared, jobs, symmetric)
        plan = make_plan(n_queries, prepared, bytes_per_query, leaves + 1, threads, memory_mib, panels)
    seconds = cost * 1e-9 / plan.threads
    if seconds < limits().slow_seconds:
        return plan
    reason = f"expected to take about {seconds:.0f} s on an idle present-day machine"
    return replace(plan, reasons=(*plan.reasons, reason))


def _plan_nonzero(
    n_queries: int, prepared: Prepared, jobs: Sequence[Job], threads: int, gain: float, memory_mib: float
) -> Plan:
    products = sum(prepared.products_per_query(key) for key in prepared.leaves)
    threads = 1 if n_queries * products < limits().serial_operations else min(threads, max(1, n_queries))
    widths = sum(job.reducer.width for job in jobs)
    each = 24 * prepared.n_rows * len(prepared.leaves) + 8 * widths
    reasons = [
        dtype_reason(prepared),
        f"only pairs with a column in common are visited: about {gain:.2g} times as fast as all pairs",
    ]
    threads = _fitting_threads(threads, each, memory_mib, reasons)
    return Plan(
        "exact sums over non-zero products",
        n_queries,
        prepared.n_rows,
        prepared.dtype,
        queries=min(n_queries, limits().sparse_task_queries),
        references=0,
        parts=1,
        threads=threads,
        memory=threads * each,
        operations=2.0 * n_queries * products,
        reasons=tuple(reasons),
    )


def sparse_unsupported_reason(prepared: Prepared, jobs: Sequence[Job], Q: Rows = None) -> str | None:
    """Return why only pairs with common columns cannot be visited, for these queries if given, or None."""
    if not prepared.sparse:
        return "the references are not sparse"
    for job in jobs:
        leaf = job.leaves[0]
        if len(job.leaves) != 1 or leaf.common_term is None:
            return f"{job.similarity!r} is not a function of one sum over the columns in common"
        factor = leaf.zero_product_factor(np.ones(1))
        if factor is None:
            return f"{job.similarity!r} does not define its value for rows with nothing in common"
        dot = leaf.similarity.form == "dot"
        if dot and factor.any() and (_negative(prepared.by_column(leaf.key)) or _negative(Q)):
            return "features below 0 give products below 0, which would cancel digits of the background"
        if not isinstance(job.reducer, SumReducer):
            return "the weighting is not a sum over references"
        psi = job.weighting
        keeps_zero = isinstance(psi, Power) or (isinstance(psi, Cutoff) and psi.minimum > 0)
        if psi is not None and (factor.any() or not keeps_zero):
            return f"{psi!r} does not leave pairs with nothing in common at 0"
    return None


def _negative(rows: Rows) -> bool:
    values = rows.data if sp.issparse(rows) else rows
    return values is not None and bool(values.min(initial=0.0) < 0)


def can_use_panels(n_queries: int, prepared: Prepared, jobs: Sequence[Job], symmetric: bool) -> bool:
    """Whether all jobs are plain sums with one V, of one statistic with a kernel for the whole sum.

    In a symmetric pass the mirrored sums are a dense product with V: not for more labels than features.
    """
    if n_queries < limits().few_queries or len(prepared.leaves) != 1 or not jobs:
        return False
    if prepared.sparse and not prepared.densify(next(iter(prepared.leaves))):
        return False
    one = jobs[0].reducer
    if not isinstance(one, SumReducer) or (symmetric and one.width > row_width(prepared.X)):
        return False
    kernels = set()
    for job in jobs:
        if job.reducer is not one or job.weighting is not None:
            return False
        # a subclass that overrides what a kernel computes has none
        kernels.add(job.similarity.attribute_unless_overridden("sums_in_panels", "finish", "sums"))
    fits = one.width * panel_width(prepared.dtype) <= limits().panel_sums
    return fits and len(kernels) == 1 and None not in kernels


def can_be_symmetric(prepared: Prepared, jobs: Sequence[Job]) -> bool:
    """Whether similarities are symmetric by their form, and sums take blocks in any order."""
    sums = all(isinstance(job.reducer, SumReducer) for job in jobs)
    return sums and prepared.forms <= {"dot", "coordinate"}


def symmetric_pays(plan: Plan) -> bool:
    """Whether blocks are so large that the number of their pairs is small."""
    fewest = min(plan.n_queries, plan.n_references, limits().min_side)
    return math.isqrt(plan.queries * plan.references) >= fewest


def make_plan(
    n_queries: int,
    prepared: Prepared,
    bytes_per_query: int,
    n_similarities: int,
    threads: int,
    memory_mib: float = DEFAULT_MEMORY_MIB,
    panels: bool = False,
) -> Plan:
    """Choose blocks that fit the memory and keep every thread busy.

    Parameters
    ----------
    bytes_per_query : int
        Size of the partial results of all jobs, for one query.
    n_similarities : int
        Blocks of similarities that exist at once: more than one if jobs share a statistic.
    panels : bool
        Whether sums are computed in panels, without storing blocks of similarities.
    """
    limit, budget, n_references = limits(), int(memory_mib * 2**20), prepared.n_rows
    operations = 2.0 * n_queries * _products(prepared)
    reasons = [dtype_reason(prepared)]
    if operations < limit.serial_operations or "block" in prepared.forms:
        threads = 1
    size = _BlockBytes.of(prepared, bytes_per_query, n_similarities, panels)
    if panels and size.block(1, limit.min_thread_work) > budget // threads:
        panels, size = False, _BlockBytes.of(prepared, bytes_per_query, n_similarities, False)
    queries, references = _full_block(n_queries, prepared, size, bytes_per_query, panels)
    if n_queries < limit.few_queries and not prepared.sparse and prepared.forms == {"dot"}:
        threads, references = 1, min(limit.whole_references, max(1, n_references))
        reasons.append("few queries: one product, which the BLAS library shares among the cores")
    if panels:
        reasons.append("similarities are added to the sums at once: no block of them is stored")
    if "block" in prepared.forms:
        reasons.append(
            "a Python function computes the similarities: one thread, since only one can run Python"
        )
        references = min(references, max(1, limit.function_block_pairs // queries))
    if threads > 1:
        threads = _fitting_threads(threads, size.block(1, limit.min_thread_work), memory_mib, reasons)
    queries, references = size.fitting(queries, references, budget // threads)
    parts, sums = 1, size.sums_of(n_queries)
    if threads > 1:
        max_parts = max(1, (budget - threads * size.rows(queries, references)) // max(1, sums))
        queries, parts = _split_blocks(n_queries, n_references, queries, references, threads, max_parts)
        threads = min(threads, max(1, -(-n_queries // queries) * parts))
    memory = threads * size.block(queries, references)
    if parts > 1:  # the sums of parts are stored until all are merged
        memory = threads * size.rows(queries, references) + parts * sums
    if memory > budget:
        reasons.append(
            f"more memory than the {memory_mib:g} MiB allowed: the smallest block, one query and one "
            f"reference with their sums, takes {memory:,} bytes"
        )
    return Plan(
        "exact sums over all pairs",
        n_queries,
        n_references,
        prepared.dtype,
        queries,
        references,
        parts,
        threads,
        memory,
        operations,
        tuple(reasons),
        panels,
    )


def _full_block(
    n_queries: int, prepared: Prepared, size: _BlockBytes, bytes_per_query: int, panels: bool
) -> tuple[int, int]:
    """Return the queries and references of a block that is computed at full speed."""
    limit, entry = limits(), prepared.dtype.itemsize
    queries = min(limit.block_query_bytes // entry, max(1, n_queries))
    references = limit.panel_references if panels else limit.block_references
    if panels:
        row = max(1, row_width(prepared.X)) * entry
        queries = min(queries, max(limit.min_panel_queries, limit.panel_bytes // row))
        cached = limit.cached_sums_bytes // max(1, bytes_per_query)
        queries = min(queries, max(limit.min_cached_queries, cached))
    elif not size.row:  # few queries with more references: fewer tiles, still in cache
        references = max(references, limit.tile_bytes // (entry * queries))
    return queries, min(references, max(1, prepared.n_rows))


_STORED_BYTES = 12  # of an entry of sparse rows


@dataclass(frozen=True)
class _BlockBytes:
    """The memory of blocks, in bytes.

    Attributes
    ----------
    pair : int
        Of the similarities that a thread has at once, for one pair.
    row : int
        Of a copied row; 0 if rows are not copied.
    sums : int
        Of the sums for one query.
    panel : int
        Queries of a panel, which is never partly empty; 1 without panels.
    """

    pair: int
    row: int
    sums: int
    panel: int

    @classmethod
    def of(cls, prepared: Prepared, bytes_per_query: int, n_similarities: int, panels: bool) -> _BlockBytes:
        # whether blocks of rows are converted to dense, viewed or cast on the way
        cast = getattr(prepared.X, "dtype", prepared.dtype) != prepared.dtype
        copies = panels or prepared.sparse or cast or "coordinate" in prepared.forms
        for key, leaf in prepared.leaves.items():
            copies = copies or (bool(leaf.views) and key not in prepared.views)
        entry = prepared.dtype.itemsize
        row = row_width(prepared.X) * entry if copies else 0
        if not panels and prepared.stays_sparse:
            row = 2 * _STORED_BYTES * prepared.X.nnz // max(1, prepared.n_rows)
        if not panels:
            return cls((n_similarities + 2) * entry, row, bytes_per_query, 1)
        return cls(0, row, 2 * bytes_per_query, panel_width(prepared.dtype))  # transposed at the end

    def rows(self, queries: int, references: int) -> int:
        """Return the bytes of a block without its sums."""
        queries += -queries % self.panel
        return queries * references * self.pair + (queries + 2 * references) * self.row

    def sums_of(self, queries: int) -> int:
        """Return the bytes of the sums of some queries."""
        return (queries + -queries % self.panel) * self.sums

    def block(self, queries: int, references: int) -> int:
        """Return the bytes of one thread with a block of this size."""
        return self.rows(queries, references) + self.sums_of(queries)

    def fitting(self, queries: int, references: int, budget: int) -> tuple[int, int]:
        """Halve a block until it fits, or is as small as possible."""
        while self.block(queries, references) > budget and (queries > self.panel or references > 1):
            most_is_sums = queries * self.sums > budget // 2
            if references == 1 or (queries > self.panel and (most_is_sums or queries > references)):
                queries = max(self.panel, queries // 2)
            else:
                references //= 2
        return queries, references


def _fitting_threads(threads: int, bytes_each: int, memory_mib: float, reasons: list[str]) -> int:
    """Return as many threads as fit, at least one, and add the reason if there are fewer."""
    fitting = max(1, min(threads, int(memory_mib * 2**20) // max(1, bytes_each)))
    if fitting < threads:
        reasons.append(
            f"{fitting} of {threads} threads: the blocks of more threads would not fit {memory_mib:g} MiB"
        )
    return fitting


def _split_blocks(
    n_queries: int, n_references: int, queries: int, references: int, threads: int, max_parts: int
) -> tuple[int, int]:
    """Return even blocks of queries, a multiple of the threads; with few queries, parts of references."""
    rounds = -(-n_queries // (queries * threads))
    even = max(1, -(-n_queries // (max(1, rounds) * threads)))
    if even >= min(limits().min_block_queries, queries) or n_references <= references or max_parts == 1:
        return even, 1
    return queries, min(threads, max_parts, n_references)


def _products(prepared: Prepared) -> float:
    """Predict multiplications for one query; of sparse rows only those of columns in common."""
    total = 0.0
    for key, leaf in prepared.leaves.items():
        if prepared.sparse and leaf.similarity.form == "dot" and not prepared.densify(key):
            total += prepared.products_per_query(key)
        else:
            total += prepared.n_rows * max(1, row_width(prepared.X))
    return total


def dtype_reason(prepared: Prepared) -> str:
    """Return the reason for the precision."""
    given = getattr(prepared.X, "dtype", None)
    if given is None:
        return f"{prepared.dtype} because the instances are objects"
    if given == prepared.dtype:
        return f"{prepared.dtype} because the features are {given}"
    return f"{prepared.dtype} although the features are {given}: their digits would be lost"

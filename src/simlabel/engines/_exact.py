"""The exact sum: over all pairs block by block, or over non-zero products of sparse rows."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from simlabel.engines._base import Engine
from simlabel.engines._cost import nonzero_cost, pairs_cost, products_per_query
from simlabel.engines._influence import FEW_QUERIES
from simlabel.engines._pairs import PairsRun
from simlabel.engines._panels import can_use_panels
from simlabel.engines._plan import (
    DEFAULT_MEMORY_MIB,
    SERIAL_OPERATIONS,
    Plan,
    fewer_threads,
    make_plan,
    too_many_threads,
    why_dtype,
)
from simlabel.engines._progress import Progress
from simlabel.engines._reducers import Exclude
from simlabel.engines._rows import Prepared
from simlabel.engines._sparse import QUERIES_PER_TASK, SparseRun, why_not_sparse
from simlabel.engines._streamed import reduce_streamed
from simlabel.engines._symmetric import SymmetricRun, can_be_symmetric, is_worth_symmetric
from simlabel.engines._threads import effective_jobs, one_blas_thread
from simlabel.engines._tiles import Job
from simlabel.rows import is_lazy, n_rows
from simlabel.support.validation import FloatArray, Rows

Visit = Literal["auto", "all", "nonzero"]

_FEW = "plan for few queries"
_SMALL_OPERATIONS = 1e9  # holding BLAS takes longer than what it would save


def plan_reduction(
    n_queries: int,
    prepared: Prepared,
    jobs: Sequence[Job],
    n_jobs: int | None = None,
    memory_mib: float = DEFAULT_MEMORY_MIB,
    visit: Visit = "auto",
    Q: Rows = None,
    symmetric: bool = False,
) -> Plan:
    """The plan that `reduce_similarities` follows; the queries may speak against non-zero products."""
    threads = effective_jobs(n_jobs)
    why_not = why_not_sparse(prepared, jobs, Q)
    if visit == "nonzero" and why_not is not None:
        raise ValueError(f"Exact: visit='nonzero' is not possible: {why_not}.")
    if visit != "all" and why_not is None:
        price, other = nonzero_cost(n_queries, prepared, jobs), pairs_cost(n_queries, prepared, jobs)
        if visit == "nonzero" or price < other:
            return _plan_nonzero(n_queries, prepared, jobs, threads, other / price, memory_mib)
    bytes_per_query = sum(job.reducer.bytes_per_query for job in jobs)
    leaves = max(len(job.similarity.leaves()) for job in jobs)
    panels = can_use_panels(n_queries, prepared, jobs, symmetric)
    return make_plan(n_queries, prepared, bytes_per_query, leaves + 1, threads, memory_mib, panels)


def _plan_nonzero(
    n_queries: int, prepared: Prepared, jobs: Sequence[Job], threads: int, gain: float, memory_mib: float
) -> Plan:
    products = sum(products_per_query(prepared, key) for key in prepared.leaves)
    threads = 1 if n_queries * products < SERIAL_OPERATIONS else min(threads, max(1, n_queries))
    widths = sum(job.reducer.width for job in jobs)
    each = 24 * prepared.n_rows * len(prepared.leaves) + 8 * widths
    reasons = [
        why_dtype(prepared),
        f"only pairs with a column in common are visited: about {gain:.2g} times as fast as all pairs",
    ]
    fitting = fewer_threads(threads, each, int(memory_mib * 2**20))
    if fitting < threads:
        reasons.append(too_many_threads(fitting, threads, memory_mib))
    return Plan(
        "exact sums over non-zero products",
        n_queries,
        prepared.n_rows,
        prepared.dtype,
        queries=min(n_queries, QUERIES_PER_TASK),
        references=0,
        parts=1,
        threads=fitting,
        memory=fitting * each,
        operations=2.0 * n_queries * products,
        reasons=tuple(reasons),
    )


def reduce_similarities(
    Q: Rows,
    prepared: Prepared,
    jobs: Sequence[Job],
    *,
    exclude: Exclude | None = None,
    symmetric: bool = False,
    n_jobs: int | None = None,
    memory_mib: float = DEFAULT_MEMORY_MIB,
    on_block: Progress | None = None,
    visit: Visit = "auto",
) -> list[FloatArray]:
    """Reduce the similarities of queries and references for several jobs in one pass.

    Jobs that read the same statistic share it: the inner products of a block are computed once
    for any number of bandwidths.

    Parameters
    ----------
    Q : rows, (n_queries, n_features)
        Queries.
    prepared : Prepared
        References.
    jobs : list of Job
        What to compute.
    exclude : Exclude, optional
        Each query's own entry, to be left out.
    symmetric : bool
        Says that the queries are the references, in order: then each pair is touched once, where
        the similarities and reducers allow it.
    n_jobs : int, optional
        Threads; None for all cores.
    memory_mib : float
        Bound on the memory for blocks and partial results.
    on_block : callable, optional
        Called with (pairs done, pairs in all) after each block.
    visit : {"auto", "all", "nonzero"}
        Which pairs of sparse rows are visited; see `Exact`.

    Returns
    -------
    list of array, (n_queries, width), one per job
    """
    if is_lazy(prepared.X):
        within = Exact(memory_mib, visit=visit)
        return reduce_streamed(within, Q, prepared, jobs, exclude, n_jobs, on_block)
    symmetric = symmetric and can_be_symmetric(prepared, jobs)
    plan = _kept_plan(Q, prepared, jobs, n_jobs, memory_mib, visit, symmetric)
    run: Any = SymmetricRun if symmetric and is_worth_symmetric(plan) else PairsRun
    if not plan.references and plan.n_references:
        run = SparseRun
    with one_blas_thread() if _must_hold_blas(plan, n_jobs) else contextlib.nullcontext():
        outputs: list[FloatArray] = run(Q, prepared, jobs, exclude, plan, on_block).results()
    check_finite_sums(outputs, jobs)
    return outputs


def _kept_plan(
    Q: Rows,
    prepared: Prepared,
    jobs: Sequence[Job],
    n_jobs: int | None,
    memory_mib: float,
    visit: Visit,
    symmetric: bool,
) -> Plan:
    """The plan; that for a handful of queries is kept, since it takes longer than their share of the work."""
    few = n_rows(Q) < FEW_QUERIES and len(jobs) == 1 and not prepared.sparse
    asked = (n_rows(Q), n_jobs, memory_mib, visit, symmetric)
    if few:
        known, before, kept = jobs[0].kept.get(_FEW, (None, None, None))
        if known is prepared and before == asked:
            return kept
    plan = plan_reduction(n_rows(Q), prepared, jobs, n_jobs, memory_mib, visit, Q, symmetric)
    if few:
        jobs[0].kept[_FEW] = prepared, asked, plan
    return plan


class Exact(Engine):
    """The sum over all pairs, in blocks that fit a bound on memory.

    Parameters
    ----------
    memory_mib : float
        Bound on the memory used beyond inputs and outputs, in MiB.
    on_block : callable, optional
        Called with (pairs done, pairs in all) after each block, e.g. to move a progress bar.
    visit : {"auto", "all", "nonzero"}
        Of sparse rows, which pairs are visited: all of them, only those with a column in common
        (which gives the same sums), or what is quicker.

    Examples
    --------
    >>> from simlabel import similarity_sums
    >>> def show(done, total):
    ...     print(f"{done} of {total} pairs")
    >>> similarity_sums([[1.0]], [[1.0], [2.0]], [[1], [1]], "linear", engine=Exact(on_block=show))
    2 of 2 pairs
    array([[3.]])
    """

    name = "exact"
    file_key = "engines.Exact"

    def __init__(
        self,
        memory_mib: float = DEFAULT_MEMORY_MIB,
        on_block: Progress | None = None,
        visit: Visit = "auto",
    ) -> None:
        self.memory_mib = memory_mib
        self.on_block = on_block
        self.visit = visit

    def check(self) -> None:
        """Raise ValueError where a setting is not understood."""
        super().check()
        if self.visit not in ("auto", "all", "nonzero"):
            raise ValueError(f"Exact: visit must be 'auto', 'all' or 'nonzero', got {self.visit!r}.")

    def cost(self, n_queries: int, prepared: Prepared, jobs: Sequence[Job]) -> float:
        """The lower one of both ways."""
        ways = [] if self.visit == "nonzero" else [pairs_cost(n_queries, prepared, jobs)]
        if self.visit != "all" and why_not_sparse(prepared, jobs) is None:
            ways.append(nonzero_cost(n_queries, prepared, jobs))
        return min(ways)

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """What `reduce` would do for that many queries."""
        return plan_reduction(n_queries, prepared, jobs, n_jobs, self.memory_mib, self.visit)

    def reduce(
        self,
        Q: Rows,
        prepared: Prepared,
        jobs: Sequence[Job],
        *,
        exclude: Exclude | None = None,
        symmetric: bool = False,
        n_jobs: int | None = None,
    ) -> list[FloatArray]:
        """Reduce all jobs in one pass; see `reduce_similarities`."""
        return reduce_similarities(
            Q,
            prepared,
            jobs,
            exclude=exclude,
            symmetric=symmetric,
            n_jobs=n_jobs,
            memory_mib=self.memory_mib,
            on_block=self.on_block,
            visit=self.visit,
        )


def _must_hold_blas(plan: Plan, n_jobs: int | None) -> bool:
    """Each of our threads calls BLAS; one alone may use its threads, if the user allows them."""
    if plan.threads > 1:
        return True
    return effective_jobs(n_jobs) == 1 and plan.operations > _SMALL_OPERATIONS


def check_finite_sums(outputs: Sequence[FloatArray], jobs: Sequence[Job]) -> None:
    """Refuse sums that have overflown, and say what to do."""
    for sums, job in zip(outputs, jobs, strict=True):
        if not np.isfinite(sums).all():
            row = int(np.argwhere(~np.isfinite(sums))[0][0])
            raise ValueError(
                f"The sums of similarities overflow (first at query {row}, with {job.similarity!r}). "
                f"Normalize the features (normalizer='l2'), or lower the degree or the power."
            )

"""Which way of summing is possible for some jobs, and which one is taken."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
import scipy.sparse as sp

from simlabel._utils.kernels import panel_width
from simlabel._utils.limits import limits
from simlabel._utils.rows import row_width
from simlabel._utils.threads import effective_jobs
from simlabel._utils.validation import Rows
from simlabel.similarities import Similarity
from simlabel.sums._contract import DEFAULT_MEMORY_MIB, Job, Plan
from simlabel.sums._prepared import Prepared
from simlabel.sums._weightings import Cutoff, Power
from simlabel.sums.planning._cost import nonzero_cost, pairs_cost
from simlabel.sums.planning._plan import fewer_threads, make_plan, too_many_threads, why_dtype
from simlabel.sums.reducers import SumReducer

Visit = Literal["auto", "all", "nonzero"]


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
    """The plan that `reduce_similarities` follows; the queries may speak against non-zero products.

    Where whole groups are left out (`grouped`), blocks of similarities are made, in which they are masked.
    """
    threads = effective_jobs(n_jobs)
    why_not = why_not_sparse(prepared, jobs, Q)
    if visit == "nonzero" and why_not is not None:
        raise ValueError(f"Exact: visit='nonzero' is not possible: {why_not}.")
    if visit != "all" and why_not is None and not grouped:
        price, other = nonzero_cost(n_queries, prepared, jobs), pairs_cost(n_queries, prepared, jobs)
        if visit == "nonzero" or price < other:
            plan = _plan_nonzero(n_queries, prepared, jobs, threads, other / price, memory_mib)
            return _with_seconds(plan, price)
    bytes_per_query = sum(job.reducer.bytes_per_query for job in jobs)
    leaves = max(len(job.similarity.leaves()) for job in jobs)
    panels = not grouped and can_use_panels(n_queries, prepared, jobs, symmetric)
    plan = make_plan(n_queries, prepared, bytes_per_query, leaves + 1, threads, memory_mib, panels)
    return _with_seconds(plan, pairs_cost(n_queries, prepared, jobs))


def _with_seconds(plan: Plan, nanoseconds: float) -> Plan:
    """Where it takes long, the plan says so before it starts."""
    seconds = nanoseconds * 1e-9 / plan.threads
    if seconds < limits().slow_seconds:
        return plan
    words = f"expected to take about {seconds:.0f} s on a machine of today that has nothing else to do"
    return replace(plan, reasons=(*plan.reasons, words))


def _plan_nonzero(
    n_queries: int, prepared: Prepared, jobs: Sequence[Job], threads: int, gain: float, memory_mib: float
) -> Plan:
    products = sum(prepared.products_per_query(key) for key in prepared.leaves)
    threads = 1 if n_queries * products < limits().serial_operations else min(threads, max(1, n_queries))
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
        queries=min(n_queries, limits().sparse_task_queries),
        references=0,
        parts=1,
        threads=fitting,
        memory=fitting * each,
        operations=2.0 * n_queries * products,
        reasons=tuple(reasons),
    )


def why_not_sparse(prepared: Prepared, jobs: Sequence[Job], Q: Rows = None) -> str | None:
    """What stands against this way of summing, for these queries where they are known, or None."""
    if not prepared.sparse:
        return "the references are not sparse"
    for job in jobs:
        leaves = job.similarity.leaves()
        if len(leaves) != 1 or leaves[0].common_term is None:
            return f"{job.similarity!r} is not a function of one sum over the columns in common"
        factor = leaves[0].zero_product_factor(np.ones(1))
        if factor is None:
            return f"{job.similarity!r} does not say what it is for rows with nothing in common"
        dot = leaves[0].similarity.form == "dot"
        if dot and factor.any() and (_negative(prepared.by_column(leaves[0].key)) or _negative(Q)):
            return "features below 0 give products below 0, which would cancel digits of the background"
        if not isinstance(job.reducer, SumReducer):
            return "the weighting is no sum over references"
        if job.weighting is not None and (factor.any() or not _keeps_zero(job)):
            return f"{job.weighting!r} does not leave pairs with nothing in common at 0"
    return None


def _negative(rows: Rows) -> bool:
    if rows is None:
        return False
    values = rows.data if sp.issparse(rows) else rows
    return bool(values.min(initial=0.0) < 0)


def _keeps_zero(job: Job) -> bool:
    psi = job.weighting
    return isinstance(psi, Power) or (isinstance(psi, Cutoff) and psi.minimum > 0)


def can_use_panels(n_queries: int, prepared: Prepared, jobs: Sequence[Job], symmetric: bool) -> bool:
    """Whether all jobs are plain sums with one influence, of one statistic that a kernel sums by itself.

    In a symmetric pass what comes back is a dense product with V: not for more labels than features.
    """
    if n_queries < limits().few_queries or len(prepared.leaves) != 1 or not jobs:
        return False
    if prepared.sparse and not prepared.densify(next(iter(prepared.leaves))):
        return False
    kernels = {_kernel(job.similarity) for job in jobs}
    one = jobs[0].reducer
    return (
        len(kernels) == 1
        and None not in kernels
        and isinstance(one, SumReducer)
        and one.width * panel_width(prepared.dtype) <= limits().panel_sums
        and (not symmetric or one.width <= row_width(prepared.X))
        and all(job.reducer is one and job.weighting is None for job in jobs)
    )


def _kernel(similarity: Similarity) -> Callable[..., None] | None:
    """The kernel of a similarity, unless a subclass changed what the kernel would compute."""
    for kind in type(similarity).__mro__:
        if "sums_in_panels" in vars(kind):
            return similarity.sums_in_panels
        if {"finish", "sums"} & vars(kind).keys():
            return None
    return None


def can_be_symmetric(prepared: Prepared, jobs: Sequence[Job]) -> bool:
    """Whether similarities are symmetric by their form, and sums take blocks in any order."""
    forms = {leaf.similarity.form for leaf in prepared.leaves.values()}
    return forms <= {"dot", "coordinate"} and all(isinstance(job.reducer, SumReducer) for job in jobs)


def is_worth_symmetric(plan: Plan) -> bool:
    """Whether blocks are so large that their pairs are not many."""
    fewest = min(plan.n_queries, plan.n_references, limits().smallest_side)
    return math.isqrt(plan.queries * plan.references) >= fewest

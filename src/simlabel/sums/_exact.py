"""The exact sum: over all pairs block by block, or over non-zero products of sparse rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.rows import is_lazy
from simlabel._utils.threads import effective_jobs, held_blas
from simlabel._utils.validation import FloatArray
from simlabel.sums._contract import DEFAULT_MEMORY_MIB, Engine, Job, Plan, Progress, ReduceCall
from simlabel.sums._prepared import Prepared
from simlabel.sums.planning import (
    Visit,
    can_be_symmetric,
    is_worth_symmetric,
    nonzero_cost,
    pairs_cost,
    plan_reduction,
    why_not_sparse,
)
from simlabel.sums.running import PairsRun, SparseRun, SymmetricRun, reduce_streamed

_FEW = "plan for few queries"  # where a job keeps it


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

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """The results of all jobs, in one pass."""
        if is_lazy(call.prepared.X):
            return reduce_streamed(call, Exact(self.memory_mib, visit=self.visit), self.on_block)
        symmetric = call.symmetric and can_be_symmetric(call.prepared, call.jobs)
        plan = self._kept_plan(call, symmetric)
        run: type[PairsRun | SparseRun | SymmetricRun] = PairsRun
        if symmetric and is_worth_symmetric(plan):
            run = SymmetricRun
        if not plan.references and plan.n_references:
            run = SparseRun
        # each of our threads calls BLAS; one alone may use its threads, as many as the user allows
        with held_blas(1 if plan.threads > 1 or _is_small(plan) else effective_jobs(call.n_jobs)):
            outputs = run(call, plan, self.on_block).results()
        check_finite_sums(outputs, call.jobs)
        return outputs

    def _kept_plan(self, call: ReduceCall, symmetric: bool) -> Plan:
        """The plan; that for few queries is kept, since it takes longer than their share of the work."""
        n_queries, prepared, jobs = call.n_queries, call.prepared, call.jobs
        few = n_queries < limits().few_queries and len(jobs) == 1 and not prepared.sparse
        grouped = call.exclude is not None and call.exclude.groups is not None
        asked = (n_queries, call.n_jobs, self.memory_mib, self.visit, symmetric, grouped)
        if few:
            known, before, plan = jobs[0].kept.get(_FEW, (None, None, None))
            if known is prepared and before == asked:
                return plan
        plan = plan_reduction(
            n_queries, prepared, jobs, call.n_jobs, self.memory_mib, self.visit, call.Q, symmetric, grouped
        )
        if few:
            jobs[0].kept[_FEW] = prepared, asked, plan
        return plan


def _is_small(plan: Plan) -> bool:
    """Whether products are so small that threads of BLAS would wait for each other longer than they work."""
    return plan.n_queries >= limits().few_queries and plan.operations < limits().serial_operations


def check_finite_sums(outputs: Sequence[FloatArray], jobs: Sequence[Job]) -> None:
    """Refuse sums that have overflown, and say what to do."""
    for sums, job in zip(outputs, jobs, strict=True):
        if not np.isfinite(sums).all():
            row = int(np.argwhere(~np.isfinite(sums))[0][0])
            raise ValueError(
                f"The sums of similarities overflow (first at query {row}, with {job.similarity!r}). "
                f"Normalize the features (normalizer='l2'), or lower the degree or the power."
            )

"""The sum over all pairs, block by block."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._registry import Registry
from simlabel._validation import FloatArray, Rows, check_number
from simlabel.engines._plan import DEFAULT_MEMORY_MIB, Plan, make_plan
from simlabel.engines._progress import Progress, Ticker
from simlabel.engines._reducers import Exclude, Partial
from simlabel.engines._rows import Prepared, blocks, n_rows
from simlabel.engines._symmetric import SymmetricRun, can_be_symmetric, empty_outputs
from simlabel.engines._threads import effective_jobs, one_blas_thread, run_tasks
from simlabel.engines._tiles import Job, Tile

_SMALL_OPERATIONS = 1e9  # holding BLAS takes longer than what it would save


def plan_reduction(
    n_queries: int,
    prepared: Prepared,
    jobs: Sequence[Job],
    n_jobs: int | None = None,
    memory_mib: float = DEFAULT_MEMORY_MIB,
) -> Plan:
    """The plan that `reduce_similarities` follows."""
    bytes_per_query = sum(job.reducer.bytes_per_query for job in jobs)
    leaves = max(len(job.similarity.leaves()) for job in jobs)
    return make_plan(n_queries, prepared, bytes_per_query, leaves + 1, effective_jobs(n_jobs), memory_mib)


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

    Returns
    -------
    list of array, (n_queries, width), one per job
    """
    plan = plan_reduction(n_rows(Q), prepared, jobs, n_jobs, memory_mib)
    run: Any
    if symmetric and can_be_symmetric(prepared, jobs):
        run = SymmetricRun(Q, prepared, jobs, exclude, plan, on_block)
    else:
        run = _Run(Q, prepared, jobs, exclude, plan, on_block)
    with one_blas_thread() if _must_hold_blas(plan, n_jobs) else contextlib.nullcontext():
        outputs: list[FloatArray] = run.results()
    for output in outputs:
        _check_finite_sums(output, jobs)
    return outputs


class Exact(BaseEstimator):
    """The sum over all pairs, in blocks that fit a bound on memory.

    Parameters
    ----------
    memory_mib : float
        Bound on the memory used beyond inputs and outputs, in MiB.
    on_block : callable, optional
        Called with (pairs done, pairs in all) after each block, e.g. to move a progress bar.

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

    def __init__(self, memory_mib: float = DEFAULT_MEMORY_MIB, on_block: Progress | None = None) -> None:
        self.memory_mib = memory_mib
        self.on_block = on_block

    def check(self) -> None:
        """Raise ValueError where the bound is not positive."""
        check_number("Exact", "memory_mib", self.memory_mib, above=0)

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """What `reduce` would do for that many queries."""
        return plan_reduction(n_queries, prepared, jobs, n_jobs, self.memory_mib)

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
        )


ENGINES: Registry[Exact] = Registry("engine", Exact, [Exact])


def resolve_engine(spec: Any) -> Exact:
    """Turn a name or an object into an engine; ``"auto"`` is the exact one."""
    engine = Exact() if isinstance(spec, str) and spec == "auto" else ENGINES.resolve(spec)
    engine.check()
    return engine


class _Run:
    """Blocks of queries as tasks, each over all references or a range of them."""

    def __init__(
        self,
        Q: Rows,
        prepared: Prepared,
        jobs: Sequence[Job],
        exclude: Exclude | None,
        plan: Plan,
        on_block: Progress | None,
    ) -> None:
        self.Q, self.prepared, self.jobs = Q, prepared, jobs
        self.exclude, self.plan = exclude, plan
        self.outputs = empty_outputs(plan, jobs)
        self.ticker = Ticker(plan.n_queries * plan.n_references, on_block, prepared)

    def results(self) -> list[FloatArray]:
        plan = self.plan
        per_part = max(1, -(-plan.n_references // plan.parts))
        parts = list(blocks(plan.n_references, per_part)) or [slice(0, 0)]
        tasks = [(queries, part) for queries in blocks(plan.n_queries, plan.queries) for part in parts]
        partials = run_tasks(self._task, tasks, plan.threads)
        for first in range(0, len(tasks), len(parts)):
            queries = tasks[first][0]
            for later in partials[first + 1 : first + len(parts)]:
                for mine, other in zip(partials[first], later, strict=True):
                    mine.merge(other)
            if len(parts) > 1:
                self._finish(queries, partials[first])
        return self.outputs

    def _task(self, task: tuple[slice, slice], stopped: Callable[[], bool]) -> list[Partial] | None:
        queries, part = task
        own = None if self.exclude is None else self.exclude.part(queries)
        partials = [job.reducer.start(queries.stop - queries.start, own) for job in self.jobs]
        q_rows = self.Q[queries]
        sides = self.prepared.queries(q_rows)
        for block in blocks(part.stop - part.start, self.plan.references):
            if stopped():
                return None
            here = slice(part.start + block.start, part.start + block.stop)
            with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported once, at the end
                tile = Tile(self.prepared, sides, q_rows, here, self.jobs)
                for job, partial in zip(self.jobs, partials, strict=True):
                    partial.add(tile.weighted(job), here)
            self.ticker.tick((queries.stop - queries.start) * (here.stop - here.start))
        if self.plan.parts > 1:
            return partials
        self._finish(queries, partials)
        return None

    def _finish(self, queries: slice, partials: Sequence[Partial]) -> None:
        for output, partial in zip(self.outputs, partials, strict=True):
            output[queries] = partial.finish()


def _must_hold_blas(plan: Plan, n_jobs: int | None) -> bool:
    """Each of our threads calls BLAS; one alone may use its threads, if the user allows them."""
    if plan.threads > 1:
        return True
    return effective_jobs(n_jobs) == 1 and plan.operations > _SMALL_OPERATIONS


def _check_finite_sums(sums: FloatArray, jobs: Sequence[Any]) -> None:
    if not np.isfinite(sums).all():
        row = int(np.argwhere(~np.isfinite(sums))[0][0])
        names = ", ".join(sorted({repr(job.similarity) for job in jobs}))
        raise ValueError(
            f"The sums of similarities overflow (first at query {row}, with {names}). "
            f"Normalize the features (normalizer='l2'), or lower the degree or the power."
        )

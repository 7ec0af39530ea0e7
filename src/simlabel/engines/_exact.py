"""The sum over all pairs, block by block."""

from __future__ import annotations

import contextlib
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from simlabel._registry import Registry
from simlabel._validation import FloatArray, Rows, check_number
from simlabel.engines._plan import DEFAULT_MEMORY_MIB, Plan, make_plan
from simlabel.engines._reducers import Exclude, Partial, Reducer
from simlabel.engines._rows import Prepared, Side, blocks, n_rows, statistic
from simlabel.engines._threads import effective_jobs, one_blas_thread, run_tasks
from simlabel.similarities import Similarity
from simlabel.weightings import Weighting

Progress = Callable[[int, int], None]

_SLOW_SECONDS = 10.0


class SlowSimilarityWarning(UserWarning):
    """A similarity given as a Python function is going to take long."""


@dataclass(frozen=True)
class Job:
    """One reduction: which similarity, under which weighting, reduced how."""

    similarity: Similarity
    weighting: Weighting | None
    reducer: Reducer


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
    run = _Run(Q, prepared, jobs, exclude, plan, on_block)
    single = plan.operations < 1e9 and plan.threads == 1  # holding BLAS takes longer than a small product
    with contextlib.nullcontext() if single else one_blas_thread():
        return run.results()


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
        n_jobs: int | None = None,
    ) -> list[FloatArray]:
        """Reduce all jobs in one pass; see `reduce_similarities`."""
        return reduce_similarities(
            Q,
            prepared,
            jobs,
            exclude=exclude,
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
        self.outputs: list[FloatArray] = [
            np.zeros((plan.n_queries, job.reducer.width), dtype=prepared.dtype) for job in jobs
        ]
        self.ticker = _Ticker(plan, on_block, _python_calls(prepared))

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
        for output in self.outputs:
            _check_finite_sums(output, self.jobs)
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
                self._add_block(_Tile(self.prepared, sides, q_rows, here, self.jobs), partials)
            self.ticker.tick((queries.stop - queries.start) * (here.stop - here.start))
        if self.plan.parts > 1:
            return partials
        self._finish(queries, partials)
        return None

    def _add_block(self, tile: _Tile, partials: Sequence[Partial]) -> None:
        for job, partial in zip(self.jobs, partials, strict=True):
            S = tile.similarities(job.similarity)
            if job.weighting is not None and job.weighting.scope == "entry":
                S = job.weighting.apply(S)
            partial.add(S, tile.part)

    def _finish(self, queries: slice, partials: Sequence[Partial]) -> None:
        for output, partial in zip(self.outputs, partials, strict=True):
            output[queries] = partial.finish()


class _Tile:
    """One block of queries against one block of references, each statistic computed once."""

    def __init__(
        self,
        prepared: Prepared,
        queries: dict[Hashable, Side],
        q_rows: Rows,
        part: slice,
        jobs: Sequence[Job],
    ) -> None:
        self.prepared, self.queries, self.q_rows, self.part = prepared, queries, q_rows, part
        self.waiting: dict[Hashable, int] = {}
        for job in jobs:
            for leaf in job.similarity.leaves():
                self.waiting[leaf.key] = self.waiting.get(leaf.key, 0) + 1
        self.computed: dict[Hashable, tuple[FloatArray, Side]] = {}

    def similarities(self, similarity: Similarity) -> FloatArray:
        """Similarities of the block, in memory that the caller may change."""
        finished = []
        for leaf in similarity.leaves():
            q = self.queries[leaf.key]
            if leaf.key not in self.computed:
                x = self.prepared.references(leaf.key, self.part)
                T = statistic(leaf, q, x, self.q_rows, self.part, self.prepared.dtype)
                self.computed[leaf.key] = T, x
            T, x = self.computed[leaf.key]
            self.waiting[leaf.key] -= 1
            if self.waiting[leaf.key]:  # the last reader may overwrite
                T = T.copy()
            finished.append(leaf.similarity.finish(T, q.beside, x.beside))
        return similarity.assemble(finished)


class _Ticker:
    """Counts pairs, tells the caller, and warns of a function that will take long."""

    def __init__(self, plan: Plan, on_block: Progress | None, python_calls: bool) -> None:
        self.done, self.total = 0, plan.n_queries * plan.n_references
        self.on_block = on_block
        self.watching = python_calls
        self.lock = threading.Lock()
        self.started = time.perf_counter()

    def tick(self, pairs: int) -> None:
        with self.lock:
            self.done += pairs
            if self.on_block is not None:
                self.on_block(self.done, self.total)
            if self.watching:
                self._warn_if_slow()

    def _warn_if_slow(self) -> None:
        elapsed = time.perf_counter() - self.started
        left = elapsed / self.done * (self.total - self.done)
        if left > _SLOW_SECONDS:
            self.watching = False
            warnings.warn(
                f"The similarity is a Python function called for each of {self.total:,} pairs; "
                f"at {elapsed / self.done * 1e6:.1f} microseconds a pair this takes about {left:.0f} s more. "
                f"Written for blocks, Function(fn, blockwise=True) with fn(A, B) -> (len(A), len(B)), "
                f"it can be a thousand times as fast.",
                SlowSimilarityWarning,
                stacklevel=2,
            )


def _python_calls(prepared: Prepared) -> bool:
    return any(
        leaf.similarity.form == "block" and not getattr(leaf.similarity, "blockwise", False)
        for leaf in prepared.leaves.values()
    )


def _check_finite_sums(sums: FloatArray, jobs: Sequence[Any]) -> None:
    if not np.isfinite(sums).all():
        row = int(np.argwhere(~np.isfinite(sums))[0][0])
        names = ", ".join(sorted({repr(job.similarity) for job in jobs}))
        raise ValueError(
            f"The sums of similarities overflow (first at query {row}, with {names}). "
            f"Normalize the features (normalizer='l2'), or lower the degree or the power."
        )

"""Running a plan: threads, progress, and passes over all pairs, over each pair once, or over shards."""

from __future__ import annotations

import math
import mmap
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
import scipy.sparse as sp

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows, pieces, row_width
from simlabel._utils.validation import FloatArray, Rows
from simlabel.sums._base import Engine, Job, PairProgress, Plan, ReduceCall
from simlabel.sums._blocks import sums_of_block
from simlabel.sums._prepared import Prepared, prepare
from simlabel.sums._reducers import Exclude, PartialResult, SumReducer

Task = TypeVar("Task")

_THREAD_BYTES = 16 << 20  # address space that must be free where threads are started


def run_tasks(
    work: Callable[[Task, Callable[[], bool]], Any],
    tasks: Sequence[Task],
    n_threads: int,
    alone_with: Callable[[Task], Iterable[Hashable]] = lambda task: (),
) -> list[Any]:
    """Call ``work(task, stopped)`` for every task and return the results in order.

    A task calls ``stopped()`` from time to time and returns early when it is true, which it is
    once another task has failed or the user has pressed Ctrl-C.

    Parameters
    ----------
    alone_with : callable
        What a task needs exclusively: of tasks that share something, each waits for the one before it, so
        that their order does not depend on the threads.
    """
    stop, n_threads = threading.Event(), min(n_threads, len(tasks))
    if n_threads <= 1 or not _has_room_for_threads():
        return [work(task, stop.is_set) for task in tasks]

    def run(task: Task, before: set[Future[Any]]) -> Any:
        wait(before)  # they were submitted earlier, so each of them has a thread or is done
        try:
            return None if stop.is_set() else work(task, stop.is_set)
        except BaseException:
            stop.set()
            raise

    with ThreadPoolExecutor(n_threads, thread_name_prefix="simlabel") as pool:
        futures: list[Future[Any]] = []
        last: dict[Hashable, Future[Any]] = {}
        try:
            for task in tasks:
                needs = list(alone_with(task))
                futures.append(pool.submit(run, task, {last[thing] for thing in needs if thing in last}))
                last |= dict.fromkeys(needs, futures[-1])
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise


def _has_room_for_threads() -> bool:
    """Whether memory is left to start threads: Python waits forever for a thread that cannot start."""
    try:
        mmap.mmap(-1, _THREAD_BYTES).close()  # an array could reuse memory that was freed before
    except OSError:
        return False
    return True


class SlowSimilarityWarning(SimlabelWarning):
    """A similarity given as a Python function is going to take long."""


class ProgressCounter:
    """Counts pairs, reports progress, and warns of a Python function that will take long."""

    def __init__(self, total: int, on_block: PairProgress | None, prepared: Prepared) -> None:
        self.done, self.total = 0, total
        self.on_block = on_block
        self.watching = "block" in prepared.forms and any(
            not getattr(leaf.similarity, "blockwise", True) for leaf in prepared.leaves.values()
        )
        self.lock = threading.Lock()
        self.started = time.perf_counter()

    def tick(self, pairs: int) -> None:
        """Count pairs that are done."""
        with self.lock:
            self.done += pairs
            if self.on_block is not None:
                self.on_block(self.done, self.total)
            if self.watching:
                self._warn_if_slow()

    def _warn_if_slow(self) -> None:
        elapsed = time.perf_counter() - self.started
        left = elapsed / self.done * (self.total - self.done)
        if elapsed >= limits().slow_after and left > limits().slow_seconds:
            self.watching = False
            warnings.warn(
                f"The similarity is a Python function called for each of {self.total:,} pairs; "
                f"at {elapsed / self.done * 1e6:.1f} microseconds a pair this takes about {left:.0f} s more. "
                f"Written for blocks, Function(fn, blockwise=True) with fn(A, B) -> (len(A), len(B)), "
                f"it can be a thousand times as fast.",
                SlowSimilarityWarning,
                stacklevel=2,
            )


def empty_outputs(plan: Plan, jobs: Sequence[Job]) -> list[FloatArray]:
    """Return zeros for the results of all jobs."""
    return [np.zeros((plan.n_queries, job.reducer.width), dtype=plan.dtype) for job in jobs]


def reduce_pairs(call: ReduceCall, plan: Plan, on_block: PairProgress | None) -> list[FloatArray]:
    """Reduce all pairs: tasks are blocks of queries with all references or a range of them."""
    ticker = ProgressCounter(plan.n_queries * plan.n_references, on_block, call.prepared)
    outputs = empty_outputs(plan, call.jobs)
    per_part = max(1, -(-plan.n_references // plan.parts))
    parts = list(blocks(plan.n_references, per_part)) or [slice(0, 0)]

    def work(task: tuple[slice, slice], stopped: Callable[[], bool]) -> list[PartialResult]:
        queries, part = task
        sums = sums_of_block(call, queries, plan)
        for block in blocks(part.stop - part.start, plan.references):
            if stopped():
                return []
            here = slice(part.start + block.start, part.start + block.stop)
            sums.add(here)
            ticker.tick((queries.stop - queries.start) * (here.stop - here.start))
        partials: list[PartialResult] = sums.partials()
        if plan.parts == 1:
            return _finished(partials, outputs, queries)
        return partials

    tasks = [(queries, part) for queries in blocks(plan.n_queries, plan.queries) for part in parts]
    partials = run_tasks(work, tasks, plan.threads)
    if plan.parts > 1:
        for first in range(0, len(tasks), len(parts)):
            for later in partials[first + 1 : first + len(parts)]:
                for one, other in zip(partials[first], later, strict=True):
                    one.merge(other)
            _finished(partials[first], outputs, tasks[first][0])
    return outputs


def _finished(
    partials: Sequence[PartialResult], outputs: Sequence[FloatArray], queries: slice
) -> list[PartialResult]:
    for output, partial in zip(outputs, partials, strict=True):
        partial.finish(output[queries])
    return []


def rounds(n: int) -> Iterator[list[tuple[int, int]]]:
    """Yield every pair of range(n) once, in rounds without a number twice; first all with themselves.

    Examples
    --------
    >>> list(rounds(3))
    [[(0, 0), (1, 1), (2, 2)], [(1, 2)], [(0, 2)], [(0, 1)]]
    """
    yield [(i, i) for i in range(n)]
    circle: list[int] = list(range(n + n % 2))  # with an odd number one is paired with nothing
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        pairs = zip(circle[:half], reversed(circle[half:]), strict=True)
        yield [(min(pair), max(pair)) for pair in pairs if max(pair) < n]
        circle = [circle[0], circle[-1], *circle[1:-1]]


def _block_size(plan: Plan) -> int:
    """Return the side of a square of the planned size, or less, so that no thread waits for another."""
    side = max(1, math.isqrt(plan.queries * plan.references))
    most = max(1, plan.n_references // limits().min_side)
    at_once = min(2 * plan.threads, most)  # blocks that meet in pairs, one pair on each thread
    count = -(-plan.n_references // side)
    return -(-plan.n_references // (-(-count // at_once) * at_once)) if count > 1 else side


def reduce_symmetric(call: ReduceCall, plan: Plan, on_block: PairProgress | None) -> list[FloatArray]:
    """Reduce all pairs of the references with themselves: each is computed once and counts for both.

    Blocks of rows meet as in a tournament: no two threads add to the same block at once, and the order of
    the sums does not depend on the threads.
    """
    if plan.n_queries != plan.n_references:
        raise ValueError(
            f"A symmetric pass needs the references as queries; got {plan.n_queries} queries "
            f"and {plan.n_references} references."
        )
    own = None if call.exclude is None else call.exclude.own
    if own is not None and not ((own < 0) | (own == np.arange(plan.n_queries))).all():
        raise ValueError("In a symmetric pass a row can leave out itself only: own must be i or -1.")
    ticker = ProgressCounter(plan.n_queries * plan.n_references, on_block, call.prepared)
    parts = list(blocks(plan.n_references, _block_size(plan)))
    sums = [sums_of_block(call, part, plan) for part in parts]

    def update_pair(pair: tuple[int, int], stopped: Callable[[], bool]) -> None:
        one, other = pair
        here, there = parts[one], parts[other]
        sums[one].update_pair(sums[other], here, there)
        pairs = (here.stop - here.start) * (there.stop - there.start)
        ticker.tick(pairs if one == other else 2 * pairs)

    pairs = [pair for some in rounds(len(parts)) for pair in some]
    run_tasks(update_pair, pairs, plan.threads, alone_with=lambda pair: pair)
    outputs = empty_outputs(plan, call.jobs)
    for part, each in zip(parts, sums, strict=True):
        _finished(each.partials(), outputs, part)
    return outputs


@dataclass(frozen=True)
class Shard:
    """Some of the references in memory, prepared, with the jobs for them.

    Their results are joined with those of other shards: blocks read from disk, or on other machines.

    Attributes
    ----------
    prepared : Prepared
    jobs : tuple of Job
    rows : slice
        Positions among all references.
    """

    prepared: Prepared
    jobs: tuple[Job, ...]
    rows: slice

    def reduce(
        self, engine: Engine, Q: Rows, exclude: Exclude | None, n_jobs: int | None
    ) -> list[FloatArray]:
        """Return the results of these references, to be joined."""
        own = None if exclude is None else exclude.among(self.rows)
        results = engine.reduce(ReduceCall(Q, self.prepared, self.jobs, own, n_jobs=n_jobs))
        return [
            job.reducer.placed(result, self.rows.start)
            for job, result in zip(self.jobs, results, strict=True)
        ]

    def __reduce__(self) -> Any:
        return make_shard, (self.prepared.X, self.jobs, self.rows, self.prepared.dtype)


def make_shard(X: Rows, jobs: Sequence[Job], rows: slice, dtype: np.dtype[Any]) -> Shard:
    """Return a shard of rows in memory; the precision is that of all references."""
    prepared = prepare(aligned(X), [job.similarity for job in jobs], keep_views=True)
    reducers = {job.reducer: job.reducer for job in jobs}
    for reducer in reducers:
        if isinstance(reducer, SumReducer):
            reducers[reducer] = SumReducer(aligned(reducer.influence.V))
    here = tuple(Job(job.similarity, job.weighting, reducers[job.reducer]) for job in jobs)
    return Shard(replace(prepared, dtype=dtype), here, rows)


def aligned(rows: Rows) -> Rows:
    """Return rows at aligned addresses: rows received over a network may be at any address.

    A matrix product of numbers at unaligned addresses takes twice as long.
    """
    if sp.issparse(rows):
        parts = tuple(aligned(part) for part in (rows.data, rows.indices, rows.indptr))
        return type(rows)(parts, shape=rows.shape)
    return np.require(rows, requirements=["ALIGNED"]) if isinstance(rows, np.ndarray) else rows


def cut_jobs(jobs: Sequence[Job], rows: slice) -> tuple[Job, ...]:
    """Return the jobs for some of the references; shared reducers stay shared.

    A weighting of whole rows is applied by the reducer when the results are joined.
    """
    parts = {reducer: reducer.part(rows) for reducer in {job.reducer for job in jobs}}
    return tuple(
        Job(
            job.similarity,
            job.weighting if getattr(job.weighting, "scope", "") == "entry" else None,
            parts[job.reducer],
        )
        for job in jobs
    )


def shard_rows(X: Rows, largest: int | None = None) -> Iterator[slice]:
    """Yield slices of the references, piece by piece, that take little memory and have few rows."""
    itemsize = getattr(getattr(X, "dtype", None), "itemsize", 8)
    most = max(1, limits().read_bytes // (itemsize * max(1, row_width(X))))
    at = 0
    for piece in pieces(X):
        for part in blocks(n_rows(piece), most if largest is None else min(most, largest)):
            yield slice(at + part.start, at + part.stop)
        at += n_rows(piece)


def close(
    jobs: Sequence[Job], joined: Sequence[FloatArray], exclude: Exclude | None, dtype: np.dtype[Any]
) -> list[FloatArray]:
    """Turn the joined results of all shards into the final ones."""
    return [
        job.reducer.closed(result, exclude).astype(dtype, copy=False)
        for job, result in zip(jobs, joined, strict=True)
    ]


def reduce_streamed(call: ReduceCall, engine: Engine, on_block: PairProgress | None) -> list[FloatArray]:
    """Reduce references that are not in memory, shard by shard; `engine` reduces what has been read."""
    prepared, jobs = call.prepared, call.jobs
    ticker = ProgressCounter(call.n_queries * prepared.n_rows, on_block, prepared)
    results: list[FloatArray] = []
    for shard in _read_ahead(prepared, jobs):
        part = shard.reduce(engine, call.Q, call.exclude, call.n_jobs)
        if results:
            both = zip(jobs, results, part, strict=True)
            part = [job.reducer.join([before, new]) for job, before, new in both]
        results = part
        ticker.tick(call.n_queries * shard.prepared.n_rows)
    return close(jobs, results, call.exclude, prepared.dtype)


def _read_ahead(prepared: Prepared, jobs: Sequence[Job]) -> Iterator[Shard]:
    """Yield shards in order; while one is reduced, the next one is read."""

    def read(rows: slice) -> Shard:
        return Shard(prepared.part(rows), cut_jobs(jobs, rows), rows)

    with ThreadPoolExecutor(1, thread_name_prefix="simlabel-read") as reader:
        waiting: Future[Shard] | None = None
        for rows in shard_rows(prepared.X):
            following = reader.submit(read, rows)
            if waiting is not None:
                yield waiting.result()
            waiting = following
        if waiting is not None:
            yield waiting.result()

"""Running a plan: threads, progress, blocks in tiles or panels, and passes over all pairs."""

from __future__ import annotations

import math
import mmap
import threading
import time
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

import numpy as np

from simlabel._utils.advice import SimlabelWarning
from simlabel._utils.kernels import panel_width, tile_rows
from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, row_width
from simlabel._utils.threads import cached_property
from simlabel._utils.validation import AnyArray, FloatArray
from simlabel.sums._base import Job, PairProgress, Plan, ReduceCall
from simlabel.sums._influence import transposed
from simlabel.sums._prepared import Prepared, Side, statistic
from simlabel.sums._reducers import Exclude, PartialResult, PartialSum, SumReducer

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
                f"A function of blocks can be a thousand times as fast: pass Function(fn, blockwise=True), "
                f"where fn(A, B) returns an array of shape (len(A), len(B)).",
                SlowSimilarityWarning,
                stacklevel=2,
            )


class TileSums:
    """The partial results of all jobs for a block of queries, tile by tile."""

    def __init__(self, call: ReduceCall, queries: slice) -> None:
        self.prepared, self.q_rows, self.jobs = call.prepared, call.Q[queries], call.jobs
        n = queries.stop - queries.start
        self.by_query = n < limits().few_queries
        self.partials = [job.reducer.start(n, call.excluded(queries)) for job in self.jobs]

    @cached_property
    def _sides(self) -> dict[Hashable, Side]:
        return self.prepared.queries(self.q_rows)

    def add(self, part: slice) -> None:
        """Add the references `part`."""
        for partial, S in zip(self.partials, self._similarities(self._sides, part), strict=True):
            partial.add(S, part)

    def update_pair(self, other: TileSums, mine: slice, part: slice) -> None:
        """Add the references `part`, which are the queries of `other`, and add these queries to `other`."""
        sides = {key: self.prepared.references(key, mine) for key in self.prepared.leaves}
        both = zip(self.partials, other.partials, self._similarities(sides, part), strict=True)
        for partial, others, S in both:
            partial.add(S, part)
            if other is not self:
                others.add(S.T, mine)

    def _similarities(self, queries: dict[Hashable, Side], part: slice) -> Iterator[FloatArray]:
        """Yield psi(phi) of each job, (n_references, n_queries), in memory that the next one may overwrite.

        Each statistic is computed once, and dropped after its last reader.
        """
        waiting: dict[Hashable, int] = {}
        for job in self.jobs:
            for leaf in job.leaves:
                waiting[leaf.key] = waiting.get(leaf.key, 0) + 1
        computed: dict[Hashable, tuple[FloatArray, Side]] = {}
        copies: dict[tuple[Hashable, int], FloatArray] = {}  # their memory is reused by the next job
        with np.errstate(over="ignore", invalid="ignore"):  # an overflow is reported once, at the end
            for job in self.jobs:
                finished = []
                for place, leaf in enumerate(job.leaves):
                    key, q = leaf.key, queries[leaf.key]
                    if key not in computed:
                        x = self.prepared.references(key, part)
                        T = statistic(leaf, q, x, self.q_rows, part, self.prepared.dtype)
                        computed[key] = transposed(T).T if self.by_query else T, x
                    T, x = computed[key]
                    waiting[key] -= 1
                    if waiting[key]:  # the last reader may overwrite
                        if (key, place) not in copies:
                            copies[key, place] = np.empty_like(T)
                        np.copyto(copies[key, place], T)
                        T = copies[key, place]
                    if self.by_query:
                        finished.append(leaf.finish(T.T, q.norms, x.norms).T)
                    else:
                        finished.append(leaf.finish(T, x.norms, q.norms))
                S = job.similarity.assemble(finished)
                if job.weighting is not None and job.weighting.scope == "entry":
                    S = job.weighting.apply(S.T).T  # a user's function gets queries as rows
                yield S


class PanelSums:
    """The sums of a block of queries, in panels: a compiled kernel computes similarities and sums at once.

    Only for jobs for which `can_use_panels` is true.
    """

    def __init__(self, call: ReduceCall, queries: slice) -> None:
        prepared, jobs = call.prepared, call.jobs
        assert isinstance(jobs[0].reducer, SumReducer)
        self.prepared, self.q_rows, self.influence = prepared, call.Q[queries], jobs[0].reducer.influence
        (self.key,) = prepared.leaves
        self.step = tile_rows(row_width(self.q_rows), prepared.dtype)
        self.kernel: Any = jobs[0].similarity.sums_in_panels
        self.parameters = np.array([job.similarity.panel_parameters for job in jobs], dtype=np.float64)
        self.n, self.width = queries.stop - queries.start, panel_width(prepared.dtype)
        exclude = call.excluded(queries) or Exclude(np.full(self.n, -1), np.ones(self.n))
        self.own = self._in_panels(exclude.own, -1)
        self.share = self._in_panels(exclude.share.astype(prepared.dtype), 1)
        self.out = np.zeros((len(jobs), len(self.own), self.influence.width, self.width))
        self.mirrored: FloatArray | None = None

    def _in_panels(self, numbers: AnyArray, fill: float) -> AnyArray:
        """Return one number per query in panels, (n_panels, width)."""
        padding = -len(numbers) % self.width
        return np.append(numbers, np.full(padding, fill, dtype=numbers.dtype)).reshape(-1, self.width)

    @cached_property
    def _side(self) -> Side:
        return self.prepared.queries(self.q_rows)[self.key]

    def add(self, part: slice) -> None:
        """Add the references `part`."""
        none = np.empty((0, 0, self.width, self.width), dtype=self.prepared.dtype)
        self._add(self._side, part, none, np.empty((0, 0, 0)), diagonal=False)

    def update_pair(self, other: PanelSums, mine: slice, part: slice) -> None:
        """Add the references `part`, which are the queries of `other`, and add these queries to `other`."""
        side = self.prepared.references(self.key, mine)  # not stored: each block would have a copy in panels
        labels = self.influence.in_panels(mine, self.prepared.dtype)
        if other.mirrored is None:
            other.mirrored = np.zeros((len(self.out), other.n, labels.shape[1] * self.width))
        self._add(side, part, labels, other.mirrored, diagonal=other is self)

    def _add(
        self, side: Side, part: slice, own_rows: FloatArray, mirrored: FloatArray, diagonal: bool
    ) -> None:
        """Add the references `part`; with the queries' rows of V (`own_rows`), also update `mirrored`."""
        x = self.prepared.references(self.key, part)
        references = np.ascontiguousarray(x.rows), x.norms
        queries = side.panels, self._in_panels(side.norms, 0)
        V = self.influence.in_tiles(part, self.step, self.prepared.dtype)
        excluded, back = (self.own - part.start, self.share), (own_rows, mirrored, diagonal)
        self.kernel((references, queries, self.step, self.parameters, V, excluded, back, self.out))

    @property
    def partials(self) -> list[PartialResult]:
        """The sums so far, (n_labels, n_queries) for each job."""
        n_jobs, n_panels, n_labels, width = self.out.shape
        totals = self.out.transpose(0, 2, 1, 3).reshape(n_jobs, n_labels, n_panels * width)[:, :, : self.n]
        if self.mirrored is not None:
            totals = totals + self.mirrored.transpose(0, 2, 1)[:, :n_labels]
        return [PartialSum(self.influence, total, None) for total in totals]


def empty_outputs(plan: Plan, jobs: Sequence[Job]) -> list[FloatArray]:
    """Return zeros for the results of all jobs."""
    return [np.zeros((plan.n_queries, job.reducer.width), dtype=plan.dtype) for job in jobs]


def reduce_pairs(call: ReduceCall, plan: Plan, on_block: PairProgress | None) -> list[FloatArray]:
    """Reduce all pairs: tasks are blocks of queries with all references or a range of them."""
    ticker = ProgressCounter(plan.n_queries * plan.n_references, on_block, call.prepared)
    outputs = empty_outputs(plan, call.jobs)
    per_part = max(1, -(-plan.n_references // plan.parts))
    parts = list(blocks(plan.n_references, per_part)) or [slice(0, 0)]

    kind: Any = PanelSums if plan.panels else TileSums

    def work(task: tuple[slice, slice], stopped: Callable[[], bool]) -> list[PartialResult]:
        queries, part = task
        sums = kind(call, queries)
        for block in blocks(part.stop - part.start, plan.references):
            if stopped():
                return []
            here = slice(part.start + block.start, part.start + block.stop)
            sums.add(here)
            ticker.tick((queries.stop - queries.start) * (here.stop - here.start))
        partials: list[PartialResult] = sums.partials
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
    """Yield rounds of pairs (i, j), i <= j < n: first all (i, i), then every other pair exactly once.

    No number occurs in two pairs of the same round.

    Examples
    --------
    >>> list(rounds(3))
    [[(0, 0), (1, 1), (2, 2)], [(1, 2)], [(0, 2)], [(0, 1)]]
    """
    yield [(i, i) for i in range(n)]
    circle: list[int] = list(range(n + n % 2))  # for odd n, the number n is a dummy partner
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
    kind: Any = PanelSums if plan.panels else TileSums
    sums = [kind(call, part) for part in parts]

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
        _finished(each.partials, outputs, part)
    return outputs

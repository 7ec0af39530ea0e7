"""The engine that sends the sums to Dask's workers, and the shards of references there."""

from __future__ import annotations

import contextlib
import time
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from simlabel._utils.limits import limits
from simlabel._utils.rows import LazyRows, Stack, blocks, n_rows, pieces
from simlabel._utils.validation import FloatArray, Rows, check_number
from simlabel.sums._base import Engine, Job, PairProgress, Plan, ReduceCall
from simlabel.sums._collapsed import resolve_engine
from simlabel.sums._pairs import Exact
from simlabel.sums._prepared import Prepared
from simlabel.sums._reducers import Exclude, Join
from simlabel.sums._shards import Shard, aligned, finish_joined, jobs_for, make_shard, shard_rows
from simlabel.sums.dask._client import (
    PATIENCE,
    Client,
    ClusterError,
    Future,
    WorkerDataLost,
    collect,
    find_client,
    sent,
    thread_counts,
    tree,
)
from simlabel.sums.dask._remote import RemoteRows

_SPREAD = "dask"  # key of a job's cache
_LOST = ("cancelled", "lost", "error")


class SentBlocks:
    """A cache of array blocks on workers, as long as the arrays exist here."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, int, int], tuple[Any, Future]] = {}

    def block(self, client: Client, whole: Rows, part: slice, worker: str) -> Future:
        """Return the rows `part` of an array on some worker; send them if none has them."""
        key = (id(whole), part.start, part.stop)
        known = self._known.get(key)
        if known is not None and known[0]() is whole and known[1].status not in _LOST:
            return known[1]
        block = sent(client, whole[part], worker)
        if not isinstance(whole, list):  # lists have no weak references
            self._known[key] = weakref.ref(whole, lambda _: self._known.pop(key, None)), block
        return block


class ShardSet:
    """Shards of the references on workers: computed there, and again if they are lost.

    Parameters
    ----------
    client : distributed.Client
        Connected.
    prepared, jobs
        What is reduced.
    known : Sent
        Blocks that workers have already.
    patience : float
        Seconds to wait for a first worker.
    """

    def __init__(
        self, client: Client, prepared: Prepared, jobs: Sequence[Job], known: SentBlocks, patience: float
    ) -> None:
        self.client, self.prepared, self.jobs, self.known = client, prepared, tuple(jobs), known
        self.patience = patience
        threads = sum(thread_counts(client, patience).values())
        self.rows = list(_cut(prepared.X, threads))
        self._shards: list[Future | None] = [None] * len(self.rows)
        self._shard_inputs: list[Any] = [None] * len(self.rows)

    def is_for(self, client: Client, prepared: Prepared, jobs: Sequence[Job]) -> bool:
        """Whether these are the shards of a reduction."""
        same = len(jobs) == len(self.jobs) and all(a is b for a, b in zip(jobs, self.jobs, strict=True))
        return same and self.client is client and self.prepared is prepared

    def shards(self) -> list[Future]:
        """Return all shards; missing or lost ones are computed."""
        workers: list[str] = []
        for i, shard in enumerate(self._shards):
            if shard is None or shard.status in _LOST:
                workers = workers or sorted(thread_counts(self.client, self.patience))
                self._shards[i] = self._computed(i, workers[i % len(workers)])
        return list(self._shards)

    def _computed(self, i: int, worker: str) -> Future:
        rows, dtype = self.rows[i], self.prepared.dtype
        cut = jobs_for(self.jobs, rows)
        jobs = sent(self.client, cut, worker)
        X = self._block(rows, worker)
        self._shard_inputs[i] = (jobs, X)  # held: a lost shard may be computed again from them
        return self.client.submit(_built, X, jobs, rows, dtype, pure=False)

    def _block(self, rows: slice, worker: str) -> Any:
        """Return a block as input of a task: on a worker already, read by the worker, or sent to it."""
        X = self.prepared.X
        piece, _, part = next((X if isinstance(X, Stack) else Stack([X])).parts(rows))
        if isinstance(piece, RemoteRows):
            return piece.part(part).blocks[0]
        if isinstance(piece, LazyRows):
            return piece.part(part)
        return self.known.block(self.client, piece, part, worker)

    def __reduce__(self) -> Any:
        return type(None), ()  # a connection is not part of a model's state


def _cut(X: Rows, threads: int) -> Iterator[slice]:
    """Yield shards: blocks on workers as they are, other rows evenly for all threads."""
    n = sum(n_rows(piece) for piece in pieces(X))
    largest = max(limits().min_shard_rows, -(-n // (limits().shards_per_thread * max(1, threads))))
    at = 0
    for piece in pieces(X):
        cuts = piece.cuts() if isinstance(piece, RemoteRows) else shard_rows(piece, largest)
        for part in cuts:
            yield slice(at + part.start, at + part.stop)
        at += n_rows(piece)


class DaskEngine(Engine):
    """The sums on a Dask cluster: workers reduce the references they hold, and the results are joined.

    If a worker dies, others replace it: its data are sent or computed again.

    Parameters
    ----------
    client : distributed.Client, str or None
        Connected to the cluster; the address of its scheduler; or None for the current client.
    local : str or engine
        Engine of a worker for the references it holds.
    on_block : callable, optional
        Called with (pairs done, pairs in total) from time to time.
    patience : float
        Seconds without a scheduler or a worker after which `ClusterError` is raised.

    Examples
    --------
    >>> from dask.distributed import Client
    >>> from simlabel import SMLClassifier
    >>> with Client(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=":0") as client:
    ...     model = SMLClassifier("linear", engine=DaskEngine(client))
    ...     model.fit([[1.0, 0.0], [0.0, 1.0]], [{"sea"}, {"trees"}]).predict([[0.2, 0.9]])
    [{'trees'}]
    """

    name = "dask"

    def __init__(
        self,
        client: Any = None,
        local: Any = "auto",
        on_block: PairProgress | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.client = client
        self.local = local
        self.on_block = on_block
        self.patience = patience

    @property
    def local_engine(self) -> Engine:
        """The engine on one machine."""
        return resolve_engine(self.local)

    def check(self) -> None:
        """Raise ValueError if a parameter is invalid."""
        check_number("DaskEngine", "patience", self.patience, above=0)
        if isinstance(self.local_engine, DaskEngine):
            raise ValueError(
                "DaskEngine: local is the engine of a worker by itself: pass 'auto' or Exact(...)."
            )

    def unsupported_reason(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """Refuse precomputed matrices."""
        if "precomputed" in prepared.forms:
            return "a precomputed matrix has no references that workers could hold"
        return None

    def warm_up(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Send the references; lost ones are sent again when needed."""
        with contextlib.suppress(WorkerDataLost):
            self._spread(prepared, jobs).shards()

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """Return the plan of one worker, and the number of workers."""
        threads = thread_counts(find_client(self.client, self.patience), self.patience)
        plan = Exact().plan(n_queries, prepared, jobs, 1)
        n, workers = sum(threads.values()), f"{len(threads)} worker{'s' * (len(threads) != 1)}"
        words = f"on {workers} of a Dask cluster; memory is that of one task"
        return replace(plan, how=f"{plan.how}, in shards", threads=n, reasons=(*plan.reasons, words))

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """Compute the results of all jobs; a symmetric call visits each pair twice."""
        reason = self.unsupported_reason(call.prepared, call.jobs)
        if reason is not None:
            raise ValueError(f"DaskEngine is not possible: {reason}.")
        spread = self._spread(call.prepared, call.jobs)
        batches = list(blocks(call.n_queries, self._queries_per_task(spread, call.n_queries))) or [
            slice(0, 0)
        ]
        done: dict[int, Results] = {}
        attempts = limits().cluster_attempts
        for attempt in range(attempts):
            try:
                self._attempt(spread, call, batches, done)
                break
            except WorkerDataLost:
                time.sleep(limits().cluster_pause * attempt)
        else:
            raise ClusterError(f"Workers died with data in each of {attempts} attempts: check the cluster.")
        joined = [np.concatenate(each) for each in zip(*(done[i] for i in range(len(batches))), strict=True)]
        return finish_joined(call.jobs, joined, call.exclude, call.prepared.dtype)

    def _attempt(
        self, spread: ShardSet, call: ReduceCall, batches: Sequence[slice], done: dict[int, Results]
    ) -> None:
        """Reduce the blocks of queries that are not done yet."""
        client, shards = spread.client, spread.shards()
        missing = [i for i in range(len(batches)) if i not in done]
        parts: list[Future] = []
        ends: list[Future] = []
        held: list[Future] = []  # until all results are there; see `tree`
        for i in missing:
            queries = sent(client, (call.Q[batches[i]], call.excluded(batches[i])))
            shares = client.map(_reduced, shards, queries=queries, engine=self.local_engine, pure=False)
            parts += shares
            joined = tree(client, shares, _joined, [job.reducer.join for job in spread.jobs])
            ends.append(joined[-1])
            held += [queries, *joined]
        n, n_before = call.n_queries, sum(batches[i].stop - batches[i].start for i in done)

        def watch() -> None:
            if self.on_block is not None:
                finished = sum(part.status == "finished" for part in parts) / len(parts)
                pairs = n * spread.prepared.n_rows
                share = (n_before + (n - n_before) * finished) / max(1, n)
                self.on_block(int(pairs * share), pairs)

        try:
            for i, result in zip(missing, collect(client, ends, self.patience, watch), strict=True):
                done[i] = result
        except WorkerDataLost:
            for i, end in zip(missing, ends, strict=True):
                if end.status == "finished":
                    done[i] = collect(client, [end], self.patience)[0]
            raise
        watch()

    def _queries_per_task(self, spread: ShardSet, n_queries: int) -> int:
        threads = sum(thread_counts(spread.client, self.patience).values())
        n_blocks = -(-limits().tasks_per_thread * threads // max(1, len(spread.rows)))
        even = -(-n_queries // max(1, n_blocks))
        return min(limits().max_task_queries, max(limits().min_task_queries, even))

    def _spread(self, prepared: Prepared, jobs: Sequence[Job]) -> ShardSet:
        client = find_client(self.client, self.patience)
        spread: ShardSet | None = jobs[0].cache.get(_SPREAD)
        if spread is None or not spread.is_for(client, prepared, jobs):
            spread = ShardSet(client, prepared, jobs, self._sent, self.patience)
            jobs[0].cache[_SPREAD] = spread
        return spread

    @property
    def _sent(self) -> SentBlocks:
        if "_sent_blocks" not in self.__dict__:
            self.__dict__["_sent_blocks"] = SentBlocks()
        return self.__dict__["_sent_blocks"]

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.client, self.local, self.on_block, self.patience)

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__sklearn_clone__()

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_sent_blocks"}
        if self.client is not None and not isinstance(self.client, str):
            state["client"] = self.client.scheduler.address  # a connection cannot be pickled, its address can
        return state


# What runs on the workers.

Results = list[FloatArray]  # of each job


def _built(X: Rows, jobs: Sequence[Job], rows: slice, dtype: np.dtype[Any]) -> Shard:
    """Return a shard of rows in memory, or that are read here."""
    return make_shard(X[:], jobs, rows, dtype)


def _reduced(shard: Shard, queries: tuple[Rows, Exclude | None], engine: Engine) -> Results:
    """Reduce a shard for a block of queries, on the thread of the task."""
    Q, exclude = queries
    return shard.reduce(engine, aligned(Q), exclude, n_jobs=1)


def _joined(parts: Sequence[Results], joins: Sequence[Join]) -> Results:
    """Join the results of some shards, in the order of their references."""
    return [each(results) for each, results in zip(joins, zip(*parts, strict=True), strict=True)]

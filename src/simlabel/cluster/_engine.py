"""The engine that sends the sums to Dask's workers."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np

from simlabel.cluster._connection import (
    PATIENCE,
    ClusterError,
    DataLost,
    Future,
    collect,
    find_client,
    sent,
    thread_counts,
)
from simlabel.cluster._spread import Sent, Spread
from simlabel.cluster._tasks import Results, join_results, reduce_block, tree
from simlabel.engines import (
    Engine,
    Exact,
    Job,
    Plan,
    Prepared,
    Progress,
    ReduceCall,
    close,
    resolve_engine,
)
from simlabel.rows import blocks
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, check_number

_KEPT = "dask"  # where a job keeps its shards


class DaskEngine(Engine):
    """The sums on a Dask cluster: workers reduce the references they hold, and the results are joined.

    A worker that dies is replaced by others: what it held is sent again, or computed again.

    Parameters
    ----------
    client : distributed.Client, str or None
        Connected to the cluster; the address of its scheduler; or None for the current client.
    local : str or engine
        How a worker computes the sums over what it holds.
    on_block : callable, optional
        Called with (pairs done, pairs in all) from time to time.
    patience : float
        Seconds after which work is given up where there is no scheduler or no worker.

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
        on_block: Progress | None = None,
        patience: float = PATIENCE,
    ) -> None:
        self.client = client
        self.local = local
        self.on_block = on_block
        self.patience = patience

    @property
    def at_home(self) -> Engine:
        """What computes on one machine."""
        return resolve_engine(self.local)

    def check(self) -> None:
        """Raise ValueError where a setting is not understood."""
        check_number("DaskEngine", "patience", self.patience, above=0)
        if isinstance(self.at_home, DaskEngine):
            raise ValueError("DaskEngine: local is what a worker does by itself; give 'auto', or Exact(...).")

    def why_not(self, prepared: Prepared, jobs: Sequence[Job]) -> str | None:
        """A matrix in place of references."""
        if any(leaf.similarity.form == "precomputed" for leaf in prepared.leaves.values()):
            return "a precomputed matrix has no references that workers could hold"
        return None

    def ready(self, prepared: Prepared, jobs: Sequence[Job]) -> None:
        """Send the references; what is lost on the way is sent when it is needed."""
        with contextlib.suppress(DataLost):
            self._spread(prepared, jobs).shards()

    def plan(
        self, n_queries: int, prepared: Prepared, jobs: Sequence[Job], n_jobs: int | None = None
    ) -> Plan:
        """What a worker does, and how many there are."""
        threads = thread_counts(find_client(self.client, self.patience), self.patience)
        plan = Exact().plan(n_queries, prepared, jobs, 1)
        n, workers = sum(threads.values()), f"{len(threads)} worker{'s' * (len(threads) != 1)}"
        words = f"on {workers} of a Dask cluster; memory is that of one task"
        return replace(plan, how=f"{plan.how}, in shards", threads=n, reasons=(*plan.reasons, words))

    def reduce(self, call: ReduceCall) -> list[FloatArray]:
        """The results of all jobs; each pair is visited, also where the queries are the references."""
        reason = self.why_not(call.prepared, call.jobs)
        if reason is not None:
            raise ValueError(f"DaskEngine is not possible: {reason}.")
        spread = self._spread(call.prepared, call.jobs)
        asked = list(blocks(call.n_queries, self._queries_per_task(spread, call.n_queries))) or [slice(0, 0)]
        done: dict[int, Results] = {}
        attempts = limits().cluster_attempts
        for attempt in range(attempts):
            try:
                self._attempt(spread, call, asked, done)
                break
            except DataLost:
                time.sleep(limits().cluster_pause * attempt)
        else:
            raise ClusterError(f"Workers died in {attempts} attempts, each time with data; given up.")
        joined = [np.concatenate(each) for each in zip(*(done[i] for i in range(len(asked))), strict=True)]
        return close(call.jobs, joined, call.exclude, call.prepared.dtype)

    def _attempt(
        self, spread: Spread, call: ReduceCall, asked: Sequence[slice], done: dict[int, Results]
    ) -> None:
        """Ask for the blocks of queries that are not done yet."""
        client, shards = spread.client, spread.shards()
        missing = [i for i in range(len(asked)) if i not in done]
        parts: list[Future] = []
        ends: list[Future] = []
        held: list[Future] = []  # until all is there; see `tree`
        for i in missing:
            queries = sent(client, (call.Q[asked[i]], call.excluded(asked[i])))
            mine = client.map(reduce_block, shards, queries=queries, engine=self.at_home, pure=False)
            parts += mine
            joined = tree(client, mine, join_results, [job.reducer.join for job in spread.jobs])
            ends.append(joined[-1])
            held += [queries, *joined]
        n, n_before = call.n_queries, sum(asked[i].stop - asked[i].start for i in done)

        def watch() -> None:
            if self.on_block is not None:
                finished = sum(part.status == "finished" for part in parts) / len(parts)
                pairs = n * spread.prepared.n_rows
                share = (n_before + (n - n_before) * finished) / max(1, n)
                self.on_block(int(pairs * share), pairs)

        try:
            for i, result in zip(missing, collect(client, ends, self.patience, watch), strict=True):
                done[i] = result
        except DataLost:
            for i, end in zip(missing, ends, strict=True):
                if end.status == "finished":
                    done[i] = collect(client, [end], self.patience)[0]
            raise
        watch()

    def _queries_per_task(self, spread: Spread, n_queries: int) -> int:
        threads = sum(thread_counts(spread.client, self.patience).values())
        n_blocks = -(-limits().tasks_per_thread * threads // max(1, len(spread.rows)))
        even = -(-n_queries // max(1, n_blocks))
        return min(limits().most_task_queries, max(limits().fewest_task_queries, even))

    def _spread(self, prepared: Prepared, jobs: Sequence[Job]) -> Spread:
        client = find_client(self.client, self.patience)
        spread: Spread | None = jobs[0].cache.get(_KEPT)
        if spread is None or not spread.is_for(client, prepared, jobs):
            spread = Spread(client, prepared, jobs, self._sent, self.patience)
            jobs[0].cache[_KEPT] = spread
        return spread

    @property
    def _sent(self) -> Sent:
        if "_sent_blocks" not in self.__dict__:
            self.__dict__["_sent_blocks"] = Sent()
        return self.__dict__["_sent_blocks"]

    def __sklearn_clone__(self) -> Self:
        return type(self)(self.client, self.local, self.on_block, self.patience)

    def __deepcopy__(self, memo: Any) -> Self:
        return self.__sklearn_clone__()

    def __getstate__(self) -> dict[str, Any]:
        state = {name: value for name, value in self.__dict__.items() if name != "_sent_blocks"}
        if self.client is not None and not isinstance(self.client, str):
            state["client"] = self.client.scheduler.address  # a connection does not travel, its address does
        return state

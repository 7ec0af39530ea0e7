"""References that are read from a disk: each block once for all queries, the next while one is worked on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from simlabel._utils.validation import FloatArray
from simlabel.sums._contract import Engine, Job, Progress, ReduceCall
from simlabel.sums._prepared import Prepared
from simlabel.sums.running._progress import Ticker
from simlabel.sums.running._shards import Shard, close, cut_jobs, join, shard_rows


def reduce_streamed(call: ReduceCall, engine: Engine, on_block: Progress | None) -> list[FloatArray]:
    """The results of all jobs, shard by shard; `engine` works on what has been read."""
    ticker = Ticker(call.n_queries * call.prepared.n_rows, on_block, call.prepared)
    results: list[FloatArray] = []
    for shard in _read_ahead(call.prepared, call.jobs):
        part = shard.reduce(engine, call.Q, call.exclude, call.n_jobs)
        results = join(call.jobs, [results, part]) if results else part
        ticker.tick(call.n_queries * shard.prepared.n_rows)
    return close(call.jobs, results, call.exclude, call.prepared.dtype)


def _read_ahead(prepared: Prepared, jobs: Sequence[Job]) -> Iterator[Shard]:
    """Shards in order; while one is worked on, the next one is read."""

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

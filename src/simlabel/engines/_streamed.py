"""References that are read from a disk: each block once for all queries, the next while one is worked on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from simlabel.engines._base import Engine
from simlabel.engines._progress import Progress, Ticker
from simlabel.engines._reducers import Exclude
from simlabel.engines._rows import Prepared
from simlabel.engines._shards import Shard, close, cut_jobs, join, shard_rows
from simlabel.engines._tiles import Job
from simlabel.rows import n_rows
from simlabel.support.validation import FloatArray, Rows


def reduce_streamed(
    engine: Engine,
    Q: Rows,
    prepared: Prepared,
    jobs: Sequence[Job],
    exclude: Exclude | None,
    n_jobs: int | None,
    on_block: Progress | None,
) -> list[FloatArray]:
    """The results of all jobs, shard by shard; `engine` works on what has been read."""
    ticker = Ticker(n_rows(Q) * prepared.n_rows, on_block, prepared)
    found: list[FloatArray] = []
    for shard in _read_ahead(prepared, jobs):
        part = shard.reduce(engine, Q, exclude, n_jobs)
        found = join(jobs, [found, part]) if found else part
        ticker.tick(n_rows(Q) * shard.prepared.n_rows)
    return close(jobs, found, exclude, prepared.dtype)


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

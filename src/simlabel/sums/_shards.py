"""Shards: parts of the references that are reduced by themselves, read from disk or on other machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows, pieces, row_width
from simlabel._utils.validation import FloatArray, Rows
from simlabel.sums._base import Engine, Job, PairProgress, ReduceCall
from simlabel.sums._prepared import Prepared, prepare
from simlabel.sums._reducers import Exclude, SumReducer
from simlabel.sums._running import ProgressCounter


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
        own = None if exclude is None else exclude.for_references(self.rows)
        results = engine.reduce(ReduceCall(Q, self.prepared, self.jobs, own, n_jobs=n_jobs))
        return [
            job.reducer.for_join(result, self.rows.start)
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


def jobs_for(jobs: Sequence[Job], rows: slice) -> tuple[Job, ...]:
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


def finish_joined(
    jobs: Sequence[Job], joined: Sequence[FloatArray], exclude: Exclude | None, dtype: np.dtype[Any]
) -> list[FloatArray]:
    """Turn the joined results of all shards into the final ones."""
    return [
        job.reducer.finished(result, exclude).astype(dtype, copy=False)
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
    return finish_joined(jobs, results, call.exclude, prepared.dtype)


def _read_ahead(prepared: Prepared, jobs: Sequence[Job]) -> Iterator[Shard]:
    """Yield shards in order; while one is reduced, the next one is read."""

    def read(rows: slice) -> Shard:
        return Shard(prepared.part(rows), jobs_for(jobs, rows), rows)

    with ThreadPoolExecutor(1, thread_name_prefix="simlabel-read") as reader:
        waiting: Future[Shard] | None = None
        for rows in shard_rows(prepared.X):
            following = reader.submit(read, rows)
            if waiting is not None:
                yield waiting.result()
            waiting = following
        if waiting is not None:
            yield waiting.result()

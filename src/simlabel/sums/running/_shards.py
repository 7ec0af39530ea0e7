"""Some of the references by themselves: what they give is joined with what the others give.

Blocks that are read from a disk and blocks that lie on other machines are shards alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._utils.limits import limits
from simlabel._utils.rows import blocks, n_rows, pieces, row_width
from simlabel._utils.validation import FloatArray, Rows
from simlabel.sums._contract import Engine, Job, ReduceCall
from simlabel.sums._prepared import Prepared, prepare
from simlabel.sums._weightings import Weighting
from simlabel.sums.reducers import Exclude, Reducer, SumReducer


@dataclass(frozen=True)
class Shard:
    """References that are there, made ready, with the jobs cut to them.

    Attributes
    ----------
    prepared : Prepared
    jobs : tuple of Job
    rows : slice
        Which of all references they are.
    """

    prepared: Prepared
    jobs: tuple[Job, ...]
    rows: slice

    def reduce(
        self, engine: Engine, Q: Rows, exclude: Exclude | None, n_jobs: int | None
    ) -> list[FloatArray]:
        """What these references give for queries, to be joined."""
        own = None if exclude is None else exclude.among(self.rows)
        results = engine.reduce(ReduceCall(Q, self.prepared, self.jobs, own, n_jobs=n_jobs))
        return [
            job.reducer.placed(result, self.rows.start)
            for job, result in zip(self.jobs, results, strict=True)
        ]

    def __reduce__(self) -> Any:
        return make_shard, (self.prepared.X, self.jobs, self.rows, self.prepared.dtype)


def make_shard(X: Rows, jobs: Sequence[Job], rows: slice, dtype: np.dtype[Any]) -> Shard:
    """A shard of rows that are there; the precision is that of all references."""
    prepared = prepare(aligned(X), [job.similarity for job in jobs], keep_views=True)
    reducers = {id(job.reducer): _aligned_reducer(job.reducer) for job in jobs}
    here = tuple(Job(job.similarity, job.weighting, reducers[id(job.reducer)]) for job in jobs)
    return Shard(replace(prepared, dtype=dtype), here, rows)


def aligned(rows: Rows) -> Rows:
    """The same rows where a processor likes them: what came over a network may lie at any address.

    A matrix product of numbers that do not lie at multiples of their size takes twice as long.
    """
    if sp.issparse(rows):
        parts = tuple(aligned(part) for part in (rows.data, rows.indices, rows.indptr))
        return type(rows)(parts, shape=rows.shape)
    return np.require(rows, requirements=["ALIGNED"]) if isinstance(rows, np.ndarray) else rows


def _aligned_reducer(reducer: Reducer) -> Reducer:
    return SumReducer(aligned(reducer.influence.V)) if isinstance(reducer, SumReducer) else reducer


def cut_jobs(jobs: Sequence[Job], rows: slice) -> tuple[Job, ...]:
    """The jobs for some of the references; what they share they share."""
    reducers = {id(job.reducer): job.reducer for job in jobs}
    parts = {key: reducer.part(rows) for key, reducer in reducers.items()}
    return tuple(Job(job.similarity, _by_entry(job), parts[id(job.reducer)]) for job in jobs)


def _by_entry(job: Job) -> Weighting | None:
    """A weighting that a part can apply; one of whole rows is the reducer's, which sees them."""
    return job.weighting if job.weighting is not None and job.weighting.scope == "entry" else None


def shard_rows(X: Rows, largest: int | None = None) -> Iterator[slice]:
    """Cut references, piece by piece, so that a shard takes little memory and at most so many rows."""
    itemsize = getattr(getattr(X, "dtype", None), "itemsize", 8)
    most = max(1, limits().read_bytes // (itemsize * max(1, row_width(X))))
    at = 0
    for piece in pieces(X):
        for part in blocks(n_rows(piece), most if largest is None else min(most, largest)):
            yield slice(at + part.start, at + part.stop)
        at += n_rows(piece)


def join(jobs: Sequence[Job], parts: Sequence[Sequence[FloatArray]]) -> list[FloatArray]:
    """What shards gave, in the order of their references, as one."""
    by_job = zip(*parts, strict=True)
    return [job.reducer.joined(results) for job, results in zip(jobs, by_job, strict=True)]


def close(
    jobs: Sequence[Job], joined: Sequence[FloatArray], exclude: Exclude | None, dtype: np.dtype[Any]
) -> list[FloatArray]:
    """From what all shards gave together to the results."""
    return [
        job.reducer.closed(result, exclude).astype(dtype, copy=False)
        for job, result in zip(jobs, joined, strict=True)
    ]

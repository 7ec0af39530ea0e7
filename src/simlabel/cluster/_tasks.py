"""What runs on the workers: the local engine on a shard, and joining what shards give."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel._validation import FloatArray, Rows
from simlabel.engines import Engine, Exclude, Job, Shard, make_shard
from simlabel.engines._reducers import Join

Found = list[FloatArray]  # of each job


def build(X: Rows, jobs: Sequence[Job], rows: slice, dtype: np.dtype[Any]) -> Shard:
    """A shard of rows that are here, or that are read here."""
    return make_shard(X[:], jobs, rows, dtype)


def reduce_block(shard: Shard, queries: tuple[Rows, Exclude | None], engine: Engine) -> Found:
    """What a shard gives for a block of queries, on the thread that the worker gives the task."""
    Q, exclude = queries
    return shard.reduce(engine, Q, exclude, n_jobs=1)


def join_found(parts: Sequence[Found], joins: Sequence[Join]) -> Found:
    """What some shards gave, in the order of their references, as one."""
    return [each(results) for each, results in zip(joins, zip(*parts, strict=True), strict=True)]


def as_block(block: Any) -> Rows:
    """A block of a Dask collection as rows."""
    if sp.issparse(block):
        return sp.csr_array(block)
    return np.ascontiguousarray(block.to_numpy() if hasattr(block, "to_numpy") else block)


def take(block: Rows, rows: Any) -> Rows:
    """Some rows of a block."""
    return block[rows]


def look(block: Rows) -> tuple[int, int, np.dtype[Any], bool]:
    """Rows, columns, dtype, and whether it is sparse."""
    return int(block.shape[0]), int(block.shape[1]), np.dtype(block.dtype), bool(sp.issparse(block))

"""What runs on the workers: the local engine on a shard, and joining what shards give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp

from simlabel.cluster._connection import Client, Future
from simlabel.engines import Engine, Exclude, Job, Join, Shard, aligned, make_shard
from simlabel.support.limits import limits
from simlabel.support.validation import FloatArray, Rows, check_sparse

Results = list[FloatArray]  # of each job


def build(X: Rows, jobs: Sequence[Job], rows: slice, dtype: np.dtype[Any]) -> Shard:
    """A shard of rows that are here, or that are read here."""
    return make_shard(X[:], jobs, rows, dtype)


def reduce_block(shard: Shard, queries: tuple[Rows, Exclude | None], engine: Engine) -> Results:
    """What a shard gives for a block of queries, on the thread that the worker gives the task."""
    Q, exclude = queries
    return shard.reduce(engine, aligned(Q), exclude, n_jobs=1)


def join_results(parts: Sequence[Results], joins: Sequence[Join]) -> Results:
    """What some shards gave, in the order of their references, as one."""
    return [each(results) for each, results in zip(joins, zip(*parts, strict=True), strict=True)]


def merge_all(parts: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """Parts merged one after the other."""
    return reduce(merge, parts)


def tree(client: Client, parts: Sequence[Future], join: Callable[..., Any], how: Any) -> list[Future]:
    """Join futures by fours on the workers, what comes of it by fours, and so on.

    All futures on the way, the end last: a key that nobody holds may be dropped before the scheduler
    knows who needs it, so they are to be held until the end is there.
    """
    held, n = list(parts), limits().join_branches
    while len(parts) > 1:
        groups = [list(parts[i : i + n]) for i in range(0, len(parts), n)]
        parts = [
            client.submit(join, group, how, pure=False) if len(group) > 1 else group[0] for group in groups
        ]
        held += parts
    return held


def as_block(block: Any) -> Rows:
    """A block of a Dask collection as rows."""
    if sp.issparse(block):
        return sp.csr_array(check_sparse(block, "X"))
    return np.ascontiguousarray(block.to_numpy() if hasattr(block, "to_numpy") else block)


def take(block: Rows, rows: Any) -> Rows:
    """Some rows of a block."""
    return block[rows]


def call(function: Callable[..., Any], block: Rows, *companions: Any) -> Any:
    """A function that was sent, of a block."""
    return function(block, *companions)


def look(block: Rows) -> tuple[int, int, np.dtype[Any], bool]:
    """Rows, columns, dtype, and whether it is sparse."""
    return int(block.shape[0]), int(block.shape[1]), np.dtype(block.dtype), bool(sp.issparse(block))

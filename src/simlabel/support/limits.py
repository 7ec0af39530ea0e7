"""How large blocks are, and from when on another way is taken: every such number in one record.

They change how long a result takes and how much memory it wants, never what it is. Code asks for
them when it runs, so that tests can make the seams show on small data.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Limits:
    """Sizes in rows, entries or bytes, as the names say; each with the reason for its value."""

    # support and labels
    checked_entries: int = 1 << 22  # looked at in one go, so that no mask as large as X is made

    # rows
    tail_rows: int = 2048  # chunks are merged up to this: few of them, and little is copied for a batch
    piece_rows: int = 65536  # a chunk in which rows are forgotten is cut into pieces of this

    # engines
    block_query_bytes: int = 4096  # one number each: with these blocks a core's product and loops run
    block_references: int = 512  # at full speed, and stay in cache
    panel_references: int = 4096  # in one call of a kernel
    panel_bytes: int = 1 << 20  # of queries in panels, which all tiles read,
    fewest_panel_queries: int = 256  # but not fewer than this
    tile_rows: int = 144  # references of a tile: they stay
    tile_bytes: int = 1 << 19  # in the second cache
    panel_sums: int = 1 << 17  # of a panel of queries: a megabyte, in which the labels of each row are met
    few_queries: int = 8  # with fewer, a loop over queries is too short to vectorise: loop over references
    whole_references: int = 1 << 17  # for few queries: one product, which BLAS shares among the cores
    fewest_block_queries: int = 64  # with fewer in a block, cut references among threads instead
    worth_a_thread: int = 64  # references for one query; for fewer, have fewer threads
    function_block_pairs: int = 1 << 14  # Python calls: so few that progress shows and Ctrl-C works
    serial_operations: float = 2e7  # below this, starting threads costs more than it saves
    unheld_operations: float = 1e9  # below this, holding BLAS to one thread takes longer than it saves
    most_threads: int = 256  # where there are fewer cores: beyond it threads only wait
    smallest_side: int = 32  # of a symmetric block: with smaller ones, listing pairs is more than the work
    sparse_task_queries: int = 64  # of sparse rows
    sampled_task_queries: int = 16  # that draw their references
    full_share: float = 0.07  # a term of a sparse product takes 200 dense ones, of which it has the square
    prepared_entries: int = 1 << 21  # of a block while the numbers beside the rows are computed
    kept_bytes: int = 1 << 26  # of what was made of V and will be wanted again
    shard_bytes: int = 1 << 25  # of references that are read at once from files, or sent
    slow_seconds: float = 10.0  # a Python function that takes longer is warned of,
    slow_after: float = 1.0  # but not at once: the first block may have waited for the compiler

    # cluster
    shards_per_thread: int = 2  # at least, so that a slow worker's can be stolen
    fewest_shard_rows: int = 4096  # a smaller shard costs more to talk about than to compute
    tasks_per_thread: int = 8  # so that the last ones end at about the same time
    fewest_task_queries: int = 256
    most_task_queries: int = 8192
    join_branches: int = 4  # of the tree in which results are joined
    cluster_attempts: int = 10  # before data that are lost again and again are given up
    cluster_pause: float = 0.2  # seconds, longer with each attempt: the scheduler may not have noticed yet
    cluster_look_every: float = 0.25  # seconds


_current = [Limits()]


def limits() -> Limits:
    """The numbers that hold now."""
    return _current[-1]


@contextlib.contextmanager
def changed_limits(**changes: float) -> Iterator[Limits]:
    """Other numbers for a while, in all threads of this process.

    Examples
    --------
    >>> with changed_limits(tail_rows=8):
    ...     print(limits().tail_rows)
    8
    >>> limits().tail_rows
    2048
    """
    _current.append(replace(limits(), **changes))  # type: ignore[arg-type]
    try:
        yield limits()
    finally:
        _current.pop()
